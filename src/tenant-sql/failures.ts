import { defineFailure, type Failure } from '../kernel/failure.ts';

/** The company's database could not be reached, or the connection to it was lost. */
export const databaseUnavailable = defineFailure('tenant_sql.unavailable', {
  kind: 'unavailable',
  detail: { message: "The company's database cannot be reached at the moment.", retryAfter: 5 },
  says: {
    organization: 'ServiceUnavailable',
    console: 'SERVICE_UNAVAILABLE',
    sharing: 'SERVICE_UNAVAILABLE',
    'managed-tables': { message: 'O banco de dados gerenciado está indisponível. Tente novamente em instantes.' },
  },
});

/**
 * The connection was lost while a change was being committed: it may or may not have been. There is no `retryAfter`,
 * because a retry may repeat the change.
 */
export const resultUnknown = defineFailure('tenant_sql.result_unknown', {
  kind: 'unavailable',
  detail: {
    message:
      'The connection was lost before the database confirmed the change, which may or may not have been made. Check before trying again.',
  },
  says: {
    organization: 'ResultUnknown',
    console: 'RESULT_UNKNOWN',
    sharing: 'RESULT_UNKNOWN',
    'managed-tables': {
      code: 'RESULT_UNKNOWN',
      message:
        'A conexão foi perdida antes da confirmação do banco de dados: a alteração pode ter sido feita ou não. Verifique antes de tentar novamente.',
    },
  },
});

/** The company's database has no room left, or takes no changes: it is full, or was made read-only. */
export const databaseFull = defineFailure('tenant_sql.full', {
  kind: 'unavailable',
  detail: {
    message: "The company's database is full, or takes no changes at the moment. Nothing was changed.",
    retryAfter: 60,
  },
  says: {
    organization: 'DatabaseFull',
    console: 'DATABASE_FULL',
    sharing: 'DATABASE_FULL',
    'managed-tables': {
      code: 'MANAGED_DATABASE_FULL',
      message:
        'O banco de dados gerenciado está sem espaço ou não aceita alterações no momento. Nada foi alterado. Libere espaço e tente novamente.',
    },
  },
});

/**
 * The failures of every route that uses the company's Postgres: even a route that reads may have to migrate it first.
 */
export const tenantSqlFailures = [databaseUnavailable, resultUnknown, databaseFull];

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

const QUERY_ERROR = { console: 'DB_QUERY_ERROR', sharing: 'DB_QUERY_ERROR' } as const;

/** The query is wrong, or refers to something that the reader may not see. */
export const queryFailed = defineFailure('user_sql.failed', {
  kind: 'invalid',
  detail: { message: 'The query failed.' },
  says: QUERY_ERROR,
});

export const queryRefused = defineFailure('user_sql.refused', {
  kind: 'invalid',
  detail: { message: 'The query is not allowed.' },
  says: QUERY_ERROR,
});

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

/** The failures of routes that answer with the result of user SQL, besides `tenantSqlFailures`. */
export const userSqlFailures = [queryFailed, queryRefused, queryTimedOut, resultTooLarge];

/** The database's message about a failed query, for its author only: it may name what outsiders must not learn. */
export function databaseMessage(failure: Failure): string | undefined {
  const isOfQuery = userSqlFailures.some((type) => type.matches(failure));
  return isOfQuery && failure.cause instanceof Error ? failure.cause.message : undefined;
}
