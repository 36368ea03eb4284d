import type { CompanyContext } from '../../context.ts';
import { isPostgresError, type PostgresError } from '../../tenant-sql/client.ts';
import { copyIn } from '../../tenant-sql/copy.ts';
import { countRowIds, createTable, drawRowIds } from '../../tenant-sql/ddl.ts';
import {
  type Chunk,
  confirmedOf,
  copyStatements,
  findMisfit,
  type LoadState,
  loadedColumns,
  plansOf,
  prepareChunk,
  readingOf,
  refusalOf,
} from './chunks.ts';
import { stagingTable } from './ending.ts';
import type { ZoneEdges } from './inference/index.ts';
import type { JobProgress, WorkedJob } from './job.ts';
import { JobProblem, rowsDiffer, Superseded } from './problems.ts';
import { publish } from './publish.ts';
import { bytesOf } from './receive.ts';
import * as store from './store.ts';
import { nowOf, record, type Turn, takeTurn } from './work.ts';

const CHUNK_TIMEOUT_MS = 60_000;
const LOCK_TIMEOUT_MS = 5_000;

/**
 * Loads on in a confirmed job's files, at most `UPLOAD_MESSAGE_BYTES` of them, into a staging table, each chunk in one
 * transaction with the record of how far the load is. When all rows are there, one transaction brings them into place.
 */
export async function loadUpload(ctx: CompanyContext, jobId: string): Promise<void> {
  await takeTurn(ctx, { type: 'upload.load', jobId }, 'inserting', load);
}

async function load(turn: Turn<LoadState>): Promise<boolean> {
  const { ctx, job } = turn;
  const plans = plansOf(job, await zoneOf(turn));
  let state = job.state ?? (await begin(turn));
  let budget = ctx.config.UPLOAD_MESSAGE_BYTES;
  let chunk = await prepareChunk(ctx, job, plans, state);
  while (chunk) {
    budget -= chunk.bytes;
    const { after } = chunk;
    let next: Promise<Chunk | null> | undefined;
    state = await enter(turn, chunk, () => {
      // Read and converted while Postgres takes the present one.
      next = budget > 0 ? prepareChunk(ctx, job, plans, after) : undefined;
      next?.catch(() => undefined);
    });
    if (!next) return true;
    chunk = await next;
  }
  const progress = progressOf(job, state);
  await publish(turn, state, { ...progress, bytes_processed: progress.bytes_total });
  return false;
}

/** The confirmed time zone at the edges of the calendar, where values without an offset may be beyond them. */
async function zoneOf({ database, job }: Turn<LoadState>): Promise<ZoneEdges | null> {
  const zone = confirmedOf(job).time_zone;
  const matters = zone !== null && loadedColumns(job).some(({ type }) => type === 'datetime');
  return matters ? store.zoneEdges(database, zone) : null;
}

/** Makes the staging table. Its key comes at the end: that is faster than keeping it all along. */
async function begin(turn: Turn<LoadState>): Promise<LoadState> {
  const { ctx, database, job } = turn;
  const state: LoadState = { table_id: ctx.newId(), file: 0, position: null, rows: 0 };
  await database.transaction(async (tx) => {
    await record(turn, state, progressOf(job, state), tx);
    const table = { schema: 'console' as const, name: state.table_id, id: state.table_id };
    await tx.execute(createTable(table, loadedColumns(job), false));
    for (const statement of countRowIds(state.table_id)) await tx.execute(statement);
  });
  job.step += 1;
  return state;
}

/**
 * Enters a chunk and records it, in one message and so in one transaction. Its commit need not reach the disk at once:
 * were it lost, so were its record, and the last commit of the load brings all before it along.
 */
async function enter(turn: Turn<LoadState>, chunk: Chunk, onSent: () => void): Promise<LoadState> {
  const { ctx, database, job } = turn;
  const { after: state } = chunk;
  const work = store.workAround(keyOf(turn), job.step, { state, progress: progressOf(job, state) }, nowOf(ctx));
  const text = [
    `SET LOCAL statement_timeout = ${CHUNK_TIMEOUT_MS}; SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS}`,
    'SET LOCAL synchronous_commit = off',
    work.before,
    ...copyStatements(stagingTable(state.table_id), chunk, confirmedOf(job).time_zone),
    work.after,
  ];
  const copied = await copyIn(database, text.join('; '), chunk.data, CHUNK_TIMEOUT_MS, onSent).catch((error) =>
    refused(turn, chunk, error),
  );
  job.step += 1;
  if (copied !== chunk.rows) throw new JobProblem(rowsDiffer(copied, chunk.rows));
  return state;
}

/** Why Postgres refused a chunk, as exactly as can be told. */
async function refused(turn: Turn<LoadState>, chunk: Chunk, error: unknown): Promise<never> {
  if (!isPostgresError(error)) throw error;
  if (error.code === store.NOT_MINE) throw new Superseded();
  if (!isAboutData(error.code)) throw error;
  findMisfit(chunk);
  throw refusalOf(chunk, (await refusalOfRow(turn, chunk)) ?? error);
}

/** What Postgres says of a chunk's first bad row, when it takes them one by one. Nothing of it remains. */
async function refusalOfRow({ database, job }: Turn<LoadState>, chunk: Chunk): Promise<PostgresError | undefined> {
  const { table_id: tableId } = chunk.after;
  const copy = copyStatements(stagingTable(tableId), chunk, confirmedOf(job).time_zone);
  try {
    await database.transaction(
      async (tx) => {
        await tx.execute(drawRowIds(tableId));
        await copyIn(tx, copy.join('; '), chunk.data, CHUNK_TIMEOUT_MS);
        throw NOT_REFUSED;
      },
      { statementTimeoutMs: CHUNK_TIMEOUT_MS },
    );
  } catch (error) {
    if (isPostgresError(error)) return error;
    if (error !== NOT_REFUSED) throw error;
  }
  return undefined;
}

/** Rolls back a trial that went well. */
const NOT_REFUSED = new Error('no row was refused');

const keyOf = ({ job }: Turn<LoadState>): store.JobKey => ({ id: job.id, companyId: job.companyId });

function progressOf(job: WorkedJob<LoadState>, { file, position, rows }: LoadState): JobProgress {
  const { sources } = readingOf(job);
  return {
    rows_processed: rows,
    rows_total: job.inferredSchema?.total_row_count_estimate ?? null,
    bytes_processed: bytesOf(sources.slice(0, file)) + (position?.offset ?? 0),
    bytes_total: bytesOf(sources),
  };
}

/** SQLSTATE classes 22 and 23: the data; 54: more than Postgres stores in a row. */
const isAboutData = (code: string): boolean => /^(22|23|54)/.test(code);
