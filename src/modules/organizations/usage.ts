import type { CompanyContext, Context } from '../../context.ts';
import { DAY_MS } from '../../kernel/clock.ts';
import { formatDay } from '../../logs/log.ts';
import type { UsedDay } from '../../logs/used-days.ts';
import { callObject } from '../../platform/objects.ts';
import { databaseUnavailable } from '../../tenant-sql/failures.ts';
import { openDatabaseToRead, recordSizes } from '../managed-database/service.ts';
import { measureCompany, readLoadedDays } from '../uploads/service.ts';
import { type DataUsage, selectDataUsage, selectUsedDays, toDayNumber } from '../usage/queries.ts';

/** The use of a company on a day. `date` is `2026-01-31`, in UTC. */
export interface DayOfUse {
  date: string;
  requests: number;
  executions: number;
  rowsLoaded: number;
  mails: number;
  modelCalls: number;
}

/** The context of a company for an actor who does not belong to it. */
export const makeCompanyContext = (ctx: Context, companyId: string): CompanyContext => ({
  ...ctx,
  actor: { kind: 'system', companyId },
});

/** Returns the use of the context's company on each day from one to another (ms), both included. */
export async function readUsage(ctx: CompanyContext, from: number, to: number): Promise<DayOfUse[]> {
  const { companyId } = ctx.actor;
  const [first, last] = [toDayNumber(from), toDayNumber(to)];
  const [logged, kept, loaded] = await Promise.all([
    callObject(ctx.bindings.COMPANY_LOG, companyId, async (log) => (await log.usedDays(first, last)) as UsedDay[]),
    selectUsedDays(ctx.db, companyId, first, last),
    loadedDays(ctx, formatDay(from), formatDay(to)),
  ]);
  const requestsByDay = new Map(logged.map((each) => [each.day, each]));
  const keptByDay = new Map(kept.map((each) => [each.day, each]));
  return Array.from({ length: last - first + 1 }, (_, index) => {
    const day = first + index;
    const date = formatDay(day * DAY_MS);
    return {
      date,
      requests: requestsByDay.get(day)?.requests ?? 0,
      executions: (requestsByDay.get(day)?.executions ?? 0) + (keptByDay.get(day)?.executions ?? 0),
      rowsLoaded: loaded.get(date) ?? 0,
      mails: keptByDay.get(day)?.mails ?? 0,
      modelCalls: keptByDay.get(day)?.modelCalls ?? 0,
    };
  });
}

async function loadedDays(ctx: CompanyContext, from: string, to: string): Promise<Map<string, number>> {
  const database = await openDatabaseToRead(ctx);
  return database ? readLoadedDays(database, ctx.actor.companyId, from, to) : new Map();
}

/** Returns the amount of data that companies hold, by id, as it was measured last: no Postgres is asked. */
export async function readDataUsage(ctx: Context, companyIds: readonly string[]): Promise<Map<string, DataUsage>> {
  const found = await selectDataUsage(ctx.db, companyIds);
  return new Map(found.map(({ companyId, ...held }) => [companyId, held]));
}

/**
 * Measures how much data the company of the context has, and stores the sizes for lists. While its Postgres is unavailable, the
 * stored sizes stay.
 */
export async function measure(ctx: CompanyContext): Promise<void> {
  const database = await openDatabaseToRead(ctx);
  if (!database) return;
  try {
    await recordSizes(ctx.db, ctx.actor.companyId, await measureCompany(ctx, database));
  } catch (error) {
    if (!databaseUnavailable.matches(error)) throw error;
  }
}
