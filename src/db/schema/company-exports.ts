import { sql } from 'drizzle-orm';
import { index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';
import { booleanColumn, ownedColumns, timestampColumn, timestampColumns } from '../columns.ts';

export const EXPORT_STATUSES = ['queued', 'running', 'succeeded', 'failed'] as const;

/** Exports of whole companies as one archive, which is written to R2 in the background. */
export const companyExports = sqliteTable(
  'company_exports',
  {
    ...ownedColumns(),
    /** True if the operator requested the export: then it continues while the company is suspended. */
    forOperator: booleanColumn('for_operator').notNull(),
    status: text('status', { enum: EXPORT_STATUSES }).notNull(),
    /** Number of attempts, each in one invocation: only the last attempt may store the progress. */
    attempt: integer('turn').notNull(),
    /** Number of attempts since the last progress. */
    tries: integer('tries').notNull(),
    /** Name of the checkpoint in R2; null while there is none. */
    checkpoint: text('checkpoint'),
    /** Time at which the scheduled run checks the export, unless it has ended. */
    dueAt: timestampColumn('due_at').notNull(),
    bytes: integer('bytes'),
    error: text('error'),
    /** Time at which the export is deleted, with its archive. */
    expiresAt: timestampColumn('expires_at'),
    ...timestampColumns(),
  },
  (table) => [
    uniqueIndex('company_exports_one_at_a_time').on(table.companyId).where(sql`status in ('queued', 'running')`),
    index('company_exports_by_due').on(table.status, table.dueAt),
    index('company_exports_by_expiry').on(table.expiresAt),
  ],
);
