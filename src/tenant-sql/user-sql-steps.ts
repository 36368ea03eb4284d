import type { CompiledSql } from '../sql-templates/compiled.ts';
import { CHECK_NAMES_SQL, listCheckValues, type NamesToCheck } from './user-sql-guard.ts';

type StepStatementName =
  | 'begin'
  | 'check_names'
  | 'set_limits'
  | 'declare'
  | 'check_tables'
  | 'list_tables'
  | 'roll_back';

export type StepName = StepStatementName | 'describe' | 'fetch';

/** The messages that run one statement of user SQL: statements with their bound values, and messages of the cursor. */
export type UserSqlSteps = readonly (
  | readonly [StepStatementName, string, (string | null)[]]
  | readonly ['describe']
  | readonly ['fetch', rows: number]
)[];

/** The time that planning, running and sending may take together beyond the statement's own limit. Milliseconds. */
export const USER_SQL_GRACE_MS = 2_000;

export const CURSOR_NAME = 'user_sql';

/** The ASCII text that is sent before the statement. */
const DECLARE_PREFIX = `DECLARE ${CURSOR_NAME} NO SCROLL CURSOR WITHOUT HOLD FOR\n`;

/** Converts a 1-based character position in the sent declaration to the position in the statement. */
export const toStatementPosition = (position: number): number => Math.max(1, position - DECLARE_PREFIX.length);

/** The SQL of the settings. A cursor is planned for its first tenth of the rows, unless a setting says that all are wanted. */
const SETTINGS_SQL = `SELECT set_config('statement_timeout', $1, true), set_config('transaction_timeout', $2, true),
  set_config('cursor_tuple_fraction', '1', true), set_config('lock_timeout', '2s', true),
  set_config('search_path', 'public', true), set_config('timezone', 'UTC', true), set_config('datestyle', 'ISO', true)`;

/** The number of the first relation that was not created by initdb. */
const FIRST_USER_RELATION_OID = 16384;

/** The SQL that rejects system relations: a cursor's locks show which relations the statement reads, also through views. */
const CHECK_TABLES_SQL = `SELECT 1 / (count(*) = 0)::int FROM pg_catalog.pg_lock_status() AS held
  WHERE held.locktype = 'relation' AND held.pid = pg_catalog.pg_backend_pid() AND held.relation::int8 < ${FIRST_USER_RELATION_OID}`;

/** The entry in the list of tables for a relation that is no table of the company's own. */
export const OTHER_RELATION = '*';

/**
 * The SQL that lists the tables that a statement has read, by the locks that it holds until its transaction ends: also through
 * views, and through functions that they call. Reading the locks locks nothing. The tables of views and indexes are locked, too.
 */
const LIST_TABLES_SQL = `SELECT CASE
    WHEN found.type = 'table' AND found.object_names[1] = 'public' THEN found.object_names[2]
    WHEN found.type NOT IN ('view', 'index', 'toast table') THEN '${OTHER_RELATION}'
  END FROM pg_catalog.pg_lock_status() AS held, pg_catalog.pg_identify_object_as_address(1259, held.relation, 0) AS found
  WHERE held.locktype = 'relation' AND held.pid = pg_catalog.pg_backend_pid()`;

export const makeSteps = (
  statement: CompiledSql,
  names: NamesToCheck,
  { maxRows, milliseconds }: { maxRows: number; milliseconds: number },
): UserSqlSteps => [
  ...makeOpeningSteps(statement, names, milliseconds),
  ...(maxRows === 0 ? [DESCRIBE_STEP] : makeFetchSteps(maxRows + 1)),
  ['list_tables', LIST_TABLES_SQL, []],
  ['roll_back', 'ROLLBACK', []],
];

const DESCRIBE_STEP = ['describe'] as const;

/** Makes the steps that fetch rows by a message: `FETCH` would write all rows to disk before it sends the first. */
export const makeFetchSteps = (rowCount: number): UserSqlSteps => [DESCRIBE_STEP, ['fetch', rowCount]];

/** Makes the steps that declare a cursor for the statement, in a transaction that is left open. */
export function makeOpeningSteps(statement: CompiledSql, names: NamesToCheck, milliseconds: number): UserSqlSteps {
  return [
    // An earlier statement of this connection may have failed inside its transaction.
    ['roll_back', 'ROLLBACK', []],
    // This check reads the catalog, so it has a transaction of its own.
    ['begin', 'BEGIN READ ONLY', []],
    ['check_names', CHECK_NAMES_SQL, listCheckValues(names)],
    ['roll_back', 'ROLLBACK', []],
    ['begin', 'BEGIN READ ONLY', []],
    ['set_limits', SETTINGS_SQL, [`${milliseconds}ms`, `${milliseconds + USER_SQL_GRACE_MS}ms`]],
    ['declare', `${DECLARE_PREFIX}${statement.text}`, statement.values],
    ['check_tables', CHECK_TABLES_SQL, []],
  ];
}
