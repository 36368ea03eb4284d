import type { CompanyContext } from '../../context.ts';
import { formatIsoTimestamp } from '../../kernel/fields.ts';
import { logError } from '../../platform/log.ts';
import type { TableColumnDefinition } from '../../tenant-sql/columns.ts';
import { tableNotFound } from '../managed-tables/failures.ts';
import { getTable } from '../managed-tables/service.ts';
import { getBlockBytes, readBlock } from './blocks.ts';
import { type FetchState, fetchSource, isFetchWork } from './fetch.ts';
import {
  areCandidatesSettled,
  beginInference,
  checkValues,
  findWideningCandidates,
  finishInference,
  type GivenOptions,
  type Inference,
  type InferenceState,
  inferFromBlock,
  type Position,
  toTableName,
  type WideningCandidate,
} from './inference/index.ts';
import type { JobError, JobProgress, Source, UploadJob, WorkedJob } from './job.ts';
import { finishAnalysis } from './job-store.ts';
import { JobProblem, tableDeleted } from './problems.ts';
import { type Reanalysis, toOptionProblem } from './reading-options.ts';
import { sumBytes } from './receive.ts';
import { deleteConvertedTexts, findUnconvertedIndex, type Item, listSources, prepareItem, toItems } from './sources.ts';
import { failWork, type JobWork, saveProgress, workOnJob } from './work.ts';

/**
 * The version of {@link AnalysisState}: increase it whenever a field of the state, or of an object in it, changes. An analysis
 * that an earlier version of the program has begun then starts over.
 */
const ANALYSIS_VERSION = 6;

/**
 * The progress of an analysis: the items to read, the texts already read, and the text being read; and where columns of the table
 * may be widened, the progress of reading the texts again to find these columns.
 */
interface AnalysisState {
  /** The version of the form of this state. */
  analysis: typeof ANALYSIS_VERSION;
  /** The options that a person gave for reading the files; null in the first analysis of a job. */
  look: Reanalysis | null;
  /** The files, on their way to texts. */
  items: Item[];
  /** The states of the texts that were read to their end. */
  finished: InferenceState[];
  /** The state of the text that is being read; null between two texts. */
  reading: InferenceState | null;
  /** The second reading, which finds the columns of the table to widen: the index of the text, and the position in it. */
  widening: { file: number; position: Position | null; wants: number; doubts: WideningCandidate[] } | null;
}

/**
 * Fetches a job's file, where it is at a URL. Converts its files to texts and reads these, about `UPLOAD_MESSAGE_BYTES` of files
 * or texts per message. When all are read, infers their schema.
 */
export async function analyseUpload(ctx: CompanyContext, jobId: string): Promise<void> {
  const runStep = (work: JobWork<AnalysisState | FetchState>) =>
    isFetchWork(work) ? fetchSource(work) : continueAnalysis(work as JobWork<AnalysisState>);
  await workOnJob<AnalysisState | FetchState>(
    ctx,
    { type: 'upload.analyse', jobId },
    'analisando',
    runStep,
    endAnalysisWithError,
  );
}

async function continueAnalysis(work: JobWork<AnalysisState>): Promise<boolean> {
  const { ctx, job } = work;
  let state = job.state?.analysis === ANALYSIS_VERSION ? job.state : createState(job, getReanalysis(job));
  let processedBytes = 0;
  const saveStep = async (step: AnalysisStep) => {
    processedBytes += step.processedBytes;
    state = step.state;
    await saveProgress(work, state, toProgress(job, state));
    job.stepNumber += 1;
  };
  while (!isEverythingRead(state)) {
    if (processedBytes >= ctx.config.UPLOAD_MESSAGE_BYTES) return true;
    await saveStep(
      await (findUnconvertedIndex(state.items) < 0 ? readNextBlock(ctx, state) : prepareNextItem(ctx, job.id, state)),
    );
  }
  const table = await readTableColumns(work);
  if (table && job.evolve === 'widen') {
    const inference = finishInference(state.finished, table, job.key);
    if (!state.widening)
      state = { ...state, widening: { file: 0, position: null, wants: 1, doubts: findWideningCandidates(inference) } };
    while (!isWideningDone(state, inference)) {
      if (processedBytes >= ctx.config.UPLOAD_MESSAGE_BYTES) return true;
      await saveStep(await tryNextBlock(ctx, state, inference));
    }
  }
  await saveSchema(work, state, table);
  return false;
}

const isWideningDone = ({ widening }: AnalysisState, { files }: Inference): boolean =>
  !widening || widening.file >= files.length || areCandidatesSettled(widening.doubts);

/** Checks the values of a block against the table's columns that may be too narrow for the values. */
async function tryNextBlock(
  ctx: CompanyContext,
  previousState: AnalysisState,
  inference: Inference,
): Promise<AnalysisStep> {
  const { items, widening } = previousState;
  if (!widening) throw new Error('nothing is to be tried');
  const { file, doubts, wants } = widening;
  const [source, reading] = [listSources(items)[file], inference.files[file]];
  if (!source || !reading) throw new Error('a text has a reading');
  const from = widening.position ?? reading.start;
  if (from.offset >= reading.end)
    return {
      state: { ...previousState, widening: { ...widening, file: file + 1, position: null } },
      processedBytes: 0,
    };
  const size = Math.min(Math.max(getBlockBytes(ctx.config), wants), reading.end - from.offset);
  const block = await readBlock(ctx.files, source, from.offset, size);
  const checkResult = checkValues(reading, inference, doubts, from, block.bytes, block.isLast);
  return { state: { ...previousState, widening: { file, ...checkResult } }, processedBytes: block.bytes.length };
}

