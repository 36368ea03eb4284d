import type { CompanyContext } from '../../context.ts';
import { HOUR_MS } from '../../kernel/clock.ts';
import { logError } from '../../platform/log.ts';
import { resultUnknown } from '../../tenant-sql/failures.ts';
import * as store from './store.ts';

/** The time for which a change counts as under way if its isolate died: longer than any change takes. Milliseconds. */
const CHANGE_MS = HOUR_MS;

/** Announces tables that a change is about to change, before it commits; may be called again for further tables. */
export type AnnounceTables = (...tables: string[]) => void;

/**
 * Runs a change of rows or names of the company's tables, so that no older cached result is returned once the change has
 * finished: each result belongs to the version of the tables it was read from, the change makes a new version, and until it
 * ends no result of these tables is cached.
 * @param work one transaction, which must await `announced()` before it commits; the announcements are sent meanwhile. If it
 * names no table, the change counts as one of all tables
 */
export async function changeData<T>(
  ctx: CompanyContext,
  work: (changing: AnnounceTables, announced: () => Promise<void>) => Promise<T>,
): Promise<T> {
  const { companyId } = ctx.actor;
  const begun: { id: string; announced: Promise<void> }[] = [];
  const begin = (tables: readonly string[]) => {
    const id = ctx.newId();
    const now = ctx.now();
    const announced = store.beginDataChange(ctx.db, companyId, { id, tables, now, until: now + CHANGE_MS });
    // It is thrown where it is waited for, if the work comes so far.
    announced.catch(() => undefined);
    begun.push({ id, announced });
  };
  const announced = async () => {
    if (begun.length === 0) begin([store.ALL_TABLES]);
    await Promise.all(begun.map((each) => each.announced));
  };
  const end = async () => {
    await Promise.allSettled(begun.map((each) => each.announced));
    for (const { id } of begun) await store.endDataChange(ctx.db, companyId, id);
  };
  let isEnded = true;
  try {
    return await work((...tables) => begin(tables), announced);
  } catch (error) {
    // It may be committed yet.
    isEnded = !resultUnknown.matches(error);
    throw error;
  } finally {
    if (isEnded && begun.length > 0) {
      ctx.defer(end().catch((error) => logError('data_change_not_ended', error, { company_id: companyId })));
    }
  }
}
