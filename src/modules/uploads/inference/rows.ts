import type { Dialect } from '../../../formats/csv/dialect.ts';
import { BACKSLASHED_FIELD, ESCAPED_FIELD, UNQUOTED_FIELD } from '../../../formats/csv/field.ts';
import { MAX_FOOTNOTES } from '../../../formats/csv/layout.ts';
import { hasEscaped, measureLineWidth, needsQuotes } from '../../../formats/csv/quoting.ts';
import {
  classifyBackslashed,
  createFields,
  type Fields,
  readFieldText,
  unescapeText,
} from '../../../formats/csv/records.ts';
import { type Decode, measureEncodedLength } from '../../../formats/text/decode.ts';
import { classifyValue, isBlank, valueTraits } from '../../../formats/values/classify.ts';
import { BLANK_FORM, DECIMALS, INTEGER, ONE_ZERO, POINT_DECIMAL } from '../../../formats/values/forms.ts';
import { shorten } from '../../../kernel/text.ts';
import { type ColumnState, isReadingUnsettled, type KeptCell, narrowColumn, narrowHints } from './columns.ts';
import { tooManyValues } from './errors.ts';
import { findTypedForms } from './header.ts';
import { addSample, addTrailingRows, checkEscapes, listWatchedCells, recordRowPosition } from './sample-rows.ts';
import { readLineText } from './skipped-lines.ts';
import {
  type Bounds,
  type DecidingRecord,
  type InferenceState,
  type KeptRow,
  MAX_DECIDING_BYTES,
  MAX_SAMPLE_ROWS,
  makeBounds,
} from './state.ts';

/** The fields of the current scan, shared by all scans, because the buffer is large and scans do not overlap. */
let sharedFields: Fields | null = null;

const SPACE = 32;

/** The number of first rows that are all sampled for distinct values; of later rows every 61st is. */
const FULLY_SAMPLED_ROW_COUNT = 1000;

/** Thrown where a file that was read with quotes shows that its quotes are ordinary characters. */
export class BrokenQuotesError extends Error {}

/** Thrown for a record that has too many fields, unless its backslashes escape delimiters. */
export class EscapedDelimiterError extends Error {}

/** Thrown for a record behind the head that suggests another dialect: both together then decide the dialect again. */
export class DialectDoubtedError extends Error {
  readonly record: DecidingRecord;

  constructor(record: DecidingRecord) {
    super(record.reason);
    this.record = record;
  }
}

/** A cell of the first record to look for in its column: its text, and the number of bytes that it has in the block. */
interface WatchedCell {
  field: number;
  text: string;
  length: number;
}

/** Adds the records of a block to a file's state: tells titles, header, rows and notes apart, and collects statistics of values. */
export class RecordFold {
  readonly fields: Fields;
  readonly #state: InferenceState;
  readonly #bytes: Uint8Array;
  readonly #dialect: Dialect;
  readonly #decode: Decode;
  readonly #bounds: Bounds;
  readonly #isUtf16: boolean;
  readonly #base: number;
  #measured = 0;
  #measuredBytes = 0;
  #watchedCells: WatchedCell[];

  constructor(state: InferenceState, bytes: Uint8Array, dialect: Dialect, decode: Decode) {
    sharedFields ??= createFields();
    this.fields = sharedFields;
    this.#state = state;
    this.#bytes = bytes;
    this.#dialect = dialect;
    this.#decode = decode;
    this.#bounds = makeBounds(state.width);
    this.#isUtf16 = state.encoding === 'utf-16le' || state.encoding === 'utf-16be';
    this.#base = state.offset;
    this.#watchedCells = this.#listWatchedCells();
  }

