import { makeAffectedPrincipals } from '../../../access/commit-access.ts';
import type { CompanyContext, Context } from '../../../context.ts';
import { commit } from '../../../db/client.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../kernel/clock.ts';
import { log, logError } from '../../../platform/log.ts';
import * as store from './store.ts';
import { DATA_STORES, type DataStore } from './stores.ts';

/** The maximum time for which one scheduled run erases companies. */
const MAX_RUN_MS = 2 * MINUTE_MS;
/** The maximum number of companies whose erasure one scheduled run continues. */
const MAX_ERASURES_PER_RUN = 5;
/** The time for which a run holds the lease of an erasure. */
const LEASE_MS = 5 * MINUTE_MS;

/** Delays after the erasure at which stores are erased again: what was being written may have finished after it. */
const LATE_ERASURE_DELAYS_MS = [HOUR_MS, DAY_MS];

/** Runs `work` in the context of a company. */
type RunInCompany = <T>(companyId: string, work: (ctx: CompanyContext) => Promise<T>) => Promise<T>;

/**
 * Erases the companies whose time of deletion has passed, a bounded part in each scheduled run. A store that is
 * unavailable is retried in the next run; only the control records are kept until that store is erased, as they contain
 * where the other data is.
 */
export async function eraseDueCompanies(ctx: Context, runInCompany: RunInCompany): Promise<void> {
  const deadline = Date.now() + MAX_RUN_MS;
  const now = ctx.now();
  await store.beginErasures(ctx.db, now);
  const dueErasures = await store.claimDueErasures(ctx.db, {
    now,
    nextDueAt: now + LEASE_MS,
    limit: MAX_ERASURES_PER_RUN,
  });
  for (const end of dueErasures) {
    const nextDueAt = await runInCompany(end.id, (company) =>
      end.completedAt === null
        ? continueErasure(company, end, deadline)
        : eraseLateData(company, end.completedAt, deadline),
    ).catch((error: unknown) => {
      logError('company_not_erased', error, { company_id: end.id });
      return ctx.now();
    });
    await store.setErasureDueAt(ctx.db, end.id, nextDueAt);
  }
}

/** Continues the erasure of a company. @returns when to continue again (ms) */
async function continueErasure(
  ctx: CompanyContext,
  { id, stores }: store.CompanyErasure,
  deadline: number,
): Promise<number> {
  const eraseUnlessErased = async (dataStore: DataStore): Promise<boolean> => {
    const { at = null, cursor = null } = stores[dataStore.name] ?? {};
    return at !== null || eraseStore(ctx, dataStore, cursor, deadline);
  };
  let areOthersErased = true;
  for (const dataStore of DATA_STORES.slice(0, -1)) {
    if (!(await eraseUnlessErased(dataStore))) areOthersErased = false;
  }
  // Only the last one, the control records, says where the other data is.
  if (!areOthersErased || !(await eraseUnlessErased(DATA_STORES.at(-1) as DataStore))) return ctx.now();
  for (const dataStore of DATA_STORES) {
    if (!(await dataStore.hasData(ctx))) continue;
    // Something was written meanwhile.
    await store.recordStep(ctx.db, id, dataStore.name, { removed: 0, at: null, cursor: null });
    return ctx.now();
  }
  const now = ctx.now();
  await ctx.changeAccess(makeAffectedPrincipals(id), () =>
    commit(ctx.db, {
      company: store.deleteCompany(ctx.db, id),
      end: store.completeErasure(ctx.db, id, { now, dueAt: now + (LATE_ERASURE_DELAYS_MS[0] as number) }),
    }),
  );
  log('company_erased', { company_id: id });
  return now + (LATE_ERASURE_DELAYS_MS[0] as number);
}

/** Erases a store until nothing is left, time is up, or it fails. @returns whether nothing is left */
async function eraseStore(
  ctx: CompanyContext,
  dataStore: DataStore,
  from: string | null,
  deadline: number,
): Promise<boolean> {
  const { companyId } = ctx.actor;
  try {
    for (let cursor = from; Date.now() < deadline; ) {
      const { removedCount, nextCursor } = await dataStore.erase(ctx, cursor);
      const at = nextCursor === null ? ctx.now() : null;
      await store.recordStep(ctx.db, companyId, dataStore.name, { removed: removedCount, at, cursor: nextCursor });
      if (nextCursor === null) return true;
      cursor = nextCursor;
    }
  } catch (error) {
    logError('company_not_erased', error, { company_id: companyId, store: dataStore.name });
  }
  return false;
}

/** Erases data that was written after the erasure. @returns when to repeat this (ms); null for never */
async function eraseLateData(ctx: CompanyContext, completedAt: number, deadline: number): Promise<number | null> {
  const { companyId } = ctx.actor;
  try {
    for (const dataStore of DATA_STORES) {
      for (let cursor: string | null = null; ; ) {
        if (Date.now() >= deadline) return ctx.now();
        cursor = (await dataStore.erase(ctx, cursor)).nextCursor;
        if (cursor === null) break;
      }
    }
  } catch (error) {
    logError('company_not_erased', error, { company_id: companyId });
    return ctx.now();
  }
  const nextTime = LATE_ERASURE_DELAYS_MS.map((delayMs) => completedAt + delayMs).find((time) => time > ctx.now());
  return nextTime ?? null;
}
