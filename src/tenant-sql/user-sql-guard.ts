import { arrayLiteral } from '../sql-templates/compiled.ts';
import { type SqlToken, sqlTokens } from '../sql-templates/lexer.ts';
import { ALLOWED_FUNCTIONS, ALLOWED_SETTINGS, ALLOWED_TYPES } from './user-sql-functions.ts';

/** The names in a statement that may be harmful, by their position. */
export interface NamesToCheck {
  /** Names before a bracket: functions, if any has that name; else aliases, tables, syntax. */
  called: string[];
  /** Names after a point, where PostgreSQL also accepts a function's name: `(row).pg_typeof`. */
  fields: string[];
  /** All names: types, if the system has a type of that name. */
  named: string[];
}

/**
 * Collects the names in a statement. PostgreSQL then checks which of them exist (`CHECK_NAMES`), so that functions and
 * types of a new version are refused until somebody allows them.
 * @returns a name that is always refused, as it is spelt; else the names to check
 */
export function findNames(sql: string): { refused: string } | NamesToCheck {
  const tokens = sqlTokens(sql).filter(({ kind }) => kind !== 'space' && kind !== 'comment');
  const called = new Set<string>();
  const fields = new Set<string>();
  const named = new Set<string>();
  const textAt = (index: number): string => {
    const token = tokens[index];
    return token ? sql.slice(token.start, token.end) : '';
  };
  for (const [index, token] of tokens.entries()) {
    const spelling = textAt(index);
    // A name spelt with escapes cannot be compared with others.
    if (token.kind === 'unicode_identifier') return { refused: spelling };
    const name = identifier(token, spelling);
    if (name === undefined) continue;
    if (name === 'information_schema') return { refused: spelling };
    if (!ALLOWED_TYPES.has(name)) named.add(name);
    if (ALLOWED_FUNCTIONS.has(name)) continue;
    if (textAt(index + 1) === '(') {
      if (name !== 'current_setting' || !asksForAllowedSetting(textAt(index + 2), textAt(index + 3))) called.add(name);
    } else if (textAt(index - 1) === '.') fields.add(name);
  }
  return { called: [...called], fields: [...fields], named: [...named] };
}

/**
 * Fails with `invalid input syntax for type integer: "name"` for a name that is a function, or a type of the system's
 * own: SQL has no simpler way to fail. `listValues` makes its values.
 *
 * A function can be called as a field of the rows it takes, if it takes any type or any row (`any`, `anyelement`,
 * `anynonarray`, `anycompatible`, `anycompatiblenonarray`, `record`).
 */
export const CHECK_NAMES = `SELECT min(name::text)::integer FROM (
    SELECT proname FROM pg_catalog.pg_proc WHERE proname = ANY ($1::name[])
    UNION ALL
    SELECT proname FROM pg_catalog.pg_proc
      WHERE proname = ANY ($2::name[]) AND proargtypes[0] IN (2276, 2283, 2776, 5077, 5079, 2249)
    UNION ALL
    SELECT typname FROM pg_catalog.pg_type
      WHERE typname = ANY ($3::name[]) AND typnamespace = 'pg_catalog'::pg_catalog.regnamespace
  ) AS refused (name)`;

/** The bound values of `CHECK_NAMES`. */
export const listValues = ({ called, fields, named }: NamesToCheck): string[] =>
  [called, fields, named].map((names) => arrayLiteral(names));

/** The name that made `CHECK_NAMES` fail. */
export const refusedBy = (error: Error): string => /"(.*)"/s.exec(error.message)?.[1] ?? 'a name';

/** The index of the first occurrence of a name that `findNames` or `readRefusedName` returned as refused. */
export const indexOfName = (sql: string, name: string): number | undefined =>
  sqlTokens(sql).find((token) => {
    const spelling = sql.slice(token.start, token.end);
    return spelling === name || identifier(token, spelling) === name;
  })?.start;

function asksForAllowedSetting(argument: string, next: string): boolean {
  const [, setting] = /^'([a-z_]+)'$/i.exec(argument) ?? [];
  return setting !== undefined && ALLOWED_SETTINGS.has(setting.toLowerCase()) && next === ')';
}

/** A name as PostgreSQL reads it: in lower case unless it is quoted. */
function identifier({ kind }: SqlToken, spelling: string): string | undefined {
  if (kind === 'word') return spelling.toLowerCase();
  return kind === 'quoted_identifier' ? spelling.slice(1, -1).replaceAll('""', '"') : undefined;
}
