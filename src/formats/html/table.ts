import { createDecoder } from '../text/decode.ts';
import { classifyValue } from '../values/classify.ts';
import { DATES, DECIMALS, INTEGER, TELEPHONE } from '../values/forms.ts';
import type { ConvertedSheet, SheetOutput } from '../workbook/choice.ts';
import { MAX_ROWS, WorkbookTooLarge } from '../workbook/limits.ts';
import { MergedRows } from '../workbook/merged-rows.ts';
import { MAX_HEADER_ROW, type Merge, NO_MERGES } from '../workbook/merges.ts';
import { SheetText } from '../workbook/sheet-text.ts';
import { decodeEntities } from './entities.ts';

/** Maximum length of a cell's text. */
const MAX_CELL_LENGTH = 1024 * 1024;
/** Maximum number of columns of a table; a wider one is refused. */
const MAX_COLUMNS = 2000;
/** Maximum `colspan` by HTML itself. */
const MAX_COLSPAN = 1000;
const MAX_ROWSPAN = 65_534;
/** Maximum number of merged cells that begin in the rows where headers are. */
const MAX_MERGES = 10_000;

const encoder = new TextEncoder();
const decode = createDecoder('utf-8');

/** Table of HTML, written as the text of a sheet while its cells arrive. All its values are texts. */
export class TableText {
  readonly #sheet: SheetText;
  readonly #rows: MergedRows;
  readonly #merges: Merge[] = [];
  /** For each column, the last row that a cell from above reaches. */
  readonly #lastCoveredRows = new Int32Array(MAX_COLUMNS);
  #row = 0;
  #column = 0;
  #hasRow = false;
  /** Text of the open cell, in pieces. */
  #textPieces: string[] = [];
  /** Length of the open cell's text. */
  #textLength = 0;
  /** Number of columns and rows that the open cell spans; null while no cell is open. */
  #spans: { columnSpan: number; rowSpan: number } | null = null;

  constructor(write: (text: Uint8Array) => Promise<void>) {
    this.#sheet = new SheetText(write);
    this.#rows = new MergedRows(this.#sheet.writer, NO_MERGES, 0);
  }

  beginRow(): void {
    this.#endRow();
    this.#row += 1;
    if (this.#row > MAX_ROWS) throw new WorkbookTooLarge();
    this.#column = 0;
    this.#hasRow = true;
    this.#rows.beginRow(this.#row);
  }

  /** Begins a cell; a cell outside of a row begins one. @param colspan the attribute as written */
  beginCell(colspan: string | null, rowspan: string | null): void {
    this.#endCell();
    if (!this.#hasRow) this.beginRow();
    this.#spans = { columnSpan: parseSpan(colspan, MAX_COLSPAN), rowSpan: parseSpan(rowspan, MAX_ROWSPAN) };
  }

  /** Adds to the text of the open cell. The added text may contain character references. */
  appendText(text: string): void {
    if (!this.#spans) return;
    this.#textLength += text.length;
    if (this.#textLength > MAX_CELL_LENGTH) throw new WorkbookTooLarge();
    this.#textPieces.push(text);
  }

  /** Writes the text so far, if it is long enough. */
  async flushText(): Promise<void> {
    if (this.#sheet.isFull) await this.#sheet.flush(this.#merges, 0);
  }

  /** Ends the table. @returns null if it has no values */
  async endTable<T>(output: SheetOutput<T>): Promise<ConvertedSheet<T> | null> {
    this.#endRow();
    await this.#sheet.flush(this.#merges, 0);
    if (this.#sheet.rowCounts.filledRowCount === 0) return null;
    return { text: await output.end(), sheet: this.#sheet.makeFacts(null) };
  }

  #endRow(): void {
    this.#endCell();
    if (this.#hasRow) this.#rows.endRow();
    this.#hasRow = false;
  }

  #endCell(): void {
    if (!this.#spans) return;
    const { columnSpan, rowSpan } = this.#spans;
    const text = toShownText(this.#textPieces.join(''));
    this.#spans = null;
    this.#textPieces = [];
    this.#textLength = 0;
    while ((this.#lastCoveredRows[this.#column] as number) >= this.#row) this.#column += 1;
    const column = this.#column;
    if (column >= MAX_COLUMNS) throw new WorkbookTooLarge();
    this.#column += columnSpan;
    const bottom = this.#row + rowSpan - 1;
    if (rowSpan > 1) this.#lastCoveredRows.fill(bottom, column, this.#column);
    if (this.#row <= MAX_HEADER_ROW && (columnSpan > 1 || rowSpan > 1) && this.#merges.length < MAX_MERGES) {
      this.#merges.push({ top: this.#row, bottom, left: column, right: this.#column - 1 });
    }
    if (text === '' || !this.#rows.moveToColumn(column)) return;
    this.#sheet.writer.writeQuotedText(text);
    this.#rows.endMergedCell(column, bottom, isCategory(text));
  }
}

/** Returns true if a text names a category, as words of booleans (`F`, `Sim`) and telephones do: it is no number and no date. */
function isCategory(text: string): boolean {
  const bytes = encoder.encode(text);
  const formMask = classifyValue(bytes, 0, bytes.length, decode);
  return (formMask & (INTEGER | DECIMALS | DATES)) === 0 || (formMask & TELEPHONE) !== 0;
}

/**
 * Parses the number of columns or rows that a cell spans: 1 for no number or zero columns, `maxSpan` for zero rows, which stand
 * for all rows that follow.
 */
function parseSpan(attribute: string | null, maxSpan: number): number {
  const number = Number(/^\s*\+?(\d{1,15})/.exec(attribute ?? '1')?.[1] ?? 1);
  return number === 0 ? (maxSpan === MAX_ROWSPAN ? maxSpan : 1) : Math.min(number, maxSpan);
}

/** Converts a cell's text to its display: white space becomes one space, and only elements break lines. */
const toShownText = (text: string): string =>
  decodeEntities(text.replace(/[ \t\r\n\f]+/g, ' ').replaceAll(LINE_BREAK_PLACEHOLDER, '\n'))
    .replaceAll('\u00a0', ' ')
    .replaceAll('\0', '')
    // From its first space only: a long run of spaces would be searched from each of them.
    .replace(/(?<! ) *\n\s*/g, '\n')
    .trim()
    .toWellFormed();

/** Placeholder for a line break in a cell's text: no text contains it. */
export const LINE_BREAK_PLACEHOLDER = '\u{10ffff}';
