import type { ReadRange } from '../zip/directory.ts';
import { type ByteStream, CompoundDamaged, openCompound } from './compound.ts';
import { isContainer } from './content.ts';
import { withHeaders } from './first-rows.ts';
import { MAX_COLUMNS, mostText, WorkbookTooLarge } from './limits.ts';
import { MergedRows } from './merged-rows.ts';
import { cellKey, usefulMerges } from './merges.ts';
import { type OldBook, openOldBook, WorkbookEncrypted } from './old-book.ts';
import { type OldCell, OldCells } from './old-cells.ts';
import { BLOCK_BYTES, eachRecord, RecordsDamaged } from './records.ts';
import { RowWriter } from './row-writer.ts';
import { TEXT_BYTES } from './sheet.ts';

/** Cells are in their order in all that Excel writes; others are put into it in memory, up to this size. */
const MAX_UNSORTED_BYTES = 4 * 1024 * 1024;
/** How often a workbook's bytes are read: for what is before the sheets, and twice a sheet. Sheets may not overlap. */
const MAX_PASSES = 4;
/** So many more may be read of small ones, of which each sheet is a whole block. */
const FREE_BYTES = 16 * 1024 * 1024;

/** A workbook's file, and where the text goes that is made of it. */
export interface OldFile {
  size: number;
  read: ReadRange;
  write(text: Uint8Array): Promise<void>;
}

/** The bytes are no old workbook, or one that was cut off or damaged. */
export class OldWorkbookDamaged extends Error {}

/**
 * Converts the first sheet with rows of a workbook of Excel 2 to 2003 (BIFF), as the row writer writes it.
 * @returns false when no sheet has rows
 * @throws WorkbookEncrypted, WorkbookTooLarge, {@link OldWorkbookDamaged}
 */
export async function convertOld(file: OldFile): Promise<boolean> {
  try {
    const stream = await streamOf(file);
    const book = await openOldBook(stream);
    const conversion = new OldConversion(file, stream, book);
    for (const offset of book.sheets) if (await conversion.convert(offset)) return true;
    return false;
  } catch (error) {
    // A record that is shorter than what it should hold is a range error.
    const isDamaged = [CompoundDamaged, RecordsDamaged, RangeError].some((kind) => error instanceof kind);
    throw isDamaged ? new OldWorkbookDamaged() : error;
  }
}

/** Workbooks lie in a container; before Excel 5 they were files by themselves. */
async function streamOf({ read, size }: OldFile): Promise<ByteStream> {
  if (!isContainer(await read(0, 8))) return { read, size };
  const streams = await openCompound(read, size);
  if (streams.has('encryptedpackage')) throw new WorkbookEncrypted();
  const stream = streams.get('workbook') ?? streams.get('book');
  if (!stream) throw new CompoundDamaged();
  return stream;
}

/** What is known of a sheet before it is converted. */
interface Survey {
  cells: OldCells;
  /** Its first column with a value; -1 without. */
  first: number;
  isSorted: boolean;
}

class OldConversion {
  readonly #file: OldFile;
  readonly #stream: ByteStream;
  readonly #book: OldBook;
  #read: number;
  #written = 0;

  constructor(file: OldFile, stream: ByteStream, book: OldBook) {
    this.#file = file;
    this.#stream = stream;
    this.#book = book;
    this.#read = book.read;
  }

  /** Converts the sheet that begins at an offset; false when it has no rows. */
  async convert(offset: number): Promise<boolean> {
    const survey = await this.#survey(offset);
    if (survey.first < 0) return false;
    const merges = usefulMerges(survey.cells.merges);
    const writer = new RowWriter({ row: 0, width: 0, filled: 0 });
    const rows = new OldRows(this.#book, writer, new MergedRows(writer, merges, survey.first));
    let isFirst = true;
    const flush = async () => {
      const text = isFirst ? withHeaders(writer.take(), merges.headers, survey.first) : writer.take();
      isFirst = false;
      this.#written += text.length;
      if (this.#written > mostText(this.#file.size)) throw new WorkbookTooLarge();
      await this.#file.write(text);
    };
    if (survey.isSorted) {
      const cells = new OldCells(this.#book, (cell) => rows.write(cell));
      for (let at = offset; !cells.ended; await flush())
        at += await this.#pass(cells, at, () => writer.ended >= TEXT_BYTES);
    } else {
      for (const cell of await this.#sorted(offset)) {
        rows.write(cell);
        if (writer.ended >= TEXT_BYTES) await flush();
      }
    }
    rows.end();
    await flush();
    return true;
  }

  async #survey(offset: number): Promise<Survey> {
    let first = MAX_COLUMNS;
    let last = 0;
    let isSorted = true;
    const cells = new OldCells(this.#book, ({ row, column }) => {
      if (column < first) first = column;
      const key = cellKey(row, column);
      if (key <= last) isSorted = false;
      last = key;
    });
    await this.#pass(cells, offset, () => false);
    return { cells, first: last === 0 ? -1 : first, isSorted };
  }

  /** The cells of a sheet in their order; of those in the same place the last. */
  async #sorted(offset: number): Promise<OldCell[]> {
    if (this.#stream.size > MAX_UNSORTED_BYTES) throw new WorkbookTooLarge();
    const all = new Map<number, OldCell>();
    const cells = new OldCells(this.#book, (cell) => all.set(cellKey(cell.row, cell.column), cell));
    await this.#pass(cells, offset, () => false);
    return [...all].sort(([a], [b]) => a - b).map(([, cell]) => cell);
  }

  /** Reads a sheet's records from an offset on, to its end or until there is enough, and answers their bytes. */
  async #pass(cells: OldCells, offset: number, isEnough: () => boolean): Promise<number> {
    const read = await eachRecord(this.#stream, offset, (kind, content) => {
      cells.take(kind, content);
      return cells.ended || isEnough();
    });
    this.#read += Math.max(read, BLOCK_BYTES);
    if (this.#read > FREE_BYTES + MAX_PASSES * this.#file.size) throw new WorkbookTooLarge();
    return read;
  }
}

/** Writes cells in their order. */
class OldRows {
  readonly #book: OldBook;
  readonly #writer: RowWriter;
  readonly #rows: MergedRows;
  #row = 0;

  constructor(book: OldBook, writer: RowWriter, rows: MergedRows) {
    this.#book = book;
    this.#writer = writer;
    this.#rows = rows;
  }

  write({ row, column, value, isText }: OldCell): void {
    if (row !== this.#row) {
      this.end();
      this.#rows.begin(row);
      this.#row = row;
    }
    if (!this.#rows.goTo(column)) return;
    const { texts } = this.#book;
    if (typeof value === 'number') this.#writer.quoted(texts.bytes, texts.start(value), texts.end(value));
    else if (isText) this.#writer.quotedText(value);
    else this.#writer.bareText(value);
    this.#rows.endCell(column);
  }

  end(): void {
    if (this.#row > 0) this.#rows.end();
  }
}
