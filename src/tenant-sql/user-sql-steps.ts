import type { CompiledSql } from '../sql-templates/compiled.ts';
import { CHECK_NAMES, listValues, type NamesToCheck } from './user-sql-guard.ts';

type StatementName = 'begin' | 'check_names' | 'set_limits' | 'declare' | 'check_tables' | 'list_tables' | 'roll_back';

export type StepName = StatementName | 'describe' | 'fetch';

/** The messages that run one statement of user SQL: statements with their bound values, and those of the cursor. */
export type Steps = readonly (
  | readonly [StatementName, string, (string | null)[]]
  | readonly ['describe']
  | readonly ['fetch', rows: number]
)[];

/** The time that planning, running and sending may take together beyond the statement's own limit. */
export const GRACE_MS = 2_000;

export const CURSOR = 'user_sql';

/** The text that is sent before the statement, in ASCII. */
const DECLARE = `DECLARE ${CURSOR} NO SCROLL CURSOR WITHOUT HOLD FOR\n`;

/** The 1-based character of the statement, of one of the declaration that PostgreSQL was sent. */
export const characterOfStatement = (position: number): number => Math.max(1, position - DECLARE.length);

/** PostgreSQL plans a cursor for its first tenth of the rows, unless this setting says that all are wanted. */
const SETTINGS = `SELECT set_config('statement_timeout', $1, true), set_config('transaction_timeout', $2, true),
  set_config('cursor_tuple_fraction', '1', true), set_config('lock_timeout', '2s', true),
  set_config('search_path', 'public', true), set_config('timezone', 'UTC', true), set_config('datestyle', 'ISO', true)`;

/** Relations created by initdb have lower numbers than all later ones. */
const FIRST_OWN_RELATION = 16384;

/** A cursor's locks show which relations the statement reads, also through views. System relations are refused. */
const CHECK_TABLES = `SELECT 1 / (count(*) = 0)::int FROM pg_catalog.pg_lock_status() AS held
  WHERE held.locktype = 'relation' AND held.pid = pg_catalog.pg_backend_pid() AND held.relation::int8 < ${FIRST_OWN_RELATION}`;

/** Stands in the list of tables for a relation that is no table of the company's own. */
export const OTHER_RELATION = '*';

/**
 * The tables that a statement has read, by the locks that it holds until its transaction ends: also through views, and whatever
 * they call. Reading them so locks nothing. Views and indexes are of tables that are locked too.
 */
const LIST_TABLES = `SELECT CASE
    WHEN found.type = 'table' AND found.object_names[1] = 'public' THEN found.object_names[2]
    WHEN found.type NOT IN ('view', 'index', 'toast table') THEN '${OTHER_RELATION}'
  END FROM pg_catalog.pg_lock_status() AS held, pg_catalog.pg_identify_object_as_address(1259, held.relation, 0) AS found
  WHERE held.locktype = 'relation' AND held.pid = pg_catalog.pg_backend_pid()`;

export const makeSteps = (
  statement: CompiledSql,
  names: NamesToCheck,
  { rows, milliseconds }: { rows: number; milliseconds: number },
): Steps => [
  ...makeOpeningSteps(statement, names, milliseconds),
  ...(rows === 0 ? [DESCRIBE] : makeFetchSteps(rows + 1)),
  ['list_tables', LIST_TABLES, []],
  ['roll_back', 'ROLLBACK', []],
];

const DESCRIBE = ['describe'] as const;

/** Fetches rows by a message of the protocol: `FETCH` would write all to disk before it sends the first. */
export const makeFetchSteps = (rows: number): Steps => [DESCRIBE, ['fetch', rows]];

/** Declares a cursor for the statement, in a transaction that is left open. */
export function makeOpeningSteps(statement: CompiledSql, names: NamesToCheck, milliseconds: number): Steps {
  return [
    // An earlier statement of this connection may have failed inside its transaction.
    ['roll_back', 'ROLLBACK', []],
    // This check reads the catalog, so it has a transaction of its own.
    ['begin', 'BEGIN READ ONLY', []],
    ['check_names', CHECK_NAMES, listValues(names)],
    ['roll_back', 'ROLLBACK', []],
    ['begin', 'BEGIN READ ONLY', []],
    ['set_limits', SETTINGS, [`${milliseconds}ms`, `${milliseconds + GRACE_MS}ms`]],
    ['declare', `${DECLARE}${statement.text}`, statement.values],
    ['check_tables', CHECK_TABLES, []],
  ];
}
