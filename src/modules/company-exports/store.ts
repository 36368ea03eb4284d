import { and, eq, gte, lte, or, type SQL, sql } from 'drizzle-orm';
import type { ControlDb } from '../../db/client.ts';
import { claimDueJobs, claimJob, type DueWindow, isUnfinished, isUnleased, type JobKey } from '../../db/job-leases.ts';
import { companyExports } from '../../db/schema/company-exports.ts';
import { makeIdListSql, matchesId } from '../../db/statements.ts';
import { isCompanyActive } from '../companies/queries.ts';

export type CompanyExport = typeof companyExports.$inferSelect;

/** Stores an export, unless the company has one that has not ended. */
export const insertExport = (db: ControlDb, record: CompanyExport) =>
  db.insert(companyExports).values(record).onConflictDoNothing();

/** Marks the unfinished export of a company as requested by the operator, too. */
export const markRequestedByOperator = (db: ControlDb, companyId: string) =>
  db
    .update(companyExports)
    .set({ forOperator: true })
    .where(and(eq(companyExports.companyId, companyId), isUnfinished(companyExports)));

/** Selects the unfinished export of a company. */
export const selectUnfinishedExport = (db: ControlDb, companyId: string) =>
  db
    .select()
    .from(companyExports)
    .where(and(eq(companyExports.companyId, companyId), isUnfinished(companyExports)));

export const selectExport = (db: ControlDb, companyId: string, id: string) =>
  db
    .select()
    .from(companyExports)
    .where(matchesId(companyExports, companyId, id));

/** Selects a version for each of these exports that differs after each change of the columns that an export shows. */
export const selectExportVersions = (db: ControlDb, companyId: string, ids: readonly string[]) => {
  const { id, status, bytes, error } = companyExports;
  return db
    .select({ id, stamp: sql<string>`json_array(${status}, ${bytes}, ${error})` })
    .from(companyExports)
    .where(and(eq(companyExports.companyId, companyId), sql`${id} in ${makeIdListSql(ids)}`));
};

/** Begins an attempt at an export whose lease no other attempt holds. */
export const claimExport = (db: ControlDb, key: JobKey, { now, leaseUntil }: { now: number; leaseUntil: number }) =>
  claimJob(db, companyExports, key, {
    now,
    dueAt: leaseUntil,
    updatedAt: now,
    tries: sql`${companyExports.tries} + 1`,
  });

/** Marks an export as failed if no attempt holds its lease and its last `maxAttempts` attempts made no progress. */
export const giveUpExport = (
  db: ControlDb,
  { companyId, id }: JobKey,
  { now, maxAttempts, ...changes }: { now: number; maxAttempts: number; error: string; expiresAt: number },
) =>
  db
    .update(companyExports)
    .set({ status: 'failed', ...changes, updatedAt: now })
    .where(
      and(
        matchesId(companyExports, companyId, id),
        isUnleased(companyExports, now),
        gte(companyExports.tries, maxAttempts),
      ),
    )
    .returning();

/** Claims the exports whose message is due again. A suspended company's export waits, unless it is the operator's. */
export const claimDueExports = (db: ControlDb, window: DueWindow) =>
  claimDueJobs(
    db,
    companyExports,
    or(eq(companyExports.forOperator, true), isCompanyActive(companyExports.companyId)) as SQL,
    window,
  );

/** Selects exports whose retention has ended. */
export const selectExpiredExports = (db: ControlDb, now: number, limit: number) =>
  db
    .select({ companyId: companyExports.companyId, id: companyExports.id })
    .from(companyExports)
    .where(lte(companyExports.expiresAt, now))
    .limit(limit);

export const deleteExport = (db: ControlDb, { companyId, id }: JobKey) =>
  db.delete(companyExports).where(matchesId(companyExports, companyId, id));
