import { convertHtml, HtmlUnreadable } from '../../formats/html/convert.ts';
import { type BiffFile, BiffWorkbookDamaged, convertBiff } from '../../formats/workbook/biff.ts';
import { WorkbookEncrypted } from '../../formats/workbook/biff-book.ts';
import {
  type ConvertedSheet,
  considerSheet,
  getChosenSheet,
  isTable,
  NO_CHOICE,
  type SheetChoice,
  type SheetSource,
  SheetUnknown,
  toSheetNames,
} from '../../formats/workbook/choice.ts';
import { joinHeaderRows } from '../../formats/workbook/first-rows.ts';
import {
  computeMaxTextBytes,
  computeMaxXmlBytes,
  MIN_SHEET_BYTES,
  WorkbookTooLarge,
} from '../../formats/workbook/limits.ts';
import { EarlierColumnFound } from '../../formats/workbook/merged-rows.ts';
import {
  findMerges,
  type Merge,
  type Merges,
  NO_MERGES,
  readMerges,
  selectUsefulMerges,
} from '../../formats/workbook/merges.ts';
import { openWorkbook, type PackedSheet, type Workbook } from '../../formats/workbook/parts.ts';
import {
  beginSheet,
  convertRows,
  MAX_ROW_BYTES,
  readNamespaces,
  type SheetState,
} from '../../formats/workbook/sheet.ts';
import { convertXmlWorkbook, type XmlWorkbookFile } from '../../formats/workbook/xml-workbook.ts';
import { XmlBytes } from '../../formats/xml/encoding.ts';
import type { Namespaces } from '../../formats/xml/namespaces.ts';
import { XmlUnreadable } from '../../formats/xml/text.ts';
import { ZipDamaged, type ZipEntry, ZipTooLarge } from '../../formats/zip/directory.ts';
import { unpackZipEntry, type ZipSource } from '../../formats/zip/unpack.ts';
import { readSegments, type Segment, SegmentWriter, sumSegmentBytes } from '../../platform/segments.ts';
import * as problems from './problems.ts';

/** The progress of converting an Excel workbook. It can be stored as JSON. */
export interface ConversionState {
  /** The index of the sheet that is being converted. */
  sheet: number;
  /** The sheet's unpacked XML; null while it is packed. */
  xml: Segment[] | null;
  /** The offset in the XML of the list of merged cells; null for none, undefined until it is searched. */
  merges?: number | null | undefined;
  /** The state of the sheet that is being converted. */
  rows: SheetState;
  /** The number of times that a row began left of the sheet's first column. */
  shifts: number;
  /** The pieces of the text written so far. */
  text: Segment[];
  /** The row, from 1, of a header joined from merged cells; null for none. */
  header: number | null;
  /** The number of rows that joining the header made empty. */
  joined: number;
  /** The number of bytes of XML unpacked so far, of all sheets and including restarts. */
  unpacked: number;
  /** The number of bytes of text written so far, of all sheets and including restarts. */
  written: number;
  /** The candidates for the workbook's table among the previous sheets. */
  choice: SheetChoice<ConvertedSheet<Segment[]>>;
  /** The converted sheet that was chosen; null until then. */
  result: ConvertedSheet<Segment[]> | null;
}

/** The maximum number of times that a sheet is converted again from a column further left; then it is from column A. */
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
  merges: undefined,
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
  /** Called before the workbook's texts are read, with the maximum number of bytes that they can take in memory. */
  reserveMemory(bytes: number): Promise<void>;
  /** Makes a new R2 key. */
  newKey(): string;
  /** The name of the sheet to read, where a person gave it. */
  sheet?: string | undefined;
  /** The approximate number of bytes of XML that one call converts. */
  bytesPerCall: number;
  /** The number of bytes of XML that are read at a time. */
  bytesPerRead: number;
}

/** A workbook's name and size. */
interface WorkbookFile {
  name: string;
  size: number;
}

/**
 * Continues a conversion: unpacks sheets and turns their XML into text, one line a row, about `bytesPerCall` bytes of XML.
 * @throws JobProblem for a file that is no workbook, or is too large
 */
export async function continueConversion(
  environment: ConversionEnvironment,
  file: WorkbookFile,
  from: ConversionState,
): Promise<ConversionState> {
  try {
    const workbook = await openWorkbook(environment.zip, file.size, environment.reserveMemory);
    const wantedSheet = environment.sheet;
    let state = wantedSheet === undefined ? from : { ...from, sheet: findSheetIndex(workbook, wantedSheet) };
    for (let remainingBytes = environment.bytesPerCall; !state.result && remainingBytes > 0; ) {
      const { sheet, xml, choice } = state;
      const nextSheet = workbook.sheets[sheet];
      // What is hidden counts only where nothing is seen.
      if (!nextSheet || (wantedSheet === undefined && nextSheet.isHidden && choice.first)) {
        const result = getChosenSheet(choice);
        if (!result) throw problems.workbookEmpty(file.name);
        return { ...state, result };
      }
      const { entry } = nextSheet;
      if (xml) state = await convertSheet({ ...environment, bytesPerCall: remainingBytes }, file, workbook, state, xml);
      else state = await unpackSheet(environment, file, entry, state);
      // After a sheet that is no table comes the next.
      if (xml && state.sheet === sheet) break;
      remainingBytes -= xml ? sumSegmentBytes(xml) : Math.max(MIN_SHEET_BYTES, entry.size);
    }
    return state;
  } catch (error) {
    if (error instanceof SheetUnknown) throw problems.sheetUnknown(file.name, environment.sheet);
    throw toWorkbookProblem(error, file.name);
  }
}