/** Ends an analysis with a problem. A failed reanalysis does not fail the job, which waits again with its previous schema. */
async function endAnalysisWithError(work: JobWork<AnalysisState | FetchState>, error: JobError): Promise<void> {
  const { ctx, database, job } = work;
  const reanalysis = getReanalysis(job);
  const { inferredSchema: schema, reading } = job;
  if (!reanalysis || !schema || !reading || error.code === tableDeleted.code) return failWork(work, error);
  const rows = schema.total_row_count_estimate;
  const bytes = sumBytes(reading.sources);
  const outcome = {
    schema: { ...schema, problem: toOptionProblem(reanalysis, error) },
    reading,
    progress: { rows_processed: rows, rows_total: rows, bytes_processed: bytes, bytes_total: bytes },
  };
  await finishAnalysis(database, job, job.stepNumber, outcome, formatIsoTimestamp(ctx.now()));
  await tryDeleteConvertedTexts(
    ctx,
    { jobId: job.id, analysisNumber: reanalysis.number, onlyThisAnalysis: true },
    reading.sources,
  );
}

/** Returns the reanalysis of a job, if it has one, also from a state of an earlier version of the program. */
const getReanalysis = ({ state }: WorkedJob<AnalysisState | FetchState>): Reanalysis | null =>
  state && 'look' in state ? state.look : null;

/** Deletes objects that the analysis made; if this fails, they are deleted with the job. */
async function tryDeleteConvertedTexts(
  ctx: CompanyContext,
  conversion: Parameters<typeof deleteConvertedTexts>[1],
  texts: Source[],
): Promise<void> {
  await deleteConvertedTexts(ctx, conversion, texts).catch((error) =>
    logError('made_not_deleted', error, { company_id: ctx.actor.companyId, job_id: conversion.jobId }),
  );
}

const createState = ({ files, sourceUrl }: UploadJob, reanalysis: Reanalysis | null): AnalysisState => ({
  analysis: ANALYSIS_VERSION,
  look: reanalysis,
  items: toItems(files, sourceUrl !== null),
  finished: [],
  reading: null,
  widening: null,
});

const isEverythingRead = ({ items, finished }: AnalysisState): boolean =>
  findUnconvertedIndex(items) < 0 && finished.length === items.length;

/** The state after one step of the analysis, and the bytes that the step processed. */
interface AnalysisStep {
  state: AnalysisState;
  processedBytes: number;
}

async function prepareNextItem(ctx: CompanyContext, jobId: string, state: AnalysisState): Promise<AnalysisStep> {
  const conversion = { ctx, jobId, analysisNumber: state.look?.number ?? 0, sheet: state.look?.said.sheet };
  const { items, processedBytes: bytes } = await prepareItem(
    conversion,
    state.items,
    findUnconvertedIndex(state.items),
  );
  return { state: { ...state, items }, processedBytes: bytes };
}

async function readNextBlock(ctx: CompanyContext, previousState: AnalysisState): Promise<AnalysisStep> {
  const { items, finished, reading } = previousState;
  const source = listSources(items)[finished.length] as Source;
  const from =
    reading ??
    beginInference({
      fileName: source.name,
      sheet: source.sheet,
      records: source.records ?? null,
      said: getGivenOptions(source, previousState),
    });
  const block = await readBlock(ctx.files, source, from.offset, Math.max(getBlockBytes(ctx.config), from.wants));
  const nextInference = inferFromBlock(from, block.bytes, block.isLast);
  const state = nextInference.done
    ? { ...previousState, finished: [...finished, nextInference], reading: null }
    : { ...previousState, reading: nextInference };
  return { state, processedBytes: block.bytes.length };
}

/** Returns the reading options for a text: those for text files do not apply to one made of a sheet or of records. */
function getGivenOptions({ sheet, records, delimiter }: Source, { look }: AnalysisState): GivenOptions {
  if (records) return {};
  const { sheet: _, ...said } = look?.said ?? {};
  const { header, skip_lines } = said;
  if (sheet) return { header, skip_lines };
  return delimiter === undefined || said.delimiter !== undefined ? said : { ...said, delimiter, delimiterOfKind: true };
}

async function saveSchema(
  work: JobWork<AnalysisState>,
  state: AnalysisState,
  table: TableColumnDefinition[] | undefined,
): Promise<void> {
  const { ctx, database, job } = work;
  const growth = job.evolve === 'none' ? null : { wideningCandidates: state.widening?.doubts ?? null };
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
  await finishAnalysis(database, job, job.stepNumber, outcome, formatIsoTimestamp(ctx.now()));
  if (state.look)
    await tryDeleteConvertedTexts(
      ctx,
      { jobId: job.id, analysisNumber: state.look.number, onlyThisAnalysis: false },
      texts,
    );
}

/** Reads the columns of the existing table to load into. They do not change while the job is active. */
async function readTableColumns({ ctx, job }: JobWork<AnalysisState>): Promise<TableColumnDefinition[] | undefined> {
  if (job.userTableId === null) return undefined;
  try {
    return (await getTable(ctx, job.userTableId)).columns;
  } catch (error) {
    throw tableNotFound.matches(error) ? new JobProblem(tableDeleted) : error;
  }
}

function toProgress(job: WorkedJob<AnalysisState>, { items, finished, reading }: AnalysisState): JobProgress {
  const startedTexts = reading ? [...finished, reading] : finished;
  // How long the texts will be is not known before.
  const texts = findUnconvertedIndex(items) < 0 ? listSources(items) : null;
  return {
    rows_processed: startedTexts.reduce((rows, file) => rows + file.rows, 0),
    rows_total: null,
    bytes_processed: texts ? sumBytes(texts.slice(0, finished.length)) + (reading?.offset ?? 0) : 0,
    bytes_total: sumBytes(texts ?? job.files),
  };
}
