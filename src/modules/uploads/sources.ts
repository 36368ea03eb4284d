import type { CompanyContext } from '../../context.ts';
import { isGzip } from '../../formats/gzip/unpack.ts';
import type { JsonForm } from '../../formats/json/read.ts';
import type { RecordFacts } from '../../formats/records/record-facts.ts';
import type { ConvertedSheet, SheetOutput } from '../../formats/workbook/choice.ts';
import { type ContentType, detectContent } from '../../formats/workbook/content.ts';
import { MAX_BYTES as MAX_WORKBOOK_BYTES } from '../../formats/workbook/limits.ts';
import { MAX_TEXTS_BYTES } from '../../formats/workbook/texts.ts';
import { type ReadRange, readDirectory, ZipDamaged, type ZipEntry, ZipTooLarge } from '../../formats/zip/directory.ts';
import { unpackZipEntry, type ZipSource } from '../../formats/zip/unpack.ts';
import { readSegments, type Segment, SegmentWriter, sumSegmentBytes } from '../../platform/segments.ts';
import { deleteObjects, listKeys } from '../../platform/stored-files.ts';
import { chooseEntries } from './archive.ts';
import { getBlockBytes } from './blocks.ts';
import { continueUnpacking } from './gzip.ts';
import type { Source } from './job.ts';
import { FORM_EXTENSIONS, findKind, type KindName, removePackedExtension, UNPACKED_TYPES } from './kinds.ts';
import { beginReading, continueParquet, MAX_PARQUET_MEMORY_BYTES, type ParquetReading } from './parquet.ts';
import {
  archiveOfTooManyFiles,
  contentUnreadable,
  fileMissing,
  notWorkbook,
  type OtherContent,
  packedFileDamaged,
  recordsTooLarge,
  unpackedTooLarge,
  workbookTooLarge,
  workbookUnreadable,
} from './problems.ts';
import { listSegments, makeUploadPrefix, type StoredFile, toSafePath } from './receive.ts';
import { beginRecords, continueRecords, type RecordsState } from './records.ts';
import {
  beginConversion,
  type ConversionState,
  continueConversion,
  convertBiffWorkbook,
  convertHtmlWorkbook,
  convertXml2003,
} from './workbook.ts';
import { runWithWorkbookLimit } from './workbook-limit.ts';

/** Bytes in R2, and the name that users see. */
interface StoredBytes {
  name: string;
  segments: Segment[];
  size_bytes: number;
}

/**
 * A stage on the way from an uploaded file to a text: an unchanged uploaded file, a packed entry of an archive, a workbook
 * being converted, a text. It can be stored as JSON.
 */
export type Item =
  /**
   * `isUnpacked`: the name still ends in that of a gzip file, but the bytes are the unpacked ones. `holdsAllKinds`: an
   * archive may hold more kinds of files than a form accepts.
   */
  | ({ kind: 'file'; isUnpacked?: true; holdsAllKinds?: boolean } & StoredBytes)
  | { kind: 'entry'; name: string; archive: StoredBytes; entry: ZipEntry }
  | ({ kind: 'workbook'; conversion: ConversionState } & StoredBytes)
  | ({ kind: 'packed'; unpacked: Segment[] } & StoredBytes)
  | ({ kind: 'parquet'; reading: ParquetReading } & StoredBytes)
  | ({ kind: 'records'; reading: RecordsState } & StoredBytes)
  | ({ kind: 'text' } & Source);

type ItemOf<Kind extends Item['kind']> = Item & { kind: Kind };
type FileItem = ItemOf<'file'>;

/** The analysis of a job for which texts are made, and the sheet to read of its workbooks. */
export interface TextConversion {
  ctx: CompanyContext;
  jobId: string;
  /** The number of the reanalysis; 0 for the first analysis of a job. */
  analysisNumber: number;
  /** The name of the sheet to read. */
  sheet: string | undefined;
}

/** The maximum number of texts of a job: only malicious archives have more. */
const MAX_JOB_ITEMS = 100;
/**
 * The maximum number of bytes of all texts of a job that were made of records: small files with repeated values or sparse
 * objects can yield very long texts.
 */
const MAX_RECORDS_BYTES = 10 * 1024 ** 3;

/**
 * Makes the items of a job's files. @param isFetched whether the files come from a URL; of sent files, only those of
 * resumable uploads have `pieces`
 */
export const toItems = (files: StoredFile[], isFetched: boolean): Item[] =>
  files.map((file) => ({
    kind: 'file',
    name: file.original_name,
    holdsAllKinds: isFetched || file.pieces !== undefined,
    segments: listSegments(file),
    size_bytes: file.size_bytes,
  }));

