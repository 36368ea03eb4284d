import type { CompanyContext } from '../../context.ts';
import { HOUR_MS } from '../../kernel/clock.ts';
import { logError } from '../../platform/log.ts';
import { resultUnknown } from '../../tenant-sql/failures.ts';
import * as store from './store.ts';

/** Longer than any change takes. One whose isolate died counts as under way for so long. Milliseconds. */
const CHANGE_MS = HOUR_MS;

/**
 * Runs a change of what the company's tables hold or are called, so that nobody is shown results of before once it is
 * answered: results belong to a version of the data, which is another from here on, and while a change is under way none
 * are kept.
 * @param work one transaction, which waits for `announced` before it commits. The announcement is on its way meanwhile
 */
export async function changeData<T>(ctx: CompanyContext, work: (announced: Promise<void>) => Promise<T>): Promise<T> {
  const { companyId } = ctx.actor;
  const now = ctx.now();
  const announced = store.beginDataChange(ctx.db, companyId, now, now + CHANGE_MS);
  // It is thrown where it is waited for, if the work comes so far.
  announced.catch(() => undefined);
  const end = async () => {
    await announced;
    await store.endDataChange(ctx.db, companyId);
  };
  let isEnded = true;
  try {
    return await work(announced);
  } catch (error) {
    // It may be committed yet.
    isEnded = !resultUnknown.matches(error);
    throw error;
  } finally {
    if (isEnded) {
      ctx.defer(end().catch((error) => logError('data_change_not_ended', error, { company_id: companyId })));
    }
  }
}

/** What tells the version of a company's data. */
export type DataState = Pick<store.DatabaseRow, 'dataVersion' | 'dataChanges' | 'dataChangesUntil'>;

/** The version of the data that a row tells of; null while it is being changed. */
export const settledVersion = (row: DataState, now: number): number | null =>
  row.dataChanges > 0 && row.dataChangesUntil > now ? null : row.dataVersion;
