import { Failure } from '../../kernel/failure.ts';

/** The company has no Postgres of its own yet: someone must activate it (POST /v1/managed-tables/provision). */
export const notProvisioned = () => new Failure('invalid', 'managed_database.not_provisioned');