/** Lists the items that are texts. */
export const listSources = (items: Item[]): Source[] =>
  items.flatMap((item) => {
    if (item.kind !== 'text') return [];
    const { kind: _, ...source } = item;
    return [source];
  });

/** Finds the index of the first item that has not been converted to text; -1 if all have been. */
export const findUnconvertedIndex = (items: Item[]): number => items.findIndex(({ kind }) => kind !== 'text');

/**
 * Takes the item at `index` one stage further: detects the content of a file, unpacks an entry, converts about one message's
 * worth of a workbook. @returns the items, with the results in its place, and about how many bytes were processed @throws
 * JobProblem for an item that cannot become a text
 */
export async function prepareItem(conversion: TextConversion, items: Item[], index: number): Promise<StageResult> {
  const item = items[index] as Item;
  const stageResult = await runNextStage(conversion, item);
  const allItems = items.toSpliced(index, 1, ...stageResult.items);
  if (allItems.reduce((sum, item) => sum + countConvertedBytes(item), 0) > MAX_WORKBOOK_BYTES) {
    throw workbookTooLarge(item.name);
  }
  if (allItems.reduce((sum, item) => sum + countRecordsBytes(item), 0) > MAX_RECORDS_BYTES) {
    throw recordsTooLarge(item.kind === 'parquet' ? 'PARQUET' : 'JSON', item.name);
  }
  if (allItems.length > MAX_JOB_ITEMS) throw archiveOfTooManyFiles(item.name, MAX_JOB_ITEMS);
  return { items: allItems, processedBytes: stageResult.processedBytes };
}

/** Counts the bytes of text that a workbook was converted to. */
function countConvertedBytes(item: Item): number {
  if (item.kind === 'workbook') return item.conversion.written;
  return item.kind === 'text' && item.sheet ? item.size_bytes : 0;
}

/** Counts the bytes of text that the records of a file were written as. */
function countRecordsBytes(item: Item): number {
  if (item.kind === 'parquet' || item.kind === 'records') return sumSegmentBytes(item.reading.text);
  return item.kind === 'text' && item.records ? item.size_bytes : 0;
}

/** The results of one stage of an item, and about how many bytes were processed. */
interface StageResult {
  items: Item[];
  processedBytes: number;
}

async function runNextStage(conversion: TextConversion, item: Item): Promise<StageResult> {
  switch (item.kind) {
    case 'file':
      return identifyFile(conversion, item);
    case 'entry':
      return unpackEntry(conversion, item);
    case 'workbook':
      return convertWorkbook(conversion, item);
    case 'packed':
      return unpackFile(conversion, item);
    case 'parquet':
      return readParquetFile(conversion, item);
    case 'records':
      return readRecords(conversion, item);
    case 'text':
      return { items: [item], processedBytes: 0 };
  }
}

/** The number of first bytes by which the content of a file is detected. */
const HEAD_BYTES = 4096;

/** The names of contents that are not a table of text. */
const OTHER_CONTENT_NAMES: Partial<Record<ContentType, OtherContent>> = {
  html: 'HTML',
  mhtml: 'MHTML',
  sheets: 'XML',
  xml: 'XML',
  json: 'JSON',
};

/** The first stage of each kind of file. */
const FIRST_STAGES: Record<KindName, (conversion: TextConversion, item: FileItem) => Promise<StageResult>> = {
  csv: ({ ctx }, item) => identifyText(ctx, item),
  tsv: ({ ctx }, item) => identifyText(ctx, item, '\t'),
  workbook: identifyWorkbook,
  oldWorkbook: identifyWorkbook,
  json: ({ ctx }, item) => identifyRecords(ctx, item, 'array'),
  ndjson: ({ ctx }, item) => identifyRecords(ctx, item, 'lines'),
  parquet: async (_, item) => ({
    items: [{ kind: 'parquet', ...toStoredBytes(item), reading: beginReading() }],
    processedBytes: 0,
  }),
  archive: async ({ ctx }, item) => ({ items: await readEntries(ctx, item), processedBytes: HEAD_BYTES }),
};

async function identifyFile(conversion: TextConversion, item: FileItem): Promise<StageResult> {
  const unpackedName = removePackedExtension(item.name);
  if (unpackedName === null || item.isUnpacked)
    return FIRST_STAGES[findKind(unpackedName ?? item.name) ?? 'csv'](conversion, item);
  const head = await readHead(conversion.ctx, item);
  if (isGzip(head)) return { items: [{ kind: 'packed', ...toStoredBytes(item), unpacked: [] }], processedBytes: 0 };
  // A server that says that it packed the file has given it unpacked.
  if (['unknown', 'zip', 'biff'].includes(detectContent(head))) throw packedFileDamaged('GZIP', item.name);
  return { items: [{ ...item, isUnpacked: true }], processedBytes: 0 };
}

