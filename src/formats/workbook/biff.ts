import { type BiffBook, type BiffSheet, readBiffBook, WorkbookEncrypted } from './biff-book.ts';
import { type BiffCell, BiffCells } from './biff-cells.ts';
import { BLOCK_BYTES, RecordsDamaged, readRecords } from './biff-records.ts';
import {
  type ConvertedSheet,
  considerSheet,
  getChosenSheet,
  isTable,
  NO_CHOICE,
  type RowCounts,
  type SheetChoice,
  type SheetSource,
  SheetUnknown,
  toSheetNames,
} from './choice.ts';
import { type ByteStream, CompoundDamaged, openCompoundFile } from './compound-file.ts';
import { isContainer } from './content.ts';
import { computeMaxTextBytes, MAX_COLUMNS, WorkbookTooLarge } from './limits.ts';
import { MergedRows } from './merged-rows.ts';
import { makeCellKey, selectUsefulMerges } from './merges.ts';
import type { RowWriter } from './row-writer.ts';
import { SheetText } from './sheet-text.ts';

/** Maximum size of workbooks whose unordered cells are sorted in memory. Excel itself writes cells in order. */
const MAX_UNSORTED_BYTES = 4 * 1024 * 1024;
/** Bytes in memory for each byte of a cell in the file, for the smallest cell, which has six. */
const UNSORTED_RATIO = 16;
/** Maximum number of times that a workbook's bytes are read: once before the sheets, and more for sheets. */
const MAX_PASSES = 4;
/** Number of additional bytes that may be read of small workbooks, where each read is at least a whole block. */
const FREE_BYTES = 16 * 1024 * 1024;

/** A BIFF workbook to convert. */
export interface BiffFile<T> extends SheetSource<T> {
  /** Name of the requested sheet, if a person named one. */
  sheet?: string | undefined;
  /** Called before all cells are held in memory, with the most bytes that they can take there. */
  reserveMemory(bytes: number): Promise<void>;
}

/** Error thrown when the bytes are not a BIFF workbook, or one that is cut off or damaged. */
export class BiffWorkbookDamaged extends Error {}

/**
 * Converts the sheet of a workbook of Excel 2 to 2003 (BIFF) that is its table (choice.ts) to text, in the format of
 * {@link RowWriter}.
 * @returns null when no sheet has rows
 * @throws WorkbookEncrypted, WorkbookTooLarge, SheetUnknown, {@link BiffWorkbookDamaged}
 */
export async function convertBiff<T>(file: BiffFile<T>): Promise<ConvertedSheet<T> | null> {
  try {
    const stream = await openStream(file);
    const book = await readBiffBook(stream);
    const conversion = new BiffConversion(file, stream, book);
    let choice: SheetChoice<ConvertedSheet<T>> = NO_CHOICE;
    const names = toSheetNames(book.sheets.map(({ name }) => name));
    const requestedSheet = names.sheets && file.sheet;
    const sheets =
      requestedSheet === undefined
        ? book.sheets
        : book.sheets.filter(({ name }) => name === requestedSheet).slice(0, 1);
    if (sheets.length === 0 && requestedSheet !== undefined) throw new SheetUnknown();
    for (const sheet of sheets) {
      if (sheet.isHidden && choice.first) break;
      const convertedSheet = await conversion.convertSheet(sheet);
      if (!convertedSheet) continue;
      const { rowCounts: counts, text, sheet: sheetFacts } = convertedSheet;
      const result = { text, sheet: { ...sheetFacts, ...names } };
      if (requestedSheet !== undefined || isTable(counts)) return result;
      choice = considerSheet(choice, counts, result);
    }
    return getChosenSheet(choice);
  } catch (error) {
    // Reading past the end of a record that is too short throws a range error.
    const isDamaged = [CompoundDamaged, RecordsDamaged, RangeError].some((kind) => error instanceof kind);
    throw isDamaged ? new BiffWorkbookDamaged() : error;
  }
}

/** Opens the stream of a workbook: since Excel 5 the stream is within a container; older workbooks are plain files. */
async function openStream({ read, size }: Pick<BiffFile<unknown>, 'read' | 'size'>): Promise<ByteStream> {
  if (!isContainer(await read(0, 8))) return { read, size };
  const streams = await openCompoundFile(read, size);
  if (streams.has('encryptedpackage')) throw new WorkbookEncrypted();
  const openWorkbookStream = streams.get('workbook') ?? streams.get('book');
  if (!openWorkbookStream) throw new CompoundDamaged();
  return openWorkbookStream();
}

/** Results of reading a sheet once before it is converted. */
interface SheetSurvey {
  cells: BiffCells;
  /** First column with a value; -1 if there is none. */
  firstColumn: number;
  isSorted: boolean;
}

