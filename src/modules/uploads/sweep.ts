import type { CompanyContext } from '../../context.ts';
import { DAY_MS } from '../../kernel/clock.ts';
import { isoTimestamp } from '../../kernel/fields.ts';
import { getCreatedAt } from '../../kernel/ids.ts';
import { logError } from '../../platform/log.ts';
import { deleteObjects } from '../../platform/stored-files.ts';
import type { TenantSql } from '../../tenant-sql/client.ts';
import { databaseUnavailable } from '../../tenant-sql/failures.ts';
import { openDatabaseIfAny, type Sizes } from '../managed-database/service.ts';
import { notifyChange, purgeTrash, sweepExports, sweepIndexes } from '../managed-tables/service.ts';
import { failJobAtStep } from './fail-job.ts';
import { dropKeptRows } from './kept-rows.ts';
import { type KeptTable, readKept } from './load-store.ts';
import { Superseded, waitExpired } from './problems.ts';
import { makePrefix, parseJobId } from './receive.ts';
import { finishCompleteUploads, RESUMABLE_MS } from './resumable.ts';
import { deleteExpired, findUnfinishedUploads, readOldestUpload } from './resumable-store.ts';
import { FILE_RETENTION_MS, measureCompany } from './room.ts';
import { RESUME_AFTER_MS } from './service.ts';
import { formatStagingTable } from './staging.ts';
import * as store from './sweep-store.ts';
import { UNDOABLE_MS } from './undo.ts';

/** The time after which a job that waits for its confirm expires. */
const WAITING_MS = DAY_MS;
/** The time for which the record of an ended job is kept. */
const JOB_RETENTION_MS = 90 * DAY_MS;
const JOBS_PER_RUN = 1000;
const KEYS_PER_PAGE = 1000;
const TABLES_PER_RUN = 100;

/**
 * Sweeps a company's uploads: queues silent jobs again, expires those that waited too long for their confirm, makes missing
 * jobs of complete resumable uploads, deletes abandoned ones, the
 * files of ended jobs and those without a job, the records of jobs that ended long ago, staging tables that no job uses,
 * rows that loads replaced and no undo can restore any more, tables in the trash, unfinished indexes, and leftovers of exports
 * in R2.
 * @returns when the next sweep is due, in milliseconds, null if none is; and the sizes of the company's data
 */
export async function sweepCompany(ctx: CompanyContext): Promise<{ next: number | null; sizes?: Sizes }> {
  const database = await openDatabaseIfAny(ctx);
  if (!database) return { next: null };
  const tasks: Record<string, () => Promise<number>> = {
    jobs: () => sweepJobs(ctx, database),
    begun: () => sweepUnfinished(ctx, database),
    files: () => sweepFiles(ctx, database),
    ended: () => deleteEndedJobs(ctx, database),
    trash: () => purgeTrash(ctx),
    indexes: () => sweepIndexes(ctx),
    exports: () => sweepExports(ctx),
    orphans: () => dropOrphanedTables(ctx, database),
    kept: () => dropKeptTables(ctx, database),
  };
  let due = Number.POSITIVE_INFINITY;
  for (const [part, task] of Object.entries(tasks)) {
    const next = await logFailure(ctx, { part }, task);
    due = Math.min(due, next ?? ctx.now() + RESUME_AFTER_MS);
  }
  const sizes = await logFailure(ctx, { part: 'sizes' }, () => measureCompany(ctx, database));
  return { next: Number.isFinite(due) ? due : null, ...(sizes && { sizes }) };
}

/**
 * Runs a task and logs its failure, so that it keeps no other one from running; the next sweep tries it again.
 * @returns undefined when it failed
 * @throws when the database is out of reach, for then every other task would fail, too
 */
async function logFailure<T>(
  { actor }: CompanyContext,
  fields: Record<string, string>,
  task: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await task();
  } catch (error) {
    if (databaseUnavailable.matches(error)) throw error;
    logError('sweep_part_failed', error, { company_id: actor.companyId, ...fields });
    return undefined;
  }
}

async function sweepJobs(ctx: CompanyContext, database: TenantSql): Promise<number> {
  const { companyId } = ctx.actor;
  const before = (milliseconds: number) => isoTimestamp(ctx.now() - milliseconds);
  const since = { waiting: before(WAITING_MS), working: before(RESUME_AFTER_MS) };
  for (const job of await store.readSilentJobs(database, companyId, since, JOBS_PER_RUN)) {
    await logFailure(ctx, { job_id: job.id }, () =>
      job.status === 'waiting_confirm' ? expireJob(ctx, database, job) : requeueJob(ctx, job),
    );
  }
  const left = await store.measureTimeUntilSilent(database, companyId, since);
  // A job that is silent already was just queued, or is one too many for this run.
  return left === null ? Number.POSITIVE_INFINITY : ctx.now() + (left > 0 ? left : RESUME_AFTER_MS);
}

