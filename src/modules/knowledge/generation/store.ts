import { and, asc, eq, inArray, isNull, lte, or, type SQL, sql } from 'drizzle-orm';
import type { ControlDb } from '../../../db/client.ts';
import { isNotDenied } from '../../../db/denials.ts';
import { type PageRequest, readPage } from '../../../db/page.ts';
import { type JobStatus, type JobType, jobs } from '../../../db/schema/knowledge-jobs.ts';
import type { ResourceType } from '../../../db/schema/knowledge-resources.ts';
import { byId, idListSql } from '../../../db/statements.ts';
import type { Denials } from '../../../permissions/denials.ts';
import type { AiUsage } from '../../../platform/ai.ts';
import { isCompanyActive } from '../../companies/queries.ts';

export type JobRow = typeof jobs.$inferSelect;

export interface JobKey {
  companyId: string;
  id: string;
}

const byKey = ({ companyId, id }: JobKey): SQL => byId(jobs, companyId, id);
const isActive = inArray(jobs.status, ['queued', 'running']);

/** Inserts a job. A second active generation of its type violates `knowledge_jobs_one_at_a_time`. */
export const insertJob = (db: ControlDb, row: JobRow) => db.insert(jobs).values(row);

export const selectJob = (db: ControlDb, key: JobKey) => db.select().from(jobs).where(byKey(key));

/** Selects a stamp for each of these jobs that differs after each change of the columns that a job shows. */
export const selectStamps = (db: ControlDb, companyId: string, ids: readonly string[]) => {
  const { status, processedCount, suggestionCount, rejectedCount, conceptsNotSent } = jobs;
  const { usage, lastError, endedAt, updatedAt } = jobs;
  const shown = [
    status,
    processedCount,
    suggestionCount,
    rejectedCount,
    conceptsNotSent,
    usage,
    lastError,
    endedAt,
    updatedAt,
  ];
  return db
    .select({ id: jobs.id, stamp: sql<string>`json_array(${sql.join(shown, sql`, `)})` })
    .from(jobs)
    .where(and(eq(jobs.companyId, companyId), sql`${jobs.id} in ${idListSql(ids)}`));
};

/** The active generation of a type. */
export const selectActive = (db: ControlDb, companyId: string, type: JobType) =>
  db
    .select()
    .from(jobs)
    .where(and(eq(jobs.companyId, companyId), eq(jobs.type, type), isActive));

/** SQL condition, true for jobs none of whose targets are denied. */
const targetsNothingDenied = (denied: Record<ResourceType, Denials>): (SQL | undefined)[] =>
  Object.entries(denied).map(([type, ofType]) => {
    const isTargetable = isNotDenied(sql`target.value`, ofType);
    const targets = sql`select 1 from json_each(${jobs.targetIds}) as target where not ${isTargetable}`;
    return isTargetable && sql`(${jobs.targetType} <> ${type} or not exists (${targets}))`;
  });

/** A page of a company's jobs of one type, newest first, without those with a denied target. */
export function readJobs(
  db: ControlDb,
  of: { companyId: string; type: JobType },
  {
    targetType,
    status,
    denied,
  }: { targetType?: ResourceType; status?: JobStatus; denied: Record<ResourceType, Denials> },
  part: Pick<PageRequest, 'page' | 'perPage'>,
) {
  const filter = and(
    eq(jobs.companyId, of.companyId),
    eq(jobs.type, of.type),
    targetType === undefined ? undefined : eq(jobs.targetType, targetType),
    status === undefined ? undefined : eq(jobs.status, status),
    ...targetsNothingDenied(denied),
  ) as SQL;
  return readPage(db, { table: jobs, filter }, { ...part, by: jobs.createdAt, descending: true });
}

/** Leases an active job to one delivery, until `until`, unless another delivery has it. */
export const leaseJob = (db: ControlDb, key: JobKey, now: number, until: number) =>
  db
    .update(jobs)
    .set({ status: 'running', leasedUntil: until, attempts: sql`${jobs.attempts} + 1`, updatedAt: now })
    .where(and(byKey(key), isActive, or(isNull(jobs.leasedUntil), lte(jobs.leasedUntil, now))))
    .returning();

