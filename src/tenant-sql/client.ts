import { Client, types } from '@neondatabase/serverless';
import { databaseUnavailable, resultUnknown } from './failures.ts';
import { LIMITS } from './limits.ts';
import { isConnectionProblem, isPostgresError, wasNeverSent } from './postgres-error.ts';

export { isPostgresError, type PostgresError } from './postgres-error.ts';

/** How the driver reaches PostgreSQL. */
export interface TenantSqlOptions {
  /**
   * WebSocket proxy for all hosts, e.g. `ws://127.0.0.1:5433/v2` (`NEON_WS_PROXY`). Without it every Neon host is
   * reached at its own `wss://{host}/v2`.
   */
  wsProxy?: string;
  /** Milliseconds until a connection that does not come about counts as unavailable; 15,000 by default. */
  connectTimeoutMs?: number;
  /** Milliseconds beyond a statement's own time until a silent connection is given up; 5,000 by default. */
  graceMs?: number;
}

/**
 * Statements of one connection. `bigint`, `numeric`, dates and times come back as PostgreSQL's own text, without any
 * loss; `json` and `jsonb` as values; `boolean`, `smallint`, `integer`, `real`, `double precision` as such; arrays of
 * text, uuid, bigint and numeric as arrays of strings; everything else as text.
 */
export interface TenantTx {
  /** Rows of the statement (of the last one, if `text` holds several, which it may only without `values`). */
  query<R = Record<string, unknown>>(text: string, values?: unknown[]): Promise<R[]>;
  /** Number of rows that the statement affected. */
  execute(text: string, values?: unknown[]): Promise<number>;
  /**
   * Hands the driver's connected client to `work`, for COPY and the like. When it is not done within `milliseconds` and
   * some grace, the connection is given up and the database counts as unavailable: a socket may be dead without a sign.
   */
  bounded<T>(work: (client: Client) => Promise<T>, milliseconds: number): Promise<T>;
}

/** Bounds of one transaction. Times in milliseconds. */
export interface TransactionOptions {
  /** 30,000 by default. */
  statementTimeoutMs?: number;
  /** 5,000 by default. */
  lockTimeoutMs?: number;
  readOnly?: boolean;
  /** PostgreSQL's default is read committed. */
  isolation?: 'repeatable read' | 'serializable';
}

/** A company's database: at most one connection, opened by the first statement. */
export interface TenantSql extends TenantTx {
  /**
   * Runs `work` in a transaction and returns what it returns; whatever `work` throws rolls back and is thrown on.
   * Everything on this connection meanwhile belongs to it, so transactions do not nest and do not run side by side.
   */
  transaction<T>(work: (tx: TenantTx) => Promise<T>, options?: TransactionOptions): Promise<T>;
  /** Runs a statement that no transaction may hold (VACUUM), with a limit of its own. */
  executeAlone(text: string, milliseconds: number): Promise<void>;
  /** The driver's client, connected, for those who speak to it themselves. */
  connect(): Promise<Client>;
  /** Gives the connection up at once, whatever it is sending. Nothing more can be run on it. */
  drop(): void;
  /** Closed or dropped. */
  readonly closed: boolean;
  /** Ends the connection, if there is one. To be called in the opener's `finally`; never throws. */
  close(): Promise<void>;
}

const CONNECT_TIMEOUT_MS = 15_000;
/** What the network may take beyond the time that PostgreSQL gives a statement. */
const GRACE_MS = 5_000;
const CLOSE_TIMEOUT_MS = 2_000;

/**
 * A handle on the database behind `connectionString`; nothing is connected yet. One handle belongs to one request.
 * Its statements fail with `Failure('unavailable', 'tenant_sql.unavailable')` when the database cannot be reached, does
 * not answer in time, or the connection is lost; with `tenant_sql.result_unknown` when it was lost after a change was
 * sent off to be committed; and with a `PostgresError` when PostgreSQL refuses the statement.
 *
 * Every statement has a limit on both sides: PostgreSQL's own (set for the login outside of transactions, see
 * `limits.ts`), and some grace beyond it on ours.
 */
