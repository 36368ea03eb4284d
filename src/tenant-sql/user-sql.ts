import type { Client, Connection, Submittable } from '@neondatabase/serverless';
import type { Failure } from '../kernel/failure.ts';
import type { CompiledSql } from '../kernel/sql-template.ts';
import type { TenantSql } from './client.ts';
import type { ColumnType } from './columns.ts';
import { databaseUnavailable, queryFailed, queryRefused, queryTimedOut, resultTooLarge } from './failures.ts';
import { isConnectionProblem, isPostgresError } from './postgres-error.ts';
import { type DoubtfulNames, namesOf, REFUSES_NAMES, refusedBy, valuesOf } from './user-sql-guard.ts';
import { toJsonValue } from './values.ts';

/** A column of a result. What is none of the types of managed tables is given as PostgreSQL's text. */
export interface ResultColumn {
  name: string;
  type: ColumnType;
}

/** A value of a result, as the API's row JSON has it. */
export type Cell = string | number | boolean | null;

/** What a statement gave. */
export interface UserSqlResult {
  columns: ResultColumn[];
  rows: Cell[][];
  /** There is more than the limits let through. */
  truncated: boolean;
}

/** Bytes that several statements share: each takes from it what it receives. */
export interface ByteBudget {
  left: number;
}

/** How far one statement may go. */
export interface UserSqlLimits {
  /** Rows given; 0 gives the columns alone, without running anything. */
  rows: number;
  /** Bytes received from PostgreSQL. */
  bytes: number;
  milliseconds: number;
  /** Also bounded by what others have left. */
  budget?: ByteBudget;
}

/** The limits of DECISIONS for one statement of user SQL. */
export const STANDARD_LIMITS: UserSqlLimits = { rows: 10_000, bytes: 10 * 1024 * 1024, milliseconds: 10_000 };

/** What planning, running and sending may take together, beyond the statement's own time. */
const GRACE_MS = 2_000;

/**
 * Runs user SQL, which people of the company write: one SELECT, in a read-only transaction of the reader's own login, through a cursor, with
 * bound values. Everything travels in one message, and PostgreSQL skips the rest after the first error.
 *
 * @param sql opened with the read-only login and used for nothing else; it is `closed` afterwards when a limit was
 *   passed
 * @throws Failure `user_sql.refused`, `user_sql.failed`, `user_sql.timeout`, `user_sql.too_large`, whose words tell
 *   nothing of the statement (`databaseMessage` has those for its author); `tenant_sql.unavailable`
 */
export async function runUserSql(
  sql: TenantSql,
  statement: CompiledSql,
  limits: UserSqlLimits = STANDARD_LIMITS,
): Promise<UserSqlResult> {
  const names = namesOf(statement.text);
  if ('refused' in names) throw queryRefused().because(notAvailable(names.refused));
  const client = await sql.connect();
  const run = new UserSqlRun(client, statement, names, limits, () => sql.drop());
  client.query(run);
  return run.result;
}

/** Relations that initdb made have lower numbers than any that came later. */
const FIRST_OWN_RELATION = 16384;

/** A portal's locks tell which relations the statement reads, through views too: the system's own are refused. */
const READS_NO_CATALOG = `SELECT 1 / (count(*) = 0)::int FROM pg_catalog.pg_lock_status() AS held
  WHERE held.locktype = 'relation' AND held.pid = pg_catalog.pg_backend_pid() AND held.relation::int8 < ${FIRST_OWN_RELATION}`;

const CURSOR = 'user_sql';

const notAvailable = (name: string): Error => new Error(`${name} is not available here`);

type Step = 'names' | 'leave' | 'begin' | 'limit' | 'declare' | 'look' | 'fetch' | 'end';

/** One statement on its way; the driver calls it while it is the connection's active query. */
class UserSqlRun implements Submittable {
  readonly result: Promise<UserSqlResult>;
  readonly #steps: [Step, string, (string | null)[]][];
  readonly #limits: UserSqlLimits;
  readonly #stream: DataStream;
  readonly #drop: () => void;
  readonly #columns: ResultColumn[] = [];
  readonly #types: ColumnType[] = [];
  readonly #rows: Cell[][] = [];
  #step = 0;
  #bytes = 0;
  #deadline: ReturnType<typeof setTimeout> | undefined;
  #settled = false;
  #succeed!: (result: UserSqlResult) => void;
  #fail!: (error: unknown) => void;

  constructor(client: Client, statement: CompiledSql, names: DoubtfulNames, limits: UserSqlLimits, drop: () => void) {
    this.#limits = limits;
    this.#drop = drop;
    this.#stream = (client as unknown as { connection: { stream: DataStream } }).connection.stream;
    this.#steps = stepsOf(statement, names, limits);
    this.result = new Promise((resolve, reject) => {
      this.#succeed = resolve;
      this.#fail = reject;
    });
  }

  submit(connection: Connection): void {
    const out = connection as unknown as ExtendedProtocol;
    for (const [step, text, values] of this.#steps) {
      out.parse({ text });
      out.bind({ values });
      if (step === 'fetch') out.describe({ type: 'P', name: '' });
      out.execute({});
    }
    out.sync();
    this.#stream.on('data', this.#count);
    this.#deadline = setTimeout(() => this.#give(queryTimedOut()), this.#limits.milliseconds + GRACE_MS);
  }

