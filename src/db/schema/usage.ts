import { integer, primaryKey, sqliteTable } from 'drizzle-orm/sqlite-core';
import { companyId } from '../columns.ts';

/**
 * The use of a company on a day, as far as this database counts it: mails that were handed over, calls of a model, and SQL that
 * was run for it in the background. Its log counts requests and the SQL that those ran, its Postgres counts loaded rows.
 */
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
