import { findReadDenials } from '../../access/denials.ts';
import { requireAction } from '../../access/requirements.ts';
import type { CompanyContext, PrincipalContext } from '../../context.ts';
import { invalidInput } from '../../kernel/failure.ts';
import { formatIsoTimestamp } from '../../kernel/fields.ts';
import type { SentBody } from '../../kernel/files.ts';
import { ID_PATTERN } from '../../kernel/ids.ts';
import { findUrlProblem } from '../../kernel/public-address.ts';
import { makeResourceArn } from '../../permissions/arn.ts';
import { isPostgresError, type TenantSql } from '../../tenant-sql/client.ts';
import { MAX_COLUMNS } from '../../tenant-sql/columns.ts';
import { resultUnknown } from '../../tenant-sql/failures.ts';
import { openDatabaseIfAny, openDatabaseToRead, requireDatabase, scheduleSweep } from '../managed-database/service.ts';
import {
  getTable,
  isNameInUse,
  lockTable,
  notifyChange,
  runTableTransaction,
  tableName,
  tableNameTaken,
} from '../managed-tables/service.ts';
import { matchColumns, matchTableColumns } from './confirm.ts';
import { failLockedJob } from './fail-job.ts';
import { jobEnded, jobNotFound, notWaitingConfirm, tooManyTableColumns, wrongEvolve, wrongMode } from './failures.ts';
import { beginFetch } from './fetch.ts';
import { requireFileQuota, requireUnusedFileQuota, runWithinFileQuota } from './file-quota.ts';
import { isKeyedById } from './inference/index.ts';
import {
  type Confirmation,
  type ConfirmedSchema,
  EVOLVE_MODES,
  type EvolveMode,
  type UploadJob,
  type UploadMode,
  type UrlUpload,
} from './job.ts';
import { uploadCancelled } from './problems.ts';
import { findOptionProblems, type ReadingOptions } from './reading-options.ts';
import { discardFiles, makeUploadPrefix, receiveForm, type StoredFile, sumBytes, type UploadForm } from './receive.ts';
import * as store from './store.ts';
import { isTimeZoneKnown } from './time-zones.ts';

/** The time without a change after which the scheduled run queues a job again. Milliseconds. */
export const RESUME_AFTER_MS = 60_000;

/** The maximum number of columns of a key: as many as an index can have. */
const MAX_KEY_COLUMNS = 4;

export { MAX_FILES, MAX_UPLOAD_BYTES } from './failures.ts';
export { measureCompanySizes } from './file-quota.ts';
export { readLoadedDays } from './sweep-store.ts';

function toJobKey(ctx: CompanyContext, id: string): store.JobKey {
  if (!ID_PATTERN.test(id)) throw jobNotFound();
  return { id, companyId: ctx.actor.companyId };
}

/**
 * Receives the files of a form and queues a job that creates a table from them. When it throws, no job and no file remains.
 * @returns the job's id
 */
export async function startUpload(ctx: PrincipalContext, sentBody: SentBody): Promise<string> {
  const database = await requireDatabase(ctx);
  await requireUnusedFileQuota(ctx, database);
  return startJob(ctx, sentBody, (job, { mode, evolve, keys }) => {
    requireNoTableOptions({
      mode: mode ?? undefined,
      evolve: evolve ?? undefined,
      key: keys.length > 0 ? keys : undefined,
    });
    return insertJob(ctx, database, job, { mode: 'create', keys: [], tableId: null });
  });
}

/** Throws if an upload that makes a table has options that only uploads into a table have. @throws invalid */
export function requireNoTableOptions(sentOptions: { mode?: unknown; evolve?: unknown; key?: unknown }): void {
  const uselessFields = Object.entries(sentOptions).filter(([, value]) => value !== undefined);
  if (uselessFields.length > 0)
    throw invalidInput(uselessFields.map(([field]) => ({ field, message: 'is for an existing table' })));
}

/**
 * Receives the files of a form and queues a job for an existing table, whose rows are joined, replaced or updated, according to
 * the form's `mode`. Until the job ends, the table can be neither emptied, deleted, renamed nor changed.
 */
export async function startTableUpload(ctx: PrincipalContext, tableId: string, sentBody: SentBody): Promise<string> {
  const database = await requireDatabase(ctx);
  await getTable(ctx, tableId);
  await requireUnusedFileQuota(ctx, database);
  return startJob(ctx, sentBody, async (job, { keys, ...said }) => {
    const [mode, evolve] = [toMode(said.mode), toEvolve(said.evolve)];
    requireMayChangeTable(ctx, mode, tableId, evolve);
    await insertJob(ctx, database, job, { mode, evolve, keys, tableId });
  });
}

