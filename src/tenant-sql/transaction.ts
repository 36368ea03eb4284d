import type { Client } from '@neondatabase/serverless';
import type { Statement } from './rows.ts';

/** PostgreSQL's limits for the service's own statements, unless a transaction sets others. Milliseconds. */
export const LIMITS = {
  statementMs: 30_000,
  lockMs: 5_000,
  /** The longest pause inside a transaction, so that a caller that died does not keep its locks. */
  idleMs: 60_000,
} as const;

/**
 * Sets the limits for the login itself: they apply from its first statement on, in a transaction or not, and cost no
 * message. A person who works by hand lifts them with SET; pg_dump does so itself.
 */
export const OWN_LIMITS = `
ALTER ROLE CURRENT_USER SET statement_timeout = ${LIMITS.statementMs};
ALTER ROLE CURRENT_USER SET lock_timeout = ${LIMITS.lockMs};
ALTER ROLE CURRENT_USER SET idle_in_transaction_session_timeout = ${LIMITS.idleMs};
`;

/**
 * Runs statements on one connection. `bigint`, `numeric`, dates and times are returned as PostgreSQL's text, without
 * any loss; `json` and `jsonb` as values; `boolean`, `smallint`, `integer`, `real`, `double precision` as such; arrays
 * of text, uuid, bigint and numeric as arrays of strings; everything else as text.
 */
export interface TenantTx {
  /** Returns the rows of the statement, or of the last one if `text` holds several, which allows no `values`. */
  query<R = Record<string, unknown>>(text: string, values?: unknown[]): Promise<R[]>;
  /** Runs statements that do not depend on each other in one round trip; none follows one that fails. */
  queryAll<R extends unknown[]>(statements: { [I in keyof R]: Statement }): Promise<{ [I in keyof R]: R[I][] }>;
  /** Runs the last statements of a transaction that only reads, in one round trip with its COMMIT. */
  finish<R extends unknown[]>(statements: { [I in keyof R]: Statement }): Promise<{ [I in keyof R]: R[I][] }>;
  /** Returns the number of rows that the statement affected. */
  execute(text: string, values?: unknown[]): Promise<number>;
  /**
   * Runs `work` on the driver's connected client, for COPY and the like. If it exceeds `milliseconds` and some grace,
   * the connection is dropped and the database counts as unavailable, because a dead socket gives no sign.
   */
  bounded<T>(work: (client: Client) => Promise<T>, milliseconds: number): Promise<T>;
}

/** Limits of one transaction. Times in milliseconds. */
export interface TransactionOptions {
  /** 30,000 by default. */
  statementTimeoutMs?: number;
  /** 5,000 by default. */
  lockTimeoutMs?: number;
  /** The longest pause between its statements; 60,000 by default. */
  idleTimeoutMs?: number;
  /** All of it; without it there is no limit. PostgreSQL ends the connection then: see `isOutOfTime`. */
  timeoutMs?: number;
  readOnly?: boolean;
  /** PostgreSQL's default is read committed. */
  isolation?: 'repeatable read' | 'serializable';
}

/** `BEGIN` and the settings of a transaction, in both ways of saying them. */
export interface TransactionStart {
  /** For the simple protocol, where several statements are one text. */
  text: string;
  /** For the extended one. */
  statements: Statement[];
}

export function buildTransactionStart(options: TransactionOptions): TransactionStart {
  const isolation = options.isolation === undefined ? '' : ` ISOLATION LEVEL ${options.isolation.toUpperCase()}`;
  const begin = `BEGIN${isolation}${options.readOnly === true ? ' READ ONLY' : ''}`;
  const settings = Object.entries({
    statement_timeout: options.statementTimeoutMs ?? LIMITS.statementMs,
    lock_timeout: options.lockTimeoutMs ?? LIMITS.lockMs,
    idle_in_transaction_session_timeout: options.idleTimeoutMs ?? LIMITS.idleMs,
    ...(options.timeoutMs !== undefined && { transaction_timeout: options.timeoutMs }),
  }).map(([name, milliseconds]) => `SET LOCAL ${name} = ${Math.trunc(milliseconds)}`);
  return {
    text: [begin, ...settings].join('; '),
    statements: [begin, ...settings].map((text) => ({ text, values: [] })),
  };
}
