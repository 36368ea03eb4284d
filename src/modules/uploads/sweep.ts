import type { CompanyContext } from '../../context.ts';
import { DAY_MS } from '../../kernel/clock.ts';
import { formatIsoTimestamp } from '../../kernel/fields.ts';
import { getCreatedAt } from '../../kernel/ids.ts';
import { logError } from '../../platform/log.ts';
import { deleteObjects, listKeys } from '../../platform/stored-files.ts';
import type { TenantSql } from '../../tenant-sql/client.ts';
import { databaseUnavailable } from '../../tenant-sql/failures.ts';
import { type DatabaseSizes, openDatabaseIfAny } from '../managed-database/service.ts';
import { notifyChange, purgeTrash, sweepExports, sweepIndexes } from '../managed-tables/service.ts';
import { failJobAtStep } from './fail-job.ts';
import { FILE_RETENTION_MS, measureCompanySizes } from './file-quota.ts';
import { readKeptTables } from './load-store.ts';
import { SupersededError, waitExpired } from './problems.ts';
import { makeUploadPrefix, parseJobId } from './receive.ts';
import { finishCompleteUploads, UPLOAD_EXPIRY_MS } from './resumable.ts';
import { deleteExpiredUploads, findUnfinishedUploads, readOldestUpload } from './resumable-store.ts';
import { RESUME_AFTER_MS } from './service.ts';
import { formatStagingTable } from './staging.ts';
import * as store from './sweep-store.ts';
import { UNDO_WINDOW_MS } from './undo.ts';
import { buildDropKeptRows } from './undo-rows.ts';

/** The time after which a job that waits for its confirmation expires. */
const CONFIRM_TIMEOUT_MS = DAY_MS;
/** The time for which the record of an ended job is kept. */
const JOB_RETENTION_MS = 90 * DAY_MS;
const JOBS_PER_RUN = 1000;
const TABLES_PER_RUN = 100;

/**
 * Sweeps a company's uploads: queues silent jobs again, expires those that waited too long for their confirmation, creates
 * missing jobs of complete resumable uploads, deletes abandoned uploads, the files of ended jobs and files without a job, the
 * records of jobs that ended long ago, staging tables that no job uses, rows that loads replaced and no undo can restore any
 * more, tables in the trash, unfinished indexes, and leftovers of exports in R2. @returns when the next sweep is due, in
 * milliseconds, null if none is; and the sizes of the company's data
 */
export async function sweepCompany(
  ctx: CompanyContext,
): Promise<{ nextSweepAt: number | null; sizes?: DatabaseSizes }> {
  const database = await openDatabaseIfAny(ctx);
  if (!database) return { nextSweepAt: null };
  const tasks: Record<string, () => Promise<number>> = {
    jobs: () => sweepJobs(ctx, database),
    begun: () => sweepUnfinishedUploads(ctx, database),
    files: () => sweepFiles(ctx, database),
    ended: () => deleteEndedJobs(ctx, database),
    trash: () => purgeTrash(ctx),
    indexes: () => sweepIndexes(ctx),
    exports: () => sweepExports(ctx),
    orphans: () => dropOrphanedTables(ctx, database),
    kept: () => dropKeptTables(ctx, database),
  };
  let dueAt = Number.POSITIVE_INFINITY;
  for (const [part, task] of Object.entries(tasks)) {
    const taskDueAt = await runLoggingFailure(ctx, { part }, task);
    dueAt = Math.min(dueAt, taskDueAt ?? ctx.now() + RESUME_AFTER_MS);
  }
  const sizes = await runLoggingFailure(ctx, { part: 'sizes' }, () => measureCompanySizes(ctx, database));
  return { nextSweepAt: Number.isFinite(dueAt) ? dueAt : null, ...(sizes && { sizes }) };
}

/**
 * Runs a task and logs its failure, so that it does not stop the other tasks; the next sweep tries it again. @returns undefined
 * when it failed @throws when the database is unreachable, for then every other task would fail, too
 */
async function runLoggingFailure<T>(
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
  const formatTimeBefore = (milliseconds: number) => formatIsoTimestamp(ctx.now() - milliseconds);
  const since = {
    waitingCutoff: formatTimeBefore(CONFIRM_TIMEOUT_MS),
    workingCutoff: formatTimeBefore(RESUME_AFTER_MS),
  };
  for (const job of await store.readSilentJobs(database, companyId, since, JOBS_PER_RUN)) {
    await runLoggingFailure(ctx, { job_id: job.id }, () =>
      job.status === 'waiting_confirm' ? expireJob(ctx, database, job) : requeueJob(ctx, job),
    );
  }
  const remainingMs = await store.measureTimeUntilSilent(database, companyId, since);
  // A job that is silent already was just queued, or is one too many for this run.
  return remainingMs === null
    ? Number.POSITIVE_INFINITY
    : ctx.now() + (remainingMs > 0 ? remainingMs : RESUME_AFTER_MS);
}

