import { decodeText, hasReference, XmlUnreadable } from '../xml/text.ts';
import { BOOLEAN, ISO_DATE, isoText, isPlainNumber, NUMERIC, SHARED, TEXTUAL } from './cell-types.ts';
import { formatNumber, integerAt, unescapeText } from './cells.ts';
import type { MergedRows } from './merged-rows.ts';
import { NUMBER } from './number-format.ts';
import type { Workbook } from './parts.ts';
import type { RowWriter } from './row-writer.ts';

/** The data of the workbook that a sheet's cells refer to. */
export type WorkbookData = Pick<Workbook, 'epoch1904' | 'formats' | 'strings'>;

/** Writes the values of a sheet's cells into its rows, as their types and number formats say. */
export class CellWriter {
  readonly #workbook: WorkbookData;
  readonly #bytes: Uint8Array;
  readonly #rows: MergedRows;
  readonly #writer: RowWriter;

  /** @param bytes the sheet's XML, in which the values stand */
  constructor(workbook: WorkbookData, bytes: Uint8Array, rows: MergedRows, writer: RowWriter) {
    this.#workbook = workbook;
    this.#bytes = bytes;
    this.#rows = rows;
    this.#writer = writer;
  }

  /** A text; an empty one is no value. */
  text(column: number, text: string): void {
    if (text !== '' && this.#rows.goTo(column)) this.#writer.writeQuotedText(text);
  }

  /** A value of a type, whose text stands between two offsets. @param encoded whether references in it are to be decoded */
  value(column: number, type: number, style: number, start: number, end: number, encoded: boolean): void {
    const bytes = this.#bytes;
    switch (type) {
      case NUMERIC:
        this.#number(column, style, start, end);
        break;
      case SHARED: {
        const { strings } = this.#workbook;
        const index = integerAt(bytes, start, end);
        if (index < 0 || index >= strings.count) throw new XmlUnreadable('a text that is not there');
        const from = strings.start(index);
        const to = strings.end(index);
        if (to > from && this.#rows.goTo(column)) this.#writer.writeQuoted(strings.bytes(index), from, to);
        break;
      }
      case BOOLEAN:
        if (this.#rows.goTo(column))
          this.#writer.writeBareText(bytes[start] === 49 || bytes[start] === 116 ? 'true' : 'false');
        break;
      case TEXTUAL:
        if (encoded && hasReference(bytes, start, end)) this.text(column, unescapeText(decodeText(bytes, start, end)));
        else this.text(column, unescapeText(new TextDecoder().decode(bytes.subarray(start, end))));
        break;
      case ISO_DATE:
        this.#isoDate(column, decodeText(bytes, start, end), style);
        break;
      // An error such as #N/A is not a value.
    }
  }

  #number(column: number, style: number, start: number, end: number): void {
    const bytes = this.#bytes;
    const format = this.#workbook.formats[style] ?? NUMBER;
    if (format.kind === 'number' && isPlainNumber(bytes, start, end)) {
      if (this.#rows.goTo(column)) this.#writer.writeBare(bytes, start, end);
      return;
    }
    const value = decodeText(bytes, start, end);
    const text = formatNumber(value, format, this.#workbook.epoch1904);
    // What some programs write for infinity, for instance.
    if (text === null) this.text(column, value.trim());
    if (text === null || !this.#rows.goTo(column)) return;
    // A code is text, although it is stored as a number.
    if (format.kind === 'code' || format.kind === 'span') this.#writer.writeQuotedText(text);
    else this.#writer.writeBareText(text);
  }

  #isoDate(column: number, value: string, style: number): void {
    const text = isoText(value, (this.#workbook.formats[style] ?? NUMBER).kind === 'date');
    if (text === null) this.text(column, unescapeText(value));
    else if (this.#rows.goTo(column)) this.#writer.writeBareText(text);
  }
}
