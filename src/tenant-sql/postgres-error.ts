/** PostgreSQL's report on a refused statement (https://www.postgresql.org/docs/current/protocol-error-fields.html). */
export interface PostgresError extends Error {
  /** SQLSTATE, e.g. `23505`. */
  code: string;
  severity: string;
  detail?: string;
  hint?: string;
  /** 1-based character position in the statement. */
  position?: string;
  where?: string;
  schema?: string;
  table?: string;
  column?: string;
  dataType?: string;
  constraint?: string;
}

/** Whether PostgreSQL itself reported the error. */
export function isPostgresError(error: unknown): error is PostgresError {
  if (!(error instanceof Error)) return false;
  const { code, severity } = error as Partial<PostgresError>;
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && typeof severity === 'string';
}

/** Whether a statement ran longer than its limit, or was cancelled. */
export const isTimeout = (error: unknown): boolean => isPostgresError(error) && error.code === '57014';

/** Whether a connection was ended because a transaction took longer than all of it may: nothing of it is committed. */
export const isOutOfTime = (error: unknown): boolean => isPostgresError(error) && error.code === '25P04';

/** Whether the disk of the database is full, or its share of it. */
export const isFull = (error: unknown): boolean => isPostgresError(error) && error.code === '53100';

/** Whether a change was refused because only reading is allowed. */
export const isReadOnly = (error: unknown): boolean => isPostgresError(error) && error.code === '25006';

/** Connection exceptions. On all other connection problems PostgreSQL ends the session, hence FATAL. */
const CONNECTION_EXCEPTION = /^08/;

/**
 * Whether a failed statement says nothing about the statement itself: the database was out of reach, or the session was
 * refused or ended. An error that is neither PostgreSQL's nor a bug came from the socket; in some runtimes a WebSocket
 * reports it by an event.
 */
export function isConnectionProblem(error: unknown): boolean {
  if (isPostgresError(error)) {
    return error.severity === 'FATAL' || error.severity === 'PANIC' || CONNECTION_EXCEPTION.test(error.code);
  }
  if (!(error instanceof Error)) return true;
  return !(error instanceof TypeError || error instanceof RangeError || error instanceof SyntaxError);
}

/** Whether the driver did not send the statement, because the connection was already gone. */
export const wasNeverSent = (error: unknown): boolean =>
  error instanceof Error && error.message.endsWith('is not queryable');
