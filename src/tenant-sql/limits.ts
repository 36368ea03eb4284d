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
