import { and, asc, eq, getTableColumns, gt, gte, lt, sql } from 'drizzle-orm';
import type { ControlDb } from '../../db/client.ts';
import { claimDueJobs, type DueWindow, isUnfinished, isUnleased, type JobKey } from '../../db/job-leases.ts';
import { dataJobs } from '../../db/schema/data-jobs.ts';
import { vizApiEndpoints } from '../../db/schema/viz-api-endpoints.ts';
import { existsSql, insertWhen, makeIdListSql, matchesId } from '../../db/statements.ts';
import { isCompanyActive } from '../companies/queries.ts';

export type DataJob = typeof dataJobs.$inferSelect;

/** Stores a job while the company has fewer than `maxUnfinishedJobs` unfinished ones. */
export const insertJob = (db: ControlDb, record: DataJob, maxUnfinishedJobs: number) =>
  insertWhen(
    db,
    dataJobs,
    record,
    sql`(select count(*) from ${dataJobs} where ${and(eq(dataJobs.companyId, record.companyId), isUnfinished(dataJobs))}) < ${maxUnfinishedJobs}`,
  ).returning({ id: dataJobs.id });

/** SQL condition that the endpoint of a job is active and still publishes the visualization of the result. */
const isPublished = existsSql(
  vizApiEndpoints,
  sql`viz_api_endpoints.id = data_jobs.endpoint_id and viz_api_endpoints.company_id = data_jobs.company_id`,
  sql`viz_api_endpoints.visualization_id = data_jobs.visualization_id and viz_api_endpoints.status = 'active'`,
);

export const selectJob = (db: ControlDb, companyId: string, id: string) =>
  db
    .select({ ...getTableColumns(dataJobs), isPublished: sql<boolean>`${isPublished}`.mapWith(Boolean) })
    .from(dataJobs)
    .where(matchesId(dataJobs, companyId, id));

/** Selects a version for each of these jobs that differs after each change of the columns that a job shows. */
export const selectJobVersions = (db: ControlDb, companyId: string, ids: readonly string[]) => {
  const { id, status, rowCount, bytes, error, updatedAt } = dataJobs;
  return db
    .select({ id, stamp: sql<string>`json_array(${status}, ${rowCount}, ${bytes}, ${error}, ${updatedAt})` })
    .from(dataJobs)
    .where(and(eq(dataJobs.companyId, companyId), sql`${id} in ${makeIdListSql(ids)}`));
};

/** Returns the SQL condition that fewer than `maxRunningJobs` jobs of a company run. */
export const makeFreeSlotSql = (companyId: string, now: number, maxRunningJobs: number) => {
  const isRunning = and(eq(dataJobs.companyId, companyId), eq(dataJobs.status, 'running'), gt(dataJobs.dueAt, now));
  return sql`(select count(*) from ${dataJobs} where ${isRunning}) < ${maxRunningJobs}`;
};

/** Selects a company's jobs that have waited for the longest time. @param isNew only those that no attempt has begun */
export const selectWaitingJobs = (db: ControlDb, companyId: string, limit: number, isNew: boolean) =>
  db
    .select({ id: dataJobs.id })
    .from(dataJobs)
    .where(
      and(
        eq(dataJobs.companyId, companyId),
        eq(dataJobs.status, 'queued'),
        isNew ? eq(dataJobs.attempt, 0) : undefined,
      ),
    )
    .orderBy(asc(dataJobs.createdAt))
    .limit(limit);

/** Marks a job as failed after `maxAttempts` attempts, if no attempt holds it. */
export const giveUpJob = (
  db: ControlDb,
  { companyId, id }: JobKey,
  { now, maxAttempts, error }: { now: number; maxAttempts: number; error: string },
) =>
  db
    .update(dataJobs)
    .set({ status: 'failed', error, updatedAt: now })
    .where(and(matchesId(dataJobs, companyId, id), isUnleased(dataJobs, now), gte(dataJobs.attempt, maxAttempts)))
    .returning({ id: dataJobs.id });

/** Claims the jobs of active companies whose message is due again. */
export const claimDueDataJobs = (db: ControlDb, window: DueWindow) =>
  claimDueJobs(db, dataJobs, isCompanyActive(dataJobs.companyId), window);

/** Selects jobs created before a time. */
export const selectOldJobs = (db: ControlDb, cutoff: number, limit: number) =>
  db
    .select({ companyId: dataJobs.companyId, id: dataJobs.id })
    .from(dataJobs)
    .where(lt(dataJobs.createdAt, cutoff))
    .limit(limit);

export const deleteJob = (db: ControlDb, companyId: string, id: string) =>
  db.delete(dataJobs).where(matchesId(dataJobs, companyId, id));
