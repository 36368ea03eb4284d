import { and, asc, eq, inArray, isNull, lte, or, type SQL, sql } from 'drizzle-orm';
import type { ControlDb } from '../../../db/client.ts';
import { isNotDenied } from '../../../db/denials.ts';
import { type PageRequest, readPage } from '../../../db/page.ts';
import { type JobStatus, type JobType, jobs } from '../../../db/schema/knowledge-jobs.ts';
import type { ResourceType } from '../../../db/schema/knowledge-resources.ts';
import { makeIdListSql, matchesId } from '../../../db/statements.ts';
import type { Denials } from '../../../permissions/denials.ts';
import type { AiUsage } from '../../../platform/ai.ts';
import { isCompanyActive } from '../../companies/queries.ts';

export type JobRow = typeof jobs.$inferSelect;

export type JobKey = Pick<JobRow, 'companyId' | 'id'>;

const isJobWithKey = ({ companyId, id }: JobKey): SQL => matchesId(jobs, companyId, id);
const isActiveJob = inArray(jobs.status, ['queued', 'running']);

/** Inserts a job. A second active generation of its type violates `knowledge_jobs_one_at_a_time`. */
export const insertJob = (db: ControlDb, row: JobRow) => db.insert(jobs).values(row);

export const selectJob = (db: ControlDb, key: JobKey) => db.select().from(jobs).where(isJobWithKey(key));

/** Selects a version for each of these jobs that differs after each change of the columns that a job shows. */
export const selectJobVersions = (db: ControlDb, companyId: string, ids: readonly string[]) =>
  db
    .select({
      id: jobs.id,
      stamp: sql<string>`json_array(${jobs.status}, ${jobs.processedCount}, ${jobs.suggestionCount}, ${jobs.rejectedCount},
        ${jobs.conceptsNotSent}, ${jobs.usage}, ${jobs.lastError}, ${jobs.endedAt}, ${jobs.updatedAt})`,
    })
    .from(jobs)
    .where(and(eq(jobs.companyId, companyId), sql`${jobs.id} in ${makeIdListSql(ids)}`));

/** Selects the active generation job of a type. */
export const selectActiveJob = (db: ControlDb, companyId: string, type: JobType) =>
  db
    .select()
    .from(jobs)
    .where(and(eq(jobs.companyId, companyId), eq(jobs.type, type), isActiveJob));

/** Returns the SQL conditions that none of a job's targets is denied. */
const makeTargetsNotDeniedConditions = (denialsByType: Record<ResourceType, Denials>): (SQL | undefined)[] =>
  Object.entries(denialsByType).map(([type, ofType]) => {
    const isTargetNotDenied = isNotDenied(sql`target.value`, ofType);
    const deniedTargets = sql`select 1 from json_each(${jobs.targetIds}) as target where not ${isTargetNotDenied}`;
    return isTargetNotDenied && sql`(${jobs.targetType} <> ${type} or not exists (${deniedTargets}))`;
  });

/** Reads a page of a company's jobs of one type, newest first, without jobs on a denied target. */
export function readJobs(
  db: ControlDb,
  jobFilter: { companyId: string; type: JobType },
  {
    targetType,
    status,
    denialsByType,
  }: { targetType?: ResourceType; status?: JobStatus; denialsByType: Record<ResourceType, Denials> },
  pageRequest: Pick<PageRequest, 'page' | 'perPage'>,
) {
  const filter = and(
    eq(jobs.companyId, jobFilter.companyId),
    eq(jobs.type, jobFilter.type),
    targetType === undefined ? undefined : eq(jobs.targetType, targetType),
    status === undefined ? undefined : eq(jobs.status, status),
    ...makeTargetsNotDeniedConditions(denialsByType),
  ) as SQL;
  return readPage(db, { table: jobs, filter }, { ...pageRequest, by: jobs.createdAt, descending: true });
}

/** Leases an active job to one message delivery, until `leaseUntil`, unless another delivery holds it. */
export const leaseJob = (db: ControlDb, key: JobKey, now: number, leaseUntil: number) =>
  db
    .update(jobs)
    .set({ status: 'running', leasedUntil: leaseUntil, attempts: sql`${jobs.attempts} + 1`, updatedAt: now })
    .where(and(isJobWithKey(key), isActiveJob, or(isNull(jobs.leasedUntil), lte(jobs.leasedUntil, now))))
    .returning();