  handleRowDescription({ fields }: { fields: { name: string; dataTypeID: number }[] }): void {
    for (const { name, dataTypeID } of fields) {
      const type = TYPES[dataTypeID] ?? 'text';
      this.#columns.push({ name, type });
      this.#types.push(type);
    }
  }

  handleDataRow({ fields }: { fields: (string | null)[] }): void {
    if (this.#settled || this.#here !== 'fetch') return;
    this.#rows.push(fields.map((value, column) => cell(this.#types[column] as ColumnType, value)));
  }

  handleCommandComplete(): void {
    this.#step += 1;
  }

  handleReadyForQuery(): void {
    this.#settle(() => this.#succeed(this.#resultSoFar(this.#rows.length > this.#limits.rows)));
  }

  handleError(error: unknown): void {
    this.#settle(() => this.#fail(this.#failureOf(error)));
  }

  handleEmptyQuery(): void {}

  get #here(): Step | undefined {
    return this.#steps[this.#step]?.[0];
  }

  /** Counts what arrives before anything is made of it, so that no single value can be too large to notice. */
  readonly #count = (chunk: { length: number }): void => {
    const { bytes, budget } = this.#limits;
    this.#bytes += chunk.length;
    if (budget) budget.left -= chunk.length;
    if (this.#bytes <= bytes && (budget === undefined || budget.left > 0)) return;
    if (this.#rows.length === 0) this.#give(resultTooLarge());
    else this.#settleDropped(() => this.#succeed(this.#resultSoFar(true)));
  };

  #give(failure: Failure): void {
    this.#settleDropped(() => this.#fail(failure));
  }

  #settleDropped(settle: () => void): void {
    if (this.#settled) return;
    this.#settle(settle);
    this.#drop();
  }

  #settle(settle: () => void): void {
    if (this.#settled) return;
    this.#settled = true;
    clearTimeout(this.#deadline);
    this.#stream.removeListener('data', this.#count);
    settle();
  }

  #resultSoFar(truncated: boolean): UserSqlResult {
    return { columns: this.#columns, rows: this.#rows.slice(0, this.#limits.rows), truncated };
  }

  #failureOf(error: unknown): unknown {
    if (!isPostgresError(error)) return isConnectionProblem(error) ? databaseUnavailable().because(error) : error;
    if (TIMEOUTS.has(error.code)) return queryTimedOut().because(error);
    if (error.severity !== 'ERROR') return databaseUnavailable().because(error);
    if (this.#here === 'names') return queryRefused().because(notAvailable(refusedBy(error)));
    if (this.#here === 'look') return queryRefused().because(new Error("only the company's own tables can be read"));
    return this.#here === 'declare' || this.#here === 'fetch' ? queryFailed().because(error) : error;
  }
}

function stepsOf(
  statement: CompiledSql,
  names: DoubtfulNames,
  { rows, milliseconds }: UserSqlLimits,
): [Step, string, (string | null)[]][] {
  return [
    // An earlier statement of this connection may have failed inside its transaction.
    ['leave', 'ROLLBACK', []],
    // In a transaction of its own: it reads the catalog itself.
    ['begin', 'BEGIN READ ONLY', []],
    ['names', REFUSES_NAMES, valuesOf(names)],
    ['leave', 'ROLLBACK', []],
    ['begin', 'BEGIN READ ONLY', []],
    ['limit', SETTINGS, [`${milliseconds}ms`, `${milliseconds + GRACE_MS}ms`]],
    ['declare', `DECLARE ${CURSOR} NO SCROLL CURSOR WITHOUT HOLD FOR\n${statement.text}`, statement.values],
    ['look', READS_NO_CATALOG, []],
    ['fetch', `FETCH FORWARD ${rows === 0 ? 0 : rows + 1} FROM ${CURSOR}`, []],
    ['end', 'ROLLBACK', []],
  ];
}

/** A cursor is planned for its first tenth unless told that all of it is wanted. */
const SETTINGS = `SELECT set_config('statement_timeout', $1, true), set_config('transaction_timeout', $2, true),
  set_config('cursor_tuple_fraction', '1', true), set_config('lock_timeout', '2s', true),
  set_config('search_path', 'public', true), set_config('timezone', 'UTC', true), set_config('datestyle', 'ISO', true)`;

/** Statement, lock and transaction timeouts. */
const TIMEOUTS = new Set(['57014', '55P03', '25P04']);

const TYPES: Record<number, ColumnType> = {
  16: 'boolean',
  20: 'integer',
  21: 'integer',
  23: 'integer',
  26: 'integer',
  700: 'decimal',
  701: 'decimal',
  1700: 'decimal',
  1082: 'date',
  1114: 'datetime',
  1184: 'datetime',
};

function cell(type: ColumnType, value: string | null): Cell {
  return type === 'boolean' && value !== null ? value === 't' : toJsonValue(type, value);
}

/** The socket under the driver's connection. */
interface DataStream {
  on(event: 'data', listener: (chunk: { length: number }) => void): void;
  removeListener(event: 'data', listener: (chunk: { length: number }) => void): void;
}

/** The part of the driver's connection that speaks the extended protocol, which takes one statement at a time. */
interface ExtendedProtocol {
  parse(message: { text: string }): void;
  bind(message: { values: (string | null)[] }): void;
  describe(message: { type: 'P'; name: string }): void;
  execute(message: Record<never, never>): void;
  sync(): void;
}
