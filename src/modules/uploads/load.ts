import type { CompanyContext } from '../../context.ts';
import { formatIsoTimestamp } from '../../kernel/fields.ts';
import { isPostgresError, type PostgresError } from '../../tenant-sql/client.ts';
import { copyIn } from '../../tenant-sql/copy.ts';
import { buildCreateTable, buildGenerateRowIds, countRowIds } from '../../tenant-sql/ddl.ts';
import { readCompanyState } from '../companies/service.ts';
import { requireTableQuota } from '../managed-tables/service.ts';
import {
  buildCopyStatements,
  type Chunk,
  type LoadState,
  listLoadedColumns,
  planFiles,
  readChunk,
  requireConfirmed,
  requireFittingValues,
  requireReading,
  toRowProblem,
} from './chunks.ts';
import type { ZoneEdges } from './inference/index.ts';
import type { JobProgress, WorkedJob } from './job.ts';
import { buildGuardedAdvance, DIVISION_BY_ZERO_CODE } from './job-store.ts';
import { JobProblem, rowsDiffer, SupersededError } from './problems.ts';
import { publishRows } from './publish.ts';
import { sumBytes } from './receive.ts';
import { formatStagingTable } from './staging.ts';
import { findZoneEdges } from './time-zones.ts';
import { type JobWork, saveProgress, workOnJob } from './work.ts';

const CHUNK_TIMEOUT_MS = 60_000;
const LOCK_TIMEOUT_MS = 5_000;

/**
 * Loads about `UPLOAD_MESSAGE_BYTES` of a confirmed job's files into its staging table, each chunk in one transaction with the
 * progress of the load. When all rows are in the staging table, publishes them. It loads no further chunk for a suspended
 * company.
 */
export async function loadUpload(ctx: CompanyContext, jobId: string): Promise<void> {
  await workOnJob(ctx, { type: 'upload.load', jobId }, 'inserting', continueLoad);
}

async function continueLoad(work: JobWork<LoadState>): Promise<boolean> {
  const { ctx, job } = work;
  const plans = planFiles(job, await readZoneEdges(work));
  let state = job.state ?? (await createStagingTable(work));
  let budgetBytes = ctx.config.UPLOAD_MESSAGE_BYTES;
  let chunk = await readChunk(ctx, job, plans, state);
  while (chunk) {
    budgetBytes -= chunk.processedBytes;
    const { nextState } = chunk;
    let nextChunk: Promise<Chunk | null> | undefined;
    state = await copyChunk(work, chunk, () => {
      // The next chunk is read and converted while Postgres takes this one.
      nextChunk = budgetBytes > 0 ? readChunk(ctx, job, plans, nextState) : undefined;
      nextChunk?.catch(() => undefined);
    });
    // A suspended company's load waits here, so that its rows are not published either: the next message asks again.
    if (!nextChunk || (await readCompanyState(ctx)) !== 'active') return true;
    chunk = await nextChunk;
  }
  const progress = toProgress(job, state);
  await publishRows(work, state, { ...progress, bytes_processed: progress.bytes_total });
  return false;
}

/** Reads the edges of the confirmed time zone, where a column may have values beyond them; null elsewhere. */
async function readZoneEdges({ database, job }: JobWork<LoadState>): Promise<ZoneEdges | null> {
  const zone = requireConfirmed(job).time_zone;
  const mayZoneMatter = zone !== null && listLoadedColumns(job).some(({ type }) => type === 'datetime');
  return mayZoneMatter ? findZoneEdges(database, zone) : null;
}

/** Creates the staging table without a primary key: adding it at the end is faster than keeping it during the load. */
async function createStagingTable(work: JobWork<LoadState>): Promise<LoadState> {
  const { ctx, database, job } = work;
  await requireTableQuota(ctx, database);
  const state: LoadState = { table_id: ctx.newId(), file: 0, position: null, rows: 0 };
  if (job.mode === 'upsert') state.starts = [];
  await database.runInTransaction(async (tx) => {
    await saveProgress(work, state, toProgress(job, state), tx);
    const table = { schema: 'console' as const, name: state.table_id, id: state.table_id };
    await tx.execute(buildCreateTable(table, listLoadedColumns(job), false));
    for (const statement of countRowIds(state.table_id)) await tx.execute(statement);
  });
  job.stepNumber += 1;
  return state;
}

