import type { Client } from '@neondatabase/serverless';
import type { Statement } from './rows.ts';

/** PostgreSQL's limits for the service's own statements, unless a transaction sets others. Milliseconds. */
export const STATEMENT_LIMITS = {
  statementMs: 30_000,
  lockMs: 5_000,
  /** The longest pause inside a transaction, so that a caller that died does not keep its locks. */
  idleMs: 60_000,
} as const;

/**
 * The SQL that sets the limits for the login itself: they apply from its first statement on, in a transaction or not, and cost no
 * message. A person who works by hand lifts them with SET; pg_dump does so itself.
 */
export const LOGIN_LIMITS_SQL = `
ALTER ROLE CURRENT_USER SET statement_timeout = ${STATEMENT_LIMITS.statementMs};
ALTER ROLE CURRENT_USER SET lock_timeout = ${STATEMENT_LIMITS.lockMs};
ALTER ROLE CURRENT_USER SET idle_in_transaction_session_timeout = ${STATEMENT_LIMITS.idleMs};
`;

/**
 * A connection on which statements run. `bigint`, `numeric`, dates and times are returned as PostgreSQL's text, without any loss;
 * `json` and `jsonb` as values; `boolean`, `smallint`, `integer`, `real`, `double precision` as such; arrays of text, uuid,
 * bigint and numeric as arrays of strings; everything else as text.
 */
export interface TenantTx {
  /** Returns the rows of the statement, or of the last one if `text` holds several, which allows no `values`. */
  query<R = Record<string, unknown>>(text: string, values?: unknown[]): Promise<R[]>;
  /** Runs independent statements in one round trip; after one fails, the following ones do not run. */
  queryAll<R extends unknown[]>(statements: { [I in keyof R]: Statement }): Promise<{ [I in keyof R]: R[I][] }>;
  /** Runs the last statements of a transaction that only reads, in one round trip with its COMMIT. */
  finish<R extends unknown[]>(statements: { [I in keyof R]: Statement }): Promise<{ [I in keyof R]: R[I][] }>;
  /** Returns the number of rows that the statement affected. */
  execute(text: string, values?: unknown[]): Promise<number>;
  /**
   * Runs `work` on the driver's connected client, for COPY and similar commands. If it exceeds `milliseconds` and some grace, the
   * connection is dropped and the database counts as unavailable, because a dead socket reports nothing.
   */
  runBounded<T>(work: (client: Client) => Promise<T>, milliseconds: number): Promise<T>;
}

/** The limits of one transaction. Times in milliseconds. */
export interface TransactionOptions {
  /** The time limit of a statement; 30,000 by default. */
  statementTimeoutMs?: number;
  /** The time limit of waiting for a lock; 5,000 by default. */
  lockTimeoutMs?: number;
  /** The longest pause between the transaction's statements; 60,000 by default. */
  idleTimeoutMs?: number;
  /** The limit of the whole transaction, at which PostgreSQL ends the connection (`isTransactionTimeout`); none by default. */
  timeoutMs?: number;
  readOnly?: boolean;
  /** The isolation level; PostgreSQL's default is read committed. */
  isolation?: 'repeatable read' | 'serializable';
}

/** `BEGIN` and the settings of a transaction, in the forms of both protocols. */
export interface TransactionStart {
  /** The form for the simple protocol, where several statements are one text. */
  text: string;
  /** The form for the extended protocol. */
  statements: Statement[];
}

export function buildTransactionStart(options: TransactionOptions): TransactionStart {
  const isolation = options.isolation === undefined ? '' : ` ISOLATION LEVEL ${options.isolation.toUpperCase()}`;
  const beginSql = `BEGIN${isolation}${options.readOnly === true ? ' READ ONLY' : ''}`;
  const settings = Object.entries({
    statement_timeout: options.statementTimeoutMs ?? STATEMENT_LIMITS.statementMs,
    lock_timeout: options.lockTimeoutMs ?? STATEMENT_LIMITS.lockMs,
    idle_in_transaction_session_timeout: options.idleTimeoutMs ?? STATEMENT_LIMITS.idleMs,
    ...(options.timeoutMs !== undefined && { transaction_timeout: options.timeoutMs }),
  }).map(([name, milliseconds]) => `SET LOCAL ${name} = ${Math.trunc(milliseconds)}`);
  return {
    text: [beginSql, ...settings].join('; '),
    statements: [beginSql, ...settings].map((text) => ({ text, values: [] })),
  };
}
