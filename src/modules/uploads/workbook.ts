import { convertHtml, type HtmlFile, HtmlUnreadable } from '../../formats/html/convert.ts';
import { type BiffFile, BiffWorkbookDamaged, convertBiff } from '../../formats/workbook/biff.ts';
import { WorkbookEncrypted } from '../../formats/workbook/biff-book.ts';
import {
  type Choice,
  type Converted,
  considerSheet,
  getChosenSheet,
  isTable,
  NO_CHOICE,
  SheetUnknown,
  toNames,
} from '../../formats/workbook/choice.ts';
import { withHeaders } from '../../formats/workbook/first-rows.ts';
import {
  computeMaxTextBytes,
  computeMaxXmlBytes,
  SHEET_BYTES,
  WorkbookTooLarge,
} from '../../formats/workbook/limits.ts';
import { EarlierColumnFound } from '../../formats/workbook/merged-rows.ts';
import { type Merges, readMerges } from '../../formats/workbook/merges.ts';
import { openWorkbook, type Sheet, type Workbook } from '../../formats/workbook/parts.ts';
import { beginSheet, convertRows, MAX_ROW_BYTES, namesIn, type SheetState } from '../../formats/workbook/sheet.ts';
import { convertXmlWorkbook, type XmlWorkbookFile } from '../../formats/workbook/xml-workbook.ts';
import { XmlBytes } from '../../formats/xml/encoding.ts';
import type { Namespaces } from '../../formats/xml/namespaces.ts';
import { XmlUnreadable } from '../../formats/xml/text.ts';
import { ZipDamaged, type ZipEntry, ZipTooLarge } from '../../formats/zip/directory.ts';
import { unpack, type ZipSource } from '../../formats/zip/unpack.ts';
import { bytesIn, readSegments, type Segment, SegmentWriter } from '../../platform/segments.ts';
import type { JobError } from './job.ts';
import * as problems from './problems.ts';

/** The progress of converting an Excel workbook. Plain data. */
export interface ConversionState {
  /** The index of the sheet that is being converted. */
  sheet: number;
  /** The sheet's unpacked XML; null while it is packed. */
  xml: Segment[] | null;
  rows: SheetState;
  /** The number of times that a row began left of the sheet's first column. */
  shifts: number;
  /** The text so far, the row of a header joined from merged cells, and the number of rows that this made empty. */
  text: Segment[];
  header: number | null;
  joined: number;
  /** Bytes of XML unpacked and of text written so far, of all sheets and including restarts. */
  unpacked: number;
  written: number;
  /** The candidates for the workbook's table among the sheets before this one, and the chosen one. */
  choice: Choice<Converted<Segment[]>>;
  result: Converted<Segment[]> | null;
}

/** The maximum number of shifts to a new first column, that of the leftmost value; after these, column A is taken. */
const MAX_SHIFTS = 5;
const MAX_COLUMN_INDEX = 16_383;

export const beginConversion = (): ConversionState => ({
  ...makeSheetState(0),
  unpacked: 0,
  written: 0,
  choice: NO_CHOICE,
  result: null,
});

const makeSheetState = (sheet: number): Omit<ConversionState, 'unpacked' | 'written' | 'choice' | 'result'> => ({
  sheet,
  xml: null,
  rows: beginSheet(MAX_COLUMN_INDEX),
  shifts: 0,
  text: [],
  header: null,
  joined: 0,
});

/** The workbook and the storage for its text. */
export interface ConversionEnvironment {
  bucket: R2Bucket;
  zip: ZipSource;
  /** Called before the workbook's texts are read, with the most bytes that they can take in memory. */
  reserve(bytes: number): Promise<void>;
  /** Makes a new key. */
  newKey(): string;
  /** The name of the sheet to read, where a person gave it. */
  sheet?: string | undefined;
  /** Bytes of XML that one call converts, about, and that are read at a time. */
  budget: number;
  block: number;
}

/** A workbook's name and size. */
interface File {
  name: string;
  size: number;
}

/**
 * Continues a conversion: unpacks sheets and turns their XML into text, one line a row, about `budget` bytes of it.
 * @throws JobProblem for a file that is no workbook, or is too large
 */
