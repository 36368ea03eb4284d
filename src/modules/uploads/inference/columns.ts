import { ANY, BLANK, DATES, DECIMALS, INTEGER, SAW_TIME } from './forms.ts';

/** A value of a record that is kept: its field, text (cut when very long), forms and `SAW_…`. */
export type KeptCell = [field: number, text: string, forms: number, saw: number];

/** A value that decided something, and the line its record starts on. */
export interface Witness {
  value: string;
  line: number;
}

/** What is known of one column after any number of rows: plain data of bounded size. */
export interface ColumnState {
  /** Forms that all values share. */
  forms: number;
  /** What was seen in any of them (`SAW_…`). */
  saw: number;
  /** Rows without a value: empty ones, and those of spaces alone (which a text column keeps as values). */
  nulls: number;
  blanks: number;
  /** Some distinct values. */
  sample: string[];
  /** Number and date forms that most values share even where the column is text: how to read it if it is retyped. */
  decimals: number;
  dates: number;
  /** First value; last one that narrowed the forms; first that is no integer, has a time, leaves only text. */
  first: Witness | null;
  narrowed: Witness | null;
  notInteger: Witness | null;
  withTime: Witness | null;
  notTyped: Witness | null;
}

/** A column before its first row. */
export function newColumn(): ColumnState {
  return {
    forms: ANY,
    saw: 0,
    nulls: 0,
    blanks: 0,
    sample: [],
    decimals: DECIMALS,
    dates: DATES,
    first: null,
    narrowed: null,
    notInteger: null,
    withTime: null,
    notTyped: null,
  };
}

/** Takes in a value whose forms or `SAW_…` tell something new. `witness` is asked for only when it is kept. */
export function narrow(column: ColumnState, forms: number, saw: number, witness: () => Witness): void {
  const before = column.forms;
  const after = before & forms;
  let seen: Witness | null = null;
  const value = () => (seen ??= witness());
  if ((saw & SAW_TIME) !== 0 && column.withTime === null) column.withTime = value();
  column.saw |= saw;
  column.first ??= value();
  if (after === before) return;
  column.forms = after;
  column.narrowed = value();
  if ((before & INTEGER) !== 0 && (after & INTEGER) === 0) column.notInteger = value();
  if (after === 0) column.notTyped = value();
}

/** Remembers how a value of a text column would read as a number or date. */
export function hint(column: ColumnState, forms: number): void {
  if ((column.decimals & forms) !== 0) column.decimals &= forms;
  if ((column.dates & forms) !== 0) column.dates &= forms;
}

/** Takes in a kept value. */
export function foldCell(column: ColumnState, [, text, forms, saw]: KeptCell, line: number, samples: number): void {
  if (forms === BLANK) {
    column.blanks++;
    return;
  }
  hint(column, forms);
  narrow(column, forms, saw, () => ({ value: text, line }));
  if (column.sample.length < samples && !column.sample.includes(text)) column.sample.push(text);
}

/** The column of rows of `a` followed by rows of `b`. */
export function mergeColumns(a: ColumnState, b: ColumnState, samples: number): ColumnState {
  const forms = a.forms & b.forms;
  const conflict = forms === 0 && a.forms !== 0 && b.forms !== 0 ? (b.narrowed ?? b.first) : null;
  const decimals = a.decimals & b.decimals;
  const dates = a.dates & b.dates;
  return {
    forms,
    saw: a.saw | b.saw,
    nulls: a.nulls + b.nulls,
    blanks: a.blanks + b.blanks,
    sample: [...new Set([...a.sample, ...b.sample])].slice(0, samples),
    decimals: decimals === 0 ? a.decimals : decimals,
    dates: dates === 0 ? a.dates : dates,
    first: a.first ?? b.first,
    narrowed: b.narrowed ?? a.narrowed,
    notInteger: a.notInteger ?? b.notInteger,
    withTime: a.withTime ?? b.withTime,
    notTyped: a.notTyped ?? b.notTyped ?? conflict,
  };
}
