import type { CompanyContext } from '../../context.ts';
import { isoTimestamp } from '../../kernel/fields.ts';
import { logError } from '../../platform/log.ts';
import { tableNotFound } from '../managed-tables/failures.ts';
import { getTable } from '../managed-tables/service.ts';
import { blockBytes, readBlock } from './blocks.ts';
import { type FetchState, fetchSource, isFetch } from './fetch.ts';
import {
  areSettled,
  beginInference,
  checkValues,
  findWideningCandidates,
  finishInference,
  type GivenOptions,
  type Inference,
  type InferenceState,
  inferFromBlock,
  type Position,
  type TableColumn,
  toTableName,
  type WideningCandidate,
} from './inference/index.ts';
import type { JobError, JobProgress, Source, UploadJob, WorkedJob } from './job.ts';
import { type Reanalysis, toOptionProblem } from './look.ts';
import { JobProblem, Superseded, tableGone } from './problems.ts';
import { sumBytes } from './receive.ts';
import { deleteConvertedTexts, findUnconverted, type Item, listSources, prepareItem, toItems } from './sources.ts';
import { failWork, saveProgress, type Work, workOnJob } from './work.ts';
import { finishAnalysis } from './work-store.ts';

/**
 * The version of {@link AnalysisState}: count it up whenever a field of the state, or of an object in it, changes. An
 * analysis that an earlier version of the program has begun then starts over.
 */
const ANALYSIS_VERSION = 6;

/**
 * The progress of an analysis: the items to read, the texts that are read, and the one being read; and where columns of the
 * table may be widened, the progress of reading the texts again to find these columns.
 */
interface AnalysisState {
  analysis: typeof ANALYSIS_VERSION;
  /** The options that a person gave for reading the files; null in the first analysis of a job. */
  look: Reanalysis | null;
  items: Item[];
  finished: InferenceState[];
  reading: InferenceState | null;
  widening: { file: number; position: Position | null; wants: number; doubts: WideningCandidate[] } | null;
}

/**
 * Fetches a job's file, where it is at an address. Converts its files to texts and reads these, about
 * `UPLOAD_MESSAGE_BYTES` of either. When all are read, infers their schema.
 */
export async function analyseUpload(ctx: CompanyContext, jobId: string): Promise<void> {
  const step = (work: Work<AnalysisState | FetchState>) =>
    isFetch(work) ? fetchSource(work) : continueAnalysis(work as Work<AnalysisState>);
  await workOnJob<AnalysisState | FetchState>(
    ctx,
    { type: 'upload.analyse', jobId },
    'analisando',
    step,
    endAnalysisWith,
  );
}

async function continueAnalysis(work: Work<AnalysisState>): Promise<boolean> {
  const { ctx, job } = work;
  let state = job.state?.analysis === ANALYSIS_VERSION ? job.state : newState(job, getReanalysis(job));
  let bytes = 0;
  const save = async (next: AnalysisStep) => {
    bytes += next.bytes;
    state = next.state;
    await saveProgress(work, state, toProgress(job, state));
    job.step += 1;
  };
  while (!isRead(state)) {
    if (bytes >= ctx.config.UPLOAD_MESSAGE_BYTES) return true;
    await save(
      await (findUnconverted(state.items) < 0 ? readNextBlock(ctx, state) : prepareNextItem(ctx, job.id, state)),
    );
  }
  const table = await readTableColumns(work);
  if (table && job.evolve === 'widen') {
    const inference = finishInference(state.finished, table, job.key);
    state = { ...state, widening: state.widening ?? findWidenings(inference) };
    while (!haveAllValuesBeenTried(state, inference)) {
      if (bytes >= ctx.config.UPLOAD_MESSAGE_BYTES) return true;
      await save(await tryNextBlock(ctx, state, inference));
    }
  }
  await saveSchema(work, state, table);
  return false;
}

const findWidenings = (inference: Inference): NonNullable<AnalysisState['widening']> => ({
  file: 0,
  position: null,
  wants: 1,
  doubts: findWideningCandidates(inference),
});

const haveAllValuesBeenTried = ({ widening }: AnalysisState, { files }: Inference): boolean =>
  !widening || widening.file >= files.length || areSettled(widening.doubts);

/** Tries the values of a block on the columns of the table that may not take them. */
async function tryNextBlock(ctx: CompanyContext, before: AnalysisState, inference: Inference): Promise<AnalysisStep> {
  const { items, widening } = before;
  if (!widening) throw new Error('nothing is to be tried');
  const { file, doubts, wants } = widening;
  const [source, reading] = [listSources(items)[file], inference.files[file]];
  if (!source || !reading) throw new Error('a text has a reading');
  const from = widening.position ?? reading.start;
  if (from.offset >= reading.end)
    return { state: { ...before, widening: { ...widening, file: file + 1, position: null } }, bytes: 0 };
  const size = Math.min(Math.max(blockBytes(ctx.config), wants), reading.end - from.offset);
  const block = await readBlock(ctx.files, source, from.offset, size);
  const after = checkValues(reading, inference, doubts, from, block.bytes, block.last);
  return { state: { ...before, widening: { file, ...after } }, bytes: block.bytes.length };
}