/**
 * Copies a chunk and saves the progress, in one message and so in one transaction. The commit need not reach the disk at once: if
 * it is lost, the progress is lost, too, and the last commit of the load waits for all earlier ones.
 */
async function copyChunk(work: JobWork<LoadState>, chunk: Chunk, onSent: () => void): Promise<LoadState> {
  const { ctx, database, job } = work;
  const { nextState: state } = chunk;
  const advance = buildGuardedAdvance(
    job,
    job.stepNumber,
    { state, progress: toProgress(job, state) },
    formatIsoTimestamp(ctx.now()),
  );
  const text = [
    `SET LOCAL statement_timeout = ${CHUNK_TIMEOUT_MS}; SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS}`,
    'SET LOCAL synchronous_commit = off',
    advance.guardSql,
    ...buildCopyStatements(formatStagingTable(state.table_id), chunk, requireConfirmed(job).time_zone),
    advance.advanceSql,
  ];
  const copiedRowCount = await copyIn(database, text.join('; '), chunk.copyInput, CHUNK_TIMEOUT_MS, onSent).catch(
    (error) => throwChunkProblem(work, chunk, error),
  );
  job.stepNumber += 1;
  if (copiedRowCount !== chunk.rowCount) throw new JobProblem(rowsDiffer(copiedRowCount, chunk.rowCount));
  return state;
}

/** Throws the problem of a chunk that Postgres rejected, as exactly as it can be found. */
async function throwChunkProblem(work: JobWork<LoadState>, chunk: Chunk, error: unknown): Promise<never> {
  if (!isPostgresError(error)) throw error;
  if (error.code === DIVISION_BY_ZERO_CODE) throw new SupersededError();
  if (!isDataError(error.code)) throw error;
  requireFittingValues(chunk);
  throw toRowProblem(chunk, (await findRefusedRow(work, chunk)) ?? error);
}

/** Finds Postgres's error for the first bad row of a chunk, by a trial that copies row by row and is rolled back. */
async function findRefusedRow({ database, job }: JobWork<LoadState>, chunk: Chunk): Promise<PostgresError | undefined> {
  const { table_id: tableId } = chunk.nextState;
  const copyStatements = buildCopyStatements(formatStagingTable(tableId), chunk, requireConfirmed(job).time_zone);
  try {
    await database.runInTransaction(
      async (tx) => {
        await tx.execute(buildGenerateRowIds(tableId));
        await copyIn(tx, copyStatements.join('; '), chunk.copyInput, CHUNK_TIMEOUT_MS);
        throw TRIAL_ROLLBACK_ERROR;
      },
      { statementTimeoutMs: CHUNK_TIMEOUT_MS },
    );
  } catch (error) {
    if (isPostgresError(error)) return error;
    if (error !== TRIAL_ROLLBACK_ERROR) throw error;
  }
  return undefined;
}

/** Thrown to roll back a trial in which Postgres took every row. */
const TRIAL_ROLLBACK_ERROR = new Error('no row was refused');

function toProgress(job: WorkedJob<LoadState>, { file, position, rows }: LoadState): JobProgress {
  const { sources } = requireReading(job);
  return {
    rows_processed: rows,
    rows_total: job.inferredSchema?.total_row_count_estimate ?? null,
    bytes_processed: sumBytes(sources.slice(0, file)) + (position?.offset ?? 0),
    bytes_total: sumBytes(sources),
  };
}

/** Tells whether an error is about data: SQLSTATE classes 22 and 23 are about values, 54 about what a row can store. */
const isDataError = (code: string): boolean => /^(22|23|54)/.test(code);