function findSheetIndex({ sheets }: Workbook, wantedName: string): number {
  const index = sheets.findIndex(({ name }) => name === wantedName);
  if (index < 0) throw new SheetUnknown();
  return index;
}

async function unpackSheet(
  { bucket, zip, newKey }: ConversionEnvironment,
  file: WorkbookFile,
  entry: ZipEntry,
  state: ConversionState,
): Promise<ConversionState> {
  const unpackedBytes = state.unpacked + Math.max(MIN_SHEET_BYTES, entry.size);
  if (unpackedBytes > computeMaxXmlBytes(file.size)) throw new WorkbookTooLarge();
  const writer = new SegmentWriter(bucket, newKey);
  const utf8Converter = new XmlBytes();
  await unpackZipEntry(zip, entry, (bytes) => writer.write(utf8Converter.convertPiece(bytes)));
  await writer.write(utf8Converter.endDocument());
  await writer.flush();
  return { ...state, unpacked: unpackedBytes, xml: writer.segments };
}

async function convertSheet(
  environment: ConversionEnvironment,
  file: WorkbookFile,
  workbook: Workbook,
  from: ConversionState,
  xml: Segment[],
): Promise<ConversionState> {
  const { bucket, newKey, bytesPerCall } = environment;
  const size = sumSegmentBytes(xml);
  const mergesOffset = from.merges === undefined ? await searchMerges(bucket, xml, size) : from.merges;
  const state = { ...from, merges: mergesOffset };
  const merges =
    mergesOffset === null ? NO_MERGES : await loadMerges(bucket, xml, size, mergesOffset, state.rows.names);
  const writer = new SegmentWriter(bucket, newKey);
  let { rows, written, header, joined } = state;
  const untilOffset = rows.offset + bytesPerCall;
  try {
    while (!rows.done && rows.offset < untilOffset) {
      const { state: nextRows, text } = await convertBlock(environment, workbook, merges, rows, xml, size);
      const textWithHeaders =
        rows.offset === 0
          ? joinHeaderRows(text, merges.headerMerges, rows.first)
          : { text, headerRow: header, emptiedRowCount: joined };
      ({ headerRow: header, emptiedRowCount: joined } = textWithHeaders);
      written += textWithHeaders.text.length;
      if (written > computeMaxTextBytes(file.size)) throw new WorkbookTooLarge();
      await writer.write(textWithHeaders.text);
      rows = nextRows;
    }
  } catch (error) {
    if (!(error instanceof EarlierColumnFound)) throw error;
    const firstColumn = state.shifts < MAX_SHIFTS ? error.column : 0;
    const restartState = { rows: beginSheet(firstColumn), shifts: state.shifts + 1, text: [], header: null, joined: 0 };
    return { ...state, ...restartState, written };
  }
  await writer.flush();
  const text = [...state.text, ...writer.segments];
  if (!rows.done) return { ...state, written, rows, text, header, joined };
  const { name } = workbook.sheets[state.sheet] as PackedSheet;
  const names = toSheetNames(workbook.sheets.map((sheet) => sheet.name));
  const convertedSheet = { text, sheet: { name, width: rows.width, header, ...names } };
  const counts = { filledRowCount: rows.filled - joined, narrowRowCount: rows.narrow };
  if (environment.sheet !== undefined && counts.filledRowCount === 0) throw problems.workbookEmpty(file.name);
  if (environment.sheet !== undefined || isTable(counts)) return { ...state, written, rows, result: convertedSheet };
  return {
    ...state,
    ...makeSheetState(state.sheet + 1),
    written,
    choice: considerSheet(state.choice, counts, convertedSheet),
  };
}

async function convertBlock(
  { bucket, bytesPerRead }: ConversionEnvironment,
  workbook: Workbook,
  merges: Merges,
  rows: SheetState,
  xml: Segment[],
  size: number,
): Promise<{ state: SheetState; text: Uint8Array }> {
  for (let length = Math.max(bytesPerRead, FIRST_BLOCK_BYTES); ; length *= 2) {
    const bytes = await createSegmentReader(bucket, xml, rows.offset, length);
    const convertedBlock = convertRows(workbook, merges, rows, bytes, rows.offset + bytes.length >= size);
    if (convertedBlock.state.offset > rows.offset || convertedBlock.state.done) return convertedBlock;
    if (length > MAX_ROW_BYTES) throw new XmlUnreadable('a row without end');
  }
}