/** Reads the mode of a load into an existing table from a form or header; `append` where it is absent. */
export function toMode(sentMode: string | null): Exclude<UploadMode, 'create'> {
  const mode = sentMode ?? 'append';
  if (mode !== 'append' && mode !== 'replace' && mode !== 'upsert') throw wrongMode();
  return mode;
}

/** Reads from a form or header how a load may change columns; `none` where it is absent. */
export function toEvolve(sentEvolve: string | null): EvolveMode {
  const evolve = EVOLVE_MODES.find((mode) => mode === (sentEvolve ?? 'none'));
  if (!evolve) throw wrongEvolve();
  return evolve;
}

/** Queues a job that first fetches a file from a URL, and continues like a job whose files were sent. @returns the job's id */
export async function startUploadFromUrl(ctx: PrincipalContext, sentBody: UrlUpload): Promise<string> {
  const { table_id: tableId = null, key: keys = [], evolve = 'none' } = sentBody;
  requireAction(ctx.actor, 'managed-tables:upload', tableId ?? '*');
  if (tableId === null) requireNoTableOptions({ mode: sentBody.mode, key: sentBody.key, evolve: sentBody.evolve });
  const mode: UploadMode = tableId === null ? 'create' : (sentBody.mode ?? 'append');
  const problem = findUrlProblem(sentBody.url, ctx.config.ALLOW_PRIVATE_ISSUERS);
  if (problem !== null) throw invalidInput([{ field: 'url', message: problem }]);
  const database = await requireDatabase(ctx);
  if (tableId !== null) await getTable(ctx, tableId);
  requireMayChangeTable(ctx, mode, tableId, evolve);
  await requireUnusedFileQuota(ctx, database);
  const job = makeJob(ctx, ctx.newId(), []);
  const preparedFetch = await beginFetch(ctx, job.id, sentBody.url, sentBody.filename);
  await scheduleSweep(ctx, ctx.now() + RESUME_AFTER_MS);
  await insertJob(ctx, database, { ...job, preparedFetch }, { mode, evolve, keys, tableId });
  await ctx.jobs.send({ type: 'upload.analyse', companyId: job.companyId, jobId: job.id });
  return job.id;
}

const makeJob = (ctx: PrincipalContext, id: string, files: StoredFile[]): store.NewJob => ({
  id,
  companyId: ctx.actor.companyId,
  createdByUserId: ctx.actor.id,
  files,
  progress: { rows_processed: 0, rows_total: null, bytes_processed: 0, bytes_total: sumBytes(files) },
  createdAt: formatIsoTimestamp(ctx.now()),
});

/** Inserts a job. Until the job ends, nothing but the job can change the table that it loads into. */
async function insertJob(
  ctx: PrincipalContext,
  database: TenantSql,
  job: store.NewJob,
  options: { mode: UploadMode; evolve?: EvolveMode; keys: string[]; tableId: string | null },
): Promise<void> {
  const { mode, evolve = 'none', keys, tableId } = options;
  const bytes = sumBytes(job.files);
  if (tableId === null) {
    const newJob = { ...job, mode, evolve, key: null, userTableId: null };
    return runWithinFileQuota(ctx, database, bytes, (tx) => store.insertJob(tx, newJob));
  }
  await runTableTransaction(database, async (tx) => {
    const { columns } = await lockTable(tx, ctx, tableId, 'row');
    await store.insertJob(tx, { ...job, mode, evolve, key: chooseKey(mode, keys, columns), userTableId: tableId });
    await requireFileQuota(ctx, tx, bytes);
  });
}

/** Requires the permissions that a load needs if it changes or removes rows, or changes columns. */
export function requireMayChangeTable(
  ctx: PrincipalContext,
  mode: UploadMode,
  tableId: string | null,
  evolve: EvolveMode,
): void {
  if (evolve !== 'none') requireAction(ctx.actor, 'managed-tables:update', tableId ?? '*');
  if (mode === 'replace' || mode === 'upsert') requireAction(ctx.actor, 'managed-tables:data-write', tableId ?? '*');
}

/** Returns the columns of the key of an upsert; null for other modes, which have no key. @throws invalid */
export function chooseKey(mode: string, keys: string[], columns: { name: string }[]): string[] | null {
  const makeProblem = (message: string) => invalidInput([{ field: 'key', message }]);
  if (mode !== 'upsert') {
    if (keys.length > 0) throw makeProblem('is for the mode upsert');
    return null;
  }
  if (keys.length === 0) throw makeProblem('is required');
  if (keys.length > MAX_KEY_COLUMNS) throw makeProblem(`must name 1 to ${MAX_KEY_COLUMNS} columns`);
  if (new Set(keys).size < keys.length) throw makeProblem('must name each column once');
  if (isKeyedById(keys)) return keys;
  if (keys.includes('id')) throw makeProblem('"id" identifies rows by itself: leave out the other columns');
  const unknownColumn = keys.find((key) => !columns.some(({ name }) => name === key));
  if (unknownColumn !== undefined) throw makeProblem(`"${unknownColumn}" is not a column of the table`);
  return keys;
}

