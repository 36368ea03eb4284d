import { defineFailure, type Failure } from '../kernel/failure.ts';

/** The company's database could not be reached, or the connection to it was lost. */
export const databaseUnavailable = defineFailure('tenant_sql.unavailable', {
  kind: 'unavailable',
  detail: { message: "The company's database cannot be reached at the moment.", retryAfter: 5 },
  says: {
    console: 'SERVICE_UNAVAILABLE',
    sharing: 'SERVICE_UNAVAILABLE',
    'managed-tables': { message: 'O banco de dados gerenciado está indisponível. Tente novamente em instantes.' },
  },
});

/**
 * The connection was lost when a change was on its way to be committed: nobody knows whether it was. No `retryAfter`,
 * because trying again may do it twice.
 */
export const resultUnknown = defineFailure('tenant_sql.result_unknown', {
  kind: 'unavailable',
  detail: {
    message:
      'The connection was lost before the database confirmed the change: it may have been made or not. Look before trying again.',
  },
  says: {
    console: 'RESULT_UNKNOWN',
    sharing: 'RESULT_UNKNOWN',
    'managed-tables': {
      code: 'RESULT_UNKNOWN',
      message:
        'A conexão foi perdida antes da confirmação do banco de dados: a alteração pode ter sido feita ou não. Verifique antes de tentar novamente.',
    },
  },
});

/** What a route that uses the company's Postgres can answer: even one that reads may migrate it first. */
export const tenantSqlFailures = [databaseUnavailable, resultUnknown];

/** Another call is still provisioning the database. */
export const provisioningPending = defineFailure('tenant_sql.provisioning_pending', {
  kind: 'unavailable',
  detail: { message: 'The database is being set up; try again in a moment.', retryAfter: 5 },
  says: {
    'managed-tables': { message: 'O banco de dados gerenciado está sendo preparado. Tente novamente em instantes.' },
  },
});

/** Neon or the new database failed; a further call continues where this one ended. */
export const provisioningFailed = defineFailure('tenant_sql.provisioning_failed', {
  kind: 'unavailable',
  detail: { message: 'The database could not be set up at the moment; try again later.', retryAfter: 30 },
  says: {
    'managed-tables': {
      message: 'Não foi possível preparar o banco de dados gerenciado agora. Tente novamente mais tarde.',
    },
  },
});

const QUERY_ERROR = { sharing: 'DB_QUERY_ERROR' } as const;

/** The query is wrong, or asks for something that the reader may not see. */
export const queryFailed = defineFailure('user_sql.failed', {
  kind: 'invalid',
  detail: { message: 'The query failed.' },
  says: QUERY_ERROR,
});

/** The query uses something that user SQL may not use. */
export const queryRefused = defineFailure('user_sql.refused', {
  kind: 'invalid',
  detail: { message: 'The query is not allowed.' },
  says: QUERY_ERROR,
});

/** The query ran, waited or sent for longer than it may. */
export const queryTimedOut = defineFailure('user_sql.timeout', {
  kind: 'invalid',
  detail: { message: 'The query took too long.' },
  says: QUERY_ERROR,
});

/** Not even the first row fits. */
export const resultTooLarge = defineFailure('user_sql.too_large', {
  kind: 'invalid',
  detail: { message: 'The result of the query is too large.' },
  says: QUERY_ERROR,
});

/** What a route whose answer is the result of user SQL can answer, besides `tenantSqlFailures`. */
export const userSqlFailures = [queryFailed, queryRefused, queryTimedOut, resultTooLarge];

/** What the database says about a failed query, for its author alone: it may name what outsiders must not learn. */
export function databaseMessage(failure: Failure): string | undefined {
  const isOfQuery = userSqlFailures.some((type) => type.matches(failure));
  return isOfQuery && failure.cause instanceof Error ? failure.cause.message : undefined;
}
