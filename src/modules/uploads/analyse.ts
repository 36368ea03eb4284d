import type { CompanyContext } from '../../context.ts';
import { Failure } from '../../kernel/failure.ts';
import { getTable } from '../managed-tables/service.ts';
import { blockBytes, readBlock } from './blocks.ts';
import { beginInference, feed, finish, type InferenceState, type TableColumn, tableName } from './inference/index.ts';
import type { JobProgress, Source, WorkedJob } from './job.ts';
import { JobProblem, Superseded, tableGone } from './problems.ts';
import { bytesOf, type StoredFile } from './receive.ts';
import { type Item, itemsOf, nextUnprepared, prepareOn, textsOf } from './sources.ts';
import * as store from './store.ts';
import { nowOf, record, type Turn, takeTurn } from './work.ts';

/**
 * Which analysis a state belongs to: to be counted up whenever members of the state, or of what it holds, change. An
 * analysis that an earlier version of the program began starts over: its state means nothing to this one.
 */
const ANALYSIS = 3;

/** Where an analysis stands: what there is to read, the texts read to their end, and the one being read. */
interface AnalysisState {
  analysis: typeof ANALYSIS;
  items: Item[];
  finished: InferenceState[];
  reading: InferenceState | null;
}

/**
 * Makes texts of a job's files, where they are not, then reads them; at most about `UPLOAD_MESSAGE_BYTES` of either.
 * When all are read, infers their schema.
 */
export async function analyseUpload(ctx: CompanyContext, jobId: string): Promise<void> {
  await takeTurn(ctx, { type: 'upload.analyse', jobId }, 'analisando', analyse);
}

async function analyse(turn: Turn<AnalysisState>): Promise<boolean> {
  const { ctx, job } = turn;
  let state = job.state?.analysis === ANALYSIS ? job.state : beginningOf(job.files);
  for (let worked = 0; !isRead(state); ) {
    if (worked >= ctx.config.UPLOAD_MESSAGE_BYTES) return true;
    const next = await (nextUnprepared(state.items) < 0 ? readOn(ctx, state) : prepare(ctx, job.id, state));
    worked += next.bytes;
    state = next.state;
    await record(turn, state, progressOf(job, state));
    job.step += 1;
  }
  await settle(turn, state);
  return false;
}

const beginningOf = (files: StoredFile[]): AnalysisState => ({
  analysis: ANALYSIS,
  items: itemsOf(files),
  finished: [],
  reading: null,
});

const isRead = ({ items, finished }: AnalysisState): boolean =>
  nextUnprepared(items) < 0 && finished.length === items.length;

interface Worked {
  state: AnalysisState;
  bytes: number;
}

async function prepare(ctx: CompanyContext, jobId: string, state: AnalysisState): Promise<Worked> {
  const { items, bytes } = await prepareOn(ctx, jobId, state.items, nextUnprepared(state.items));
  return { state: { ...state, items }, bytes };
}

async function readOn(ctx: CompanyContext, before: AnalysisState): Promise<Worked> {
  const { items, finished, reading } = before;
  const source = textsOf(items)[finished.length] as Source;
  const from = reading ?? beginInference({ fileName: source.name, sheet: source.sheet });
  const block = await readBlock(ctx.files, source, from.offset, Math.max(blockBytes(ctx.config), from.wants));
  const after = feed(from, block.bytes, block.last);
  const state = after.done
    ? { ...before, finished: [...finished, after], reading: null }
    : { ...before, reading: after };
  return { state, bytes: block.bytes.length };
}

async function settle(turn: Turn<AnalysisState>, state: AnalysisState): Promise<void> {
  const { ctx, database, job } = turn;
  const { schema, files, found } = finish(state.finished, await columnsOfTable(turn));
  const texts = textsOf(state.items);
  const [file] = job.files;
  // Many texts of one file are one archive, whose name says what they are together.
  if (file && job.files.length < texts.length) schema.suggested_table_name = tableName(file.original_name);
  const progress: JobProgress = {
    ...progressOf(job, state),
    rows_processed: schema.total_row_count_estimate,
    rows_total: schema.total_row_count_estimate,
  };
  const key = { id: job.id, companyId: job.companyId };
  const outcome = { schema, reading: { sources: texts, files, found }, progress };
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

function progressOf(job: WorkedJob<AnalysisState>, { items, finished, reading }: AnalysisState): JobProgress {
  const all = reading ? [...finished, reading] : finished;
  // Before the files are texts, nobody knows how long these will be.
  const texts = nextUnprepared(items) < 0 ? textsOf(items) : null;
  return {
    rows_processed: all.reduce((rows, file) => rows + file.rows, 0),
    rows_total: null,
    bytes_processed: texts ? bytesOf(texts.slice(0, finished.length)) + (reading?.offset ?? 0) : 0,
    bytes_total: bytesOf(texts ?? job.files),
  };
}
