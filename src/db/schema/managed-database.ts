import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { id, timestampColumn, timestampColumns } from '../columns.ts';

/** Location of a company's own Postgres, and the progress of its provisioning. The id is the API's `connection_id`. */
export const managedDatabases = sqliteTable(
  'managed_databases',
  {
    id: id(),
    companyId: text('company_id').notNull().unique(),
    /** Status: `provisioning` until both logins are stored, then `ready` for ever. */
    status: text('status', { enum: ['provisioning', 'ready'] }).notNull(),
    /** Token of the holder of the provisioning lease. */
    leaseToken: text('lease_token'),
    /** Time at which the provisioning lease ends. */
    leaseUntil: timestampColumn('lease_until'),
    neonProjectId: text('neon_project_id'),
    /** Connection string of the owner's login, encrypted with the company's id as context. */
    ownerConnection: text('owner_connection'),
    /** Connection string of the read-only login, encrypted with the company's id as context. */
    readonlyConnection: text('readonly_connection'),
    /** Password of the read-only login, encrypted alike; stored before Postgres gets it: a retry sets the same one. */
    readerPassword: text('reader_password'),
    /** Version of the schema in the company's Postgres. */
    migrationsVersion: integer('migrations_version').notNull().default(0),
    /** Time of the next scheduled sweep of this company's Postgres; null if nothing is pending there. */
    sweepAt: timestampColumn('sweep_at'),
    /** Number of scheduled sweeps, so that a sweep that ends does not cancel one that was scheduled meanwhile. */
    sweepMarks: integer('sweep_marks').notNull().default(0),
    /** Number of changes to the content or names of the company's tables, which is the version of query results. */
    dataVersion: integer('data_version').notNull().default(0),
    /** Value of `dataVersion` at each table's last change, by table name as JSON; under `*` for all other tables. */
    changedTables: text('changed_tables').notNull().default('{"*":0}'),
    /** Changes in progress, by id as JSON: their tables, and the time until which each is assumed to go on. */
    openChanges: text('open_changes').notNull().default('{}'),
    /**
     * Value of `dataVersion` up to which `changedTables` and `openChanges` are complete: the previous service version
     * increases `dataVersion` only.
     */
    notedVersion: integer('noted_version').notNull().default(0),
    /** Number of changes in progress, for the previous service version. */
    dataChanges: integer('data_changes').notNull().default(0),
    /** Assumed end of the last of the changes in progress, for the previous service version. */
    dataChangesUntil: timestampColumn('data_changes_until').notNull().default(0),
    /** Number of tables at the last measurement: after each sweep, and on request. */
    tables: integer('tables').notNull().default(0),
    /** Number of rows at the last measurement. */
    rows: integer('rows').notNull().default(0),
    /** Size of the tables in bytes at the last measurement. */
    tableBytes: integer('table_bytes').notNull().default(0),
    /** Size of the stored files in bytes at the last measurement. */
    fileBytes: integer('file_bytes').notNull().default(0),
    ...timestampColumns(),
  },
  (table) => [index('managed_databases_sweep').on(table.sweepAt)],
);