/** Ends an analysis with a problem. A reanalysis does not fail the job: it waits again, with its previous schema. */
async function endAnalysisWith(work: Work<AnalysisState | FetchState>, error: JobError): Promise<void> {
  const { ctx, database, job } = work;
  const look = getReanalysis(job);
  const { inferredSchema: schema, reading } = job;
  if (!look || !schema || !reading || error.code === tableGone.code) return failWork(work, error);
  const rows = schema.total_row_count_estimate;
  const bytes = sumBytes(reading.sources);
  const outcome = {
    schema: { ...schema, problem: toOptionProblem(look, error) },
    reading,
    progress: { rows_processed: rows, rows_total: rows, bytes_processed: bytes, bytes_total: bytes },
  };
  if (!(await finishAnalysis(database, job, job.step, outcome, isoTimestamp(ctx.now())))) throw new Superseded();
  await tryDeleteConvertedTexts(ctx, { jobId: job.id, look: look.number, only: true }, reading.sources);
}

/** The reanalysis of a job, if it has one, also from a state of an earlier version of the program. */
const getReanalysis = ({ state }: WorkedJob<AnalysisState | FetchState>): Reanalysis | null =>
  state && 'look' in state ? state.look : null;

/** Deletes objects that the analysis made; those that remain are deleted with the job. */
async function tryDeleteConvertedTexts(
  ctx: CompanyContext,
  made: Parameters<typeof deleteConvertedTexts>[1],
  texts: Source[],
): Promise<void> {
  await deleteConvertedTexts(ctx, made, texts).catch((error) =>
    logError('made_not_deleted', error, { company_id: ctx.actor.companyId, job_id: made.jobId }),
  );
}

const newState = ({ files, sourceUrl }: UploadJob, look: Reanalysis | null): AnalysisState => ({
  analysis: ANALYSIS_VERSION,
  look,
  items: toItems(files, sourceUrl !== null),
  finished: [],
  reading: null,
  widening: null,
});

const isRead = ({ items, finished }: AnalysisState): boolean =>
  findUnconverted(items) < 0 && finished.length === items.length;

/** The state after some work, and the bytes that it took. */
interface AnalysisStep {
  state: AnalysisState;
  bytes: number;
}

async function prepareNextItem(ctx: CompanyContext, jobId: string, state: AnalysisState): Promise<AnalysisStep> {
  const making = { jobId, look: state.look?.number ?? 0, sheet: state.look?.said.sheet };
  const { items, bytes } = await prepareItem(ctx, making, state.items, findUnconverted(state.items));
  return { state: { ...state, items }, bytes };
}

async function readNextBlock(ctx: CompanyContext, before: AnalysisState): Promise<AnalysisStep> {
  const { items, finished, reading } = before;
  const source = listSources(items)[finished.length] as Source;
  const from =
    reading ??
    beginInference({
      fileName: source.name,
      sheet: source.sheet,
      records: source.records ?? null,
      said: getGivenOptions(source, before),
    });
  const block = await readBlock(ctx.files, source, from.offset, Math.max(blockBytes(ctx.config), from.wants));
  const after = inferFromBlock(from, block.bytes, block.last);
  const state = after.done
    ? { ...before, finished: [...finished, after], reading: null }
    : { ...before, reading: after };
  return { state, bytes: block.bytes.length };
}

/** The reading options for a text. A text made of a sheet or of records has a fixed form: options for text files do not apply. */
function getGivenOptions({ sheet, records, delimiter }: Source, { look }: AnalysisState): GivenOptions {
  if (records) return {};
  const { sheet: _, ...said } = look?.said ?? {};
  const { header, skip_lines } = said;
  if (sheet) return { header, skip_lines };
  return delimiter === undefined || said.delimiter !== undefined ? said : { ...said, delimiter, delimiterOfKind: true };
}

async function saveSchema(
  work: Work<AnalysisState>,
  state: AnalysisState,
  table: TableColumn[] | undefined,
): Promise<void> {
  const { ctx, database, job } = work;
  const growth = job.evolve === 'none' ? null : { doubts: state.widening?.doubts ?? null };
  const { schema, ...reading } = finishInference(state.finished, table, job.key, growth);
  const texts = listSources(state.items);
  const [file] = job.files;
  // Several texts of one file come from an archive, whose name says what they are together.
  if (file && job.files.length < texts.length) schema.suggested_table_name = toTableName(file.original_name);
  const progress: JobProgress = {
    ...toProgress(job, state),
    rows_processed: schema.total_row_count_estimate,
    rows_total: schema.total_row_count_estimate,
  };
  const outcome = { schema, reading: { sources: texts, ...reading }, progress };
  if (!(await finishAnalysis(database, job, job.step, outcome, isoTimestamp(ctx.now())))) throw new Superseded();
  if (state.look) await tryDeleteConvertedTexts(ctx, { jobId: job.id, look: state.look.number, only: false }, texts);
}

/** The columns of the existing table to load into. They do not change while the job is active. */
async function readTableColumns({ ctx, job }: Work<AnalysisState>): Promise<TableColumn[] | undefined> {
  if (job.userTableId === null) return undefined;
  try {
    return (await getTable(ctx, job.userTableId)).columns;
  } catch (error) {
    throw tableNotFound.matches(error) ? new JobProblem(tableGone) : error;
  }
}

function toProgress(job: WorkedJob<AnalysisState>, { items, finished, reading }: AnalysisState): JobProgress {
  const all = reading ? [...finished, reading] : finished;
  // How long the texts will be is not known before.
  const texts = findUnconverted(items) < 0 ? listSources(items) : null;
  return {
    rows_processed: all.reduce((rows, file) => rows + file.rows, 0),
    rows_total: null,
    bytes_processed: texts ? sumBytes(texts.slice(0, finished.length)) + (reading?.offset ?? 0) : 0,
    bytes_total: sumBytes(texts ?? job.files),
  };
}
