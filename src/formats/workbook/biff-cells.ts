import { type BiffBook, toBytes } from './biff-book.ts';
import * as record from './biff-records.ts';
import { RecordsDamaged } from './biff-records.ts';
import { cleanText, readCharacters } from './biff-texts.ts';
import { formatNumber } from './cells.ts';
import type { Merge } from './merges.ts';
import { NUMBER_FORMAT, type NumberFormat } from './number-format.ts';

/** Cell with a value: its row from 1, its column from 0. */
export interface BiffCell {
  row: number;
  column: number;
  /** Value of the cell; a number is the index of a shared text. */
  value: string | number;
  isText: boolean;
}

const SCRATCH_VIEW = new DataView(new ArrayBuffer(8));

/** Reads the records of a BIFF workbook's sheet and passes on each cell with a value. */
export class BiffCells {
  hasEnded = false;
  readonly mergedCells: Merge[] = [];
  readonly #book: BiffBook;
  readonly #onCell: (cell: BiffCell) => void;
  #depth = 0;
  /** Cell of a formula whose text follows in a record of its own. */
  #awaitingCell: { row: number; column: number } | null = null;

  constructor(book: BiffBook, onCell: (cell: BiffCell) => void) {
    this.#book = book;
    this.#onCell = onCell;
  }

  /** Reads a record; the sheets of charts may be nested in it. @throws RecordsDamaged, RangeError */
  takeRecord(kind: number, content: DataView): void {
    if (record.isBeginningRecord(kind)) this.#depth++;
    else if (this.#depth === 0) throw new RecordsDamaged();
    else if (kind === record.END_RECORD) this.hasEnded = --this.#depth === 0;
    else if (this.#depth === 1) this.#readCellRecord(kind, content);
  }

  #readCellRecord(kind: number, content: DataView): void {
    // The value follows the cell's style: three bytes in the oldest records, two in the others.
    const isOldestEdition = kind < record.FORMULA_RECORD || (kind === record.FORMULA_RECORD && this.#book.edition < 5);
    const at = isOldestEdition ? 7 : 6;
    switch (kind) {
      case record.INTEGER_RECORD_2:
        this.#readNumber(content, at, content.getUint16(at, true));
        break;
      case record.NUMBER_RECORD_2:
      case record.NUMBER_RECORD:
        this.#readNumber(content, at, content.getFloat64(at, true));
        break;
      case record.SHORT_NUMBER_RECORD:
        this.#readNumber(content, at, decodeShortNumber(content.getUint32(at, true)));
        break;
      case record.NUMBERS_RECORD:
        this.#readNumbers(content);
        break;
      case record.LABEL_RECORD_2:
      case record.LABEL_RECORD:
      case record.RICH_LABEL_RECORD:
        this.#passText(readPosition(content), this.#readTextAt(content, at, isOldestEdition));
        break;
      case record.TEXT_CELL_RECORD:
        this.#readSharedText(content);
        break;
      case record.BOOLEAN_RECORD_2:
      case record.BOOLEAN_RECORD:
        // Otherwise it is an error such as #N/A, which is not a value.
        if (content.getUint8(at + 1) === 0)
          this.#passUnquoted(readPosition(content), content.getUint8(at) === 0 ? 'false' : 'true');
        break;
      case record.FORMULA_RECORD:
      case record.FORMULA_RECORD_3:
      case record.FORMULA_RECORD_4:
        this.#readFormula(content, at);
        break;
      case record.STRING_RECORD_2:
      case record.STRING_RECORD:
        if (this.#awaitingCell)
          this.#passText(this.#awaitingCell, this.#readTextAt(content, 0, kind === record.STRING_RECORD_2));
        this.#awaitingCell = null;
        break;
      case record.MERGES_RECORD:
        this.#readMergedCells(content);
        break;
    }
  }

  #readFormula(content: DataView, at: number): void {
    const isNumber = content.getUint16(at + 6, true) !== 0xffff;
    const kind = content.getUint8(at);
    if (isNumber) this.#readNumber(content, at, content.getFloat64(at, true));
    else if (kind === 0) this.#awaitingCell = readPosition(content);
    else if (kind === 1) this.#passUnquoted(readPosition(content), content.getUint8(at + 2) === 0 ? 'false' : 'true');
  }

  #readNumber(content: DataView, at: number, value: number): void {
    const { edition, formats } = this.#book;
    const style = edition === 2 ? content.getUint8(5) & 63 : content.getUint8(4) & 63;
    this.#passFormatted(readPosition(content), value, formats[at === 7 ? style : content.getUint16(4, true)]);
  }

  #readNumbers(content: DataView): void {
    const { row, column } = readPosition(content);
    for (let at = 4, index = 0; at + 6 <= content.byteLength - 2; at += 6, index++) {
      const format = this.#book.formats[content.getUint16(at, true)];
      this.#passFormatted({ row, column: column + index }, decodeShortNumber(content.getUint32(at + 2, true)), format);
    }
  }