  /** Adds the record in `fields`, between `start` and `end` of the block. */
  addRecord(start: number, end: number, line: number): void {
    const state = this.#state;
    const { fields } = this;
    const { width } = state;
    if (this.#dialect.quote !== null && !this.#dialect.sheet) this.#checkDialect(start, end);
    if (state.quoting === 'undecided' && this.#dialect.quote !== null) this.#checkQuotes(start, end);
    const filledCount = this.#countValues();
    if (filledCount === 0 && !isRecord(fields, state)) {
      state.blank = true;
      return;
    }
    if (state.preambleLeft > 0) {
      state.preambleLeft--;
      if (state.preambleLeft === 0 && state.rowNames) state.above = this.#keep(start, end, line);
    } else {
      if (fields.fieldCount > width) this.#checkSurplus(start, end, line);
      if (fields.isIrregular) state.irregular = true;
      state.lineEnds |= fields.lineEndKind;
      if (state.firstRow === null) {
        checkEscapes(state, fields.fieldCount);
        state.firstRow = this.#keep(start, end, line);
        this.#watchedCells = this.#listWatchedCells();
      } else this.#takeRow(start, end, line, filledCount);
    }
    state.blank = false;
  }

  /** Throws `DialectDoubtedError` if the record seems to escape or place quotes in a way that no record of the head does. */
  #checkDialect(start: number, end: number): void {
    const { quote, escape: escaping, spaceBeforeQuote } = this.#dialect;
    const { hasBrokenQuote: isBroken, hasStrayQuote } = this.fields;
    if (isBroken && escaping === 'doubled' && hasEscaped(this.#bytes, start, end, quote))
      this.#doubtDialect('backslash', start, end);
    if (hasStrayQuote && !spaceBeforeQuote && this.#hasQuoteBehindSpaces()) this.#doubtDialect('space', start, end);
  }

  /** Throws, once for each reason, so that the dialect is decided again by the head and this record. */
  #doubtDialect(reason: DecidingRecord['reason'], start: number, end: number): void {
    const { decidingRecords = [], headEnd = Number.POSITIVE_INFINITY, sheet, records } = this.#state;
    if (sheet || records || this.#toFileOffset(start) < headEnd || end - start > MAX_DECIDING_BYTES) return;
    if (decidingRecords.some((record) => record.reason === reason)) return;
    throw new DialectDoubtedError({ reason, bytes: this.#bytes.subarray(start, end).toBase64() });
  }

  /** Tells whether some field begins with spaces and then a quote. */
  #hasQuoteBehindSpaces(): boolean {
    const { starts, ends, quotingKinds, fieldCount } = this.fields;
    const quoteByte = this.#dialect.quote?.charCodeAt(0);
    for (let index = 0; index < fieldCount; index++) {
      let at = starts[index] as number;
      while (at < (ends[index] as number) && this.#bytes[at] === SPACE) at++;
      const isBehindSpaces = at > (starts[index] as number) && this.#bytes[at] === quoteByte;
      if (isBehindSpaces && quotingKinds[index] === UNQUOTED_FIELD) return true;
    }
    return false;
  }

  /**
   * Concludes from a quoted value over several lines, or with a delimiter, that quotes enclose values. @throws BrokenQuotesError if the
   * record's quotes break the rules, or if each line is a row by itself; where quotes are doubled, one behind a backslash decides
   * nothing
   */
  #checkQuotes(start: number, end: number): void {
    const { width } = this.#state;
    const { hasBrokenQuote: isBroken, lineCount, fieldCount } = this.fields;
    const isEscaped = () =>
      this.#dialect.escape === 'doubled' && hasEscaped(this.#bytes, start, end, this.#dialect.quote);
    if (isBroken && isEscaped()) return;
    const areLinesRows = () =>
      width > 1 && measureLineWidth(this.#bytes, start, end, this.#dialect.delimiter) === width;
    if (isBroken || (lineCount > 1 && areLinesRows())) throw new BrokenQuotesError();
    const isNeeded = fieldCount === width && needsQuotes(this.#bytes, this.fields, this.#dialect.delimiter);
    if (lineCount > 1 || isNeeded) this.#state.quoting = 'quoted';
  }

  #takeRow(start: number, end: number, line: number, filledCount: number): void {
    const state = this.#state;
    const { fields } = this;
    if (state.records === null && state.width === 1 && state.blank) this.#endNotes();
    if (state.records === null && filledCount === 1 && !state.manySparse && this.#mayBeNote()) {
      const text = readLineText(this.#bytes, start, end, this.#decode, state.sheet !== null);
      const row = { ...this.#keep(start, end, line), text };
      if (state.trailing.length > 0 || isFootnote(state, row)) {
        if (this.#isRowUnescaped(start, end)) checkEscapes(state, fields.fieldCount);
        state.trailing.push(row);
        if (state.trailing.length > MAX_FOOTNOTES) {
          addTrailingRows(state, state.trailing.length);
          state.manySparse = true;
        }
        return;
      }
    } else if (filledCount > 1) this.#endNotes();
    checkEscapes(state, fields.fieldCount);
    if (state.above !== null && this.#isNumber(0)) this.#doubtDialect('row-name', start, end);
    if (this.#watchedCells.length > 0) this.#findWatched();
    if (fields.fieldCount < state.width) state.irregular = true;
    recordRowPosition(state, this.#toFileOffset(start), line, state.blank);
    if (state.sampleRows.length < MAX_SAMPLE_ROWS) {
      addSample(state, (index) => (index < fields.fieldCount ? this.#readText(index) : ''));
    }
    this.#fold(line);
    state.rows++;
    state.end = this.#toFileOffset(end);
  }

  /** Tells whether the record has as many fields as the table if its backslashes do not escape: then it is no note. */
  #isRowUnescaped(start: number, end: number): boolean {
    const { quotingKinds, fieldCount } = this.fields;
    const { delimiter } = this.#dialect;
    const isSlashed = quotingKinds.subarray(0, fieldCount).includes(BACKSLASHED_FIELD);
    return isSlashed && measureLineWidth(this.#bytes, start, end, delimiter) === this.#state.width;
  }

  /** Adds the values of a row to the statistics: the hot loop, as it handles every value of every row. */
  #fold(line: number): void {
    const bytes = this.#bytes;
    const { starts, ends, quotingKinds, fieldCount } = this.fields;
    const { columns, width, rows } = this.#state;
    const isSampled = rows < FULLY_SAMPLED_ROW_COUNT || rows % 61 === 0;
    for (let index = 0; index < width; index++) {
      const column = columns[index] as ColumnState;
      const start = starts[index] as number;
      const end = ends[index] as number;
      if (index >= fieldCount || start === end) {
        column.nulls++;
        continue;
      }
      const previousForms = column.forms;
      if (previousForms === 0 && !isSampled && !isReadingUnsettled(column)) continue;
      const kind = quotingKinds[index] as number;
      let formMask = 0;
      if (kind < ESCAPED_FIELD) formMask = classifyValue(bytes, start, end, this.#decode);
      else if (kind === BACKSLASHED_FIELD)
        formMask = classifyBackslashed(bytes, start, end, this.#dialect, this.#decode);
      if (quotingKinds[index] === UNQUOTED_FIELD) formMask = toUnquotedForms(formMask, this.#state);
      if (formMask === BLANK_FORM) {
        column.blanks++;
        continue;
      }
      const presentTraits = kind < ESCAPED_FIELD || kind === BACKSLASHED_FIELD ? valueTraits : 0;
      if (previousForms === 0) narrowHints(column, formMask);
      if (isSampled) this.#sample(index);
      if (
        (previousForms & formMask) !== previousForms ||
        (presentTraits & ~column.traits) !== 0 ||
        column.first === null
      ) {
        narrowColumn(column, formMask, presentTraits, () => ({
          value: shorten(this.#readText(index), this.#bounds.maxSampleLength),
          line,
        }));
      }
    }
  }

  #sample(index: number): void {
    const column = this.#state.columns[index] as ColumnState;
    const { maxSamples, maxSampleLength } = this.#bounds;
    if (column.sample.length >= maxSamples) return;
    const text = shorten(this.#readText(index), maxSampleLength);
    if (!column.sample.includes(text)) column.sample.push(text);
  }

  /** Turns possible footnotes into rows, since a row follows; in a file of one column, since a blank line follows. */
  #endNotes(): void {
    addTrailingRows(this.#state, this.#state.trailing.length);
    this.#state.manySparse = false;
  }

  /** Tells whether a record with a single value could be a footnote by its position: in one column, below a blank line. */
  #mayBeNote(): boolean {
    const { width, blank, trailing } = this.#state;
    return width > 1 || blank || trailing.length > 0;
  }

  #listWatchedCells(): WatchedCell[] {
    const encoder = new TextEncoder();
    const is1252 = this.#state.encoding === 'windows-1252';
    return listWatchedCells(this.#state).map(([field, text]) => ({
      field,
      text,
      length: is1252 ? text.length : encoder.encode(text).length,
    }));
  }

  #findWatched(): void {
    const { starts, ends, quotingKinds, fieldCount } = this.fields;
    const doesRecur = this.#watchedCells.some(({ field, text, length }) => {
      if (field >= fieldCount) return false;
      const isPlain = (quotingKinds[field] as number) < ESCAPED_FIELD;
      return (
        (!isPlain || (ends[field] as number) - (starts[field] as number) === length) && this.#readText(field) === text
      );
    });
    if (!doesRecur) return;
    this.#state.recurs = true;
    this.#watchedCells = [];
  }

  /** Counts the fields that hold more than spaces. */
  #countValues(): number {
    const { starts, ends, fieldCount } = this.fields;
    let filledCount = 0;
    for (let index = 0; index < fieldCount; index++) {
      if (starts[index] !== ends[index] && !this.#isBlank(index)) filledCount++;
    }
    return filledCount;
  }

  /** Tells whether a field holds a number. */
  #isNumber(index: number): boolean {
    const { starts, ends, quotingKinds } = this.fields;
    if ((quotingKinds[index] as number) >= ESCAPED_FIELD) return false;
    const forms = classifyValue(this.#bytes, starts[index] as number, ends[index] as number, this.#decode);
    return forms !== BLANK_FORM && (forms & (INTEGER | DECIMALS)) !== 0;
  }

  #isBlank(index: number): boolean {
    const { starts, ends } = this.fields;
    return isBlank(this.#bytes, starts[index] as number, ends[index] as number, this.#decode);
  }

  #checkSurplus(start: number, end: number, line: number): void {
    const { width, escaping } = this.#state;
    let lastField = this.fields.fieldCount - 1;
    while (lastField >= width && this.#isBlank(lastField)) lastField--;
    if (lastField >= width) {
      const mayEscape = escaping === 'undecided' && !this.#dialect.escapesDelimiters;
      if (mayEscape && hasEscaped(this.#bytes, start, end, this.#dialect.delimiter)) throw new EscapedDelimiterError();
      // Without quotes, the record may be a part of one that needs them.
      if (this.#dialect.quote !== null) this.#doubtDialect('width', start, end);
      throw tooManyValues(line, width, lastField + 1, this.#readText(width));
    }
    this.#state.irregular = true;
  }

  /** Reads the text of a field; of a very long text only the beginning, which has at least the characters that are kept. */
  #readText(index: number): string {
    const { starts, ends, quotingKinds } = this.fields;
    const start = starts[index] as number;
    let end = start + this.#bounds.maxCellLength * 4;
    if (end >= (ends[index] as number))
      return readFieldText(this.#bytes, this.fields, index, this.#dialect, this.#decode);
    if (this.#state.encoding !== 'windows-1252') while (((this.#bytes[end] as number) & 0xc0) === 0x80) end--;
    return unescapeText(this.#decode(this.#bytes, start, end), quotingKinds[index] as number, this.#dialect);
  }

  #keep(start: number, end: number, line: number): KeptRow {
    const { starts, ends, quotingKinds, fieldCount } = this.fields;
    const cells: KeptCell[] = [];
    for (let index = 0; index < Math.min(fieldCount, this.#state.width); index++) {
      const from = starts[index] as number;
      const to = ends[index] as number;
      if (from === to) continue;
      const kind = quotingKinds[index] as number;
      let formMask = 0;
      if (kind < ESCAPED_FIELD) formMask = classifyValue(this.#bytes, from, to, this.#decode);
      else if (kind === BACKSLASHED_FIELD)
        formMask = classifyBackslashed(this.#bytes, from, to, this.#dialect, this.#decode);
      if (kind === UNQUOTED_FIELD) formMask = toUnquotedForms(formMask, this.#state);
      const presentTraits = kind < ESCAPED_FIELD || kind === BACKSLASHED_FIELD ? valueTraits : 0;
      cells.push([index, shorten(this.#readText(index), this.#bounds.maxCellLength), formMask, presentTraits]);
    }
    // All rows of a sheet have all its columns.
    const width = this.#state.sheet ? Math.max(fieldCount, this.#state.width) : fieldCount;
    const place = { line, start: this.#toFileOffset(start), end: this.#toFileOffset(end) };
    return { ...place, width, cells, text: '', blankBefore: this.#state.blank };
  }

  /** Converts an offset in the block to the offset in the file. In UTF-16 it counts from the last converted offset. */
  #toFileOffset(blockOffset: number): number {
    if (!this.#isUtf16) return this.#base + blockOffset;
    if (blockOffset < this.#measured) {
      this.#measured = 0;
      this.#measuredBytes = 0;
    }
    const piece = this.#bytes.subarray(this.#measured, blockOffset);
    this.#measuredBytes += measureEncodedLength(piece, piece.length, 'utf-16le');
    this.#measured = blockOffset;
    return this.#base + this.#measuredBytes;
  }
}

/**
 * Tells whether a record with a single value, below all rows so far, is a footnote: it has fewer fields than a row, or stands
 * below a blank line, or its value does not fit its typed column. In a file whose rows all stand below blank lines, blank lines
 * do not count; in a file of one column, a value that fits a type is a row.
 */
function isFootnote(state: InferenceState, row: KeptRow): boolean {
  if (row.width < state.width) return true;
  const [field, , forms] = row.cells.find((cell) => cell[2] !== BLANK_FORM) as KeptRow['cells'][number];
  const column = state.columns[field] as ColumnState;
  const isTyped = findTypedForms(column, '') !== 0;
  const doesValueFit = findTypedForms({ ...column, forms: column.forms & forms }, '') !== 0;
  if (isTyped && !doesValueFit) return state.width > 1 || row.blankBefore;
  return row.blankBefore && state.dense && !(state.width === 1 && isTyped);
}

/** Tells whether a line of a text that was converted from records holds a record, though all its values are null. */
const isRecord = ({ fieldCount, quotingKinds }: Fields, { records }: InferenceState): boolean =>
  records !== null && (fieldCount > 1 || quotingKinds[0] !== UNQUOTED_FIELD);

/**
 * Computes the forms of a value without quotes. In a workbook's sheet, or in records, a fraction is a point decimal: `1.234` is
 * not grouped. In records, 1 and 0 are not booleans.
 */
function toUnquotedForms(formMask: number, { sheet, records }: InferenceState): number {
  if (formMask === BLANK_FORM || (sheet === null && records === null)) return formMask;
  const isFraction = (formMask & DECIMALS) !== 0 && (formMask & INTEGER) === 0;
  const unquotedForms = isFraction ? formMask & POINT_DECIMAL : formMask;
  return records ? unquotedForms & ~ONE_ZERO : unquotedForms;
}
