import { decodeText, hasReference, XmlUnreadable } from '../xml/text.ts';
import {
  BOOLEAN_CELL,
  findPlainEnd,
  ISO_DATE_CELL,
  NUMERIC_CELL,
  normalizeBoolean,
  normalizeIsoText,
  SHARED_TEXT_CELL,
  TEXT_CELL,
} from './cell-types.ts';
import { formatNumber, parseInteger, unescapeText } from './cells.ts';
import type { MergedRows } from './merged-rows.ts';
import { NUMBER_FORMAT } from './number-format.ts';
import type { Workbook } from './parts.ts';
import type { RowWriter } from './row-writer.ts';

/** Data of the workbook that a sheet's cells refer to. */
export type WorkbookData = Pick<Workbook, 'usesEpoch1904' | 'formats' | 'strings'>;

/** Writes the values of a sheet's cells into its rows, by their types and number formats. */
export class CellWriter {
  readonly #workbook: WorkbookData;
  readonly #bytes: Uint8Array;
  readonly #rows: MergedRows;
  readonly #writer: RowWriter;

  /** @param bytes the sheet's XML that holds the values */
  constructor(workbook: WorkbookData, bytes: Uint8Array, rows: MergedRows, writer: RowWriter) {
    this.#workbook = workbook;
    this.#bytes = bytes;
    this.#rows = rows;
    this.#writer = writer;
  }

  /** Writes a text; an empty one is no value. */
  writeText(column: number, text: string): void {
    if (text !== '' && this.#rows.moveToColumn(column)) this.#writer.writeQuotedText(text);
  }

  /** Writes a value whose text lies between two offsets. @param isEncoded whether references in it are to be decoded */
  writeValue(column: number, type: number, style: number, start: number, end: number, isEncoded: boolean): void {
    const bytes = this.#bytes;
    switch (type) {
      case NUMERIC_CELL:
        this.#writeNumber(column, style, start, end);
        break;
      case SHARED_TEXT_CELL: {
        const { strings } = this.#workbook;
        const index = parseInteger(bytes, start, end);
        if (index < 0 || index >= strings.count) throw new XmlUnreadable('a text that is not there');
        const from = strings.getStart(index);
        const to = strings.getEnd(index);
        if (to > from && this.#rows.moveToColumn(column)) this.#writer.writeQuoted(strings.getBytes(index), from, to);
        break;
      }
      case BOOLEAN_CELL:
        // Almost all are `0` or `1`: decoding them would take longer.
        this.#writeBoolean(
          column,
          end - start === 1 ? String.fromCharCode(bytes[start] as number) : decodeText(bytes, start, end),
        );
        break;
      case TEXT_CELL:
        if (isEncoded && hasReference(bytes, start, end))
          this.writeText(column, unescapeText(decodeText(bytes, start, end)));
        else this.writeText(column, unescapeText(new TextDecoder().decode(bytes.subarray(start, end))));
        break;
      case ISO_DATE_CELL:
        this.#writeIsoDate(column, decodeText(bytes, start, end), style);
        break;
      // An error such as #N/A is not a value.
    }
  }

  #writeNumber(column: number, style: number, start: number, end: number): void {
    const bytes = this.#bytes;
    const format = this.#workbook.formats[style] ?? NUMBER_FORMAT;
    const plainEnd = format.kind === 'number' ? findPlainEnd(bytes, start, end) : -1;
    if (plainEnd >= 0) {
      if (this.#rows.moveToColumn(column)) this.#writer.writeUnquoted(bytes, start, plainEnd);
      return;
    }
    const value = decodeText(bytes, start, end);
    const text = formatNumber(value, format, this.#workbook.usesEpoch1904);
    // What some programs write for infinity, for instance.
    if (text === null) this.writeText(column, value.trim());
    if (text === null || !this.#rows.moveToColumn(column)) return;
    // A code is text, although it is stored as a number.
    if (format.kind === 'code' || format.kind === 'span') this.#writer.writeQuotedText(text);
    else this.#writer.writeUnquotedText(text);
  }

  #writeBoolean(column: number, value: string): void {
    const text = normalizeBoolean(value);
    if (text === null) this.writeText(column, value.trim());
    else if (this.#rows.moveToColumn(column)) this.#writer.writeUnquotedText(text);
  }

  #writeIsoDate(column: number, value: string, style: number): void {
    const text = normalizeIsoText(value, (this.#workbook.formats[style] ?? NUMBER_FORMAT).kind === 'date');
    if (text === null) this.writeText(column, unescapeText(value));
    else if (this.#rows.moveToColumn(column)) this.#writer.writeUnquotedText(text);
  }
}
