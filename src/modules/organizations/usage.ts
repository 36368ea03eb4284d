import type { CompanyContext, Context } from '../../context.ts';
import { DAY_MS } from '../../kernel/clock.ts';
import type { UsedDay } from '../../logs/daily-usage.ts';
import { formatDay } from '../../logs/log.ts';
import { callObject } from '../../platform/objects.ts';
import { databaseUnavailable } from '../../tenant-sql/failures.ts';
import { openDatabaseToRead, recordSizes } from '../managed-database/service.ts';
import { measureCompanySizes, readLoadedDays } from '../uploads/service.ts';
import { type DataUsage, selectDataUsage, selectUsedDays, toDayNumber } from '../usage/queries.ts';

/** The usage of a company on one day. `date` is `2026-01-31`, in UTC. */
export interface DayUsage {
  date: string;
  requests: number;
  executions: number;
  rowsLoaded: number;
  mails: number;
  modelCalls: number;
}

/** Makes the context of a company for an actor who does not belong to it. */
export const makeCompanyContext = (ctx: Context, companyId: string): CompanyContext => ({
  ...ctx,
  actor: { kind: 'system', companyId },
});

/** Returns the usage of the context's company on each day of a range (ms), both ends included. */
export async function readUsage(ctx: CompanyContext, from: number, to: number): Promise<DayUsage[]> {
  const { companyId } = ctx.actor;
  const [firstDay, lastDay] = [toDayNumber(from), toDayNumber(to)];
  const [loggedDays, keptDays, loadedDays] = await Promise.all([
    callObject(
      ctx.bindings.COMPANY_LOG,
      companyId,
      async (log) => (await log.usedDays(firstDay, lastDay)) as UsedDay[],
    ),
    selectUsedDays(ctx.db, companyId, firstDay, lastDay),
    readLoadedRowsByDay(ctx, formatDay(from), formatDay(to)),
  ]);
  const requestsByDay = new Map(loggedDays.map((usedDay) => [usedDay.day, usedDay]));
  const storedUsageByDay = new Map(keptDays.map((storedDay) => [storedDay.day, storedDay]));
  return Array.from({ length: lastDay - firstDay + 1 }, (_, index) => {
    const day = firstDay + index;
    const date = formatDay(day * DAY_MS);
    return {
      date,
      requests: requestsByDay.get(day)?.requests ?? 0,
      executions: (requestsByDay.get(day)?.executions ?? 0) + (storedUsageByDay.get(day)?.executions ?? 0),
      rowsLoaded: loadedDays.get(date) ?? 0,
      mails: storedUsageByDay.get(day)?.mails ?? 0,
      modelCalls: storedUsageByDay.get(day)?.modelCalls ?? 0,
    };
  });
}

async function readLoadedRowsByDay(ctx: CompanyContext, from: string, to: string): Promise<Map<string, number>> {
  const database = await openDatabaseToRead(ctx);
  return database ? readLoadedDays(database, ctx.actor.companyId, from, to) : new Map();
}

/** Returns the amount of data that companies store, by id, as measured last: no Postgres is queried. */
export async function readDataUsage(ctx: Context, companyIds: readonly string[]): Promise<Map<string, DataUsage>> {
  const usageRows = await selectDataUsage(ctx.db, companyIds);
  return new Map(usageRows.map(({ companyId, ...held }) => [companyId, held]));
}

/** Measures the company's data and stores the sizes for lists; these stay while its Postgres is unavailable. */
export async function measureCompanyData(ctx: CompanyContext): Promise<void> {
  const database = await openDatabaseToRead(ctx);
  if (!database) return;
  try {
    await recordSizes(ctx.db, ctx.actor.companyId, await measureCompanySizes(ctx, database));
  } catch (error) {
    if (!databaseUnavailable.matches(error)) throw error;
  }
}
