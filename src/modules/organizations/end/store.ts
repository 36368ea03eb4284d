import { and, eq, gt, isNull, lte, not, or, sql } from 'drizzle-orm';
import type { ControlDb } from '../../../db/client.ts';
import { companies, companyErasures, type ErasedStore } from '../../../db/schema/companies.ts';
import { existsSql } from '../../../db/statements.ts';

export type CompanyErasure = typeof companyErasures.$inferSelect;

/** SQL condition that the erasure of the company has not begun. */
const isNotErased = not(existsSql(companyErasures, eq(companyErasures.id, companies.id)));

/** Suspends a company and schedules its deletion, unless that is due earlier or the erasure has begun. */
export const scheduleDeletion = (db: ControlDb, id: string, deletesAt: number, now: number) =>
  db
    .update(companies)
    .set({
      endRequestedAt: sql`coalesce(${companies.endRequestedAt}, ${now})`,
      suspendedAt: sql`coalesce(${companies.suspendedAt}, ${now})`,
      deletesAt,
      updatedAt: now,
    })
    .where(and(eq(companies.id, id), or(isNull(companies.deletesAt), gt(companies.deletesAt, deletesAt)), isNotErased))
    .returning();

/** Cancels the scheduled deletion of a company and lifts its suspension, unless the time of deletion has passed. */
export const cancelDeletion = (db: ControlDb, id: string, now: number) =>
  db
    .update(companies)
    .set({ endRequestedAt: null, deletesAt: null, suspendedAt: null, updatedAt: now })
    .where(and(eq(companies.id, id), gt(companies.deletesAt, now), isNotErased))
    .returning();

/** Begins the erasure of companies whose time of deletion has passed. They cannot be restored from then on. */
export const beginErasures = (db: ControlDb, now: number) =>
  db
    .insert(companyErasures)
    .select(
      sql`select ${companies.id}, ${companies.endRequestedAt}, null, '{}', ${now} from ${companies} where ${lte(companies.deletesAt, now)}`,
    )
    .onConflictDoNothing();

/** Claims erasures that are due, and postpones them to `nextDueAt`. */
export const claimDueErasures = (
  db: ControlDb,
  { now, nextDueAt, limit }: { now: number; nextDueAt: number; limit: number },
) =>
  db
    .update(companyErasures)
    .set({ dueAt: nextDueAt })
    .where(
      sql`${companyErasures.id} in (select id from ${companyErasures} where due_at <= ${now} order by due_at limit ${limit})`,
    )
    .returning();

export const selectErasure = (db: ControlDb, id: string) =>
  db.select().from(companyErasures).where(eq(companyErasures.id, id));

const formatStorePath = (store: string): string => `$.${store}`;

/** Stores the progress of a store's erasure. `removed` is added to the previous count. */
export const recordStep = (db: ControlDb, id: string, store: string, { removed, at, cursor }: ErasedStore) =>
  db
    .update(companyErasures)
    .set({
      stores: sql`json_set(${companyErasures.stores}, ${formatStorePath(store)}, json_object('removed', coalesce(${companyErasures.stores} ->> ${`${formatStorePath(store)}.removed`}, 0) + ${removed}, 'at', ${at}, 'cursor', ${cursor}))`,
    })
    .where(eq(companyErasures.id, id));

/**
 * Adds the number of rows that the previous statement of the batch deleted to a store's count, atomically. The counts of a
 * completed erasure stay as they are, as its certificate states them.
 */
export const addDeletedCount = (db: ControlDb, id: string, store: string) =>
  db
    .update(companyErasures)
    .set({
      stores: sql`json_set(${companyErasures.stores}, ${formatStorePath(store)}, json_object('removed', coalesce(${companyErasures.stores} ->> ${`${formatStorePath(store)}.removed`}, 0) + changes(), 'at', null, 'cursor', null))`,
    })
    .where(and(eq(companyErasures.id, id), isNull(companyErasures.completedAt)));

/** Sets when a scheduled run continues an erasure; null for never. */
export const setErasureDueAt = (db: ControlDb, id: string, dueAt: number | null) =>
  db.update(companyErasures).set({ dueAt }).where(eq(companyErasures.id, id));

/** Deletes the row of the company, its last one: after this its slug can be used again. */
export const deleteCompany = (db: ControlDb, id: string) => db.delete(companies).where(eq(companies.id, id));

export const completeErasure = (db: ControlDb, id: string, { now, dueAt }: { now: number; dueAt: number }) =>
  db.update(companyErasures).set({ completedAt: now, dueAt }).where(eq(companyErasures.id, id));
