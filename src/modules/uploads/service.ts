import { findDeniedEverywhere } from '../../access/denials.ts';
import { requireAction } from '../../access/requirements.ts';
import type { CompanyContext, PrincipalContext } from '../../context.ts';
import { invalid } from '../../kernel/failure.ts';
import { isoTimestamp } from '../../kernel/fields.ts';
import type { SentBody } from '../../kernel/files.ts';
import { ID_PATTERN } from '../../kernel/ids.ts';
import { addressProblem } from '../../kernel/public-address.ts';
import { resourceArn } from '../../permissions/arn.ts';
import { isPostgresError, type TenantSql } from '../../tenant-sql/client.ts';
import { MAX_COLUMNS } from '../../tenant-sql/columns.ts';
import { resultUnknown } from '../../tenant-sql/failures.ts';
import { openDatabaseIfAny, openDatabaseToRead, requireDatabase, scheduleSweep } from '../managed-database/service.ts';
import {
  getTable,
  inTransaction,
  isNameInUse,
  lockTable,
  notifyChange,
  tableName,
  tableNameTaken,
} from '../managed-tables/service.ts';
import { matchColumns, matchTableColumns } from './confirm.ts';
import { failLockedJob } from './fail-job.ts';
import { jobEnded, jobNotFound, notWaitingConfirm, tooManyTableColumns, wrongEvolve, wrongMode } from './failures.ts';
import { beginFetch } from './fetch.ts';
import { isById } from './inference/index.ts';
import {
  type Confirmation,
  type ConfirmedSchema,
  EVOLVE_MODES,
  type EvolveMode,
  type UploadJob,
  type UploadMode,
} from './job.ts';
import { findOptionProblems, type ReadingOptions } from './look.ts';
import { cancelled } from './problems.ts';
import { discardFiles, makePrefix, receiveForm, type StoredFile, sumBytes, type UploadForm } from './receive.ts';
import { requireFileRoom, requireSomeRoom, withinFileQuota } from './room.ts';
import * as store from './store.ts';
import { knowsTimeZone } from './time-zones.ts';

/** The time without a change after which the scheduled run queues a job again. Milliseconds. */
export const RESUME_AFTER_MS = 60_000;

/** The maximum number of columns of a key: as many as an index has at most. */
const MAX_KEY_COLUMNS = 4;

export { MAX_FILES, MAX_UPLOAD_BYTES } from './failures.ts';
export { measureCompany } from './room.ts';
export { readLoadedDays } from './sweep-store.ts';

function toJobKey(ctx: CompanyContext, id: string): store.JobKey {
  if (!ID_PATTERN.test(id)) throw jobNotFound();
  return { id, companyId: ctx.actor.companyId };
}

/**
 * Receives the files of a form and queues a job that makes a table of them. When it throws, no job and no file is left.
 * @returns the job's id
 */
export async function startUpload(ctx: PrincipalContext, sent: SentBody): Promise<string> {
  const database = await requireDatabase(ctx);
  await requireSomeRoom(ctx, database);
  return startJob(ctx, sent, (job) => insertJob(ctx, database, job, { mode: 'create', keys: [], tableId: null }));
}

/**
 * As `startUpload`, for an existing table, whose rows are joined, replaced or updated, as the form's `mode` says. Until the
 * job ends, the table can be neither emptied, deleted, renamed nor changed.
 */
export async function startTableUpload(ctx: PrincipalContext, tableId: string, sent: SentBody): Promise<string> {
  const database = await requireDatabase(ctx);
  await getTable(ctx, tableId);
  await requireSomeRoom(ctx, database);
  return startJob(ctx, sent, async (job, { keys, ...said }) => {
    const [mode, evolve] = [toMode(said.mode), toEvolve(said.evolve)];
    requireChanging(ctx, mode, tableId, evolve);
    await insertJob(ctx, database, job, { mode, evolve, keys, tableId });
  });
}

/** Reads the mode of a load into an existing table from a form or header; `append` where it is absent. */
export function toMode(sent: string | null): Exclude<UploadMode, 'create'> {
  const mode = sent ?? 'append';
  if (mode !== 'append' && mode !== 'replace' && mode !== 'upsert') throw wrongMode();
  return mode;
}

/** Reads from a form or header how a load may change columns; `none` where it is absent. */
export function toEvolve(sent: string | null): EvolveMode {
  const evolve = EVOLVE_MODES.find((each) => each === (sent ?? 'none'));
  if (!evolve) throw wrongEvolve();
  return evolve;
}

