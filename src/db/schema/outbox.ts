import { index, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { JobMessage } from '../../platform/job-messages.ts';
import { jsonColumn, ownedColumns, timestampColumn } from '../columns.ts';

/** Queue messages that a commit stored, until they are sent. */
export const outbox = sqliteTable(
  'outbox',
  {
    ...ownedColumns(),
    message: jsonColumn<JobMessage>('message').notNull(),
    /** Time at which the scheduled run sends the message, unless it was sent before. */
    dueAt: timestampColumn('due_at').notNull(),
  },
  (table) => [index('outbox_by_due').on(table.dueAt)],
);

/** Events that webhook endpoints have not received yet, written by triggers in the change's batch if an endpoint is active. */
export const events = sqliteTable(
  'events',
  {
    ...ownedColumns(),
    type: text('type').notNull(),
    /** Changed row without secrets, its fields named as in the code. */
    record: jsonColumn<Record<string, unknown>>('record').notNull(),
    occurredAt: timestampColumn('occurred_at').notNull(),
  },
  (table) => [index('events_by_time').on(table.companyId, table.occurredAt, table.id)],
);
