import { integer, primaryKey, sqliteTable } from 'drizzle-orm/sqlite-core';
import { companyId } from '../columns.ts';

/** A company's use on a day, without requests and loaded rows, which its log and its Postgres count. */
export const usageDays = sqliteTable(
  'usage_days',
  {
    companyId: companyId(),
    /** Days since the epoch, in UTC. */
    day: integer('day').notNull(),
    mails: integer('mails').notNull().default(0),
    modelCalls: integer('model_calls').notNull().default(0),
    executions: integer('executions').notNull().default(0),
  },
  (table) => [primaryKey({ columns: [table.companyId, table.day] })],
);
