import type { Client } from '@neondatabase/serverless';
import { awaitWithinTime } from '../kernel/time-limit.ts';
import { runBatch, type StatementResult } from './batch.ts';
import { createClient, getSocket, watchWaking } from './driver.ts';
import { databaseFull, databaseUnavailable, resultUnknown } from './failures.ts';
import { isConnectionProblem, isDiskFull, isPostgresError, isReadOnlyError, wasNeverSent } from './postgres-error.ts';
import type { Statement } from './rows.ts';
import {
  buildTransactionStart,
  STATEMENT_LIMITS,
  type TenantTx,
  type TransactionOptions,
  type TransactionStart,
} from './transaction.ts';

export { isPostgresError, isStatementTimeout, isTransactionTimeout, type PostgresError } from './postgres-error.ts';
export type { TenantTx, TransactionOptions } from './transaction.ts';

export interface TenantSqlOptions {
  /** The WebSocket proxy for all hosts, such as `ws://127.0.0.1:5433/v2`; without it, each host's own `wss://{host}/v2`. */
  wsProxy?: string;
  /** The milliseconds to connect before the database counts as unavailable; 15,000 by default. */
  connectTimeoutMs?: number;
  /** The milliseconds beyond a statement's own limit before a silent connection is dropped; 5,000 by default. */
  graceMs?: number;
  /** Called with true when the database makes the connection wait, as it is waking, and with false when it is awake. */
  onWaking?: (isWaking: boolean) => void;
  /** Called when the connection is closed or dropped, also if it was never opened; possibly more than once. */
  onClosed?: () => void;
  /** Called for each statement of user SQL that the database has run, whether it succeeded or failed. */
  onUserSql?: () => void;
}

const CONNECT_TIMEOUT_MS = 15_000;
/** The time that the network may take beyond PostgreSQL's limit for a statement. Milliseconds. */
const STATEMENT_GRACE_MS = 5_000;
const CLOSE_TIMEOUT_MS = 2_000;
/** The time after which a silent database counts as waking: even from half the world away, an awake database answers sooner. */
const WAKING_DETECTION_MS = 300;

/**
 * Opens the database at `connectionString` for one request; the first statement connects. Statements fail with
 * `databaseUnavailable` when the database cannot be reached, does not answer in time, or the connection is lost; with
 * `resultUnknown` when the connection was lost after a change was sent to be committed; with `databaseFull` when it has no space
 * for a change, or accepts none; with a `PostgresError` when PostgreSQL rejects the statement. PostgreSQL limits the time of
 * every statement (outside of transactions by the login's setting, see `STATEMENT_LIMITS` in `transaction.ts`); the client limits
 * it too, with some grace.
 */
export const openTenantSql = (connectionString: string, options: TenantSqlOptions = {}): TenantSql =>
  new TenantSql(connectionString, options);

/** A company's database: at most one connection, opened by the first statement. */
export class TenantSql implements TenantTx {
  readonly #connectionString: string;
  readonly #options: TenantSqlOptions;
  #client: Client | undefined;
  #connectedPromise: Promise<void> | undefined;
  #closed = false;
  #isInTransaction = false;
  /** Whether the statements may change something, unless the database accepts no changes. */
  #mayWrite = false;
  /** The beginning of a transaction that is sent with the next statement. */
  #transactionStart: TransactionStart | undefined;
  /** True if the COMMIT was sent with the last statements. */
  #isFinished = false;
  /** PostgreSQL's limit for the current statement. Milliseconds. */
  #statementLimitMs: number = STATEMENT_LIMITS.statementMs;

  constructor(connectionString: string, options: TenantSqlOptions) {
    this.#connectionString = connectionString;
    this.#options = options;
  }

  /** True if the connection was closed or dropped. */
  get isClosed(): boolean {
    return this.#closed;
  }

  /** Records that the database has run a statement of user SQL. */
  noteUserSql(): void {
    this.#options.onUserSql?.();
  }

