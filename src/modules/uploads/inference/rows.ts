import type { Dialect } from '../../../formats/csv/dialect.ts';
import { BARE, ESCAPED } from '../../../formats/csv/field.ts';
import { MAX_FOOTNOTES } from '../../../formats/csv/layout.ts';
import { widthOfLines } from '../../../formats/csv/quoting.ts';
import { type Fields, fieldText, newFields, unescaped } from '../../../formats/csv/records.ts';
import { type Decode, encodedLength } from '../../../formats/text/decode.ts';
import { classify, isBlank, traits } from '../../../formats/values/classify.ts';
import { BLANK, DECIMALS, INTEGER, POINT } from '../../../formats/values/forms.ts';
import { shorten } from '../../../kernel/text.ts';
import { hint, isOpen, type KeptCell, narrow } from './columns.ts';
import { tooManyValues } from './errors.ts';
import { addSample, enterRow, takeTrailing } from './kept-rows.ts';
import { lineText } from './skipped.ts';
import { type Bounds, boundsOf, type InferenceState, type KeptRow, SAMPLE_ROWS } from './state.ts';

/** Used by all scans, because it is large and scans do not overlap. */
let shared: Fields | null = null;

/** Every row up to this one is sampled for distinct values, later every 61st. */
const SAMPLED_ROWS = 1000;

/** A file that was read with quotes shows that its quotes are ordinary characters. */
export class QuotesBroken extends Error {}

/**
 * Adds the records of one block to a file's state: whether each is title, header, row or note, and the statistics of
 * its values.
 */
export class RecordFold {
  readonly fields: Fields;
  readonly #state: InferenceState;
  readonly #bytes: Uint8Array;
  readonly #dialect: Dialect;
  readonly #decode: Decode;
  readonly #bounds: Bounds;
  readonly #utf16: boolean;
  readonly #base: number;
  #measured = 0;
  #measuredBytes = 0;

  constructor(state: InferenceState, bytes: Uint8Array, dialect: Dialect, decode: Decode) {
    shared ??= newFields();
    this.fields = shared;
    this.#state = state;
    this.#bytes = bytes;
    this.#dialect = dialect;
    this.#decode = decode;
    this.#bounds = boundsOf(state.width);
    this.#utf16 = state.encoding === 'utf-16le' || state.encoding === 'utf-16be';
    this.#base = state.offset;
  }

  /** Adds the record in `fields`, between `start` and `end` of the block. */
  take(start: number, end: number, line: number): void {
    const state = this.#state;
    const { fields } = this;
    const { width } = state;
    if (state.quoting === 'undecided' && (fields.broken || fields.lines > 1)) this.#checkQuotes(start, end);
    const filled = this.#countValues();
    if (filled === 0) {
      state.blank = true;
      return;
    }
    if (state.preambleLeft > 0) {
      state.preambleLeft--;
      if (state.preambleLeft === 0 && state.rowNames) state.above = this.#keep(start, end, line);
    } else {
      if (fields.count > width) this.#checkSurplus(line);
      if (fields.odd) state.irregular = true;
      state.lineEnds |= fields.eol;
      if (state.firstRow === null) state.firstRow = this.#keep(start, end, line);
      else this.#takeRow(start, end, line, filled);
    }
    state.blank = false;
  }

  /** A quoted value over several lines settles that the file's quotes quote, unless each line is a row by itself. */
  #checkQuotes(start: number, end: number): void {
    const { width } = this.#state;
    const areRows = () => width > 1 && widthOfLines(this.#bytes, start, end, this.#dialect.delimiter) === width;
    if (this.fields.broken || areRows()) throw new QuotesBroken();
    this.#state.quoting = 'quoted';
  }