export function openTenantSql(connectionString: string, options: TenantSqlOptions = {}): TenantSql {
  return new NeonTenantSql(connectionString, options);
}

class NeonTenantSql implements TenantSql {
  readonly #connectionString: string;
  readonly #options: TenantSqlOptions;
  #client: Client | undefined;
  #connected: Promise<void> | undefined;
  #closed = false;
  #inTransaction = false;
  /** What PostgreSQL gives the present statement. Milliseconds. */
  #limit: number = LIMITS.statementMs;

  constructor(connectionString: string, options: TenantSqlOptions) {
    this.#connectionString = connectionString;
    this.#options = options;
  }

  get closed(): boolean {
    return this.#closed;
  }

  async query<R = Record<string, unknown>>(text: string, values?: unknown[]): Promise<R[]> {
    return (await this.#run(text, values)).rows as R[];
  }

  async execute(text: string, values?: unknown[]): Promise<number> {
    const run = () => this.#run(text, values);
    // Outside of a transaction a statement is its own commit.
    return (await (this.#inTransaction ? run() : committing(run))).rowCount ?? 0;
  }

  async transaction<T>(work: (tx: TenantTx) => Promise<T>, options: TransactionOptions = {}): Promise<T> {
    if (this.#inTransaction) throw new Error('transactions of one connection do not nest');
    this.#inTransaction = true;
    this.#limit = options.statementTimeoutMs ?? LIMITS.statementMs;
    try {
      await this.#run(beginStatement(options));
      let result: T;
      try {
        result = await work(this);
      } catch (error) {
        await this.#rollBack();
        throw error;
      }
      const commit = () => this.#run('COMMIT');
      const { command } = await (options.readOnly === true ? commit() : committing(commit));
      // PostgreSQL answers the COMMIT of a failed transaction with ROLLBACK and no error.
      if (command !== 'COMMIT') throw new Error('the transaction was rolled back: a failed statement went unnoticed');
      return result;
    } finally {
      this.#inTransaction = false;
      this.#limit = LIMITS.statementMs;
    }
  }

  async executeAlone(text: string, milliseconds: number): Promise<void> {
    await this.#run(`SET statement_timeout = ${Math.trunc(milliseconds)}`);
    this.#limit = milliseconds;
    try {
      await this.#run(text);
    } finally {
      this.#limit = LIMITS.statementMs;
      if (!this.#closed) await this.#run('RESET statement_timeout');
    }
  }

  async bounded<T>(work: (client: Client) => Promise<T>, milliseconds: number): Promise<T> {
    const client = await this.connect();
    return this.#inTime(work(client), milliseconds + (this.#options.graceMs ?? GRACE_MS));
  }

  async #inTime<T>(work: Promise<T>, milliseconds: number): Promise<T> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const silence = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        this.drop();
        reject(databaseUnavailable().because(new Error(`no answer within ${milliseconds} ms`)));
      }, milliseconds);
    });
    try {
      return await Promise.race([work, silence]);
    } finally {
      clearTimeout(timer);
    }
  }

  drop(): void {
    this.#closed = true;
    const stream = (this.#client as WithStream | undefined)?.connection.stream;
    this.#client = undefined;
    if (stream === undefined) return;
    // What is still on its way is not even parsed.
    stream.removeAllListeners('data');
    stream.destroy();
  }

  async close(): Promise<void> {
    this.#closed = true;
    const client = this.#client;
    this.#client = undefined;
    if (client === undefined) return;
    // The driver joins writes in a timer, which would send its goodbye on a socket it has closed meanwhile.
    client.neonConfig.coalesceWrites = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const patience = new Promise((resolve) => {
      timer = setTimeout(resolve, CLOSE_TIMEOUT_MS);
    });
    // A connection that is already broken never reports its end.
    await Promise.race([client.end().catch(() => undefined), patience]);
    clearTimeout(timer);
  }

  async #run(text: string, values?: unknown[]): Promise<StatementResult> {
    const run = async (client: Client) => {
      try {
        return (await client.query(text, values)) as StatementResult | StatementResult[];
      } catch (error) {
        throw isConnectionProblem(error) ? databaseUnavailable().because(error) : error;
      }
    };
    const result = await this.bounded(run, this.#limit);
    return Array.isArray(result) ? (result.at(-1) ?? NOTHING) : result;
  }

  async #rollBack(): Promise<void> {
    try {
      await this.#run('ROLLBACK');
    } catch {
      // The connection is of no more use; ending it rolls back as well.
      await this.close();
    }
  }

