/** What PostgreSQL gives the service's own statements unless a transaction says otherwise. Milliseconds. */
export const LIMITS = {
  statementMs: 30_000,
  lockMs: 5_000,
  /** Longest silence inside a transaction, so that a caller that died does not hold its locks. */
  idleMs: 60_000,
} as const;

/**
 * Keeps them with the login itself: they hold from its first statement on, in a transaction or not, and cost no message.
 * Who works by hand lifts them with SET; pg_dump does so itself.
 */
export const OWN_LIMITS = `
ALTER ROLE CURRENT_USER SET statement_timeout = ${LIMITS.statementMs};
ALTER ROLE CURRENT_USER SET lock_timeout = ${LIMITS.lockMs};
ALTER ROLE CURRENT_USER SET idle_in_transaction_session_timeout = ${LIMITS.idleMs};
`;