const measureSegments = (name: string, segments: Segment[]): StoredBytes => ({
  name,
  segments,
  size_bytes: sumSegmentBytes(segments),
});

const toStoredBytes = ({ name, segments, size_bytes }: FileItem): StoredBytes => ({ name, segments, size_bytes });

const toTextItem = (item: FileItem): ItemOf<'text'> => ({ kind: 'text', sheet: null, ...toStoredBytes(item) });

/** Accepts a text without conversion. @param delimiter the usual one of its kind @throws JobProblem for other content */
async function identifyText(ctx: CompanyContext, item: FileItem, delimiter?: string): Promise<StageResult> {
  const otherContent = OTHER_CONTENT_NAMES[detectContent(await readHead(ctx, item))];
  if (otherContent) throw contentUnreadable(item.name, otherContent);
  return { items: [{ ...toTextItem(item), ...(delimiter && { delimiter }) }], processedBytes: 0 };
}

/** Prepares a file of records for reading. @throws JobProblem for other content: an error page may have the file's name */
async function identifyRecords(ctx: CompanyContext, item: FileItem, jsonForm: JsonForm): Promise<StageResult> {
  const content = detectContent(await readHead(ctx, item));
  const otherContent = content === 'json' ? undefined : OTHER_CONTENT_NAMES[content];
  if (otherContent) throw contentUnreadable(item.name, otherContent);
  return { items: [{ kind: 'records', ...toStoredBytes(item), reading: beginRecords(jsonForm) }], processedBytes: 0 };
}

/** Detects the content of a workbook: other programs write texts, HTML and XML under the name of an old workbook. */
async function identifyWorkbook(conversion: TextConversion, item: FileItem): Promise<StageResult> {
  const { name } = item;
  const storedBytes = toStoredBytes(item);
  const content = detectContent(await readHead(conversion.ctx, item));
  const isOld = findKind(name) === 'oldWorkbook';
  const otherContent = OTHER_CONTENT_NAMES[content];
  if (content === 'zip')
    return { items: [{ kind: 'workbook', ...storedBytes, conversion: beginConversion() }], processedBytes: 0 };
  if (content === 'biff') return (await convertBiffFile(conversion, storedBytes)) ?? postponeItem(conversion, item);
  if (isOld && content === 'text') return { items: [toTextItem(item)], processedBytes: 0 };
  if (isOld && content === 'html') return convertAtOnce(conversion, storedBytes, convertHtmlWorkbook);
  if (isOld && content === 'sheets') return convertAtOnce(conversion, storedBytes, convertXml2003);
  if (isOld && otherContent) throw contentUnreadable(name, otherContent);
  if (content === 'text') throw notWorkbook(name, 'texto', '.csv');
  if (!otherContent) throw workbookUnreadable(name);
  const isReadAsOld = content === 'html' || content === 'sheets';
  throw notWorkbook(name, otherContent, isReadAsOld ? '.xls' : undefined);
}

const readHead = (ctx: CompanyContext, item: FileItem): Promise<Uint8Array> =>
  createReader(ctx, toStoredBytes(item))(0, HEAD_BYTES);

async function readEntries(ctx: CompanyContext, item: FileItem): Promise<Item[]> {
  const archive = toStoredBytes(item);
  const types = item.holdsAllKinds ? UNPACKED_TYPES : FORM_EXTENSIONS;
  try {
    const entries = await readDirectory(createReader(ctx, archive), archive.size_bytes);
    return chooseEntries(archive.name, archive.size_bytes, entries, types).map((entry) => ({
      kind: 'entry',
      name: toSafePath(entry.name),
      archive,
      entry,
    }));
  } catch (error) {
    throw toArchiveProblem(error, archive.name);
  }
}

async function unpackEntry(conversion: TextConversion, item: ItemOf<'entry'>): Promise<StageResult> {
  const { ctx } = conversion;
  const writer = new SegmentWriter(ctx.files, () => makeTextKey(conversion));
  try {
    await unpackZipEntry(createStoredZipSource(ctx, item.archive), item.entry, (bytes) => writer.write(bytes));
  } catch (error) {
    throw toArchiveProblem(error, item.archive.name);
  }
  await writer.flush();
  return { items: [{ kind: 'file', ...measureSegments(item.name, writer.segments) }], processedBytes: item.entry.size };
}

