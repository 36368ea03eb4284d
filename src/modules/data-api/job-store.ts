import { and, eq, getTableColumns, gte, inArray, lt, lte, or, type SQL, sql } from 'drizzle-orm';
import type { ControlDb } from '../../db/client.ts';
import { dataJobs } from '../../db/schema/data-jobs.ts';
import { vizApiEndpoints } from '../../db/schema/viz-api-endpoints.ts';
import { byId, exists, idList, insertWhen } from '../../db/statements.ts';
import { ofActiveCompany } from '../companies/queries.ts';

export type DataJob = typeof dataJobs.$inferSelect;

const UNFINISHED = ['queued', 'running'] as const;

/** Stores a job while the company has fewer than `most` unfinished ones. */
export const insertJob = (db: ControlDb, record: DataJob, most: number) =>
  insertWhen(
    db,
    dataJobs,
    record,
    sql`(select count(*) from ${dataJobs} where ${and(eq(dataJobs.companyId, record.companyId), inArray(dataJobs.status, [...UNFINISHED]))}) < ${most}`,
  ).returning({ id: dataJobs.id });

/** Whether the endpoint of a job is active and still publishes the visualization of the result. */
const isPublished = exists(
  vizApiEndpoints,
  sql`viz_api_endpoints.id = data_jobs.endpoint_id and viz_api_endpoints.company_id = data_jobs.company_id`,
  sql`viz_api_endpoints.visualization_id = data_jobs.visualization_id and viz_api_endpoints.status = 'active'`,
);

export const selectJob = (db: ControlDb, companyId: string, id: string) =>
  db
    .select({ ...getTableColumns(dataJobs), isPublished: sql<boolean>`${isPublished}`.mapWith(Boolean) })
    .from(dataJobs)
    .where(byId(dataJobs, companyId, id));

/** Selects a stamp for each of these jobs that differs after each change of the columns that a job shows. */
export const selectJobStamps = (db: ControlDb, companyId: string, ids: readonly string[]) => {
  const { id, status, rowCount, bytes, error, updatedAt } = dataJobs;
  return db
    .select({ id, stamp: sql<string>`json_array(${status}, ${rowCount}, ${bytes}, ${error}, ${updatedAt})` })
    .from(dataJobs)
    .where(and(eq(dataJobs.companyId, companyId), sql`${id} in ${idList(ids)}`));
};

/** Begins an attempt of a job that no other attempt holds. */
export const claimJob = (
  db: ControlDb,
  { companyId, id }: { companyId: string; id: string },
  { now, until }: { now: number; until: number },
) =>
  db
    .update(dataJobs)
    .set({ status: 'running', attempt: sql`${dataJobs.attempt} + 1`, dueAt: until, updatedAt: now })
    .where(and(byId(dataJobs, companyId, id), isFree(now)))
    .returning();

/** Ends a job as failed after `most` attempts, if none holds it. */
export const giveUpJob = (
  db: ControlDb,
  { companyId, id }: { companyId: string; id: string },
  { now, most, error }: { now: number; most: number; error: string },
) =>
  db
    .update(dataJobs)
    .set({ status: 'failed', error, updatedAt: now })
    .where(and(byId(dataJobs, companyId, id), isFree(now), gte(dataJobs.attempt, most)));

const isFree = (now: number) =>
  or(eq(dataJobs.status, 'queued'), and(eq(dataJobs.status, 'running'), lte(dataJobs.dueAt, now))) as SQL;

/** An attempt of a job, which ends when another one begins. */
export type Try = Pick<DataJob, 'companyId' | 'id' | 'attempt'>;

const isPresent = ({ companyId, id, attempt }: Try) =>
  and(byId(dataJobs, companyId, id), eq(dataJobs.status, 'running'), eq(dataJobs.attempt, attempt));

/** Changes a job while this attempt is the present one. */
export const updateTry = (db: ControlDb, present: Try, changes: Partial<DataJob>) =>
  db.update(dataJobs).set(changes).where(isPresent(present)).returning({ id: dataJobs.id });

/** Claims the jobs that no attempt holds any more, each for one run only. */
export const claimDueJobs = (db: ControlDb, { now, next, limit }: { now: number; next: number; limit: number }) =>
  db
    .update(dataJobs)
    .set({ dueAt: sql`iif(${dataJobs.status} = 'queued', ${next}, ${dataJobs.dueAt})` })
    .where(
      inArray(
        dataJobs.id,
        db
          .select({ id: dataJobs.id })
          .from(dataJobs)
          .where(
            and(
              inArray(dataJobs.status, [...UNFINISHED]),
              lte(dataJobs.dueAt, now),
              ofActiveCompany(dataJobs.companyId),
            ),
          )
          .limit(limit),
      ),
    )
    .returning({ companyId: dataJobs.companyId, id: dataJobs.id });

/** Jobs made before a time. */
export const selectOldJobs = (db: ControlDb, before: number, limit: number) =>
  db
    .select({ companyId: dataJobs.companyId, id: dataJobs.id })
    .from(dataJobs)
    .where(lt(dataJobs.createdAt, before))
    .limit(limit);

export const deleteJob = (db: ControlDb, companyId: string, id: string) =>
  db.delete(dataJobs).where(byId(dataJobs, companyId, id));
