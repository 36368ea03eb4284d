import type { Client, Connection, Submittable } from '@neondatabase/serverless';
import { Failure } from '../kernel/failure.ts';
import { findIndexAfter } from '../kernel/text.ts';
import type { CompiledSql } from '../sql-templates/compiled.ts';
import type { TenantSql } from './client.ts';
import type { ColumnType } from './columns.ts';
import { type ExtendedProtocol, getSocket, type Socket } from './driver.ts';
import { databaseUnavailable, queryFailed, queryRefused, queryTimedOut, resultTooLarge } from './failures.ts';
import { isConnectionProblem, isPostgresError } from './postgres-error.ts';
import { findNameIndex, findNames, type NamesToCheck, readRefusedName } from './user-sql-guard.ts';
import {
  CURSOR_NAME,
  makeSteps,
  OTHER_RELATION,
  type StepName,
  toStatementPosition,
  USER_SQL_GRACE_MS,
  type UserSqlSteps,
} from './user-sql-steps.ts';
import { toJsonValue } from './values.ts';

/** A column of a result. Values of types that managed tables do not have are given as PostgreSQL's text. */
export interface ResultColumn {
  name: string;
  type: ColumnType;
}

/** A value of a result, in the form of the API's JSON. */
export type Cell = string | number | boolean | null;

export interface UserSqlResult {
  columns: ResultColumn[];
  rows: Cell[][];
  /** True if rows were left out because of a limit. */
  truncated: boolean;
  /** The names of the tables that the statement read, also through views; missing where they are not known. */
  tables?: string[];
}

/** A number of bytes that several statements share; each subtracts the bytes it receives. */
export interface ByteBudget {
  remainingBytes: number;
}

/** The limits of one statement. */
export interface UserSqlLimits {
  /** The maximum number of rows returned; 0 returns the columns without running anything. */
  maxRows: number;
  /** The maximum number of bytes of the rows, as PostgreSQL sends them. */
  maxBytes: number;
  milliseconds: number;
  /** Set for the service's own lookups, which do not count as executions of users' SQL. */
  isInternal?: true;
  /** The time by which the statement must be done, by `performance.now()`, however long it waited for earlier ones. */
  endsAt?: number;
  budget?: ByteBudget;
}

export const STANDARD_LIMITS: UserSqlLimits = { maxRows: 10_000, maxBytes: 10 * 1024 * 1024, milliseconds: 10_000 };

/** A statement of user SQL and its limits. */
export interface LimitedStatement {
  statement: CompiledSql;
  limits: UserSqlLimits;
}

/**
 * Runs user SQL, which users of the company write: one SELECT with bound values, through a cursor, in a read-only transaction
 * of the reader's login. All messages are sent at once; after the first error PostgreSQL skips the rest. Failures reveal
 * nothing about the statement: `getDatabaseMessage` has the message for its author. @param sql opened with the read-only login
 * and used for nothing else; after a limit was exceeded, its connection is closed
 */
export async function runUserSql(
  sql: TenantSql,
  statement: CompiledSql,
  limits: UserSqlLimits = STANDARD_LIMITS,
): Promise<UserSqlResult> {
  const [result] = runAllUserSql(sql, [{ statement, limits }]);
  return result as Promise<UserSqlResult>;
}

/**
 * Runs statements one after another, each like `runUserSql`, all sent in one message: one round trip. The time of each begins
 * when the earlier ones are done. Where one exceeds a limit that ends the connection, the later ones fail with
 * `databaseUnavailable` without having been run. @returns the result of each
 */
export function runAllUserSql(sql: TenantSql, statements: readonly LimitedStatement[]): Promise<UserSqlResult>[] {
  const preparedRuns = statements.map(({ statement, limits }) => {
    const names = listNamesToCheck(statement);
    if (names instanceof Failure) return names;
    return new UserSqlRun(makeSteps(statement, names, limits), limits, () => sql.drop());
  });
  const runs = preparedRuns.filter((preparedRun) => preparedRun instanceof UserSqlRun);
  const sending = runs.length > 0 ? sql.connect().then((client) => queueRuns(client, runs)) : Promise.resolve();
  return preparedRuns.map(async (preparedRun) => {
    if (!(preparedRun instanceof UserSqlRun)) throw preparedRun;
    await sending;
    const isExecution = preparedRun.limits.maxRows > 0 && preparedRun.limits.isInternal !== true;
    return isExecution ? noteExecution(sql, preparedRun.resultPromise) : preparedRun.resultPromise;
  });
}

