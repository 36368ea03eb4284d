import { formatArrayLiteral } from '../sql-templates/compiled.ts';
import { listSqlTokens, type SqlToken } from '../sql-templates/lexer.ts';
import { ALLOWED_FUNCTIONS, ALLOWED_SETTINGS, ALLOWED_TYPES } from './user-sql-functions.ts';

/** The names in a statement that may be harmful, by their position. */
export interface NamesToCheck {
  /** Names before a bracket: functions, if a function has the name; else aliases, tables, syntax. */
  calledNames: string[];
  /** Names after a point, where PostgreSQL also accepts a function's name: `('timezone').current_setting`. */
  fields: string[];
  /** All names: types, if the system has a type of that name. */
  typeNames: string[];
}

/**
 * Collects the names in a statement. PostgreSQL then checks which of them exist (`CHECK_NAMES_SQL`), so that functions and types
 * of a new version are rejected until they are allowed here. @returns a name that is always rejected, in its own spelling; else
 * the names to check
 */
export function findNames(sql: string): { refusedName: string } | NamesToCheck {
  const tokens = listSqlTokens(sql).filter(({ kind }) => kind !== 'space' && kind !== 'comment');
  const calledNames = new Set<string>();
  const fields = new Set<string>();
  const typeNames = new Set<string>();
  const readTokenText = (index: number): string => {
    const token = tokens[index];
    return token ? sql.slice(token.start, token.end) : '';
  };
  for (const [index, token] of tokens.entries()) {
    const spelling = readTokenText(index);
    // A name spelt with escapes cannot be compared with others.
    if (token.kind === 'unicode_identifier') return { refusedName: spelling };
    const name = normalizeIdentifier(token, spelling);
    if (name === undefined) continue;
    if (name === 'information_schema') return { refusedName: spelling };
    if (!ALLOWED_TYPES.has(name)) typeNames.add(name);
    if (ALLOWED_FUNCTIONS.has(name)) continue;
    if (readTokenText(index + 1) === '(') {
      if (name !== 'current_setting' || !readsAllowedSetting(readTokenText(index + 2), readTokenText(index + 3)))
        calledNames.add(name);
    } else if (readTokenText(index - 1) === '.') fields.add(name);
  }
  return { calledNames: [...calledNames], fields: [...fields], typeNames: [...typeNames] };
}

/**
 * The SQL that fails with `invalid input syntax for type integer: "name"` for a name that is a function, or a type of the
 * system's own: SQL has no simpler way to fail. `listCheckValues` makes its values. A function that takes one argument can be
 * called as a field of any value, also by `f.name` of `FROM lower('…') AS f`. Thus a column of such a name cannot be told from it,
 * and can only be named without its table. Functions that only convert a value of a type, as `date_in`, are no harm.
 */
export const CHECK_NAMES_SQL = `SELECT min(name::text)::integer FROM (
    SELECT proname FROM pg_catalog.pg_proc WHERE proname = ANY ($1::name[])
    UNION ALL
    SELECT proname FROM pg_catalog.pg_proc
      WHERE proname = ANY ($2::name[]) AND pronargs >= 1 AND pronargs - pronargdefaults <= 1
        AND proname !~ '_(in|out|recv|send)$'
    UNION ALL
    SELECT typname FROM pg_catalog.pg_type
      WHERE typname = ANY ($3::name[]) AND typnamespace = 'pg_catalog'::pg_catalog.regnamespace
  ) AS refused (name)`;

/** Makes the bound values of `CHECK_NAMES_SQL`. */
export const listCheckValues = ({ calledNames, fields, typeNames }: NamesToCheck): string[] =>
  [calledNames, fields, typeNames].map((names) => formatArrayLiteral(names));

/** Reads the name that made `CHECK_NAMES_SQL` fail from the error. */
export const readRefusedName = (error: Error): string => /"(.*)"/s.exec(error.message)?.[1] ?? 'a name';

/** Finds the index of the first occurrence of a name that `findNames` or `readRefusedName` returned as rejected. */
export const findNameIndex = (sql: string, name: string): number | undefined =>
  listSqlTokens(sql).find((token) => {
    const spelling = sql.slice(token.start, token.end);
    return spelling === name || normalizeIdentifier(token, spelling) === name;
  })?.start;

function readsAllowedSetting(argument: string, nextText: string): boolean {
  const [, setting] = /^'([a-z_]+)'$/i.exec(argument) ?? [];
  return setting !== undefined && ALLOWED_SETTINGS.has(setting.toLowerCase()) && nextText === ')';
}

/** Normalizes a name as PostgreSQL does: to lower case unless it is quoted. */
function normalizeIdentifier({ kind }: SqlToken, spelling: string): string | undefined {
  if (kind === 'word') return spelling.toLowerCase();
  return kind === 'quoted_identifier' ? spelling.slice(1, -1).replaceAll('""', '"') : undefined;
}
