import type { TenantSql } from './client.ts';
import { OWN_LIMITS } from './limits.ts';
import { MANAGED_TABLES } from './migrations/0001_managed_tables.ts';
import { UPLOAD_JOBS } from './migrations/0001_upload_jobs.ts';

/** One step of a company's schema. Once released it never changes; what comes later is a further version. */
interface TenantMigration {
  version: number;
  /** SQL texts, each of any number of statements, run in order. */
  sql: string[];
}

const MIGRATIONS: TenantMigration[] = [
  { version: 1, sql: [MANAGED_TABLES, UPLOAD_JOBS] },
  { version: 2, sql: [OWN_LIMITS] },
];

/** The version that this release works with. */
export const TENANT_SCHEMA_VERSION = MIGRATIONS.length;

/** Any constant: who holds this lock in a database migrates it. */
const LOCK = 728_346_190;

const GROUND = `
  CREATE SCHEMA IF NOT EXISTS console;
  CREATE SCHEMA IF NOT EXISTS trash;
  CREATE TABLE IF NOT EXISTS console.migrations (
    version integer PRIMARY KEY,
    applied_at timestamptz NOT NULL DEFAULT now()
  );
`;

/**
 * Brings a company's database to `TENANT_SCHEMA_VERSION`, in one transaction; does nothing where that is done.
 * Safe when called at once from several sides. The reader's default SELECT is taken from the service's own tables.
 *
 * @param sql the owner's connection
 * @param reader name of the reader's role, see `tenantNames`
 * @returns the version the database is at now (a newer release may have brought it further)
 */
export async function migrate(sql: TenantSql, reader: string): Promise<number> {
  return await sql.transaction(
    async (tx) => {
      await tx.query('SELECT pg_advisory_xact_lock($1)', [LOCK]);
      await tx.query(GROUND);
      const [row] = await tx.query<{ version: number }>(
        'SELECT coalesce(max(version), 0) AS version FROM console.migrations',
      );
      const current = row?.version ?? 0;
      const missing = MIGRATIONS.filter(({ version }) => version > current);
      for (const migration of missing) {
        for (const text of migration.sql) await tx.query(text);
        await tx.query('INSERT INTO console.migrations (version) VALUES ($1)', [migration.version]);
      }
      await tx.query(`REVOKE ALL ON ALL TABLES IN SCHEMA console FROM ${reader}`);
      return Math.max(current, TENANT_SCHEMA_VERSION);
    },
    { statementTimeoutMs: 120_000, lockTimeoutMs: 60_000 },
  );
}