/** Records that the database has run a statement, whether it failed or not. @returns its result */
export async function noteExecution(sql: TenantSql, result: Promise<UserSqlResult>): Promise<UserSqlResult> {
  try {
    const userSqlResult = await result;
    sql.noteUserSql();
    return userSqlResult;
  } catch (error) {
    if (!databaseUnavailable.matches(error)) sql.noteUserSql();
    throw error;
  }
}

/** Queues all runs with the driver; the first of them sends them all. */
function queueRuns(client: Client, runs: UserSqlRun[]): void {
  for (const [index, run] of runs.entries()) run.setClient(client, runs.slice(index + 1));
  for (const run of runs) client.query(run);
}

/** Lists the names in a statement that the database must still check, or the failure if the statement is rejected. */
export function listNamesToCheck(statement: CompiledSql): NamesToCheck | Failure {
  const names = findNames(statement.text);
  return 'refusedName' in names ? queryRefused().addCause(new NameRefusedError(names.refusedName)) : names;
}

/** Thrown for a statement that uses a name which is not allowed. */
class NameRefusedError extends Error {
  readonly refusedName: string;

  constructor(name: string) {
    super(`${name} is not available here`);
    this.refusedName = name;
  }
}

/** Finds the index in a statement's text at which it failed, or where a rejected name stands; undefined if unknown. */
export function findFailedIndex({ text }: CompiledSql, { cause }: Failure): number | undefined {
  if (cause instanceof NameRefusedError) return findNameIndex(text, cause.refusedName);
  const position = isPostgresError(cause) ? Number(cause.position) : Number.NaN;
  return Number.isInteger(position) ? findIndexAfter(text, toStatementPosition(position) - 1) : undefined;
}

/**
 * The maximum number of bytes received besides the returned rows. Rows are counted one by one, not by the pieces in which the
 * network brings them, so that each run of a statement returns the same rows.
 */
const MAX_OTHER_BYTES = 1024 * 1024;

/** A run of one statement's steps; the driver calls it while it is the connection's active query. */
export class UserSqlRun implements Submittable {
  readonly #outcome = Promise.withResolvers<UserSqlResult>();
  readonly resultPromise = this.#outcome.promise;
  readonly #steps: UserSqlSteps;
  readonly limits: UserSqlLimits;
  #socket!: Socket;
  /** The runs that are sent together with this one, after it. */
  #followingRuns: UserSqlRun[] = [];
  #isSent = false;
  readonly #drop: () => void;
  readonly #columns: ResultColumn[] = [];
  readonly #rows: Cell[][] = [];
  readonly #tables = new Set<string>();
  #stepIndex = 0;
  /** The number of bytes that were received. */
  bytes = 0;
  #rowBytes = 0;
  #deadline: ReturnType<typeof setTimeout> | undefined;
  #settled = false;

  constructor(steps: UserSqlSteps, limits: UserSqlLimits, drop: () => void) {
    this.limits = limits;
    this.#drop = drop;
    this.#steps = steps;
  }

  /** Sets the client of this run, and the runs that are sent together with it, in that order. */
  setClient(client: Client, followingRuns: UserSqlRun[]): void {
    this.#socket = getSocket(client);
    this.#followingRuns = followingRuns;
  }

  /** Called by the driver when the earlier runs are done: all runs were sent with the first. */
  submit(connection: Connection): void {
    const extendedConnection = connection as unknown as ExtendedProtocol;
    if (!this.#isSent) for (const run of [this, ...this.#followingRuns]) run.#send(extendedConnection);
    this.#socket.on('data', this.#countBytes);
    const { milliseconds, endsAt = Number.POSITIVE_INFINITY } = this.limits;
    const remainingMs = Math.min(milliseconds, Math.max(0, endsAt - performance.now()));
    this.#deadline = setTimeout(() => this.#abort(queryTimedOut()), remainingMs + USER_SQL_GRACE_MS);
  }

  #send(extendedConnection: ExtendedProtocol): void {
    this.#isSent = true;
    for (const step of this.#steps) {
      if (step[0] === 'describe') extendedConnection.describe({ type: 'P', name: CURSOR_NAME });
      else if (step[0] === 'fetch') extendedConnection.execute({ portal: CURSOR_NAME, rows: step[1] });
      else {
        const [, text, values] = step;
        extendedConnection.parse({ text });
        extendedConnection.bind({ values });
        extendedConnection.execute({});
      }
    }
    extendedConnection.sync();
  }

