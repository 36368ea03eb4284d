import { Failure } from '../kernel/failure.ts';

/** The company's database could not be reached, or the connection to it was lost. @param cause what the driver said */
export function unavailable(cause: unknown): Failure {
  const failure = new Failure('unavailable', 'tenant_sql.unavailable', {
    message: "The company's database cannot be reached at the moment.",
    retryAfter: 5,
  });
  failure.cause = cause;
  return failure;
}
