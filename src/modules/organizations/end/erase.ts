import { makeAffectedPrincipals } from '../../../access/commit-access.ts';
import type { CompanyContext, Context } from '../../../context.ts';
import { commit } from '../../../db/client.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../kernel/clock.ts';
import { log, logError } from '../../../platform/log.ts';
import * as store from './store.ts';
import { DATA_STORES, type DataStore } from './stores.ts';

/** The time for which one scheduled run erases companies, and the maximum number of companies that it starts with. */
const MAX_RUN_MS = 2 * MINUTE_MS;
const MAX_ERASURES_PER_RUN = 5;
/** The time for which a run holds the lease of an erasure. */
const LEASE_MS = 5 * MINUTE_MS;

/**
 * Delays after the erasure at which the stores are erased again, because an upload or a file that was being written may have
 * finished after it.
 */
const LATE_ERASURE_DELAYS_MS = [HOUR_MS, DAY_MS];

/** Runs `work` in the context of a company. */
type RunInCompany = <T>(companyId: string, work: (ctx: CompanyContext) => Promise<T>) => Promise<T>;

/**
 * Erases the companies whose time of deletion has passed, a bounded part in each scheduled run. A store that is unavailable is
 * retried in the next run; only the control records wait for it, as they say where the other data is.
 */
export async function eraseDueCompanies(ctx: Context, runInCompany: RunInCompany): Promise<void> {
  const deadline = Date.now() + MAX_RUN_MS;
  const now = ctx.now();
  await store.beginErasures(ctx.db, now);
  const dueErasures = await store.claimDueErasures(ctx.db, { now, next: now + LEASE_MS, limit: MAX_ERASURES_PER_RUN });
  for (const end of dueErasures) {
    const next = await runInCompany(end.id, (company) =>
      end.completedAt === null
        ? continueErasure(company, end, deadline)
        : eraseLateData(company, end.completedAt, deadline),
    ).catch((error: unknown) => {
      logError('company_not_erased', error, { company_id: end.id });
      return ctx.now();
    });
    await store.setErasureDueAt(ctx.db, end.id, next);
  }
}

/** @returns when the erasure will continue (ms) */
async function continueErasure(
  ctx: CompanyContext,
  { id, stores }: store.CompanyErasure,
  deadline: number,
): Promise<number> {
  const isStoreErased = (each: DataStore) => typeof stores[each.name]?.at === 'number';
  const [last, ...others] = DATA_STORES.toReversed() as [DataStore, ...DataStore[]];
  const erasedStores = new Set(DATA_STORES.filter(isStoreErased));
  for (const each of others.toReversed()) {
    if (!erasedStores.has(each) && (await eraseStore(ctx, each, stores[each.name]?.cursor ?? null, deadline)))
      erasedStores.add(each);
  }
  if (others.some((each) => !erasedStores.has(each))) return ctx.now();
  if (!erasedStores.has(last) && !(await eraseStore(ctx, last, stores[last.name]?.cursor ?? null, deadline)))
    return ctx.now();
  for (const each of DATA_STORES) {
    if (!(await each.hasData(ctx))) continue;
    // Something was written meanwhile.
    await store.recordStep(ctx.db, id, each.name, { removed: 0, at: null, cursor: null });
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
  each: DataStore,
  from: string | null,
  deadline: number,
): Promise<boolean> {
  const { companyId } = ctx.actor;
  try {
    for (let cursor = from; Date.now() < deadline; ) {
      const { removed, next } = await each.erase(ctx, cursor);
      const at = next === null ? ctx.now() : null;
      await store.recordStep(ctx.db, companyId, each.name, { removed, at, cursor: next });
      if (next === null) return true;
      cursor = next;
    }
  } catch (error) {
    logError('company_not_erased', error, { company_id: companyId, store: each.name });
  }
  return false;
}

/** Erases data that was written after the erasure. @returns when to repeat this (ms); null for never */
async function eraseLateData(ctx: CompanyContext, completedAt: number, deadline: number): Promise<number | null> {
  const { companyId } = ctx.actor;
  try {
    for (const each of DATA_STORES) {
      for (let cursor: string | null = null; ; ) {
        if (Date.now() >= deadline) return ctx.now();
        cursor = (await each.erase(ctx, cursor)).next;
        if (cursor === null) break;
      }
    }
  } catch (error) {
    logError('company_not_erased', error, { company_id: companyId });
    return ctx.now();
  }
  const next = LATE_ERASURE_DELAYS_MS.map((delayMs) => completedAt + delayMs).find((time) => time > ctx.now());
  return next ?? null;
}