async function expireJob(ctx: CompanyContext, database: TenantSql, job: store.SweptJob): Promise<void> {
  try {
    await notifyChange(ctx, async (announcement) => {
      await announcement;
      await failJobAtStep(database, ctx, job.id, job.stepNumber, waitExpired);
    });
  } catch (error) {
    // It was confirmed or cancelled meanwhile.
    if (!(error instanceof SupersededError)) throw error;
  }
}

async function requeueJob(ctx: CompanyContext, job: store.SweptJob): Promise<void> {
  const type = job.status === 'inserting' ? 'upload.load' : 'upload.analyse';
  await ctx.jobs.send({ type, companyId: ctx.actor.companyId, jobId: job.id });
}

/** Drops staging tables without a job, which only a mistake leaves: usually the transaction that ends a job drops its table. */
async function dropOrphanedTables(ctx: CompanyContext, database: TenantSql): Promise<number> {
  for (const name of await store.listOrphanedStagingTables(database)) {
    await runLoggingFailure(ctx, { table: name }, () =>
      database.execute(`DROP TABLE IF EXISTS ${formatStagingTable(name)}`),
    );
  }
  return Number.POSITIVE_INFINITY;
}

/** Drops replaced rows that no undo needs any more, up to `TABLES_PER_RUN` tables. */
async function dropKeptTables(ctx: CompanyContext, database: TenantSql): Promise<number> {
  const { companyId } = ctx.actor;
  for (const { jobId, loadedAt } of await readKeptTables(database, companyId, TABLES_PER_RUN)) {
    if (loadedAt !== null && loadedAt + UNDO_WINDOW_MS > ctx.now()) break;
    await runLoggingFailure(ctx, { kept: jobId }, () => database.execute(buildDropKeptRows(jobId)));
  }
  const [oldestTable] = await readKeptTables(database, companyId, 1);
  return oldestTable
    ? Math.max(ctx.now() + RESUME_AFTER_MS, (oldestTable.loadedAt ?? 0) + UNDO_WINDOW_MS)
    : Number.POSITIVE_INFINITY;
}

async function deleteEndedJobs(ctx: CompanyContext, database: TenantSql): Promise<number> {
  const endedBefore = formatIsoTimestamp(ctx.now() - JOB_RETENTION_MS);
  const { deletedCount, oldest } = await store.deleteEndedJobs(
    database,
    ctx.actor.companyId,
    endedBefore,
    JOBS_PER_RUN,
  );
  if (oldest === null) return Number.POSITIVE_INFINITY;
  return deletedCount === JOBS_PER_RUN ? ctx.now() : oldest + JOB_RETENTION_MS;
}

/**
 * Creates the jobs of complete uploads whose last request did not create them, and deletes abandoned uploads. The files of an
 * abandoned upload have no job, so `sweepFiles` deletes them.
 */
async function sweepUnfinishedUploads(ctx: CompanyContext, database: TenantSql): Promise<number> {
  const { companyId } = ctx.actor;
  const wereAnyComplete = (await finishCompleteUploads(ctx, database, JOBS_PER_RUN)) > 0;
  const changedBefore = formatIsoTimestamp(ctx.now() - UPLOAD_EXPIRY_MS);
  if ((await deleteExpiredUploads(database, companyId, changedBefore, JOBS_PER_RUN)) === JOBS_PER_RUN) return ctx.now();
  const oldestAt = await readOldestUpload(database, companyId);
  const dueAt = oldestAt === null ? Number.POSITIVE_INFINITY : oldestAt + UPLOAD_EXPIRY_MS;
  return wereAnyComplete ? Math.min(dueAt, ctx.now() + RESUME_AFTER_MS) : dueAt;
}

/** Deletes files that are not needed. It lists R2 itself, so that no file is left behind after an interruption. */
async function sweepFiles(ctx: CompanyContext, database: TenantSql): Promise<number> {
  const { companyId } = ctx.actor;
  let dueAt = Number.POSITIVE_INFINITY;
  for await (const keys of listKeys(ctx.files, `${makeUploadPrefix(companyId)}/`)) {
    const ids = [...new Set(keys.map(parseJobId))];
    // First: one that is finished meanwhile has a job then.
    const unfinishedIds = await findUnfinishedUploads(database, companyId, ids);
    const jobs = await store.readJobs(database, companyId, ids);
    const jobsById = new Map(jobs.map((job) => [job.id, job]));
    const overdueKeys: string[] = [];
    for (const key of keys) {
      const id = parseJobId(key);
      if (unfinishedIds.has(id)) continue;
      const deletableAt = computeNeededUntil(id, jobsById.get(id)) + FILE_RETENTION_MS;
      if (deletableAt <= ctx.now()) overdueKeys.push(key);
      else dueAt = Math.min(dueAt, deletableAt);
    }
    await deleteObjects(ctx.files, overdueKeys);
  }
  return dueAt;
}

/**
 * Computes the time (ms) until which an upload's files are needed: the end of its job, infinity before that end; without a job,
 * the beginning of the upload, which the id encodes.
 */
function computeNeededUntil(id: string, job: store.SweptJob | undefined): number {
  if (!job) return getCreatedAt(id);
  return job.status === 'done' || job.status === 'failed' ? job.updatedAt : Number.POSITIVE_INFINITY;
}
