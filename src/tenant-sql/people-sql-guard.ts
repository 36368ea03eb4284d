import { type SqlToken, sqlTokens } from '../kernel/sql-lexer.ts';

/**
 * Functions that PostgreSQL lets everybody call and no owner can take away, although they reach beyond the statement:
 * into other sessions, the session's own limits, SQL given as text, locks that outlive the transaction.
 */
const FUNCTIONS = new RegExp(
  `^(?:${[
    // Everything of the system's own, except what only describes or formats a value (below).
    'pg_\\w+',
    'set_config',
    'lo_\\w+|loread|lowrite',
    'dblink\\w*',
    // They run SQL that comes as text, where nobody has looked at it.
    '(?:query|table|cursor|schema|database)_to_xml\\w*',
    'ts_stat|ts_rewrite',
    'to_reg\\w+|col_description|obj_description|shobj_description',
    'nextval|setval|currval|lastval',
    'binary_upgrade_\\w+|crosstab\\w*|connectby',
  ].join('|')})$`,
);

/** Functions named `pg_…` that anybody may use. `pg_sleep` only takes the time that the statement has anyway. */
const HARMLESS = new Set([
  'pg_typeof',
  'pg_size_pretty',
  'pg_size_bytes',
  'pg_column_size',
  'pg_sleep',
  'pg_sleep_for',
]);

/** Types that turn a number into the name of a table, schema or role that the reader may not see, arrays of them too. */
const OBJECT_TYPES =
  /^_?reg(?:class|namespace|proc|procedure|oper|operator|type|role|config|dictionary|collation|database)$/;

/**
 * What in a statement people may not use, as they wrote it; undefined when there is nothing. Grants and the read-only
 * transaction keep data safe; this closes what PostgreSQL leaves open to every login.
 */
export function refusedName(sql: string): string | undefined {
  const tokens = sqlTokens(sql).filter(({ kind }) => kind !== 'space' && kind !== 'comment');
  for (const [index, token] of tokens.entries()) {
    const written = sql.slice(token.start, token.end);
    if (token.kind === 'unicode_identifier') return written;
    const name = identifier(token, written);
    if (name === undefined) continue;
    if (OBJECT_TYPES.test(name)) return written;
    const next = tokens[index + 1];
    const called = next !== undefined && sql[next.start] === '(';
    if (called && FUNCTIONS.test(name) && !HARMLESS.has(name)) return written;
  }
  return undefined;
}

/** A name as PostgreSQL reads it: lower-case unless it is quoted. */
function identifier({ kind }: SqlToken, written: string): string | undefined {
  if (kind === 'word') return written.toLowerCase();
  return kind === 'quoted_identifier' ? written.slice(1, -1).replaceAll('""', '"') : undefined;
}