function toArchiveProblem(error: unknown, archive: string): unknown {
  if (error instanceof ZipTooLarge) return unpackedTooLarge('ZIP', archive);
  return error instanceof ZipDamaged ? packedFileDamaged('ZIP', archive) : error;
}

async function convertWorkbook(conversion: TextConversion, item: ItemOf<'workbook'>): Promise<StageResult> {
  const { ctx } = conversion;
  const environment = {
    ...makeEnvironment(conversion),
    zip: createStoredZipSource(ctx, item),
    sheet: conversion.sheet,
    bytesPerRead: getBlockBytes(ctx.config),
  };
  const file = { name: item.name, size: item.size_bytes };
  const state = await runWithWorkbookLimit((reserveMemory) =>
    continueConversion({ ...environment, reserveMemory }, file, item.conversion),
  );
  if (!state) return postponeItem(conversion, item);
  const nextItem: Item = state.result ? toSheetItem(item.name, state.result) : { ...item, conversion: state };
  return { items: [nextItem], processedBytes: environment.bytesPerCall };
}

/** The bytes that one message unpacks, as a multiple of those that it reads of other files (`UPLOAD_MESSAGE_BYTES`). */
const UNPACKED_BYTES_PER_READ = 16;

async function unpackFile(conversion: TextConversion, item: ItemOf<'packed'>): Promise<StageResult> {
  const { ctx } = conversion;
  const { name, size_bytes: size } = item;
  const { stream } = createStoredZipSource(ctx, item);
  const environment = {
    ...makeEnvironment(conversion),
    stream: () => stream(0, size),
    bytesPerCall: UNPACKED_BYTES_PER_READ * ctx.config.UPLOAD_MESSAGE_BYTES,
  };
  const { segments, done } = await continueUnpacking(environment, { name, size }, item.unpacked);
  const bytes = ctx.config.UPLOAD_MESSAGE_BYTES;
  if (!done) return { items: [{ ...item, unpacked: segments }], processedBytes: bytes };
  return { items: [{ kind: 'file', isUnpacked: true, ...measureSegments(name, segments) }], processedBytes: bytes };
}

async function readRecords(conversion: TextConversion, item: ItemOf<'records'>): Promise<StageResult> {
  const { ctx } = conversion;
  const { name, size_bytes: size } = item;
  const environment = {
    ...makeEnvironment(conversion),
    read: createReader(ctx, item),
    bytesPerRead: getBlockBytes(ctx.config),
  };
  const { state, facts } = await continueRecords(environment, { name, size }, item.reading);
  const writtenBytes = sumSegmentBytes(state.text) - sumSegmentBytes(item.reading.text);
  const bytes = Math.max(1, state.offset - item.reading.offset, writtenBytes);
  if (!facts) return { items: [{ ...item, reading: state }], processedBytes: bytes };
  return { items: [toRecordsItem(name, state.text, facts)], processedBytes: bytes };
}

async function readParquetFile(conversion: TextConversion, item: ItemOf<'parquet'>): Promise<StageResult> {
  const { ctx } = conversion;
  const { name, size_bytes: size } = item;
  const environment = { ...makeEnvironment(conversion), read: createReader(ctx, item) };
  const parquetStep = await runWithWorkbookLimit(async (reserveMemory) => {
    await reserveMemory(Math.min(MAX_PARQUET_MEMORY_BYTES, 32 * size));
    return continueParquet(environment, { name, size }, item.reading);
  });
  if (!parquetStep) return postponeItem(conversion, item);
  const { reading, facts } = parquetStep;
  const bytes = Math.max(1, reading.written - item.reading.written);
  if (!facts) return { items: [{ ...item, reading }], processedBytes: bytes };
  return { items: [toRecordsItem(name, reading.text, facts)], processedBytes: bytes };
}

const toSheetItem = (name: string, { text, sheet }: ConvertedSheet<Segment[]>): Item => ({
  kind: 'text',
  sheet,
  ...measureSegments(name, text),
});

const toRecordsItem = (name: string, text: Segment[], records: RecordFacts): Item => ({
  kind: 'text',
  sheet: null,
  records,
  ...measureSegments(name, text),
});

/** Leaves an item unchanged, for the next message. */
const postponeItem = ({ ctx }: TextConversion, item: Item): StageResult => ({
  items: [item],
  processedBytes: ctx.config.UPLOAD_MESSAGE_BYTES,
});

/** Converts a text workbook (HTML or XML) in one message. */
async function convertAtOnce(
  conversion: TextConversion,
  storedBytes: StoredBytes,
  convert: (name: string, file: ReturnType<typeof describeWorkbook>) => Promise<ConvertedSheet<Segment[]>>,
): Promise<StageResult> {
  const convertedSheet = await convert(storedBytes.name, describeWorkbook(conversion, storedBytes));
  return {
    items: [toSheetItem(storedBytes.name, convertedSheet)],
    processedBytes: conversion.ctx.config.UPLOAD_MESSAGE_BYTES,
  };
}