/** The size of the first block of a text, which holds the header. */
const FIRST_BLOCK_BYTES = 256 * 1024;
/** The size of the pieces in which the list of merged cells is searched. */
const SEARCHED_BYTES = 4 * 1024 * 1024;
/** The number of bytes that pieces overlap: the maximum size of a tag's beginning. */
const TAG_BYTES = 256;
/** The maximum number of merged cells that the conversion uses. */
const MAX_MERGES = 250_000;
/** The maximum size of the list of merged cells: about 1,000,000 of them. It is read in each step of a sheet. */
const MAX_MERGES_BYTES = 32 * 1024 * 1024;

/** Searches the list of merged cells from the end on: it stands behind the rows, before links, validations and formats. */
async function searchMerges(bucket: R2Bucket, xml: Segment[], size: number): Promise<number | null> {
  for (let end = size; end > 0; end -= SEARCHED_BYTES) {
    const start = Math.max(0, end - SEARCHED_BYTES);
    const at = findMerges(await createSegmentReader(bucket, xml, start, end - start + TAG_BYTES));
    if (at !== -1) return at === null ? null : start + at;
  }
  return null;
}

/** Loads the merged cells that are listed from an offset on. @throws WorkbookTooLarge */
async function loadMerges(
  bucket: R2Bucket,
  xml: Segment[],
  size: number,
  offset: number,
  namesOfRows: Namespaces | null,
): Promise<Merges> {
  let names = namesOfRows ?? readNamespaces(await createSegmentReader(bucket, xml, 0, FIRST_BLOCK_BYTES));
  let merges: Merge[] = [];
  let length = FIRST_BLOCK_BYTES;
  for (let at = offset; ; length = SEARCHED_BYTES) {
    const piece = await createSegmentReader(bucket, xml, at, length);
    const mergesOfPiece = readMerges(piece, names);
    merges = merges.concat(mergesOfPiece.merges);
    if (merges.length > MAX_MERGES || at - offset > MAX_MERGES_BYTES) throw new WorkbookTooLarge();
    if (mergesOfPiece.isEnd || at + piece.length >= size) return selectUsefulMerges(merges);
    if (mergesOfPiece.nextOffset === 0) throw new XmlUnreadable('a merged cell without end');
    names = mergesOfPiece.names;
    at += mergesOfPiece.nextOffset;
  }
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

function toWorkbookProblem(error: unknown, file: string): unknown {
  if (error instanceof WorkbookTooLarge || error instanceof ZipTooLarge) return problems.workbookTooLarge(file);
  if (error instanceof ZipDamaged || error instanceof XmlUnreadable) return problems.workbookUnreadable(file);
  return error;
}

/** Converts a workbook of Excel 2 to 2003. @throws JobProblem when it is encrypted, damaged, too large, or has no rows */
export const convertBiffWorkbook = <T>(name: string, file: BiffFile<T>): Promise<ConvertedSheet<T>> =>
  convertAtOnce(name, convertBiff(file), file.sheet, '.xlsx');

/** Converts HTML, which some programs write as a workbook. @throws JobProblem when it has no table or rows, or is too large */
export const convertHtmlWorkbook = <T>(name: string, file: SheetSource<T>): Promise<ConvertedSheet<T>> =>
  convertAtOnce(name, convertHtml(file));

/** Converts a workbook of XML Spreadsheet 2003. @throws JobProblem when it is damaged, too large, or has no rows */
export const convertXml2003 = <T>(name: string, file: XmlWorkbookFile<T>): Promise<ConvertedSheet<T>> =>
  convertAtOnce(name, convertXmlWorkbook(file), file.sheet);

async function convertAtOnce<T>(
  name: string,
  conversion: Promise<ConvertedSheet<T> | null>,
  wantedSheet?: string,
  smallerFormat: '.csv' | '.xlsx' = '.csv',
): Promise<ConvertedSheet<T>> {
  let convertedSheet: ConvertedSheet<T> | null;
  try {
    convertedSheet = await conversion;
  } catch (error) {
    if (error instanceof SheetUnknown) throw problems.sheetUnknown(name, wantedSheet);
    if (error instanceof WorkbookEncrypted) throw problems.workbookEncrypted(name);
    if (error instanceof WorkbookTooLarge) throw problems.workbookTooLarge(name, smallerFormat);
    if (error instanceof HtmlUnreadable) throw problems.contentUnreadable(name, 'HTML');
    const isDamaged = error instanceof BiffWorkbookDamaged || error instanceof XmlUnreadable;
    throw isDamaged ? problems.workbookUnreadable(name) : error;
  }
  if (!convertedSheet) throw problems.workbookEmpty(name);
  return convertedSheet;
}
