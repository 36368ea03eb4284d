/** What PostgreSQL says about a statement it refuses (https://www.postgresql.org/docs/current/protocol-error-fields.html). */
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

/** True for an error that PostgreSQL itself reported. */
export function isPostgresError(error: unknown): error is PostgresError {
  if (!(error instanceof Error)) return false;
  const { code, severity } = error as Partial<PostgresError>;
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && typeof severity === 'string';
}

/** Connection exceptions; PostgreSQL ends the session on every other problem of a connection, hence FATAL. */
const CONNECTION_EXCEPTION = /^08/;

/**
 * True when a failed statement says nothing about itself: the database was out of reach, or the session was refused or
 * ended. What is neither PostgreSQL's report nor a fault of the program came from the socket; the WebSocket of some
 * runtimes reports by an event.
 */
export function isConnectionProblem(error: unknown): boolean {
  if (isPostgresError(error)) {
    return error.severity === 'FATAL' || error.severity === 'PANIC' || CONNECTION_EXCEPTION.test(error.code);
  }
  if (!(error instanceof Error)) return true;
  return !(error instanceof TypeError || error instanceof RangeError || error instanceof SyntaxError);
}

/** Whether the driver refused to send a statement at all, because the connection was gone already. */
export const wasNeverSent = (error: unknown): boolean =>
  error instanceof Error && error.message.endsWith('is not queryable');
