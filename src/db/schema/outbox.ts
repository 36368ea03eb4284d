import { index, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { JobMessage } from '../../platform/job-messages.ts';
import { companyId, id, json, timestamp } from '../columns.ts';

/** Messages to queues that a commit stored, until they are sent. */
export const outbox = sqliteTable(
  'outbox',
  {
    id: id(),
    companyId: companyId(),
    message: json<JobMessage>('message').notNull(),
    /** When the scheduled run sends the message, unless it was sent before. */
    dueAt: timestamp('due_at').notNull(),
  },
  (table) => [index('outbox_by_due').on(table.dueAt)],
);

/** Events not told to webhook endpoints yet, written by triggers in the change's batch while there is an active one. */
export const events = sqliteTable(
  'events',
  {
    id: id(),
    companyId: companyId(),
    type: text('type').notNull(),
    /** The row that it is about, without secrets, its fields named as in the code. */
    record: json<Record<string, unknown>>('record').notNull(),
    occurredAt: timestamp('occurred_at').notNull(),
  },
  (table) => [index('events_by_time').on(table.companyId, table.occurredAt, table.id)],
);