/** Converts an old workbook. @returns null while other workbooks leave too little memory for its texts */
const convertBiffFile = (conversion: TextConversion, storedBytes: StoredBytes): Promise<StageResult | null> =>
  runWithWorkbookLimit(async (reserveMemory) => {
    // In UTF-8 a text has at most twice the bytes that it has in the file.
    await reserveMemory(Math.min(MAX_TEXTS_BYTES, 2 * storedBytes.size_bytes));
    return convertAtOnce(conversion, storedBytes, (name, file) =>
      convertBiffWorkbook(name, { ...file, reserveMemory }),
    );
  });

/** Describes a workbook that is converted in one message. */
const describeWorkbook = (conversion: TextConversion, storedBytes: StoredBytes) => ({
  size: storedBytes.size_bytes,
  read: createReader(conversion.ctx, storedBytes),
  sheet: conversion.sheet,
  beginText: (): SheetOutput<Segment[]> => {
    const writer = new SegmentWriter(conversion.ctx.files, () => makeTextKey(conversion));
    return {
      write: (text) => writer.write(text),
      end: async () => {
        await writer.flush();
        return writer.segments;
      },
    };
  },
});

/** Makes the prefix of objects that conversions of a job write: under that of its files, so that both are deleted together. */
const makeConversionPrefix = (
  companyId: string,
  { jobId, analysisNumber }: Pick<TextConversion, 'jobId' | 'analysisNumber'>,
): string => `${makeUploadPrefix(companyId, jobId)}/made${analysisNumber > 0 ? `/${analysisNumber}` : ''}`;

/**
 * Deletes objects of earlier analyses of a job, or with `onlyThisAnalysis` those of this analysis, except those of the job's
 * texts. No later analysis writes under these keys.
 */
export async function deleteConvertedTexts(
  ctx: CompanyContext,
  { jobId, analysisNumber, onlyThisAnalysis }: { jobId: string; analysisNumber: number; onlyThisAnalysis: boolean },
  texts: Source[],
): Promise<void> {
  const prefix = `${makeConversionPrefix(ctx.actor.companyId, { jobId, analysisNumber: 0 })}/`;
  const keptKeys = new Set(texts.flatMap(({ segments }) => segments.map(({ key }) => key)));
  const parseAnalysisNumber = (key: string) => Number(/^(\d+)\//.exec(key.slice(prefix.length))?.[1] ?? 0);
  const mayDelete = (key: string) =>
    !keptKeys.has(key) && (onlyThisAnalysis || parseAnalysisNumber(key) < analysisNumber);
  for await (const keys of listKeys(ctx.files, onlyThisAnalysis ? `${prefix}${analysisNumber}/` : prefix))
    await deleteObjects(ctx.files, keys.filter(mayDelete));
}

/** Makes a new key for a text; every call gives another key. */
const makeTextKey = (conversion: TextConversion): string =>
  `${makeConversionPrefix(conversion.ctx.actor.companyId, conversion)}/${crypto.randomUUID()}`;

/** Returns the storage for the text of a conversion, and about how many bytes one call converts. */
const makeEnvironment = (conversion: TextConversion) => ({
  bucket: conversion.ctx.files,
  newKey: () => makeTextKey(conversion),
  bytesPerCall: conversion.ctx.config.UPLOAD_MESSAGE_BYTES,
});

function createReader(ctx: CompanyContext, { name, segments, size_bytes: size }: StoredBytes): ReadRange {
  return async (offset, length) => {
    const bytes = await readSegments(ctx.files, segments, offset, Math.min(length, size - offset));
    if (!bytes) throw fileMissing(name);
    return bytes;
  };
}

/** The number of bytes of a packed entry that are read at a time. */
const PACKED_READ_BYTES = 4 * 1024 * 1024;

function createStoredZipSource(ctx: CompanyContext, storedBytes: StoredBytes): ZipSource {
  const readBytes = createReader(ctx, storedBytes);
  const stream = (offset: number, length: number) => {
    let at = offset;
    return new ReadableStream<Uint8Array>({
      async pull(controller) {
        const piece = await readBytes(at, Math.min(PACKED_READ_BYTES, offset + length - at));
        at += piece.length;
        if (piece.length > 0) controller.enqueue(piece);
        if (piece.length === 0 || at >= offset + length) controller.close();
      },
    });
  };
  return { read: readBytes, stream };
}