/** Returns the SQL that adds to the usage of a job. */
const makeAddUsageSql = ({ requests, prompt_tokens, completion_tokens }: AiUsage): SQL =>
  sql`json_object('requests', ${jobs.usage} ->> '$.requests' + ${requests},
    'prompt_tokens', ${jobs.usage} ->> '$.prompt_tokens' + ${prompt_tokens},
    'completion_tokens', ${jobs.usage} ->> '$.completion_tokens' + ${completion_tokens})`;

/** Adds the usage of a message delivery whose result was not stored. */
export const addUsage = (db: ControlDb, key: JobKey, usage: AiUsage) =>
  db
    .update(jobs)
    .set({ usage: makeAddUsageSql(usage) })
    .where(isJobWithKey(key));

/** Ends a lease, so that the next delivery can lease the job at once. */
export const releaseJob = (db: ControlDb, key: JobKey, leaseUntil: number, usage: AiUsage) =>
  db
    .update(jobs)
    .set({ leasedUntil: null, usage: makeAddUsageSql(usage) })
    .where(and(isJobWithKey(key), eq(jobs.leasedUntil, leaseUntil)));

/** Records that the batch after `job.processedCount` is done, unless it is recorded, and ends the job with the last batch. */
export const advanceJob = (
  db: ControlDb,
  job: JobRow,
  batch: Pick<JobRow, 'suggestionCount' | 'rejectedCount' | 'conceptsNotSent' | 'usage'>,
  now: number,
) => {
  const processedCount = job.processedCount + 1;
  const isLastBatch = processedCount === job.totalCount;
  return db
    .update(jobs)
    .set({
      processedCount,
      suggestionCount: job.suggestionCount + batch.suggestionCount,
      rejectedCount: job.rejectedCount + batch.rejectedCount,
      conceptsNotSent: Math.max(job.conceptsNotSent, batch.conceptsNotSent),
      usage: makeAddUsageSql(batch.usage),
      status: isLastBatch ? 'succeeded' : 'running',
      endedAt: isLastBatch ? now : null,
      leasedUntil: null,
      attempts: 0,
      updatedAt: now,
    })
    .where(and(isJobWithKey(job), eq(jobs.status, 'running'), eq(jobs.processedCount, job.processedCount)))
    .returning();
};

/** Ends an active job as failed. */
export const failJob = (db: ControlDb, job: JobRow, lastError: string, usage: AiUsage, now: number) =>
  db
    .update(jobs)
    .set({
      status: 'failed',
      lastError,
      usage: makeAddUsageSql(usage),
      endedAt: now,
      leasedUntil: null,
      updatedAt: now,
    })
    .where(and(isJobWithKey(job), isActiveJob, eq(jobs.processedCount, job.processedCount)))
    .returning();

/** Ends an active job as cancelled. */
export const cancelJob = (db: ControlDb, key: JobKey, now: number) =>
  db
    .update(jobs)
    .set({ status: 'cancelled', endedAt: now, leasedUntil: null, updatedAt: now })
    .where(and(isJobWithKey(key), isActiveJob))
    .returning();

/** Selects which of the ids belong to active jobs, of any company. */
export const selectActiveJobIds = (db: ControlDb, ids: readonly string[]) =>
  db
    .select({ id: jobs.id })
    .from(jobs)
    .where(and(isActiveJob, sql`${jobs.id} in ${makeIdListSql(ids)}`));

/** Selects active jobs of any company that have not changed since `since`, and that no delivery has leased. */
export const selectStalledJobs = (db: ControlDb, { now, since }: { now: number; since: number }, limit: number) =>
  db
    .select({ id: jobs.id, companyId: jobs.companyId })
    .from(jobs)
    .where(
      and(
        isActiveJob,
        lte(jobs.updatedAt, since),
        or(isNull(jobs.leasedUntil), lte(jobs.leasedUntil, now)),
        isCompanyActive(jobs.companyId),
      ),
    )
    .orderBy(asc(jobs.updatedAt))
    .limit(limit);
