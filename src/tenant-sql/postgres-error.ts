/** PostgreSQL's report on a rejected statement (https://www.postgresql.org/docs/current/protocol-error-fields.html). */
export interface PostgresError extends Error {
  /** The SQLSTATE, e.g. `23505`. */
  code: string;
  severity: string;
  detail?: string;
  /** The 1-based character position in the statement. */
  position?: string;
  where?: string;
  column?: string;
  constraint?: string;
}

/** Tells whether PostgreSQL itself reported the error. */
export function isPostgresError(error: unknown): error is PostgresError {
  if (!(error instanceof Error)) return false;
  const { code, severity } = error as Partial<PostgresError>;
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && typeof severity === 'string';
}

/** Tells whether a statement ran longer than its limit, or was cancelled. */
export const isStatementTimeout = (error: unknown): boolean => isPostgresError(error) && error.code === '57014';

/** Tells whether a connection was ended because a transaction took longer than its whole limit: nothing of it is committed. */
export const isTransactionTimeout = (error: unknown): boolean => isPostgresError(error) && error.code === '25P04';

/** Tells whether the database's disk, or the database's share of a disk, is full. */
export const isDiskFull = (error: unknown): boolean => isPostgresError(error) && error.code === '53100';

/** Tells whether a change was rejected because only reading is allowed. */
export const isReadOnlyError = (error: unknown): boolean => isPostgresError(error) && error.code === '25006';

/** The SQLSTATEs of connection exceptions. On all other connection problems PostgreSQL ends the session, hence FATAL. */
const CONNECTION_EXCEPTION_PATTERN = /^08/;

/**
 * Tells whether a failed statement says nothing about the statement itself: the database was unreachable, or the session was
 * rejected or ended. An error that is neither PostgreSQL's nor a bug came from the socket; in some runtimes a WebSocket reports
 * it by an event.
 */
export function isConnectionProblem(error: unknown): boolean {
  if (isPostgresError(error)) {
    return error.severity === 'FATAL' || error.severity === 'PANIC' || CONNECTION_EXCEPTION_PATTERN.test(error.code);
  }
  if (!(error instanceof Error)) return true;
  return !(error instanceof TypeError || error instanceof RangeError || error instanceof SyntaxError);
}

/** Tells whether the driver did not send the statement, because the connection was already closed. */
export const wasNeverSent = (error: unknown): boolean =>
  error instanceof Error && error.message.endsWith('is not queryable');
