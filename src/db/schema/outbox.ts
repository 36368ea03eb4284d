import { index, sqliteTable } from 'drizzle-orm/sqlite-core';
import type { JobMessage } from '../../platform/job-messages.ts';
import { companyId, id, json, timestamp } from '../columns.ts';

/** Messages to queues that a commit stored, until they are sent. */
export const outbox = sqliteTable(
  'outbox',
  {
    id: id(),
    companyId: companyId(),
    message: json<JobMessage>('message').notNull(),
    /** When the scheduled run sends what nobody else has sent. */
    dueAt: timestamp('due_at').notNull(),
  },
  (table) => [index('outbox_by_due').on(table.dueAt)],
);
