import { Failure } from '../kernel/failure.ts';

const UNAVAILABLE = 'tenant_sql.unavailable';

/** The company's database could not be reached, or the connection to it was lost. @param cause what the driver said */
export function unavailable(cause: unknown): Failure {
  const failure = new Failure('unavailable', UNAVAILABLE, {
    message: "The company's database cannot be reached at the moment.",
    retryAfter: 5,
  });
  failure.cause = cause;
  return failure;
}

/** Whether an error is `unavailable`'s. */
export const isUnavailable = (error: unknown): error is Failure =>
  error instanceof Failure && error.reason === UNAVAILABLE;

/**
 * The connection was lost when a change was on its way to be committed: nobody knows whether it was. No `retryAfter`,
 * because trying again may do it twice. @param cause what the driver said
 */
export function resultUnknown(cause: unknown): Failure {
  const failure = new Failure('unavailable', 'tenant_sql.result_unknown', {
    message:
      'The connection was lost before the database confirmed the change: it may have been made or not. Look before trying again.',
  });
  failure.cause = cause;
  return failure;
}

/** Whether a change may have been made although no answer came. */
export const isResultUnknown = (error: unknown): boolean =>
  error instanceof Failure && error.reason === 'tenant_sql.result_unknown';
