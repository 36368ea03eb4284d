import type { TenantSql } from '../../tenant-sql/client.ts';
import { LOGIN_LIMITS_SQL } from '../../tenant-sql/transaction.ts';
import { MANAGED_TABLES_SQL } from './migrations/0001_managed_tables.ts';
import { UPLOAD_JOBS_SQL } from './migrations/0001_upload_jobs.ts';
import { LOADS_SQL } from './migrations/0004_loads.ts';
import { ROW_COUNT_CHANGES_SQL } from './migrations/0005_row_count_changes.ts';
import { EVENTS_SQL } from './migrations/0010_events.ts';
import { UPLOAD_EVENTS_SQL } from './migrations/0011_upload_events.ts';

/**
 * The schema of uploads whose bytes come in several requests, kept for a day after the last one. `pieces` names the objects that
 * hold the bytes; `writer` is the one request that may add some until `writer_until`.
 */
const RESUMABLE_UPLOADS_SQL = `
  CREATE TABLE console.resumable_uploads (
    id text PRIMARY KEY,
    company_id text NOT NULL,
    created_by_user_id text NOT NULL,
    file_name text NOT NULL,
    mime_type text NOT NULL,
    user_table_id text,
    mode text NOT NULL,
    evolve text NOT NULL,
    key_columns json,
    length bigint NOT NULL,
    metadata text NOT NULL,
    received bigint NOT NULL DEFAULT 0,
    pieces json NOT NULL,
    is_finished boolean NOT NULL DEFAULT false,
    writer text,
    writer_until timestamptz,
    updated_at timestamptz NOT NULL
  );
  CREATE INDEX resumable_uploads_by_time ON console.resumable_uploads (company_id, updated_at);
`;

/**
 * The steps of a company's schema: texts of one or more statements, run in order. A released step never changes; changes are added
 * as further versions.
 */
const MIGRATIONS: { version: number; sql: string[] }[] = [
  { version: 1, sql: [MANAGED_TABLES_SQL, UPLOAD_JOBS_SQL] },
  { version: 2, sql: [LOGIN_LIMITS_SQL] },
  // Until when a job is being worked on, unless that ends before.
  { version: 3, sql: ['ALTER TABLE console.upload_jobs ADD COLUMN turn_until timestamptz'] },
  { version: 4, sql: [LOADS_SQL] },
  { version: 5, sql: [ROW_COUNT_CHANGES_SQL] },
  // Where the file of an upload from an address is, without what may be secret in it.
  { version: 6, sql: ['ALTER TABLE console.upload_jobs ADD COLUMN source_url text'] },
  // Whether a load may change its table's columns, and which it has added and changed.
  {
    version: 7,
    sql: ["ALTER TABLE console.upload_jobs ADD COLUMN evolve text NOT NULL DEFAULT 'none', ADD COLUMN evolved json"],
  },
  { version: 8, sql: [RESUMABLE_UPLOADS_SQL] },
  // How many rows jobs have loaded on a day, of those whose records are deleted.
  { version: 9, sql: ['CREATE TABLE console.loaded_days (day date PRIMARY KEY, rows bigint NOT NULL)'] },
  { version: 10, sql: [EVENTS_SQL] },
  { version: 11, sql: [UPLOAD_EVENTS_SQL] },
];

/** The schema version of this release. */
export const TENANT_SCHEMA_VERSION = MIGRATIONS.length;

/** The advisory lock, an arbitrary number, under which the database is migrated. */
const MIGRATION_LOCK_KEY = 728_346_190;

const BASE_SCHEMA_SQL = `
  CREATE SCHEMA IF NOT EXISTS console;
  CREATE SCHEMA IF NOT EXISTS trash;
  CREATE TABLE IF NOT EXISTS console.migrations (
    version integer PRIMARY KEY,
    applied_at timestamptz NOT NULL DEFAULT now()
  );
`;

/**
 * Migrates a company's database to `TENANT_SCHEMA_VERSION`, in one transaction, if needed. Concurrent calls are safe. Revokes the
 * reader's default SELECT on the service's own tables. * @param sql the owner's connection @param reader name of the reader's
 * role, see `makeTenantNames` @returns the database's version after the call (a newer release may have migrated it further)
 */
export async function migrateDatabase(sql: TenantSql, reader: string): Promise<number> {
  return await sql.runInTransaction(
    async (tx) => {
      await tx.query('SELECT pg_advisory_xact_lock($1)', [MIGRATION_LOCK_KEY]);
      await tx.query(BASE_SCHEMA_SQL);
      const [row] = await tx.query<{ version: number }>(
        'SELECT coalesce(max(version), 0) AS version FROM console.migrations',
      );
      const currentVersion = row?.version ?? 0;
      const missingMigrations = MIGRATIONS.filter(({ version }) => version > currentVersion);
      for (const migration of missingMigrations) {
        for (const text of migration.sql) await tx.query(text);
        await tx.query('INSERT INTO console.migrations (version) VALUES ($1)', [migration.version]);
      }
      await tx.query(`REVOKE ALL ON ALL TABLES IN SCHEMA console FROM ${reader}`);
      return Math.max(currentVersion, TENANT_SCHEMA_VERSION);
    },
    { statementTimeoutMs: 120_000, lockTimeoutMs: 60_000 },
  );
}