async function expireJob(ctx: CompanyContext, database: TenantSql, job: store.SweptJob): Promise<void> {
  try {
    await notifyChange(ctx, async (announced) => {
      await announced;
      await failJobAtStep(database, ctx, job.id, job.step, waitExpired);
    });
  } catch (error) {
    // It was confirmed or cancelled meanwhile.
    if (!(error instanceof Superseded)) throw error;
  }
}

async function requeueJob(ctx: CompanyContext, job: store.SweptJob): Promise<void> {
  const type = job.status === 'inserting' ? 'upload.load' : 'upload.analyse';
  await ctx.jobs.send({ type, companyId: ctx.actor.companyId, jobId: job.id });
}

/** Drops staging tables without a job, which only a mistake leaves: one is dropped in the transaction that ends its job. */
async function dropOrphanedTables(ctx: CompanyContext, database: TenantSql): Promise<number> {
  for (const name of await store.listOrphanedStagingTables(database)) {
    await logFailure(ctx, { table: name }, () => database.execute(`DROP TABLE IF EXISTS ${formatStagingTable(name)}`));
  }
  return Number.POSITIVE_INFINITY;
}

/** Drops replaced rows that no undo needs any more, up to `TABLES_PER_RUN` tables. */
async function dropKeptTables(ctx: CompanyContext, database: TenantSql): Promise<number> {
  const isNeeded = ({ loadedAt }: KeptTable): boolean => loadedAt !== null && loadedAt + UNDOABLE_MS > ctx.now();
  const { companyId } = ctx.actor;
  for (const kept of await readKept(database, companyId, TABLES_PER_RUN)) {
    if (isNeeded(kept)) break;
    await logFailure(ctx, { kept: kept.jobId }, () => database.execute(dropKeptRows(kept.jobId)));
  }
  const [next] = await readKept(database, companyId, 1);
  return next ? Math.max(ctx.now() + RESUME_AFTER_MS, (next.loadedAt ?? 0) + UNDOABLE_MS) : Number.POSITIVE_INFINITY;
}

async function deleteEndedJobs(ctx: CompanyContext, database: TenantSql): Promise<number> {
  const until = isoTimestamp(ctx.now() - JOB_RETENTION_MS);
  const { deleted, oldest } = await store.deleteEndedJobs(database, ctx.actor.companyId, until, JOBS_PER_RUN);
  if (oldest === null) return Number.POSITIVE_INFINITY;
  return deleted === JOBS_PER_RUN ? ctx.now() : oldest + JOB_RETENTION_MS;
}

/**
 * Makes the jobs of complete uploads whose last request did not, and deletes abandoned uploads. Their files have no job, and
 * are deleted as such.
 */
async function sweepUnfinished(ctx: CompanyContext, database: TenantSql): Promise<number> {
  const { companyId } = ctx.actor;
  const isLeft = (await finishCompleteUploads(ctx, database, JOBS_PER_RUN)) > 0;
  const until = isoTimestamp(ctx.now() - RESUMABLE_MS);
  if ((await deleteExpired(database, companyId, until, JOBS_PER_RUN)) === JOBS_PER_RUN) return ctx.now();
  const oldest = await readOldestUpload(database, companyId);
  const due = oldest === null ? Number.POSITIVE_INFINITY : oldest + RESUMABLE_MS;
  return isLeft ? Math.min(due, ctx.now() + RESUME_AFTER_MS) : due;
}

/** Deletes files that are not needed. It lists R2 itself, so that none is left behind after an interruption. */
async function sweepFiles(ctx: CompanyContext, database: TenantSql): Promise<number> {
  const { companyId } = ctx.actor;
  let due = Number.POSITIVE_INFINITY;
  let cursor: string | undefined;
  do {
    const page = await ctx.files.list({
      prefix: `${makePrefix(companyId)}/`,
      limit: KEYS_PER_PAGE,
      ...(cursor !== undefined && { cursor }),
    });
    const ids = new Set(page.objects.map(({ key }) => parseJobId(key)));
    // First: one that is finished meanwhile has a job then.
    const begun = await findUnfinishedUploads(database, companyId, [...ids]);
    const jobs = await store.readJobs(database, companyId, [...ids]);
    const jobsById = new Map(jobs.map((job) => [job.id, job]));
    const overdue: string[] = [];
    for (const { key } of page.objects) {
      const id = parseJobId(key);
      if (begun.has(id)) continue;
      const deletable = computeNeededUntil(id, jobsById.get(id)) + FILE_RETENTION_MS;
      if (deletable <= ctx.now()) overdue.push(key);
      else due = Math.min(due, deletable);
    }
    await deleteObjects(ctx.files, overdue);
    cursor = page.truncated ? page.cursor : undefined;
  } while (cursor !== undefined);
  return due;
}

/** The time when a job ended, in milliseconds; without a job, when the upload began, which its id tells. */
function computeNeededUntil(id: string, job: store.SweptJob | undefined): number {
  if (!job) return getCreatedAt(id);
  return job.status === 'done' || job.status === 'failed' ? job.updatedAt : Number.POSITIVE_INFINITY;
}