/** The body of an upload from an address. */
export interface Address {
  url: string;
  filename?: string | undefined;
  table_id?: string | undefined;
  mode?: 'append' | 'replace' | 'upsert' | undefined;
  key?: string[] | undefined;
  evolve?: EvolveMode | undefined;
}

/**
 * Queues a job that fetches a file from an address first, and continues as one whose files were sent.
 * @returns the job's id
 */
export async function startUploadFromUrl(ctx: PrincipalContext, sent: Address): Promise<string> {
  const { table_id: tableId = null, key: keys = [], evolve = 'none' } = sent;
  requireAction(ctx.actor, 'managed-tables:upload', tableId ?? '*');
  if (tableId === null) {
    const alone = (['mode', 'key', 'evolve'] as const).filter((field) => sent[field] !== undefined);
    if (alone.length > 0) throw invalid(alone.map((field) => ({ field, message: 'is for an existing table' })));
  }
  const mode: UploadMode = tableId === null ? 'create' : (sent.mode ?? 'append');
  const problem = addressProblem(sent.url, ctx.config.ALLOW_PRIVATE_ISSUERS);
  if (problem !== null) throw invalid([{ field: 'url', message: problem }]);
  const database = await requireDatabase(ctx);
  if (tableId !== null) await getTable(ctx, tableId);
  requireChanging(ctx, mode, tableId, evolve);
  await requireSomeRoom(ctx, database);
  const job = makeJob(ctx, ctx.newId(), []);
  const fetched = await beginFetch(ctx, job.id, sent.url, sent.filename);
  await scheduleSweep(ctx, ctx.now() + RESUME_AFTER_MS);
  await insertJob(ctx, database, { ...job, fetched }, { mode, evolve, keys, tableId });
  await ctx.jobs.send({ type: 'upload.analyse', companyId: job.companyId, jobId: job.id });
  return job.id;
}

const makeJob = (ctx: PrincipalContext, id: string, files: StoredFile[]): store.NewJob => ({
  id,
  companyId: ctx.actor.companyId,
  createdByUserId: ctx.actor.id,
  files,
  progress: { rows_processed: 0, rows_total: null, bytes_processed: 0, bytes_total: sumBytes(files) },
  createdAt: isoTimestamp(ctx.now()),
});

/** Stores a job. A table that it loads into cannot be changed otherwise until the job ends. */
async function insertJob(
  ctx: PrincipalContext,
  database: TenantSql,
  job: store.NewJob,
  {
    mode,
    evolve = 'none',
    keys,
    tableId,
  }: { mode: UploadMode; evolve?: EvolveMode; keys: string[]; tableId: string | null },
): Promise<void> {
  const bytes = sumBytes(job.files);
  if (tableId === null) {
    const made = { ...job, mode, evolve, key: null, userTableId: null };
    return withinFileQuota(ctx, database, bytes, (tx) => store.insertJob(tx, made));
  }
  await inTransaction(database, async (tx) => {
    const { columns } = await lockTable(tx, ctx, tableId);
    await store.insertJob(tx, { ...job, mode, evolve, key: chooseKey(mode, keys, columns), userTableId: tableId });
    await requireFileRoom(ctx, tx, bytes);
  });
}

/** Requires the permissions to change or remove rows, or to change columns by hand, for a load that does so. */
export function requireChanging(
  ctx: PrincipalContext,
  mode: UploadMode,
  tableId: string | null,
  evolve: EvolveMode,
): void {
  if (evolve !== 'none') requireAction(ctx.actor, 'managed-tables:update', tableId ?? '*');
  if (mode === 'replace' || mode === 'upsert') requireAction(ctx.actor, 'managed-tables:data-write', tableId ?? '*');
}

/** The columns of the key of an upsert; null for other modes, which have no key. @throws invalid */
export function chooseKey(mode: string, keys: string[], columns: { name: string }[]): string[] | null {
  const problem = (message: string) => invalid([{ field: 'key', message }]);
  if (mode !== 'upsert') {
    if (keys.length > 0) throw problem('is for the mode upsert');
    return null;
  }
  if (keys.length === 0) throw problem('is required');
  if (keys.length > MAX_KEY_COLUMNS) throw problem(`must name 1 to ${MAX_KEY_COLUMNS} columns`);
  if (new Set(keys).size < keys.length) throw problem('must name each column once');
  if (isById(keys)) return keys;
  if (keys.includes('id')) throw problem('"id" identifies rows by itself: leave out the other columns');
  const unknown = keys.find((key) => !columns.some(({ name }) => name === key));
  if (unknown !== undefined) throw problem(`"${unknown}" is not a column of the table`);
  return keys;
}