  async query<R = Record<string, unknown>>(text: string, values?: unknown[]): Promise<R[]> {
    return (await this.#run(text, values)).rows as R[];
  }

  async queryAll<R extends unknown[]>(statements: { [I in keyof R]: Statement }): Promise<{ [I in keyof R]: R[I][] }> {
    const results = await this.#runBatch(statements as Statement[]);
    return results.map(({ rows }) => rows) as { [I in keyof R]: R[I][] };
  }

  async finish<R extends unknown[]>(statements: { [I in keyof R]: Statement }): Promise<{ [I in keyof R]: R[I][] }> {
    const allResults = await this.queryAll<unknown[]>([...(statements as Statement[]), { text: 'COMMIT', values: [] }]);
    this.#isFinished = true;
    return allResults.slice(0, -1) as { [I in keyof R]: R[I][] };
  }

  async execute(text: string, values?: unknown[]): Promise<number> {
    const runStatement = () => this.#run(text, values);
    if (this.#isInTransaction) return (await runStatement()).rowCount ?? 0;
    this.#mayWrite = true;
    try {
      // Outside of a transaction a statement is its own commit.
      return (await runCommitting(runStatement)).rowCount ?? 0;
    } finally {
      this.#mayWrite = false;
    }
  }

  /**
   * Runs `work` in a transaction and returns its result; an error of `work` rolls the transaction back and is rethrown. Until
   * the transaction ends, all statements of this connection belong to it. `BEGIN` is sent in one message with the first
   * statement.
   */
  async runInTransaction<T>(work: (tx: TenantTx) => Promise<T>, options: TransactionOptions = {}): Promise<T> {
    if (this.#isInTransaction) throw new Error('transactions of one connection do not nest');
    this.#isInTransaction = true;
    this.#mayWrite = options.readOnly !== true;
    this.#statementLimitMs = options.statementTimeoutMs ?? STATEMENT_LIMITS.statementMs;
    this.#transactionStart = buildTransactionStart(options);
    try {
      let result: T;
      try {
        result = await work(this);
      } catch (error) {
        await this.#rollBack();
        throw error;
      }
      await this.#commit(options.readOnly === true);
      return result;
    } finally {
      this.#isInTransaction = false;
      this.#mayWrite = false;
      this.#isFinished = false;
      this.#transactionStart = undefined;
      this.#statementLimitMs = STATEMENT_LIMITS.statementMs;
    }
  }

  /** Runs a statement that must not be in a transaction (VACUUM, CREATE INDEX CONCURRENTLY), with its own limit. */
  async executeOutsideTransaction(text: string, milliseconds: number): Promise<void> {
    const limit = Math.trunc(milliseconds);
    await this.#run(`SET statement_timeout = ${limit}; SET lock_timeout = ${limit}`);
    this.#statementLimitMs = milliseconds;
    this.#mayWrite = true;
    try {
      await this.#run(text);
    } finally {
      this.#statementLimitMs = STATEMENT_LIMITS.statementMs;
      this.#mayWrite = false;
      // A connection that keeps these limits is not for other statements; nor is one that is lost.
      if (!this.#closed) await this.#run('RESET statement_timeout; RESET lock_timeout').catch(() => this.close());
    }
  }

  async runBounded<T>(work: (client: Client) => Promise<T>, milliseconds: number): Promise<T> {
    // What the driver does by itself finds the transaction begun.
    if (this.#transactionStart !== undefined) await this.#run('');
    return this.#runWithin(work, milliseconds);
  }

  async #runWithin<T>(work: (client: Client) => Promise<T>, milliseconds: number): Promise<T> {
    const client = await this.connect();
    return this.#awaitWithin(
      milliseconds + (this.#options.graceMs ?? STATEMENT_GRACE_MS),
      work(client).catch((error: unknown) => {
        throw isDiskFull(error) || (this.#mayWrite && isReadOnlyError(error)) ? databaseFull().addCause(error) : error;
      }),
    );
  }

  #awaitWithin<T>(milliseconds: number, work: Promise<T>): Promise<T> {
    return awaitWithinTime(milliseconds, work, () => this.#dropLost(new Error(`no answer within ${milliseconds} ms`)));
  }

  /** Drops the connection, which is lost and would never report its end. */
  #dropLost(cause: unknown): Error {
    this.drop();
    return databaseUnavailable().addCause(cause);
  }

  /** Ends the connection at once, even in the middle of a message. It cannot be used afterwards. */
  drop(): void {
    this.#closed = true;
    const socket = this.#client && getSocket(this.#client);
    this.#client = undefined;
    // Data that still arrives is not parsed.
    socket?.removeAllListeners('data');
    socket?.destroy();
    this.#options.onClosed?.();
  }

  /** Ends the connection, if there is one; never throws. */
  async close(): Promise<void> {
    this.#closed = true;
    const client = this.#client;
    this.#client = undefined;
    if (client !== undefined) await end(client);
    this.#options.onClosed?.();
  }

  async #run(text: string, values: unknown[] = []): Promise<StatementResult> {
    const beginning = this.#transactionStart;
    if (values.length > 0 && beginning !== undefined) {
      return (await this.#runBatch([{ text, values }])).at(-1) as StatementResult;
    }
    this.#transactionStart = undefined;
    const fullText = beginning === undefined ? text : `${beginning.text}; ${text}`;
    const result = (await this.#send((client) => client.query(fullText, values))) as
      | StatementResult
      | StatementResult[];
    return Array.isArray(result) ? (result.at(-1) ?? EMPTY_RESULT) : result;
  }

  async #runBatch(statements: readonly Statement[]): Promise<StatementResult[]> {
    const beginStatements = this.#transactionStart?.statements ?? [];
    this.#transactionStart = undefined;
    const results = await this.#send((client) => runBatch(client, [...beginStatements, ...statements]));
    return results.slice(beginStatements.length);
  }

  #send<T>(run: (client: Client) => Promise<T>): Promise<T> {
    const runOrLoseConnection = async (client: Client) => {
      try {
        return await run(client);
      } catch (error) {
        throw isConnectionProblem(error) ? this.#dropLost(error) : error;
      }
    };
    return this.#runWithin(runOrLoseConnection, this.#statementLimitMs);
  }

  async #commit(onlyReads: boolean): Promise<void> {
    // Nothing was run, or all of it already.
    if (this.#transactionStart !== undefined || this.#isFinished) return;
    const sendCommit = () => this.#run('COMMIT');
    const { command } = await (onlyReads ? sendCommit() : runCommitting(sendCommit));
    // PostgreSQL answers the COMMIT of a failed transaction with ROLLBACK and no error.
    if (command !== 'COMMIT') throw new Error('the transaction was rolled back: a failed statement went unnoticed');
  }

  async #rollBack(): Promise<void> {
    if (this.#transactionStart !== undefined || this.#isFinished) return;
    try {
      await this.#run('ROLLBACK');
    } catch {
      // The connection is unusable; ending it rolls back as well.
      await this.close();
    }
  }

  /** Returns the driver's client, connected. */
  async connect(): Promise<Client> {
    if (this.#closed) throw databaseUnavailable().addCause(new Error('the connection was closed'));
    if (this.#client === undefined) {
      this.#client = createClient(this.#connectionString, this.#options.wsProxy);
      const connectionPromise = this.#client.connect().catch((error: unknown) => {
        throw isPostgresError(error) && !isConnectionProblem(error) ? error : this.#dropLost(error);
      });
      watchWaking(this.#client, WAKING_DETECTION_MS, (isWaking) => {
        if (!this.#closed) this.#options.onWaking?.(isWaking);
      });
      this.#connectedPromise = this.#awaitWithin(
        this.#options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS,
        connectionPromise,
      );
    }
    const client = this.#client;
    await this.#connectedPromise;
    return client;
  }
}

async function end(client: Client): Promise<void> {
  // The driver merges writes in a timer, which could write to the closed socket.
  client.neonConfig.coalesceWrites = false;
  // A broken connection never reports its end.
  await awaitWithinTime(CLOSE_TIMEOUT_MS, client.end()).catch(() => undefined);
}

/** Runs a statement that PostgreSQL may have committed even if its answer is lost. */
async function runCommitting<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (!databaseUnavailable.matches(error) || wasNeverSent(error.cause)) throw error;
    throw resultUnknown().addCause(error.cause);
  }
}

const EMPTY_RESULT: StatementResult = { rows: [], rowCount: 0 };
