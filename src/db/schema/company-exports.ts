import { sql } from 'drizzle-orm';
import { index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';
import { companyId, flag, id, timestamp, timestamps } from '../columns.ts';

export const EXPORT_STATUSES = ['queued', 'running', 'succeeded', 'failed'] as const;

/** Exports of whole companies as one archive, which is written to R2 in the background. */
export const companyExports = sqliteTable(
  'company_exports',
  {
    id: id(),
    companyId: companyId(),
    /** Whether the operator asked for it: then it goes on while the company is suspended. */
    forOperator: flag('for_operator').notNull(),
    status: text('status', { enum: EXPORT_STATUSES }).notNull(),
    /** Counts the attempts, each of one invocation: only the last one may store the progress. */
    attempt: integer('turn').notNull(),
    /** Attempts since it last came further. */
    tries: integer('tries').notNull(),
    /** The name of the checkpoint in R2; null while there is none. */
    checkpoint: text('checkpoint'),
    /** When the scheduled run looks after it, unless it has ended. */
    dueAt: timestamp('due_at').notNull(),
    bytes: integer('bytes'),
    error: text('error'),
    /** When it is deleted, with its archive. */
    expiresAt: timestamp('expires_at'),
    ...timestamps(),
  },
  (table) => [
    uniqueIndex('company_exports_one_at_a_time').on(table.companyId).where(sql`status in ('queued', 'running')`),
    index('company_exports_by_due').on(table.status, table.dueAt),
    index('company_exports_by_expiry').on(table.expiresAt),
  ],
);
