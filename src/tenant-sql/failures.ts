import { defineFailure, type Failure, makeCodeWordings } from '../kernel/failure.ts';

/** The company's database could not be reached, or the connection to it was lost. */
export const databaseUnavailable = defineFailure('tenant_sql.unavailable', 'unavailable', {
  message: "The company's database cannot be reached at the moment.",
  portuguese: 'O banco de dados gerenciado está indisponível. Tente novamente em instantes.',
  detail: { retryAfter: 5 },
});

/** The connection was lost during a commit, which may have been completed: no `retryAfter`, as a retry may repeat the change. */
export const resultUnknown = defineFailure('tenant_sql.result_unknown', 'unavailable', {
  message:
    'The connection was lost before the database confirmed the change, which may or may not have been made. Check before trying again.',
  portuguese:
    'A conexão foi perdida antes da confirmação do banco de dados: a alteração pode ter sido feita ou não. Verifique antes de tentar novamente.',
  ...makeCodeWordings('RESULT_UNKNOWN'),
});

/** The company's database has no space left, or accepts no changes: it is full, or was made read-only. */
export const databaseFull = defineFailure('tenant_sql.full', 'unavailable', {
  message: "The company's database is full, or takes no changes at the moment. Nothing was changed.",
  portuguese:
    'O banco de dados gerenciado está sem espaço ou não aceita alterações no momento. Nada foi alterado. Libere espaço e tente novamente.',
  detail: { retryAfter: 60 },
  ...makeCodeWordings('DATABASE_FULL'),
  'managed-tables': 'MANAGED_DATABASE_FULL',
});

/** The failures of every route that uses the company's Postgres, which may have to be migrated first. */
export const tenantSqlFailures = [databaseUnavailable, resultUnknown, databaseFull];

/** Another call is still provisioning the database. */
export const provisioningPending = defineFailure('tenant_sql.provisioning_pending', 'unavailable', {
  message: 'The database is being set up; try again in a moment.',
  portuguese: 'O banco de dados gerenciado está sendo preparado. Tente novamente em instantes.',
  detail: { retryAfter: 5 },
});

/** Neon or the new database failed; a further call continues where this one ended. */
export const provisioningFailed = defineFailure('tenant_sql.provisioning_failed', 'unavailable', {
  message: 'The database could not be set up at the moment; try again later.',
  portuguese: 'Não foi possível preparar o banco de dados gerenciado agora. Tente novamente mais tarde.',
  detail: { retryAfter: 30 },
});

const defineQueryFailure = (codeSuffix: string, message: string) =>
  defineFailure(`user_sql.${codeSuffix}`, 'invalid', { message, console: 'DB_QUERY_ERROR', sharing: 'DB_QUERY_ERROR' });

/** The query is wrong, or refers to something that the reader may not see. */
export const queryFailed = defineQueryFailure('failed', 'The query failed.');
export const queryRefused = defineQueryFailure('refused', 'The query is not allowed.');
export const queryTimedOut = defineQueryFailure('timeout', 'The query took too long.');

/** The result is too large: not even its first row fits. */
export const resultTooLarge = defineQueryFailure('too_large', 'The result of the query is too large.');

/** The failures of routes that return the result of user SQL, besides `tenantSqlFailures`. */
export const userSqlFailures = [queryFailed, queryRefused, queryTimedOut, resultTooLarge];

/**
 * Returns the database's message about a failed query, for its author only: the message may name what outsiders must
 * not learn. For a query that took too long there is none, as the failure itself says as much.
 */
export function getDatabaseMessage(failure: Failure): string | undefined {
  const isQueryFailure = [queryFailed, queryRefused, resultTooLarge].some((type) => type.matches(failure));
  return isQueryFailure && failure.cause instanceof Error ? failure.cause.message : undefined;
}