  #passFormatted(position: { row: number; column: number }, value: number, format: NumberFormat = NUMBER_FORMAT): void {
    const text = formatNumber(String(value), format, this.#book.usesEpoch1904);
    // A code is text, although it is stored as a number.
    if (text === null) this.#passText(position, String(value));
    else if (format.kind === 'code' || format.kind === 'span') this.#passText(position, text);
    else this.#passUnquoted(position, text);
  }

  #passUnquoted(position: { row: number; column: number }, value: string): void {
    this.#onCell({ ...position, value, isText: false });
  }

  #passText(position: { row: number; column: number }, value: string): void {
    if (value !== '') this.#onCell({ ...position, value, isText: true });
  }

  #readSharedText(content: DataView): void {
    const { sharedTexts } = this.#book;
    const value = content.getUint32(6, true);
    if (value >= sharedTexts.count) throw new RecordsDamaged();
    if (sharedTexts.getEnd(value) > sharedTexts.getStart(value))
      this.#onCell({ ...readPosition(content), value, isText: true });
  }

  #readTextAt(content: DataView, at: number, isShort: boolean): string {
    const { edition, textDecoder } = this.#book;
    if (edition === 8 && !isShort) {
      const isWide = (content.getUint8(at + 2) & 1) !== 0;
      const maxCharacters = Math.floor((content.byteLength - at - 3) / (isWide ? 2 : 1));
      return cleanText(readCharacters(content, at + 3, Math.min(maxCharacters, content.getUint16(at, true)), isWide));
    }
    const [length, from] = isShort ? [content.getUint8(at), at + 1] : [content.getUint16(at, true), at + 2];
    return cleanText(textDecoder.decode(toBytes(content).subarray(from, from + length)));
  }

  #readMergedCells(content: DataView): void {
    const count = content.getUint16(0, true);
    for (let index = 0; index < count; index++) {
      const [top, bottom, left, right] = [0, 2, 4, 6].map((edgeOffset) =>
        content.getUint16(2 + index * 8 + edgeOffset, true),
      );
      if (top === undefined || bottom === undefined || left === undefined || right === undefined) return;
      this.mergedCells.push({ top: top + 1, bottom: bottom + 1, left, right });
    }
  }
}

const readPosition = (content: DataView): { row: number; column: number } => ({
  row: content.getUint16(0, true) + 1,
  column: content.getUint16(2, true),
});

/**
 * Decodes an integer of 30 bits, or the upper 30 bits of a double. One of the other two bits says that the number is
 * multiplied by 100.
 */
function decodeShortNumber(bits: number): number {
  let value = bits >> 2;
  if ((bits & 2) === 0) {
    SCRATCH_VIEW.setUint32(4, bits & ~3, true);
    value = SCRATCH_VIEW.getFloat64(0, true);
  }
  return (bits & 1) === 0 ? value : value / 100;
}