/** Receives the files, then queues a job. @param insertNewJob inserts the job; when it throws, the files are deleted */
async function startJob(
  ctx: PrincipalContext,
  sentBody: SentBody,
  insertNewJob: (job: store.NewJob, form: UploadForm) => Promise<void>,
): Promise<string> {
  const { companyId } = ctx.actor;
  const id = ctx.newId();
  // Before anything else, so that a sweep deletes what a crash leaves behind.
  await scheduleSweep(ctx, ctx.now() + RESUME_AFTER_MS);
  const form = await receiveForm(sentBody, ctx.files, makeUploadPrefix(companyId, id));
  const { files } = form;
  try {
    await insertNewJob(makeJob(ctx, id, files), form);
  } catch (error) {
    // With an unknown result the job may be there and need its files; otherwise a sweep deletes them.
    if (!resultUnknown.matches(error)) await discardFiles(ctx.files, files);
    throw error;
  }
  await ctx.jobs.send({ type: 'upload.analyse', companyId, jobId: id });
  return id;
}

/** Finds the ARN of the table that a job loads into; that of all tables where the job creates a table, or does not exist. */
export const findJobArn = (ctx: PrincipalContext, id: string): Promise<string> =>
  findTableArn(openDatabaseIfAny, ctx, id);

/** Finds the ARN of a job's table like `findJobArn`, for a request that only reads. */
export const findJobArnToRead = (ctx: PrincipalContext, id: string): Promise<string> =>
  findTableArn(openDatabaseToRead, ctx, id);

async function findTableArn(
  openDatabase: typeof openDatabaseIfAny,
  ctx: PrincipalContext,
  id: string,
): Promise<string> {
  const database = ID_PATTERN.test(id) ? await openDatabase(ctx) : undefined;
  const job = database && (await store.readJob(database, toJobKey(ctx, id)));
  return makeResourceArn('managed-tables:upload', ctx.actor.companyId, job?.userTableId ?? '*');
}

export async function getJob(ctx: PrincipalContext, id: string): Promise<UploadJob> {
  const key = toJobKey(ctx, id);
  const database = await openDatabaseToRead(ctx);
  return requirePermittedJob(ctx, 'managed-tables:list', database && (await store.readJob(database, key)));
}

/** Returns a version for each of these jobs that changes with every change of the job. */
export async function readJobVersions(ctx: CompanyContext, ids: readonly string[]): Promise<Map<string, string>> {
  const database = await openDatabaseToRead(ctx);
  return database ? store.readLastChanges(database, ctx.actor.companyId, ids) : new Map();
}

/** Lists the active jobs, newest first, up to 500, without jobs of tables that are denied. Empty before provisioning. */
export async function listActiveJobs(ctx: PrincipalContext): Promise<UploadJob[]> {
  const database = await openDatabaseToRead(ctx);
  if (!database) return [];
  return store.readActiveJobs(database, ctx.actor.companyId, findReadDenials(ctx.actor, 'table'));
}

/** Returns a job, if the caller is allowed the action on its table. */
export async function requireJob(ctx: PrincipalContext, action: TableAction, id: string): Promise<UploadJob> {
  return requirePermittedJob(ctx, action, await store.readJob(await requireJobsDatabase(ctx), toJobKey(ctx, id)));
}

function requirePermittedJob(ctx: PrincipalContext, action: TableAction, job: UploadJob | undefined): UploadJob {
  if (!job) throw jobNotFound();
  if (job.userTableId !== null) requireAction(ctx.actor, action, job.userTableId);
  return job;
}

type TableAction = 'managed-tables:list' | 'managed-tables:upload';

/** Returns an upload job. @throws forbidden unless the caller may load its rows */
export async function requireConfirmableJob(ctx: PrincipalContext, id: string): Promise<UploadJob> {
  const job = await requireJob(ctx, 'managed-tables:upload', id);
  requireMayChangeTable(ctx, job.mode, job.userTableId, job.evolve);
  return job;
}

