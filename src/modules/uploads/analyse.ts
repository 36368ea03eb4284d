import type { CompanyContext } from '../../context.ts';
import { Failure } from '../../kernel/failure.ts';
import { getTable } from '../managed-tables/service.ts';
import { blockBytes, readBlock } from './blocks.ts';
import { beginInference, feed, finish, type InferenceState, type TableColumn } from './inference/index.ts';
import type { JobProgress, Source } from './job.ts';
import { JobProblem, Superseded, tableGone } from './problems.ts';
import { bytesOf } from './receive.ts';
import { sourcesOf } from './sources.ts';
import * as store from './store.ts';
import { nowOf, record, type Turn, takeTurn } from './work.ts';

/** Where an analysis stands: what there is to read, the texts read to their end, and the one being read. */
interface AnalysisState {
  sources: Source[];
  finished: InferenceState[];
  reading: InferenceState | null;
}

/** Reads on in a job's files, at most `UPLOAD_MESSAGE_BYTES` of them, and infers their schema when all are read. */
export async function analyseUpload(ctx: CompanyContext, jobId: string): Promise<void> {
  await takeTurn(ctx, { type: 'upload.analyse', jobId }, 'analisando', analyse);
}

async function analyse(turn: Turn<AnalysisState>): Promise<boolean> {
  const { ctx, job } = turn;
  let state = job.state ?? { sources: sourcesOf(job.files), finished: [], reading: null };
  for (let read = 0; state.finished.length < state.sources.length; ) {
    if (read >= ctx.config.UPLOAD_MESSAGE_BYTES) return true;
    const next = await readOn(ctx, state);
    read += next.read;
    state = next.state;
    await record(turn, state, progressOf(state));
    job.step += 1;
  }
  await settle(turn, state);
  return false;
}

async function readOn(
  ctx: CompanyContext,
  { sources, finished, reading }: AnalysisState,
): Promise<{ state: AnalysisState; read: number }> {
  const source = sources[finished.length] as Source;
  const before = reading ?? beginInference({ fileName: source.name });
  const block = await readBlock(ctx.files, source, before.offset, Math.max(blockBytes(ctx.config), before.wants));
  const after = feed(before, block.bytes, block.last);
  const state = after.done
    ? { sources, finished: [...finished, after], reading: null }
    : { sources, finished, reading: after };
  return { state, read: block.bytes.length };
}

async function settle(turn: Turn<AnalysisState>, state: AnalysisState): Promise<void> {
  const { ctx, database, job } = turn;
  const { schema, files, found } = finish(state.finished, await columnsOfTable(turn));
  const progress: JobProgress = {
    ...progressOf(state),
    rows_processed: schema.total_row_count_estimate,
    rows_total: schema.total_row_count_estimate,
  };
  const key = { id: job.id, companyId: job.companyId };
  const outcome = { schema, reading: { sources: state.sources, files, found }, progress };
  if (!(await store.finishAnalysis(database, key, job.step, outcome, nowOf(ctx)))) throw new Superseded();
}

/** The columns of the table that the job's rows go into, where it exists. They do not change while the job is active. */
async function columnsOfTable({ ctx, job }: Turn<AnalysisState>): Promise<TableColumn[] | undefined> {
  if (job.userTableId === null) return undefined;
  try {
    return (await getTable(ctx, job.userTableId)).columns;
  } catch (error) {
    throw error instanceof Failure && error.kind === 'missing' ? new JobProblem(tableGone) : error;
  }
}

function progressOf({ sources, finished, reading }: AnalysisState): JobProgress {
  const all = reading ? [...finished, reading] : finished;
  return {
    rows_processed: all.reduce((rows, file) => rows + file.rows, 0),
    rows_total: null,
    bytes_processed: bytesOf(sources.slice(0, finished.length)) + (reading?.offset ?? 0),
    bytes_total: bytesOf(sources),
  };
}
