import type { CompanyContext } from '../../context.ts';
import { blockBytes, readBlock } from './blocks.ts';
import { beginInference, feed, finish, type InferenceState } from './inference/index.ts';
import type { JobProgress, WorkedJob } from './job.ts';
import { Superseded } from './problems.ts';
import { bytesOf } from './receive.ts';
import * as store from './store.ts';
import { nowOf, record, type Turn, takeTurn } from './work.ts';

/** Where an analysis stands: the files read to their end, and the one being read. */
interface AnalysisState {
  finished: InferenceState[];
  reading: InferenceState | null;
}

/** Reads on in a job's files, at most `UPLOAD_MESSAGE_BYTES` of them, and infers their schema when all are read. */
export async function analyseUpload(ctx: CompanyContext, jobId: string): Promise<void> {
  await takeTurn(ctx, { type: 'upload.analyse', jobId }, 'analisando', analyse);
}

async function analyse(turn: Turn<AnalysisState>): Promise<boolean> {
  const { ctx, job } = turn;
  let state = job.state ?? { finished: [], reading: null };
  for (let read = 0; state.finished.length < job.files.length; ) {
    if (read >= ctx.config.UPLOAD_MESSAGE_BYTES) return true;
    const next = await readOn(ctx, job, state);
    read += next.read;
    state = next.state;
    await record(turn, state, progressOf(job, state));
    job.step += 1;
  }
  await settle(turn, state.finished);
  return false;
}

async function readOn(
  ctx: CompanyContext,
  job: WorkedJob<AnalysisState>,
  { finished, reading }: AnalysisState,
): Promise<{ state: AnalysisState; read: number }> {
  const file = job.files[finished.length] as WorkedJob<AnalysisState>['files'][number];
  const before = reading ?? beginInference({ fileName: file.original_name });
  const block = await readBlock(ctx.files, file, before.offset, Math.max(blockBytes(ctx.config), before.wants));
  const after = feed(before, block.bytes, block.last);
  const state = after.done ? { finished: [...finished, after], reading: null } : { finished, reading: after };
  return { state, read: block.bytes.length };
}

async function settle({ ctx, database, job }: Turn<AnalysisState>, finished: InferenceState[]): Promise<void> {
  const { schema, files } = finish(finished);
  const progress: JobProgress = {
    ...progressOf(job, { finished, reading: null }),
    rows_processed: schema.total_row_count_estimate,
    rows_total: schema.total_row_count_estimate,
  };
  const key = { id: job.id, companyId: job.companyId };
  const found = { schema, reading: files, progress };
  if (!(await store.finishAnalysis(database, key, job.step, found, nowOf(ctx)))) throw new Superseded();
}

function progressOf(job: WorkedJob<AnalysisState>, { finished, reading }: AnalysisState): JobProgress {
  const all = reading ? [...finished, reading] : finished;
  return {
    rows_processed: all.reduce((rows, file) => rows + file.rows, 0),
    rows_total: null,
    bytes_processed: bytesOf(job.files.slice(0, finished.length)) + (reading?.offset ?? 0),
    bytes_total: bytesOf(job.files),
  };
}
