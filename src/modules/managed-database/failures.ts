import { defineFailure } from '../../kernel/failure.ts';

/** The company has no Postgres database yet: a user must activate it (POST /v1/managed-tables/provision). */
export const databaseNotProvisioned = defineFailure('managed_database.not_provisioned', 'invalid', {
  message: 'The managed database is not provisioned. Provision it first: POST /v1/managed-tables/provision.',
  portuguese: 'O banco de dados gerenciado não está provisionado. Ative o recurso antes de usá-lo.',
  organization: { code: 'DbQueryError', message: 'There is no data yet.' },
  console: { status: 400, code: 'MANAGED_DATABASE_NOT_PROVISIONED' },
  sharing: { code: 'DB_QUERY_ERROR', message: 'There is no data yet.' },
  'managed-tables': { status: 400, code: 'MANAGED_DATABASE_NOT_PROVISIONED' },
});