  async connect(): Promise<Client> {
    if (this.#closed) throw databaseUnavailable().because(new Error('the connection was closed'));
    if (this.#client === undefined) {
      this.#client = newClient(this.#connectionString, this.#options);
      const connected = this.#client.connect().catch((error: unknown) => {
        throw isPostgresError(error) && !isConnectionProblem(error) ? error : databaseUnavailable().because(error);
      });
      this.#connected = this.#inTime(connected, this.#options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS);
    }
    const client = this.#client;
    await this.#connected;
    return client;
  }
}

/** What a lost answer means where PostgreSQL may have committed all the same. */
async function committing<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (!databaseUnavailable.matches(error) || wasNeverSent(error.cause)) throw error;
    throw resultUnknown().because(error.cause);
  }
}

/** The driver's own types leave the socket out. */
interface WithStream {
  connection: { stream: { removeAllListeners(event: string): void; destroy(): void } };
}

interface StatementResult {
  command?: string;
  rows: unknown[];
  rowCount?: number | null;
}

const NOTHING: StatementResult = { rows: [], rowCount: 0 };

function newClient(connectionString: string, options: TenantSqlOptions): Client {
  const client = new Client({
    connectionString,
    types: { getTypeParser: parserOf as typeof types.getTypeParser },
  });
  if (options.wsProxy !== undefined) {
    const proxy = new URL(options.wsProxy);
    client.neonConfig.useSecureWebSocket = proxy.protocol === 'wss:';
    client.neonConfig.wsProxy = `${proxy.host}${proxy.pathname}`;
  }
  // A loss between two statements: the next statement reports it.
  client.on('error', () => undefined);
  return client;
}

/** `BEGIN` and its settings in one message. */
function beginStatement(options: TransactionOptions): string {
  const isolation = options.isolation === undefined ? '' : ` ISOLATION LEVEL ${options.isolation.toUpperCase()}`;
  return [
    `BEGIN${isolation}${options.readOnly === true ? ' READ ONLY' : ''}`,
    `SET LOCAL statement_timeout = ${Math.trunc(options.statementTimeoutMs ?? LIMITS.statementMs)}`,
    `SET LOCAL lock_timeout = ${Math.trunc(options.lockTimeoutMs ?? LIMITS.lockMs)}`,
    `SET LOCAL idle_in_transaction_session_timeout = ${LIMITS.idleMs}`,
  ].join('; ');
}

const asText = (value: string): string => value;
const asBoolean = (value: string): boolean => value === 't';
/** text[], varchar[], uuid[], bigint[], numeric[]: each element as its text. */
const TEXT_ARRAYS = new Set([1009, 1015, 2951, 1016, 1231]);
const TEXT_ARRAY = 1009;

const PARSERS: Record<number, (value: string) => unknown> = {
  16: asBoolean,
  21: Number,
  23: Number,
  26: Number,
  700: Number,
  701: Number,
  114: JSON.parse,
  3802: JSON.parse,
};

/** The parser of a type by its oid; see `TenantTx` for what it promises. */
function parserOf(oid: number): (value: string) => unknown {
  if (TEXT_ARRAYS.has(oid)) return types.getTypeParser(TEXT_ARRAY) as (value: string) => unknown;
  return PARSERS[oid] ?? asText;
}