class BiffConversion<T> {
  readonly #file: BiffFile<T>;
  readonly #stream: ByteStream;
  readonly #book: BiffBook;
  #readByteCount: number;
  #textBytes = 0;

  constructor(file: BiffFile<T>, stream: ByteStream, book: BiffBook) {
    this.#file = file;
    this.#stream = stream;
    this.#book = book;
    this.#readByteCount = book.readByteCount;
  }

  /** Converts a sheet; null when it has no rows. */
  async convertSheet({ name, offset }: BiffSheet): Promise<(ConvertedSheet<T> & { rowCounts: RowCounts }) | null> {
    const survey = await this.#surveySheet(offset);
    if (survey.firstColumn < 0) return null;
    const merges = selectUsefulMerges(survey.cells.mergedCells);
    const output = this.#file.beginText();
    const sheet = new SheetText((text) => {
      this.#textBytes += text.length;
      if (this.#textBytes > computeMaxTextBytes(this.#file.size)) throw new WorkbookTooLarge();
      return output.write(text);
    });
    const rows = new BiffRows(this.#book, sheet.writer, new MergedRows(sheet.writer, merges, survey.firstColumn));
    const flushText = () => sheet.flush(merges.headerMerges, survey.firstColumn);
    if (survey.isSorted) {
      const cells = new BiffCells(this.#book, (cell) => rows.writeCell(cell));
      for (let at = offset; !cells.hasEnded; await flushText())
        at += await this.#readPass(cells, at, () => sheet.isFull);
    } else {
      for (const cell of await this.#listSortedCells(offset)) {
        rows.writeCell(cell);
        if (sheet.isFull) await flushText();
      }
    }
    rows.end();
    await flushText();
    return { text: await output.end(), sheet: sheet.makeFacts(name), rowCounts: sheet.rowCounts };
  }

  async #surveySheet(offset: number): Promise<SheetSurvey> {
    let firstColumn = MAX_COLUMNS;
    let lastKey = 0;
    let isSorted = true;
    const cells = new BiffCells(this.#book, ({ row, column }) => {
      if (column < firstColumn) firstColumn = column;
      const key = makeCellKey(row, column);
      if (key <= lastKey) isSorted = false;
      lastKey = key;
    });
    await this.#readPass(cells, offset, () => false);
    return { cells, firstColumn: lastKey === 0 ? -1 : firstColumn, isSorted };
  }

  /** Lists the cells of a sheet in order; of several at the same position the last. */
  async #listSortedCells(offset: number): Promise<BiffCell[]> {
    const { size } = this.#stream;
    if (size > MAX_UNSORTED_BYTES) throw new WorkbookTooLarge();
    await this.#file.reserveMemory(UNSORTED_RATIO * size);
    const allCells: BiffCell[] = [];
    await this.#readPass(new BiffCells(this.#book, (cell) => allCells.push(cell)), offset, () => false);
    const makeKey = ({ row, column }: BiffCell) => makeCellKey(row, column);
    allCells.sort((a, b) => makeKey(a) - makeKey(b));
    return allCells.filter((cell, index) => {
      const nextCell = allCells[index + 1];
      return nextCell === undefined || makeKey(nextCell) !== makeKey(cell);
    });
  }

  /** Reads a sheet's records from an offset to its end or until `shouldStop`, and returns the number of bytes read. */
  async #readPass(cells: BiffCells, offset: number, shouldStop: () => boolean): Promise<number> {
    const readByteCount = await readRecords(this.#stream, offset, (kind, content) => {
      cells.takeRecord(kind, content);
      return cells.hasEnded || shouldStop();
    });
    this.#readByteCount += Math.max(readByteCount, BLOCK_BYTES);
    if (this.#readByteCount > FREE_BYTES + MAX_PASSES * this.#file.size) throw new WorkbookTooLarge();
    return readByteCount;
  }
}

/** Writes cells that arrive in order. */
class BiffRows {
  readonly #book: BiffBook;
  readonly #writer: RowWriter;
  readonly #rows: MergedRows;
  #row = 0;

  constructor(book: BiffBook, writer: RowWriter, rows: MergedRows) {
    this.#book = book;
    this.#writer = writer;
    this.#rows = rows;
  }

  writeCell({ row, column, value, isText }: BiffCell): void {
    if (row !== this.#row) {
      this.end();
      this.#rows.beginRow(row);
      this.#row = row;
    }
    if (!this.#rows.moveToColumn(column)) return;
    const { sharedTexts } = this.#book;
    if (typeof value === 'number')
      this.#writer.writeQuoted(sharedTexts.getBytes(value), sharedTexts.getStart(value), sharedTexts.getEnd(value));
    else if (isText) this.#writer.writeQuotedText(value);
    else this.#writer.writeUnquotedText(value);
    this.#rows.endCell(column);
  }

  end(): void {
    if (this.#row > 0) this.#rows.endRow();
  }
}
