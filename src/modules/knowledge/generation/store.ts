import { and, asc, eq, inArray, isNull, lte, or, type SQL, sql } from 'drizzle-orm';
import type { ControlDb } from '../../../db/client.ts';
import { type PageRequest, readPage } from '../../../db/page.ts';
import { type JobStatus, type JobType, jobs } from '../../../db/schema/knowledge-jobs.ts';
import type { ResourceType } from '../../../db/schema/knowledge-resources.ts';
import type { AiUsage } from '../../../platform/ai.ts';

export type JobRow = typeof jobs.$inferSelect;

/** Which job of which company. */
export interface JobKey {
  companyId: string;
  id: string;
}

const one = ({ companyId, id }: JobKey): SQL => and(eq(jobs.companyId, companyId), eq(jobs.id, id)) as SQL;
const inWork = inArray(jobs.status, ['queued', 'running']);

/** Keeps a new job; a second generation of its type in work violates `knowledge_jobs_one_at_a_time`. */
export const insertJob = (db: ControlDb, row: JobRow) => db.insert(jobs).values(row);

/** The job of an id. */
export const selectJob = (db: ControlDb, key: JobKey) => db.select().from(jobs).where(one(key));

/** The generation of a type that is under way. */
export const selectRunning = (db: ControlDb, companyId: string, type: JobType) =>
  db
    .select()
    .from(jobs)
    .where(and(eq(jobs.companyId, companyId), eq(jobs.type, type), inWork));

/** A page of a company's jobs of one type, newest first. */
export function readJobs(
  db: ControlDb,
  of: { companyId: string; type: JobType },
  { targetType, status }: { targetType?: ResourceType; status?: JobStatus },
  part: Pick<PageRequest, 'page' | 'perPage'>,
) {
  const filter = and(
    eq(jobs.companyId, of.companyId),
    eq(jobs.type, of.type),
    targetType === undefined ? undefined : eq(jobs.targetType, targetType),
    status === undefined ? undefined : eq(jobs.status, status),
  ) as SQL;
  return readPage(db, { table: jobs, filter }, { ...part, by: jobs.createdAt, descending: true });
}

/** Gives one delivery its turn at a job that is in work, until `until`, unless another is at it. */
export const takeUp = (db: ControlDb, key: JobKey, now: number, until: number) =>
  db
    .update(jobs)
    .set({ status: 'running', leasedUntil: until, attempts: sql`${jobs.attempts} + 1`, updatedAt: now })
    .where(and(one(key), inWork, or(isNull(jobs.leasedUntil), lte(jobs.leasedUntil, now))))
    .returning();

/** What a job used so far and this, as the database adds it up. */
const usageWith = ({ requests, prompt_tokens, completion_tokens }: AiUsage): SQL =>
  sql`json_object('requests', ${jobs.usage} ->> '$.requests' + ${requests},
    'prompt_tokens', ${jobs.usage} ->> '$.prompt_tokens' + ${prompt_tokens},
    'completion_tokens', ${jobs.usage} ->> '$.completion_tokens' + ${completion_tokens})`;

/** Counts what a delivery used although nothing came of it. */
export const addUsage = (db: ControlDb, key: JobKey, usage: AiUsage) =>
  db
    .update(jobs)
    .set({ usage: usageWith(usage) })
    .where(one(key));

/** Lets the next delivery have its turn at once. */
export const release = (db: ControlDb, key: JobKey, until: number, usage: AiUsage) =>
  db
    .update(jobs)
    .set({ leasedUntil: null, usage: usageWith(usage) })
    .where(and(one(key), eq(jobs.leasedUntil, until)));

/** What a batch brought. */
export interface BatchResult {
  suggestions: number;
  rejected: number;
  usage: AiUsage;
}

/** Records that the batch after `job.processedCount` is done, if nobody else has, and ends the job with the last one. */
export const advance = (db: ControlDb, job: JobRow, { suggestions, rejected, usage }: BatchResult, now: number) => {
  const processedCount = job.processedCount + 1;
  const last = processedCount === job.totalCount;
  return db
    .update(jobs)
    .set({
      processedCount,
      suggestionCount: job.suggestionCount + suggestions,
      rejectedCount: job.rejectedCount + rejected,
      usage: usageWith(usage),
      status: last ? 'succeeded' : 'running',
      endedAt: last ? now : null,
      leasedUntil: null,
      attempts: 0,
      updatedAt: now,
    })
    .where(and(one(job), eq(jobs.status, 'running'), eq(jobs.processedCount, job.processedCount)))
    .returning();
};

/** Ends a job that is in work as failed. */
export const fail = (db: ControlDb, job: JobRow, lastError: string, usage: AiUsage, now: number) =>
  db
    .update(jobs)
    .set({ status: 'failed', lastError, usage: usageWith(usage), endedAt: now, leasedUntil: null, updatedAt: now })
    .where(and(one(job), inWork, eq(jobs.processedCount, job.processedCount)))
    .returning();

/** Ends a job that is in work because somebody wants it to. */
export const cancel = (db: ControlDb, key: JobKey, now: number) =>
  db
    .update(jobs)
    .set({ status: 'cancelled', endedAt: now, leasedUntil: null, updatedAt: now })
    .where(and(one(key), inWork))
    .returning();

/** Those of the ids that are jobs in work, of whatever company. */
export const selectInWork = (db: ControlDb, ids: readonly string[]) =>
  db
    .select({ id: jobs.id })
    .from(jobs)
    .where(and(inWork, sql`${jobs.id} in (select value from json_each(${JSON.stringify(ids)}))`));

/** Jobs of any company that are in work and fell silent before `since`, with nobody at them. */
export const selectSilent = (db: ControlDb, { now, since }: { now: number; since: number }, limit: number) =>
  db
    .select({ id: jobs.id, companyId: jobs.companyId })
    .from(jobs)
    .where(and(inWork, lte(jobs.updatedAt, since), or(isNull(jobs.leasedUntil), lte(jobs.leasedUntil, now))))
    .orderBy(asc(jobs.updatedAt))
    .limit(limit);
