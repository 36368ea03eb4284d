import { and, eq, gte, lte, or, type SQL, sql } from 'drizzle-orm';
import type { ControlDb } from '../../db/client.ts';
import { claimDueJobs, claimJob, type DueWindow, isFree, isUnfinished, type JobKey } from '../../db/job-leases.ts';
import { companyExports } from '../../db/schema/company-exports.ts';
import { byId, idListSql } from '../../db/statements.ts';
import { isCompanyActive } from '../companies/queries.ts';

export type CompanyExport = typeof companyExports.$inferSelect;

/** Stores an export, unless the company has one that has not ended. */
export const insertExport = (db: ControlDb, record: CompanyExport) =>
  db.insert(companyExports).values(record).onConflictDoNothing();

/** Marks the unfinished export of a company as requested by the operator, too. */
export const joinAsOperator = (db: ControlDb, companyId: string) =>
  db
    .update(companyExports)
    .set({ forOperator: true })
    .where(and(eq(companyExports.companyId, companyId), isUnfinished(companyExports)));

/** The export of a company that has not ended. */
export const selectUnfinished = (db: ControlDb, companyId: string) =>
  db
    .select()
    .from(companyExports)
    .where(and(eq(companyExports.companyId, companyId), isUnfinished(companyExports)));

export const selectExport = (db: ControlDb, companyId: string, id: string) =>
  db
    .select()
    .from(companyExports)
    .where(byId(companyExports, companyId, id));

/** Selects a stamp for each of these exports that differs after each change of the columns that an export shows. */
export const selectStamps = (db: ControlDb, companyId: string, ids: readonly string[]) => {
  const { id, status, bytes, error } = companyExports;
  return db
    .select({ id, stamp: sql<string>`json_array(${status}, ${bytes}, ${error})` })
    .from(companyExports)
    .where(and(eq(companyExports.companyId, companyId), sql`${id} in ${idListSql(ids)}`));
};

/** Begins an attempt of an export that no other one has the lease of. */
export const claimExport = (db: ControlDb, key: JobKey, { now, until }: { now: number; until: number }) =>
  claimJob(db, companyExports, key, { now, dueAt: until, updatedAt: now, tries: sql`${companyExports.tries} + 1` });

/** Marks an export as failed if no attempt holds its lease and its last `most` attempts made no progress. */
export const giveUpExport = (
  db: ControlDb,
  { companyId, id }: JobKey,
  { now, most, ...changes }: { now: number; most: number; error: string; expiresAt: number },
) =>
  db
    .update(companyExports)
    .set({ status: 'failed', ...changes, updatedAt: now })
    .where(and(byId(companyExports, companyId, id), isFree(companyExports, now), gte(companyExports.tries, most)))
    .returning();

/** Claims the exports whose message is to be sent again. One of a suspended company waits, unless it is the operator's. */
export const claimDue = (db: ControlDb, window: DueWindow) =>
  claimDueJobs(
    db,
    companyExports,
    or(eq(companyExports.forOperator, true), isCompanyActive(companyExports.companyId)) as SQL,
    window,
  );

/** Exports that are kept no longer. */
export const selectExpired = (db: ControlDb, now: number, limit: number) =>
  db
    .select({ companyId: companyExports.companyId, id: companyExports.id })
    .from(companyExports)
    .where(lte(companyExports.expiresAt, now))
    .limit(limit);

export const deleteExport = (db: ControlDb, { companyId, id }: JobKey) =>
  db.delete(companyExports).where(byId(companyExports, companyId, id));
