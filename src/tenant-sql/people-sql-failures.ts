import { Failure } from '../kernel/failure.ts';
import type { PostgresError } from './postgres-error.ts';

/** What the database says about a failed statement, for its author alone: it may name what outsiders must not learn. */
export function databaseMessage(failure: Failure): string | undefined {
  return failure.reason.startsWith('people_sql.') && failure.cause instanceof Error ? failure.cause.message : undefined;
}

const because = (failure: Failure, cause?: unknown): Failure =>
  Object.assign(failure, cause !== undefined && { cause });

/** It is wrong, or nothing that the reader may see. @param cause what its author may be told */
export const queryFailed = (cause: Error) =>
  because(new Failure('invalid', 'people_sql.failed', { message: 'The query failed.' }), cause);

/** It asks for what people's SQL may not use. */
export const queryRefused = (cause: Error) =>
  because(new Failure('invalid', 'people_sql.refused', { message: 'The query is not allowed.' }), cause);

/** It ran, waited or sent for longer than it may. */
export const queryTimedOut = (cause?: PostgresError) =>
  because(new Failure('invalid', 'people_sql.timeout', { message: 'The query took too long.' }), cause);

/** Not even its first row fits. */
export const resultTooLarge = () =>
  new Failure('invalid', 'people_sql.too_large', { message: 'The result of the query is too large.' });