export async function continueConversion(
  environment: ConversionEnvironment,
  file: File,
  from: ConversionState,
): Promise<ConversionState> {
  try {
    const workbook = await openWorkbook(environment.zip, file.size, environment.reserve);
    const wanted = environment.sheet;
    let state = wanted === undefined ? from : { ...from, sheet: findSheet(workbook, wanted) };
    for (let left = environment.budget; !state.result && left > 0; ) {
      const { sheet, xml, choice } = state;
      const next = workbook.sheets[sheet];
      // What is hidden counts only where nothing is seen.
      if (!next || (wanted === undefined && next.hidden && choice.first)) {
        const result = getChosenSheet(choice);
        if (!result) throw new problems.JobProblem(problems.workbookEmpty(file.name));
        return { ...state, result };
      }
      const { entry } = next;
      if (xml) state = await convertSheet({ ...environment, budget: left }, file, workbook, state, xml);
      else state = await unpackSheet(environment, file, entry, state);
      // After a sheet that is no table comes the next.
      if (xml && state.sheet === sheet) break;
      left -= xml ? bytesIn(xml) : Math.max(SHEET_BYTES, entry.size);
    }
    return state;
  } catch (error) {
    if (error instanceof SheetUnknown)
      throw new problems.JobProblem(problems.sheetUnknown(file.name, environment.sheet));
    throw toProblem(error, file.name);
  }
}

function findSheet({ sheets }: Workbook, wanted: string): number {
  const place = sheets.findIndex(({ name }) => name === wanted);
  if (place < 0) throw new SheetUnknown();
  return place;
}

async function unpackSheet(
  { bucket, zip, newKey }: ConversionEnvironment,
  file: File,
  entry: ZipEntry,
  state: ConversionState,
): Promise<ConversionState> {
  const unpacked = state.unpacked + Math.max(SHEET_BYTES, entry.size);
  if (unpacked > computeMaxXmlBytes(file.size)) throw new WorkbookTooLarge();
  const writer = new SegmentWriter(bucket, newKey);
  const utf8 = new XmlBytes();
  await unpack(zip, entry, (bytes) => writer.write(utf8.feed(bytes)));
  await writer.write(utf8.end());
  await writer.flush();
  return { ...state, unpacked, xml: writer.segments };
}

async function convertSheet(
  environment: ConversionEnvironment,
  file: File,
  workbook: Workbook,
  state: ConversionState,
  xml: Segment[],
): Promise<ConversionState> {
  const { bucket, newKey, budget } = environment;
  const size = bytesIn(xml);
  const merges = await loadMerges(bucket, xml, size, state.rows.names);
  const writer = new SegmentWriter(bucket, newKey);
  let { rows, written, header, joined } = state;
  const until = rows.offset + budget;
  try {
    while (!rows.done && rows.offset < until) {
      const { state: after, text } = await convertBlock(environment, workbook, merges, rows, xml, size);
      const begun = rows.offset === 0 ? withHeaders(text, merges.headers, rows.first) : { text, header, joined };
      ({ header, joined } = begun);
      written += begun.text.length;
      if (written > computeMaxTextBytes(file.size)) throw new WorkbookTooLarge();
      await writer.write(begun.text);
      rows = after;
    }
  } catch (error) {
    if (!(error instanceof EarlierColumnFound)) throw error;
    const first = state.shifts < MAX_SHIFTS ? error.column : 0;
    const again = { rows: beginSheet(first), shifts: state.shifts + 1, text: [], header: null, joined: 0 };
    return { ...state, ...again, written };
  }
  await writer.flush();
  const text = [...state.text, ...writer.segments];
  if (!rows.done) return { ...state, written, rows, text, header, joined };
  const { name } = workbook.sheets[state.sheet] as Sheet;
  const names = toNames(workbook.sheets.map((sheet) => sheet.name));
  const converted = { text, sheet: { name, width: rows.width, header, ...names } };
  const counts = { filled: rows.filled - joined, narrow: rows.narrow };
  if (environment.sheet !== undefined && counts.filled === 0)
    throw new problems.JobProblem(problems.workbookEmpty(file.name));
  if (environment.sheet !== undefined || isTable(counts)) return { ...state, written, rows, result: converted };
  return {
    ...state,
    ...makeSheetState(state.sheet + 1),
    written,
    choice: considerSheet(state.choice, counts, converted),
  };
}

