import type { CompanyContext } from '../../context.ts';
import { HOUR_MS } from '../../kernel/clock.ts';
import { logError } from '../../platform/log.ts';
import { resultUnknown } from '../../tenant-sql/failures.ts';
import * as store from './store.ts';

/** Longer than any change takes. One whose isolate died counts as under way for so long. Milliseconds. */
const CHANGE_MS = HOUR_MS;

/** Names the tables that a change is of, before any of it is committed; it may be called again for more of them. */
export type Changing = (...tables: string[]) => void;

/**
 * Runs a change of what the company's tables hold or are called, so that nobody is shown results of before once it is
 * answered: results belong to a version of the tables they were read of, which is another from here on, and while a change of one
 * of them is under way none are kept.
 * @param work one transaction, which waits for `announced()` before it commits. Announcements are on their way meanwhile. Where it
 * names no table, the change is of all
 */
export async function changeData<T>(
  ctx: CompanyContext,
  work: (changing: Changing, announced: () => Promise<void>) => Promise<T>,
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