  #takeRow(start: number, end: number, line: number, filled: number): void {
    const state = this.#state;
    const { fields } = this;
    if (filled === 1 && state.width > 1) {
      const usual =
        (state.sheet !== null || fields.count >= state.width) && !state.blank && state.sparseRows > MAX_FOOTNOTES;
      if (!usual && !state.manySparse) {
        state.trailing.push({ ...this.#keep(start, end, line), text: lineText(this.#bytes, start, end, this.#decode) });
        if (state.trailing.length > MAX_FOOTNOTES) {
          takeTrailing(state, state.trailing.length);
          state.manySparse = true;
        }
        return;
      }
      state.sparseRows++;
    } else {
      if (state.trailing.length > 0) takeTrailing(state, state.trailing.length);
      state.manySparse = false;
    }
    if (fields.count < state.width) state.irregular = true;
    enterRow(state, this.#offset(start), line, state.blank);
    if (state.sampleRows.length < SAMPLE_ROWS) {
      addSample(state, (index) => (index < fields.count ? this.#text(index) : ''));
    }
    this.#fold(line);
    state.rows++;
    state.end = this.#offset(end);
  }

  /** The hot loop: it handles every value of every row. */
  #fold(line: number): void {
    const bytes = this.#bytes;
    const { starts, ends, kinds, count } = this.fields;
    const { columns, width, rows, sheet } = this.#state;
    const sampling = rows < SAMPLED_ROWS || rows % 61 === 0;
    for (let index = 0; index < width; index++) {
      const column = columns[index] as (typeof columns)[number];
      const start = starts[index] as number;
      const end = ends[index] as number;
      if (index >= count || start === end) {
        column.nulls++;
        continue;
      }
      const before = column.forms;
      if (before === 0 && !sampling && !isOpen(column)) continue;
      const plain = (kinds[index] as number) < ESCAPED;
      let forms = plain ? classify(bytes, start, end, this.#decode) : 0;
      if (sheet && kinds[index] === BARE) forms = inSheet(forms);
      if (forms === BLANK) {
        column.blanks++;
        continue;
      }
      const seen = plain ? traits : 0;
      if (before === 0) hint(column, forms);
      if (sampling) this.#sample(index);
      if ((before & forms) !== before || (seen & ~column.traits) !== 0 || column.first === null) {
        narrow(column, forms, seen, () => ({ value: shorten(this.#text(index), this.#bounds.sampleLength), line }));
      }
    }
  }

  #sample(index: number): void {
    const column = this.#state.columns[index] as InferenceState['columns'][number];
    const { samples, sampleLength } = this.#bounds;
    if (column.sample.length >= samples) return;
    const text = shorten(this.#text(index), sampleLength);
    if (!column.sample.includes(text)) column.sample.push(text);
  }

  /** Number of fields that hold more than spaces. */
  #countValues(): number {
    const { starts, ends, count } = this.fields;
    let filled = 0;
    for (let index = 0; index < count; index++) {
      if (starts[index] !== ends[index] && !this.#isBlank(index)) filled++;
    }
    return filled;
  }

  #isBlank(index: number): boolean {
    const { starts, ends } = this.fields;
    return isBlank(this.#bytes, starts[index] as number, ends[index] as number, this.#decode);
  }

  #checkSurplus(line: number): void {
    const { width } = this.#state;
    let last = this.fields.count - 1;
    while (last >= width && this.#isBlank(last)) last--;
    if (last >= width) throw tooManyValues(line, width, last + 1, this.#text(width));
    this.#state.irregular = true;
  }

  /** The field's text. A very long text is cut to one character more than any use of it keeps. */
  #text(index: number): string {
    const { starts, ends, kinds } = this.fields;
    const start = starts[index] as number;
    let end = start + this.#bounds.cellLength * 4;
    if (end >= (ends[index] as number)) return fieldText(this.#bytes, this.fields, index, this.#dialect, this.#decode);
    if (this.#state.encoding !== 'windows-1252') while (((this.#bytes[end] as number) & 0xc0) === 0x80) end--;
    return unescaped(this.#decode(this.#bytes, start, end), kinds[index] as number, this.#dialect);
  }

  #keep(start: number, end: number, line: number): KeptRow {
    const { starts, ends, kinds, count } = this.fields;
    const cells: KeptCell[] = [];
    for (let index = 0; index < Math.min(count, this.#state.width); index++) {
      const from = starts[index] as number;
      const to = ends[index] as number;
      if (from === to) continue;
      const plain = (kinds[index] as number) < ESCAPED;
      const read = plain ? classify(this.#bytes, from, to, this.#decode) : 0;
      const forms = this.#state.sheet && kinds[index] === BARE ? inSheet(read) : read;
      const seen = plain ? traits : 0;
      cells.push([index, shorten(this.#text(index), this.#bounds.cellLength), forms, seen]);
    }
    const blankBefore = this.#state.blank;
    // All rows of a sheet have all its columns.
    const width = this.#state.sheet ? Math.max(count, this.#state.width) : count;
    return { line, start: this.#offset(start), end: this.#offset(end), width, cells, text: '', blankBefore };
  }

  /** The offset in the file of an offset in the block. UTF-16 is measured from the last offset asked for. */
  #offset(place: number): number {
    if (!this.#utf16) return this.#base + place;
    if (place < this.#measured) {
      this.#measured = 0;
      this.#measuredBytes = 0;
    }
    const piece = this.#bytes.subarray(this.#measured, place);
    this.#measuredBytes += encodedLength(piece, piece.length, 'utf-16le');
    this.#measured = place;
    return this.#base + this.#measuredBytes;
  }
}

/** An unquoted fraction of a workbook's sheet is a point decimal: `1.234` is not grouped. */
function inSheet(forms: number): number {
  return (forms & DECIMALS) !== 0 && (forms & INTEGER) === 0 && forms !== BLANK ? forms & POINT : forms;
}
