import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { id, timestamp, timestamps } from '../columns.ts';

/** The place of a company's own Postgres, and the progress of its provisioning. The id is the API's `connection_id`. */
export const managedDatabases = sqliteTable(
  'managed_databases',
  {
    id: id(),
    companyId: text('company_id').notNull().unique(),
    /** `provisioning` until both logins are recorded, then `ready` for ever. */
    status: text('status', { enum: ['provisioning', 'ready'] }).notNull(),
    /** The holder of the provisioning's lease, and when the lease ends. */
    leaseToken: text('lease_token'),
    leaseUntil: timestamp('lease_until'),
    neonProjectId: text('neon_project_id'),
    /** Connection strings, encrypted with the company's id as context. */
    ownerConnection: text('owner_connection'),
    readonlyConnection: text('readonly_connection'),
    /** Password of the read-only login, encrypted likewise; kept before it is set, so that retries set the same. */
    readerPassword: text('reader_password'),
    /** Version of the schema in the company's Postgres. */
    migrationsVersion: integer('migrations_version').notNull().default(0),
    /** When the scheduled run must look into this company's Postgres next; null when nothing is waiting there. */
    sweepAt: timestamp('sweep_at'),
    /** The number of sweeps that were scheduled, so that a sweep that ends does not cancel one that was scheduled meanwhile. */
    sweepMarks: integer('sweep_marks').notNull().default(0),
    /** Counts changes of what the company's tables hold or are called: results from before one are of another version. */
    dataVersion: integer('data_version').notNull().default(0),
    /** The count at which each table was changed last, by its name as JSON; under `*` that of all others. */
    changedTables: text('changed_tables').notNull().default('{"*":0}'),
    /** The changes under way, by id as JSON: of which tables, and until when each is believed to be. */
    openChanges: text('open_changes').notNull().default('{}'),
    /** The `dataVersion` that `changedTables` and `openChanges` go up to: the previous service counts it alone. */
    notedVersion: integer('noted_version').notNull().default(0),
    /** For the previous version of the service: the changes in progress, and when the last is assumed to have ended. */
    dataChanges: integer('data_changes').notNull().default(0),
    dataChangesUntil: timestamp('data_changes_until').notNull().default(0),
    /** Its tables, rows and size when it was measured last: after each sweep, and when somebody asks. */
    tables: integer('tables').notNull().default(0),
    rows: integer('rows').notNull().default(0),
    tableBytes: integer('table_bytes').notNull().default(0),
    fileBytes: integer('file_bytes').notNull().default(0),
    ...timestamps(),
  },
  (table) => [index('managed_databases_sweep').on(table.sweepAt)],
);
