import type { CompanyContext } from '../../context.ts';
import { HOUR_MS } from '../../kernel/clock.ts';
import { logError } from '../../platform/log.ts';
import { resultUnknown } from '../../tenant-sql/failures.ts';
import * as store from './store.ts';

/** The time for which a change counts as running if its isolate died: longer than any change takes. Milliseconds. */
const MAX_CHANGE_MS = HOUR_MS;

/** Announces tables that will be changed, before the change commits; may be called again for further tables. */
export type AnnounceTables = (...tables: string[]) => void;

/**
 * Runs a change of rows or names of the company's tables, so that no older cached result is returned once the change has
 * finished: each result belongs to the version of the tables it was read from, the change makes a new version, and until it ends
 * no result of these tables is cached. @param work one transaction, which must await `awaitAnnouncements()` before it commits; the
 * announcements are sent meanwhile. If it names no table, the change counts as a change of all tables
 */
export async function changeData<T>(
  ctx: CompanyContext,
  work: (announceTables: AnnounceTables, awaitAnnouncements: () => Promise<void>) => Promise<T>,
): Promise<T> {
  const { companyId } = ctx.actor;
  const startedChanges: { id: string; announcement: Promise<void> }[] = [];
  const startChange = (tables: readonly string[]) => {
    const id = ctx.newId();
    const now = ctx.now();
    const announcement = store.beginDataChange(ctx.db, companyId, { id, tables, now, until: now + MAX_CHANGE_MS });
    // It is thrown where it is waited for, if the work comes so far.
    announcement.catch(() => undefined);
    startedChanges.push({ id, announcement });
  };
  const awaitAnnouncements = async () => {
    if (startedChanges.length === 0) startChange([store.ALL_TABLES]);
    await Promise.all(startedChanges.map((startedChange) => startedChange.announcement));
  };
  const end = async () => {
    await Promise.allSettled(startedChanges.map((startedChange) => startedChange.announcement));
    for (const { id } of startedChanges) await store.endDataChange(ctx.db, companyId, id);
  };
  let isEnded = true;
  try {
    return await work((...tables) => startChange(tables), awaitAnnouncements);
  } catch (error) {
    // It may be committed yet.
    isEnded = !resultUnknown.matches(error);
    throw error;
  } finally {
    if (isEnded && startedChanges.length > 0) {
      ctx.defer(end().catch((error) => logError('data_change_not_ended', error, { company_id: companyId })));
    }
  }
}
