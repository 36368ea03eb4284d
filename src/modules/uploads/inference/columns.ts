import {
  ANY,
  BLANK,
  DATES,
  DECIMAL_COMMA,
  DECIMAL_POINT,
  DECIMALS,
  DMY,
  HAS_TIME,
  INTEGER,
  MDY,
} from '../../../formats/values/forms.ts';

/** A value of a record that is kept: its field, text (cut when very long), forms and `HAS_…`. */
export type KeptCell = [field: number, text: string, forms: number, traits: number];

/** A value that decided something, and the line its record starts on. */
export interface Witness {
  value: string;
  line: number;
}

/** What is known of one column after any number of rows: plain data of bounded size. */
export interface ColumnState {
  /** Forms that all values share. */
  forms: number;
  /** What was seen in any of them (`HAS_…`). */
  traits: number;
  /** Rows without a value: empty ones, and those of spaces alone (which a text column keeps as values). */
  nulls: number;
  blanks: number;
  /** Some distinct values. */
  sample: string[];
  /** How a text column reads if it is retyped: see {@link Hints}. */
  decimals: number;
  dates: number;
  /** First value; last one that narrowed the forms; first that is no integer, has a time, leaves only text. */
  first: Witness | null;
  narrowed: Witness | null;
  notInteger: Witness | null;
  withTime: Witness | null;
  notTyped: Witness | null;
}

/**
 * How the numbers and dates among a column's values read: forms of decimals that they share, and the orders of day and
 * month ({@link DMY}, {@link MDY}) in which their dates can be read. All of `DECIMALS` and `DATES` where none says it.
 */
export interface Hints {
  decimals: number;
  dates: number;
}

/** A column before its first row. */
export function newColumn(): ColumnState {
  return {
    forms: ANY,
    traits: 0,
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

/** Takes in a value whose forms or `HAS_…` tell something new. `witness` is asked for only when it is kept. */
export function narrow(column: ColumnState, forms: number, traits: number, witness: () => Witness): void {
  const before = column.forms;
  const after = before & forms;
  let seen: Witness | null = null;
  const value = () => (seen ??= witness());
  if ((traits & HAS_TIME) !== 0 && column.withTime === null) column.withTime = value();
  column.traits |= traits;
  column.first ??= value();
  if (after === before) return;
  if (after === 0) {
    Object.assign(column, hintsOf(column));
    hint(column, forms);
    column.notTyped = value();
  }
  column.forms = after;
  column.narrowed = value();
  if ((before & INTEGER) !== 0 && (after & INTEGER) === 0) column.notInteger = value();
}

/** Takes in how a value of a text column would read as a number or date. A value of another kind says nothing. */
export function hint(hints: Hints, forms: number): void {
  if ((hints.decimals & forms) !== 0) hints.decimals &= forms;
  const orders = ordersOf(forms);
  if ((hints.dates & orders) !== 0) hints.dates &= orders;
}

/** Whether values of a text column were numbers or dates, and another may still decide how they read. */
export function isOpen({ decimals, dates }: Hints): boolean {
  return (
    dates === (DMY | MDY) ||
    (decimals !== DECIMALS && (decimals & DECIMAL_POINT) !== 0 && (decimals & DECIMAL_COMMA) !== 0)
  );
}

/** How the values of a column read if it is retyped: while it is typed, as all of them are written. */
export function hintsOf({ forms, decimals, dates }: ColumnState): Hints {
  if (forms === 0 || forms === ANY) return { decimals, dates };
  return { decimals: forms & DECIMALS || DECIMALS, dates: ordersOf(forms) || DATES };
}

/** The orders of day and month that are among the forms, whatever the separators and the digits of the year. */
function ordersOf(forms: number): number {
  return ((forms & DMY) === 0 ? 0 : DMY) | ((forms & MDY) === 0 ? 0 : MDY);
}

/** Takes in a kept value. */
export function foldCell(column: ColumnState, [, text, forms, traits]: KeptCell, line: number, samples: number): void {
  if (forms === BLANK) {
    column.blanks++;
    return;
  }
  if (column.forms === 0) hint(column, forms);
  narrow(column, forms, traits, () => ({ value: text, line }));
  if (column.sample.length < samples && !column.sample.includes(text)) column.sample.push(text);
}

/** The column of rows of `a` followed by rows of `b`. */
export function mergeColumns(a: ColumnState, b: ColumnState, samples: number): ColumnState {
  const forms = a.forms & b.forms;
  const conflict = forms === 0 && a.forms !== 0 && b.forms !== 0 ? (b.narrowed ?? b.first) : null;
  const hints = hintsOf(a);
  const { decimals, dates } = hintsOf(b);
  hint(hints, decimals | dates);
  return {
    forms,
    traits: a.traits | b.traits,
    nulls: a.nulls + b.nulls,
    blanks: a.blanks + b.blanks,
    sample: [...new Set([...a.sample, ...b.sample])].slice(0, samples),
    ...hints,
    first: a.first ?? b.first,
    narrowed: b.narrowed ?? a.narrowed,
    notInteger: a.notInteger ?? b.notInteger,
    withTime: a.withTime ?? b.withTime,
    notTyped: a.notTyped ?? b.notTyped ?? conflict,
  };
}
