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

/**
 * SQLSTATEs that speak of the connection and not of the statement: connection lost, login refused, no such database,
 * too many connections, server going down or coming up.
 */
const CONNECTION_STATES = /^(?:08...|28...|3D000|53300|57P0[1-4])$/;

/**
 * True when a failed statement says nothing about itself: the database was out of reach. What is neither PostgreSQL's
 * report nor a fault of the program came from the socket; the WebSocket of some runtimes reports by an event.
 */
export function isConnectionProblem(error: unknown): boolean {
  if (isPostgresError(error)) return CONNECTION_STATES.test(error.code);
  if (!(error instanceof Error)) return true;
  return !(error instanceof TypeError || error instanceof RangeError || error instanceof SyntaxError);
}
