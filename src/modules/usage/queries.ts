import { and, between, eq, type SQL, sql } from 'drizzle-orm';
import type { CompanyContext } from '../../context.ts';
import type { ControlDb } from '../../db/client.ts';
import { quotaExceeded } from '../../db/failures.ts';
import { companies, type Quota } from '../../db/schema/companies.ts';
import { mailRequests } from '../../db/schema/mails.ts';
import { managedDatabases } from '../../db/schema/managed-database.ts';
import { usageDays } from '../../db/schema/usage.ts';
import { userCounts } from '../../db/schema/users.ts';
import { insertWhen, makeIdListSql } from '../../db/statements.ts';
import { DAY_MS } from '../../kernel/clock.ts';

/** Converts a time (ms) to its day, counted from the epoch. */
export const toDayNumber = (at: number): number => Math.floor(at / DAY_MS);

/** The company and the time (ms) of a use to count. */
export interface UsageKey {
  companyId: string;
  at: number;
}

type UsageCounter = 'mails' | 'modelCalls' | 'executions';

const selectQuota = (companyId: string, quota: Quota): SQL =>
  sql`(select ${companies.quotas} ->> ${`$.${quota}`} from ${companies} where ${eq(companies.id, companyId)})`;

const selectCountedUse = ({ companyId, at }: UsageKey, column: 'mails' | 'model_calls'): SQL =>
  sql`coalesce((select ${sql.identifier(column)} from ${usageDays} where company_id = ${companyId} and day = ${toDayNumber(at)}), 0)`;

/** Makes the SQL of the number of mails waiting to be sent: they use up the day's quota although they are not counted yet. */
const selectPendingMails = (companyId: string): SQL =>
  sql`(select count(*) from ${mailRequests} where company_id = ${companyId} and due_at > 0)`;

const sumMailsUsed = (by: UsageKey): SQL => sql`${selectCountedUse(by, 'mails')} + ${selectPendingMails(by.companyId)}`;

const isBelowLimit = (use: SQL, limit: SQL): SQL => sql`(${limit} is null or ${use} < ${limit})`;

/** Makes the SQL condition that is true if the company's quota allows one more mail on that day. */
export const mayMail = (by: UsageKey): SQL =>
  isBelowLimit(sumMailsUsed(by), selectQuota(by.companyId, 'mails_per_day'));

/** Adds `count` to a counter of a day, if a condition holds; subtracts where `count` is below zero. */
export function countUse(
  db: ControlDb,
  { companyId, at }: UsageKey,
  counter: UsageCounter,
  count: number,
  condition: SQL = sql`true`,
) {
  const row = { companyId, day: toDayNumber(at), mails: 0, modelCalls: 0, executions: 0, [counter]: count };
  return insertWhen(db, usageDays, row, condition)
    .onConflictDoUpdate({
      target: [usageDays.companyId, usageDays.day],
      set: { [counter]: sql`${usageDays[counter]} + ${count}` },
    })
    .returning({ day: usageDays.day });
}

/** Counts a mail that is about to be sent, unless it would exceed the quota. @returns whether the mail was counted */
export async function consumeMailQuota(db: ControlDb, by: UsageKey): Promise<boolean> {
  return (await countUse(db, by, 'mails', 1, mayMail(by))).length > 0;
}

/** Counts a call of a language model before it is made. @throws quotaExceeded if that would exceed the quota */
export async function consumeModelCallQuota(ctx: CompanyContext): Promise<void> {
  const by = { companyId: ctx.actor.companyId, at: ctx.now() };
  const [limit, use] = [selectQuota(by.companyId, 'model_calls_per_day'), selectCountedUse(by, 'model_calls')];
  const countedRows = await countUse(ctx.db, by, 'modelCalls', 1, isBelowLimit(use, limit));
  if (countedRows.length > 0) return;
  const [found] = await ctx.db.all<{ limit: number; use: number }>(sql`select ${limit} as "limit", ${use} as "use"`);
  throw quotaExceeded({ quota: 'model_calls_per_day', limit: found?.limit ?? 0, use: found?.use ?? 0 });
}

/** Selects the counted use of a company, from one day to another, both included; days without use are missing. */
export const selectUsedDays = (db: ControlDb, companyId: string, from: number, to: number) =>
  db
    .select()
    .from(usageDays)
    .where(and(eq(usageDays.companyId, companyId), between(usageDays.day, from, to)));

/** The amount of data that a company has: its current number of users, and the sizes last measured. */
export interface DataUsage {
  users: number;
  tables: number;
  rows: number;
  tableBytes: number;
  fileBytes: number;
}

export const NO_DATA_USAGE: DataUsage = { users: 0, tables: 0, rows: 0, tableBytes: 0, fileBytes: 0 };

export const selectDataUsage = (db: ControlDb, companyIds: readonly string[]) => {
  const sumSizes = (column: 'tables' | 'rows' | 'tableBytes' | 'fileBytes') =>
    sql<number>`coalesce(${managedDatabases[column]}, 0)`;
  return db
    .select({
      companyId: companies.id,
      users: sql<number>`coalesce(${userCounts.living}, 0)`,
      tables: sumSizes('tables'),
      rows: sumSizes('rows'),
      tableBytes: sumSizes('tableBytes'),
      fileBytes: sumSizes('fileBytes'),
    })
    .from(companies)
    .leftJoin(userCounts, eq(userCounts.companyId, companies.id))
    .leftJoin(managedDatabases, eq(managedDatabases.companyId, companies.id))
    .where(sql`${companies.id} in ${makeIdListSql(companyIds)}`);
};
