import { type BiffFile, BiffWorkbookDamaged, convertBiff } from '../../formats/workbook/biff.ts';
import { WorkbookEncrypted } from '../../formats/workbook/biff-book.ts';
import { withHeaders } from '../../formats/workbook/first-rows.ts';
import { mostText, mostXml, SHEET_BYTES, WorkbookTooLarge } from '../../formats/workbook/limits.ts';
import { BeginsFurtherLeft } from '../../formats/workbook/merged-rows.ts';
import { type Merges, readMerges } from '../../formats/workbook/merges.ts';
import { openWorkbook, type Workbook } from '../../formats/workbook/parts.ts';
import { beginSheet, convertRows, MAX_ROW_BYTES, namesIn, type SheetState } from '../../formats/workbook/sheet.ts';
import type { Namespaces } from '../../formats/xml/namespaces.ts';
import { XmlUnreadable } from '../../formats/xml/text.ts';
import { ZipDamaged, type ZipEntry, ZipTooLarge } from '../../formats/zip/directory.ts';
import { unpack, type ZipSource } from '../../formats/zip/unpack.ts';
import { bytesIn, readSegments, type Segment, SegmentWriter } from '../../platform/segments.ts';
import * as problems from './problems.ts';

/** How far the conversion of an Excel workbook has come. Plain data. */
export interface ConversionState {
  /** The place of the sheet that is being converted. */
  sheet: number;
  /** Its unpacked XML; null while it is packed. */
  xml: Segment[] | null;
  rows: SheetState;
  /** How often a row was found to begin left of the sheet's first column. */
  shifts: number;
  /** The text so far. */
  text: Segment[];
  /** Bytes of XML unpacked and of text written so far, of all sheets and including what was begun again. */
  unpacked: number;
  written: number;
  /** The first sheet with rows is converted. */
  done: boolean;
}

/** A sheet's first column is that of its leftmost value; after so many shifts, column A is taken. */
const MAX_SHIFTS = 5;
const FURTHEST_RIGHT = 16_383;

export const beginConversion = (): ConversionState => ({ ...newSheetState(0), unpacked: 0, written: 0, done: false });

const newSheetState = (sheet: number): Omit<ConversionState, 'unpacked' | 'written' | 'done'> => ({
  sheet,
  xml: null,
  rows: beginSheet(FURTHEST_RIGHT),
  shifts: 0,
  text: [],
});

/** What a conversion works with. */
export interface ConversionEnvironment {
  bucket: R2Bucket;
  zip: ZipSource;
  /** Called before the workbook's texts are read, with the most bytes that they can take in memory. */
  reserve(bytes: number): Promise<void>;
  /** Makes a new key. */
  newKey(): string;
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
 * Goes on with a conversion: unpacks sheets and turns their XML into text, one line a row, about `budget` bytes of it.
 * @throws JobProblem for what is no workbook, or too large a one
 */
export async function continueConversion(
  environment: ConversionEnvironment,
  file: File,
  from: ConversionState,
): Promise<ConversionState> {
  try {
    const workbook = await openWorkbook(environment.zip, file.size, environment.reserve);
    let state = from;
    for (let left = environment.budget; !state.done && left > 0; ) {
      const { sheet, xml } = state;
      const entry = workbook.sheets[sheet]?.entry;
      if (!entry) throw new problems.JobProblem(problems.workbookEmpty(file.name));
      if (xml) state = await convertSheet({ ...environment, budget: left }, file, workbook, state, xml);
      else state = await unpackSheet(environment, file, entry, state);
      // After a sheet without rows comes the next.
      if (xml && state.sheet === sheet) break;
      left -= xml ? bytesIn(xml) : Math.max(SHEET_BYTES, entry.size);
    }
    return state;
  } catch (error) {
    throw problemOf(error, file.name);
  }
}

async function unpackSheet(
  { bucket, zip, newKey }: ConversionEnvironment,
  file: File,
  entry: ZipEntry,
  state: ConversionState,
): Promise<ConversionState> {
  const unpacked = state.unpacked + Math.max(SHEET_BYTES, entry.size);
  if (unpacked > mostXml(file.size)) throw new WorkbookTooLarge();
  const writer = new SegmentWriter(bucket, newKey);
  await unpack(zip, entry, (bytes) => writer.write(bytes));
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
  const merges = await mergesOf(bucket, xml, size, state.rows.names);
  const writer = new SegmentWriter(bucket, newKey);
  let { rows, written } = state;
  const until = rows.offset + budget;
  try {
    while (!rows.done && rows.offset < until) {
      const { state: after, text } = await convertBlock(environment, workbook, merges, rows, xml, size);
      const whole = rows.offset === 0 ? withHeaders(text, merges.headers, rows.first) : text;
      written += whole.length;
      if (written > mostText(file.size)) throw new WorkbookTooLarge();
      await writer.write(whole);
      rows = after;
    }
  } catch (error) {
    if (!(error instanceof BeginsFurtherLeft)) throw error;
    const first = state.shifts < MAX_SHIFTS ? error.column : 0;
    return { ...state, written, rows: beginSheet(first), shifts: state.shifts + 1, text: [] };
  }
  await writer.flush();
  const text = [...state.text, ...writer.segments];
  if (!rows.done) return { ...state, written, rows, text };
  if (rows.filled > 0) return { ...state, written, rows, text, done: true };
  return { ...state, ...newSheetState(state.sheet + 1), written };
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
    const bytes = await segmentBytes(bucket, xml, rows.offset, length);
    const converted = convertRows(workbook, merges, rows, bytes, rows.offset + bytes.length >= size);
    if (converted.state.offset > rows.offset || converted.state.done) return converted;
    if (length > MAX_ROW_BYTES) throw new XmlUnreadable('a row without end');
  }
}

/** Headers stand within the first block. */
const FIRST_BLOCK_BYTES = 256 * 1024;
/** Merged cells are listed behind the rows; so much of a sheet's end is searched for them. */
const TAIL_BYTES = 4 * 1024 * 1024;

async function mergesOf(bucket: R2Bucket, xml: Segment[], size: number, names: Namespaces | null): Promise<Merges> {
  const tail = await segmentBytes(bucket, xml, Math.max(0, size - TAIL_BYTES), TAIL_BYTES);
  return readMerges(tail, names ?? namesIn(await segmentBytes(bucket, xml, 0, FIRST_BLOCK_BYTES)));
}

async function segmentBytes(bucket: R2Bucket, xml: Segment[], offset: number, length: number): Promise<Uint8Array> {
  const bytes = await readSegments(bucket, xml, offset, length);
  if (!bytes) throw new Error('an unpacked sheet is gone');
  return bytes;
}

function problemOf(error: unknown, file: string): unknown {
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
export async function convertBiffWorkbook(name: string, file: BiffFile): Promise<void> {
  let hasRows: boolean;
  try {
    hasRows = await convertBiff(file);
  } catch (error) {
    if (error instanceof WorkbookEncrypted) throw new problems.JobProblem(problems.workbookEncrypted(name));
    if (error instanceof WorkbookTooLarge) throw new problems.JobProblem(problems.oldWorkbookTooLarge(name));
    throw error instanceof BiffWorkbookDamaged ? new problems.JobProblem(problems.workbookUnreadable(name)) : error;
  }
  if (!hasRows) throw new problems.JobProblem(problems.workbookEmpty(name));
}