async function convertBlock(
  { bucket, block }: ConversionEnvironment,
  workbook: Workbook,
  merges: Merges,
  rows: SheetState,
  xml: Segment[],
  size: number,
): Promise<{ state: SheetState; text: Uint8Array }> {
  for (let length = Math.max(block, FIRST_BLOCK_BYTES); ; length *= 2) {
    const bytes = await createSegmentReader(bucket, xml, rows.offset, length);
    const converted = convertRows(workbook, merges, rows, bytes, rows.offset + bytes.length >= size);
    if (converted.state.offset > rows.offset || converted.state.done) return converted;
    if (length > MAX_ROW_BYTES) throw new XmlUnreadable('a row without end');
  }
}

/** The size of the first block of a text, which holds the header. */
const FIRST_BLOCK_BYTES = 256 * 1024;
/** The maximum number of bytes at the end of a sheet in which merged cells are looked for: they are listed behind the rows. */
const TAIL_BYTES = 4 * 1024 * 1024;

async function loadMerges(bucket: R2Bucket, xml: Segment[], size: number, names: Namespaces | null): Promise<Merges> {
  const tail = await createSegmentReader(bucket, xml, Math.max(0, size - TAIL_BYTES), TAIL_BYTES);
  return readMerges(tail, names ?? namesIn(await createSegmentReader(bucket, xml, 0, FIRST_BLOCK_BYTES)));
}

async function createSegmentReader(
  bucket: R2Bucket,
  xml: Segment[],
  offset: number,
  length: number,
): Promise<Uint8Array> {
  const bytes = await readSegments(bucket, xml, offset, length);
  if (!bytes) throw new Error('an unpacked sheet is gone');
  return bytes;
}

function toProblem(error: unknown, file: string): unknown {
  if (error instanceof WorkbookTooLarge || error instanceof ZipTooLarge)
    return new problems.JobProblem(problems.workbookTooLarge(file));
  if (error instanceof ZipDamaged || error instanceof XmlUnreadable)
    return new problems.JobProblem(problems.workbookUnreadable(file));
  return error;
}

/**
 * Converts a workbook of Excel 2 to 2003.
 * @throws JobProblem when it is encrypted, damaged, too large, or has no rows
 */
export const convertBiffWorkbook = <T>(name: string, file: BiffFile<T>): Promise<Converted<T>> =>
  convertAtOnce(name, problems.oldWorkbookTooLarge, convertBiff(file), file.sheet);

/**
 * Converts a workbook that is HTML, as some programs write it.
 * @throws JobProblem when it has no table, is too large, or has no rows
 */
export const convertHtmlWorkbook = <T>(name: string, file: HtmlFile<T>): Promise<Converted<T>> =>
  convertAtOnce(name, problems.workbookTooLarge, convertHtml(file));

/**
 * Converts a workbook of XML Spreadsheet 2003.
 * @throws JobProblem when it is damaged, too large, or has no rows
 */
export const convertXml2003 = <T>(name: string, file: XmlWorkbookFile<T>): Promise<Converted<T>> =>
  convertAtOnce(name, problems.workbookTooLarge, convertXmlWorkbook(file), file.sheet);

async function convertAtOnce<T>(
  name: string,
  tooLarge: (name: string) => JobError,
  conversion: Promise<Converted<T> | null>,
  wanted?: string,
): Promise<Converted<T>> {
  let converted: Converted<T> | null;
  try {
    converted = await conversion;
  } catch (error) {
    if (error instanceof SheetUnknown) throw new problems.JobProblem(problems.sheetUnknown(name, wanted));
    if (error instanceof WorkbookEncrypted) throw new problems.JobProblem(problems.workbookEncrypted(name));
    if (error instanceof WorkbookTooLarge) throw new problems.JobProblem(tooLarge(name));
    if (error instanceof HtmlUnreadable) throw new problems.JobProblem(problems.contentUnreadable(name, 'HTML'));
    const isDamaged = error instanceof BiffWorkbookDamaged || error instanceof XmlUnreadable;
    throw isDamaged ? new problems.JobProblem(problems.workbookUnreadable(name)) : error;
  }
  if (!converted) throw new problems.JobProblem(problems.workbookEmpty(name));
  return converted;
}