  handleRowDescription({ fields }: { fields: { name: string; dataTypeID: number }[] }): void {
    for (const { name, dataTypeID } of fields) {
      this.#columns.push({ name, type: TYPES_BY_OID[dataTypeID] ?? 'text' });
    }
    this.#stepIndex += 1;
  }

  /** Called by the driver with each row. @param length the number of bytes that PostgreSQL sent for the row */
  handleDataRow({ fields, length }: { fields: (string | null)[]; length: number }): void {
    if (this.#settled) return;
    if (this.#currentStep === 'list_tables' && fields[0] != null) this.#tables.add(fields[0]);
    if (this.#currentStep !== 'fetch') return;
    this.#rowBytes += length;
    if (this.#rowBytes > this.limits.maxBytes) this.#stopReading();
    else this.#rows.push(fields.map((value, column) => toCell(this.#columns[column]?.type ?? 'text', value)));
  }

  handleCommandComplete(): void {
    this.#stepIndex += 1;
  }

  /** Called by the driver when there are more rows than were fetched. */
  handlePortalSuspended(): void {
    this.#stepIndex += 1;
  }

  handleReadyForQuery(): void {
    const tables = this.#tables.has(OTHER_RELATION) ? undefined : [...this.#tables];
    this.#settle(() => this.#outcome.resolve(this.#makeResultSoFar(this.#rows.length > this.limits.maxRows, tables)));
  }

  handleError(error: unknown): void {
    this.#settle(() => this.#outcome.reject(this.#toFailure(error)));
  }

  handleEmptyQuery(): void {}

  get #currentStep(): StepName | undefined {
    return this.#steps[this.#stepIndex]?.[0];
  }

  /** Counts bytes when they arrive: a single value may be larger than memory. */
  readonly #countBytes = (chunk: { length: number }): void => {
    const { maxBytes: bytes, budget } = this.limits;
    this.bytes += chunk.length;
    if (budget) budget.remainingBytes -= chunk.length;
    if (this.bytes > bytes + MAX_OTHER_BYTES || (budget && budget.remainingBytes <= 0)) this.#stopReading();
  };

  /** Ends the run with the rows so far. */
  #stopReading(): void {
    if (this.#rows.length === 0) this.#abort(resultTooLarge());
    else this.#settleDropped(() => this.#outcome.resolve(this.#makeResultSoFar(true)));
  }

  #abort(failure: Failure): void {
    this.#settleDropped(() => this.#outcome.reject(failure));
  }

  #settleDropped(settle: () => void): void {
    if (this.#settled) return;
    this.#settle(settle);
    this.#drop();
    // A dead socket does not report its end.
    const connectionFailure = databaseUnavailable().addCause(
      new Error('the connection was ended by a statement before'),
    );
    for (const run of this.#followingRuns) run.#settle(() => run.#outcome.reject(connectionFailure));
  }

  #settle(settle: () => void): void {
    if (this.#settled) return;
    this.#settled = true;
    clearTimeout(this.#deadline);
    this.#socket.removeListener('data', this.#countBytes);
    settle();
  }

  #makeResultSoFar(truncated: boolean, tables?: string[]): UserSqlResult {
    const rows = this.#rows.slice(0, this.limits.maxRows);
    return { columns: this.#columns, rows, truncated, ...(tables && { tables }) };
  }

  #toFailure(error: unknown): unknown {
    if (!isPostgresError(error)) return isConnectionProblem(error) ? databaseUnavailable().addCause(error) : error;
    if (TIMEOUT_CODES.has(error.code)) return queryTimedOut().addCause(error);
    if (error.severity !== 'ERROR') return databaseUnavailable().addCause(error);
    if (this.#currentStep === 'check_names')
      return queryRefused().addCause(new NameRefusedError(readRefusedName(error)));
    if (this.#currentStep === 'check_tables')
      return queryRefused().addCause(new Error("only the company's own tables can be read"));
    return this.#currentStep === 'declare' || this.#currentStep === 'fetch' ? queryFailed().addCause(error) : error;
  }
}

/** The SQLSTATEs of statement, lock and transaction timeouts. */
const TIMEOUT_CODES = new Set(['57014', '55P03', '25P04']);

const TYPES_BY_OID: Record<number, ColumnType> = {
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

const toCell = (type: ColumnType, value: string | null): Cell =>
  type === 'boolean' && value !== null ? value === 't' : toJsonValue(type, value);