/** The SQL that adds to the usage of a job. */
const addToUsage = ({ requests, prompt_tokens, completion_tokens }: AiUsage): SQL =>
  sql`json_object('requests', ${jobs.usage} ->> '$.requests' + ${requests},
    'prompt_tokens', ${jobs.usage} ->> '$.prompt_tokens' + ${prompt_tokens},
    'completion_tokens', ${jobs.usage} ->> '$.completion_tokens' + ${completion_tokens})`;

/** Adds the usage of a delivery whose result was not stored. */
export const addUsage = (db: ControlDb, key: JobKey, usage: AiUsage) =>
  db
    .update(jobs)
    .set({ usage: addToUsage(usage) })
    .where(byKey(key));

/** Ends a lease, so that the next delivery can have the job at once. */
export const releaseJob = (db: ControlDb, key: JobKey, until: number, usage: AiUsage) =>
  db
    .update(jobs)
    .set({ leasedUntil: null, usage: addToUsage(usage) })
    .where(and(byKey(key), eq(jobs.leasedUntil, until)));

/** Records that the batch after `job.processedCount` is done, unless it is recorded, and ends the job with the last. */
export const advanceJob = (
  db: ControlDb,
  job: JobRow,
  {
    suggestions,
    rejected,
    conceptsNotSent,
    usage,
  }: { suggestions: number; rejected: number; conceptsNotSent: number; usage: AiUsage },
  now: number,
) => {
  const processedCount = job.processedCount + 1;
  const last = processedCount === job.totalCount;
  return db
    .update(jobs)
    .set({
      processedCount,
      suggestionCount: job.suggestionCount + suggestions,
      rejectedCount: job.rejectedCount + rejected,
      conceptsNotSent: Math.max(job.conceptsNotSent, conceptsNotSent),
      usage: addToUsage(usage),
      status: last ? 'succeeded' : 'running',
      endedAt: last ? now : null,
      leasedUntil: null,
      attempts: 0,
      updatedAt: now,
    })
    .where(and(byKey(job), eq(jobs.status, 'running'), eq(jobs.processedCount, job.processedCount)))
    .returning();
};

/** Ends an active job as failed. */
export const failJob = (db: ControlDb, job: JobRow, lastError: string, usage: AiUsage, now: number) =>
  db
    .update(jobs)
    .set({ status: 'failed', lastError, usage: addToUsage(usage), endedAt: now, leasedUntil: null, updatedAt: now })
    .where(and(byKey(job), isActive, eq(jobs.processedCount, job.processedCount)))
    .returning();

/** Ends an active job as cancelled. */
export const cancelJob = (db: ControlDb, key: JobKey, now: number) =>
  db
    .update(jobs)
    .set({ status: 'cancelled', endedAt: now, leasedUntil: null, updatedAt: now })
    .where(and(byKey(key), isActive))
    .returning();

/** Selects those of the ids that belong to active jobs, of any company. */
export const selectActiveIds = (db: ControlDb, ids: readonly string[]) =>
  db
    .select({ id: jobs.id })
    .from(jobs)
    .where(and(isActive, sql`${jobs.id} in ${idListSql(ids)}`));

/** Active jobs of any company that nothing has changed since `since`, and that no delivery has leased. */
export const selectStalled = (db: ControlDb, { now, since }: { now: number; since: number }, limit: number) =>
  db
    .select({ id: jobs.id, companyId: jobs.companyId })
    .from(jobs)
    .where(
      and(
        isActive,
        lte(jobs.updatedAt, since),
        or(isNull(jobs.leasedUntil), lte(jobs.leasedUntil, now)),
        isCompanyActive(jobs.companyId),
      ),
    )
    .orderBy(asc(jobs.updatedAt))
    .limit(limit);