/** Confirms the inferred schema with changes, and queues the load. Of concurrent confirmations of a job only one succeeds. */
export async function confirmUpload(ctx: PrincipalContext, id: string, confirmation: Confirmation): Promise<void> {
  const database = await requireJobsDatabase(ctx);
  const job = await requireConfirmableJob(ctx, id);
  if (job.status !== 'waiting_confirm' || !job.inferredSchema) throw notWaitingConfirm();
  const schema = { ...(await findConfirmedTable(ctx, job, confirmation)), time_zone: confirmation.time_zone ?? null };
  if (schema.time_zone !== null && !(await isTimeZoneKnown(database, schema.time_zone))) {
    throw invalidInput([{ field: 'time_zone', message: 'is not a time zone that the database knows' }]);
  }
  await scheduleSweep(ctx, ctx.now() + RESUME_AFTER_MS);
  const progress = {
    rows_processed: 0,
    rows_total: job.inferredSchema.total_row_count_estimate,
    bytes_processed: 0,
    bytes_total: job.progress?.bytes_total ?? sumBytes(job.files),
  };
  try {
    if (!(await store.confirmJob(database, job, { schema, progress }, formatIsoTimestamp(ctx.now()))))
      throw notWaitingConfirm();
  } catch (error) {
    // Another job is loading a table of that name.
    const isNameTaken = isPostgresError(error) && error.constraint === 'upload_jobs_name';
    throw isNameTaken ? tableNameTaken(schema.display_name) : error;
  }
  await ctx.jobs.send({ type: 'upload.load', companyId: ctx.actor.companyId, jobId: id });
}

/**
 * Queues another analysis of a waiting job's files with a person's reading options. Of concurrent reanalyses and
 * confirmations of one job only one succeeds.
 */
export async function reanalyseUpload(
  ctx: PrincipalContext,
  id: string,
  readingOptions: ReadingOptions,
): Promise<void> {
  const database = await requireJobsDatabase(ctx);
  const key = toJobKey(ctx, id);
  const job = await requireJob(ctx, 'managed-tables:upload', id);
  // Whoever says which line names the columns is shown it, and line by line the whole file.
  const { header, skip_lines, delimiter, quote, sheet } = readingOptions;
  const mayMoveHeaderLine = [delimiter, quote, sheet].some((option) => option !== undefined);
  const choosesHeaderLine = header === true || skip_lines !== undefined || (header !== false && mayMoveHeaderLine);
  if (choosesHeaderLine && job.createdByUserId !== ctx.actor.id)
    requireAction(ctx.actor, 'managed-tables:data-read', job.userTableId ?? '*');
  if (job.status !== 'waiting_confirm') throw notWaitingConfirm();
  const reading = await store.readReading(database, key);
  if (!reading) throw notWaitingConfirm();
  const problems = findOptionProblems(readingOptions, reading);
  if (problems.length > 0) throw invalidInput(problems);
  await scheduleSweep(ctx, ctx.now() + RESUME_AFTER_MS);
  if (!(await store.startReanalysis(database, key, readingOptions, formatIsoTimestamp(ctx.now()))))
    throw notWaitingConfirm();
  await ctx.jobs.send({ type: 'upload.analyse', companyId: ctx.actor.companyId, jobId: id });
}

/** Returns the name and columns of the table that is confirmed: a new one, or the existing one. */
async function findConfirmedTable(
  ctx: CompanyContext,
  job: UploadJob,
  { display_name, columns }: Confirmation,
): Promise<Omit<ConfirmedSchema, 'time_zone'>> {
  if (!job.inferredSchema) throw notWaitingConfirm();
  if (job.userTableId !== null) {
    const { displayName, columns: currentColumns } = await getTable(ctx, job.userTableId);
    const matchedSchema = matchTableColumns(columns, job.inferredSchema, job.key);
    const count = currentColumns.length + (matchedSchema.evolution?.added.length ?? 0);
    if (count > MAX_COLUMNS) throw tooManyTableColumns(MAX_COLUMNS);
    return { display_name: displayName, ...matchedSchema };
  }
  const name = tableName.safeParse(display_name);
  if (!name.success) {
    throw invalidInput(name.error.issues.map(({ message }) => ({ field: 'display_name', message })));
  }
  const matchedColumns = matchColumns(columns, job.inferredSchema.columns);
  if (await isNameInUse(ctx, name.data)) throw tableNameTaken(name.data);
  return { display_name: name.data, columns: matchedColumns };
}

/** Cancels an active job; none of the tables and rows that it created remains. */
export async function cancelUpload(ctx: PrincipalContext, id: string): Promise<void> {
  const database = await requireJobsDatabase(ctx);
  await requireJob(ctx, 'managed-tables:upload', id);
  await notifyChange(ctx, (announcement) =>
    runTableTransaction(database, async (tx) => {
      const lockedJob = await store.lockJob(tx, toJobKey(ctx, id));
      if (!lockedJob) throw jobNotFound();
      if (lockedJob.status === 'done' || lockedJob.status === 'failed') throw jobEnded();
      await failLockedJob(tx, ctx, id, lockedJob.state, uploadCancelled);
      await announcement;
    }),
  );
}

/** Opens the company's Postgres, for work on an existing job. @throws jobNotFound before provisioning, as no job exists then */
export async function requireJobsDatabase(ctx: CompanyContext): Promise<TenantSql> {
  const database = await openDatabaseIfAny(ctx);
  if (!database) throw jobNotFound();
  return database;
}