/** Receives the files, then queues a job. @param insert inserts the job; when it throws, the files are deleted */
async function startJob(
  ctx: PrincipalContext,
  sent: SentBody,
  insert: (job: store.NewJob, form: UploadForm) => Promise<void>,
): Promise<string> {
  const { companyId } = ctx.actor;
  const id = ctx.newId();
  // Before anything else, so that a sweep deletes what a crash leaves behind.
  await scheduleSweep(ctx, ctx.now() + RESUME_AFTER_MS);
  const form = await receiveForm(sent, ctx.files, makePrefix(companyId, id));
  const { files } = form;
  try {
    await insert(makeJob(ctx, id, files), form);
  } catch (error) {
    // With an unknown result the job may be there and need its files; otherwise a sweep deletes them.
    if (!resultUnknown.matches(error)) await discardFiles(ctx.files, files);
    throw error;
  }
  await ctx.jobs.send({ type: 'upload.analyse', companyId, jobId: id });
  return id;
}

/** The ARN of the table that a job loads into; of all tables where it makes a table, or does not exist. */
export const findJobArn = (ctx: PrincipalContext, id: string): Promise<string> => findArn(openDatabaseIfAny, ctx, id);

/** As `findJobArn`, for a request that only reads. */
export const findJobArnToRead = (ctx: PrincipalContext, id: string): Promise<string> =>
  findArn(openDatabaseToRead, ctx, id);

async function findArn(open: typeof openDatabaseIfAny, ctx: PrincipalContext, id: string): Promise<string> {
  const database = ID_PATTERN.test(id) ? await open(ctx) : undefined;
  const job = database && (await store.readJob(database, toJobKey(ctx, id)));
  return resourceArn('managed-tables:upload', ctx.actor.companyId, job?.userTableId ?? '*');
}

export async function getJob(ctx: PrincipalContext, id: string): Promise<UploadJob> {
  const key = toJobKey(ctx, id);
  const database = await openDatabaseToRead(ctx);
  return requirePermitted(ctx, 'managed-tables:list', database && (await store.readJob(database, key)));
}

/** Returns a stamp for each of these jobs that differs after each change. */
export async function readJobStamps(ctx: CompanyContext, ids: readonly string[]): Promise<Map<string, string>> {
  const database = await openDatabaseToRead(ctx);
  return database ? store.readLastChanges(database, ctx.actor.companyId, ids) : new Map();
}

/** The active jobs, newest first, up to 500, without those of tables that are denied. Empty before provisioning. */
export async function listActiveJobs(ctx: PrincipalContext): Promise<UploadJob[]> {
  const database = await openDatabaseToRead(ctx);
  if (!database) return [];
  return store.readActiveJobs(database, ctx.actor.companyId, findDeniedEverywhere(ctx.actor, 'table'));
}

/** Returns a job, if the caller is allowed the action on its table. */
export async function requireJob(ctx: PrincipalContext, action: TableAction, id: string): Promise<UploadJob> {
  return requirePermitted(ctx, action, await store.readJob(await requireJobsDatabase(ctx), toJobKey(ctx, id)));
}

function requirePermitted(ctx: PrincipalContext, action: TableAction, job: UploadJob | undefined): UploadJob {
  if (!job) throw jobNotFound();
  if (job.userTableId !== null) requireAction(ctx.actor, action, job.userTableId);
  return job;
}

type TableAction = 'managed-tables:list' | 'managed-tables:upload';

/** Confirms the inferred schema, as changed by a person, and queues the load. Of several confirms of one job one wins. */
export async function confirmUpload(ctx: PrincipalContext, id: string, confirmation: Confirmation): Promise<void> {
  const database = await requireJobsDatabase(ctx);
  const key = toJobKey(ctx, id);
  const job = await requireJob(ctx, 'managed-tables:upload', id);
  requireChanging(ctx, job.mode, job.userTableId, job.evolve);
  if (job.status !== 'waiting_confirm' || !job.inferredSchema) throw notWaitingConfirm();
  const schema = { ...(await findConfirmedTable(ctx, job, confirmation)), time_zone: confirmation.time_zone ?? null };
  if (schema.time_zone !== null && !(await knowsTimeZone(database, schema.time_zone))) {
    throw invalid([{ field: 'time_zone', message: 'is not a time zone that the database knows' }]);
  }
  await scheduleSweep(ctx, ctx.now() + RESUME_AFTER_MS);
  const progress = {
    rows_processed: 0,
    rows_total: job.inferredSchema.total_row_count_estimate,
    bytes_processed: 0,
    bytes_total: job.progress?.bytes_total ?? sumBytes(job.files),
  };
  try {
    if (!(await store.confirmJob(database, key, { schema, progress }, isoTimestamp(ctx.now()))))
      throw notWaitingConfirm();
  } catch (error) {
    // Another job is loading a table of that name.
    const taken = isPostgresError(error) && error.constraint === 'upload_jobs_name';
    throw taken ? tableNameTaken(schema.display_name) : error;
  }
  await ctx.jobs.send({ type: 'upload.load', companyId: ctx.actor.companyId, jobId: id });
}

/**
 * Queues another analysis of a waiting job's files with a person's reading options. Of several requests for one job, and its
 * confirm, one wins.
 */
export async function reanalyse(ctx: PrincipalContext, id: string, said: ReadingOptions): Promise<void> {
  const database = await requireJobsDatabase(ctx);
  const key = toJobKey(ctx, id);
  const job = await requireJob(ctx, 'managed-tables:upload', id);
  // Whoever says which line names the columns is shown it, and line by line the whole file.
  const choosesNames = said.header === true || said.skip_lines !== undefined;
  if (choosesNames && job.createdByUserId !== ctx.actor.id)
    requireAction(ctx.actor, 'managed-tables:data-read', job.userTableId ?? '*');
  if (job.status !== 'waiting_confirm') throw notWaitingConfirm();
  const reading = await store.readReading(database, key);
  if (!reading) throw notWaitingConfirm();
  const problems = findOptionProblems(said, reading);
  if (problems.length > 0) throw invalid(problems);
  await scheduleSweep(ctx, ctx.now() + RESUME_AFTER_MS);
  if (!(await store.startReanalysis(database, key, said, isoTimestamp(ctx.now())))) throw notWaitingConfirm();
  await ctx.jobs.send({ type: 'upload.analyse', companyId: ctx.actor.companyId, jobId: id });
}

/** The name and columns of the table that is confirmed: a new one, or the existing one. */
async function findConfirmedTable(
  ctx: CompanyContext,
  job: UploadJob,
  { display_name, columns }: Confirmation,
): Promise<Omit<ConfirmedSchema, 'time_zone'>> {
  if (!job.inferredSchema) throw notWaitingConfirm();
  if (job.userTableId !== null) {
    const { displayName, columns: present } = await getTable(ctx, job.userTableId);
    const matched = matchTableColumns(columns, job.inferredSchema, job.key);
    const count = present.length + (matched.evolution?.added.length ?? 0);
    if (count > MAX_COLUMNS) throw tooManyTableColumns(MAX_COLUMNS);
    return { display_name: displayName, ...matched };
  }
  const name = tableName.safeParse(display_name);
  if (!name.success) {
    throw invalid(name.error.issues.map(({ message }) => ({ field: 'display_name', message })));
  }
  const matched = matchColumns(columns, job.inferredSchema.columns);
  if (await isNameInUse(ctx, name.data)) throw tableNameTaken(name.data);
  return { display_name: name.data, columns: matched };
}

/** Cancels an active job; none of its tables and rows remain. */
export async function cancelUpload(ctx: PrincipalContext, id: string): Promise<void> {
  const database = await requireJobsDatabase(ctx);
  await requireJob(ctx, 'managed-tables:upload', id);
  await notifyChange(ctx, (announced) =>
    inTransaction(database, async (tx) => {
      const locked = await store.lockJob(tx, toJobKey(ctx, id));
      if (!locked) throw jobNotFound();
      if (locked.status === 'done' || locked.status === 'failed') throw jobEnded();
      await failLockedJob(tx, ctx, id, locked.state, cancelled);
      await announced;
    }),
  );
}

/** The company's Postgres, for work on an existing job. @throws jobNotFound before provisioning, as no job exists then */
export async function requireJobsDatabase(ctx: CompanyContext): Promise<TenantSql> {
  const database = await openDatabaseIfAny(ctx);
  if (!database) throw jobNotFound();
  return database;
}
