import {
  ALL_FORMS,
  BLANK_FORM,
  DATES,
  DECIMAL_COMMA,
  DECIMAL_POINT,
  DECIMALS,
  DMY_DATES,
  HAS_TIME,
  INTEGER,
  MDY_DATES,
} from '../../../formats/values/forms.ts';

/** A value of a row kept for the preview: its field, text (cut when very long), forms and traits (`HAS_…`). */
export type KeptCell = [field: number, text: string, forms: number, traits: number];

/** A value that settled something about its column, and the line on which its record starts. */
export interface DecidingValue {
  value: string;
  line: number;
}

/** Statistics of one column after any number of rows: plain data of bounded size. */
export interface ColumnState {
  /** The forms (notations, see `forms.ts`) that all values share. */
  forms: number;
  /** The traits (`HAS_…`) that any of the values has. */
  traits: number;
  /** The number of rows whose field is empty. */
  nulls: number;
  /** The number of rows whose field has only spaces: values in a text column, else nulls. */
  blanks: number;
  /** Some distinct values. */
  sample: string[];
  /** The forms of decimals that a text column's values allow, used if the column's type is changed: see {@link Hints}. */
  decimals: number;
  /** The orders of day and month of a text column's values, used if the column's type is changed: see {@link Hints}. */
  dates: number;
  /** The first value. */
  first: DecidingValue | null;
  /** The last value that left fewer forms (see `forms.ts`) possible. */
  narrowed: DecidingValue | null;
  /** The first value that is no integer. */
  notInteger: DecidingValue | null;
  /** The first value that has a time. */
  withTime: DecidingValue | null;
  /** The value after which only text fits all values. */
  notTyped: DecidingValue | null;
}

/**
 * The readings of the numbers and dates among a column's values: the decimal forms that they share, and the orders of day
 * and month ({@link DMY_DATES}, {@link MDY_DATES}) that they allow. All of `DECIMALS` and `DATES` as long as no value narrows them.
 */
export interface Hints {
  decimals: number;
  dates: number;
}

/** Makes the state of a column before its first row. */
export function makeColumn(): ColumnState {
  return {
    forms: ALL_FORMS,
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

/** Adds a value whose forms or traits may narrow the column. `makeDecidingValue` is called only if the value is kept. */
export function narrowColumn(
  column: ColumnState,
  formMask: number,
  traitMask: number,
  makeDecidingValue: () => DecidingValue,
): void {
  const previousForms = column.forms;
  const remainingForms = previousForms & formMask;
  let cachedValue: DecidingValue | null = null;
  const getDecidingValue = () => (cachedValue ??= makeDecidingValue());
  if ((traitMask & HAS_TIME) !== 0 && column.withTime === null) column.withTime = getDecidingValue();
  column.traits |= traitMask;
  column.first ??= getDecidingValue();
  if (remainingForms === previousForms) return;
  if (remainingForms === 0) {
    Object.assign(column, getHints(column));
    narrowHints(column, formMask);
    column.notTyped = getDecidingValue();
  }
  column.forms = remainingForms;
  column.narrowed = getDecidingValue();
  if ((previousForms & INTEGER) !== 0 && (remainingForms & INTEGER) === 0) column.notInteger = getDecidingValue();
}

/** Narrows the readings of a text column's numbers and dates to those of one more value; one that allows none changes nothing. */
export function narrowHints(hints: Hints, formMask: number): void {
  if ((hints.decimals & formMask) !== 0) hints.decimals &= formMask;
  const orders = filterDateOrders(formMask);
  if ((hints.dates & orders) !== 0) hints.dates &= orders;
}

/** Tells whether some values of a text column were numbers or dates, and more values may still settle their reading. */
export function isReadingUnsettled({ decimals, dates }: Hints): boolean {
  return (
    dates === (DMY_DATES | MDY_DATES) ||
    (decimals !== DECIMALS && (decimals & DECIMAL_POINT) !== 0 && (decimals & DECIMAL_COMMA) !== 0)
  );
}

/** Returns the hints for reading a column's values if its type is changed; for a typed column, from its forms. */
export function getHints({ forms, decimals, dates }: ColumnState): Hints {
  if (forms === 0 || forms === ALL_FORMS) return { decimals, dates };
  return { decimals: forms & DECIMALS || DECIMALS, dates: filterDateOrders(forms) || DATES };
}

/** Filters the orders of day and month from the forms, whatever their separators and digits of the year. */
function filterDateOrders(formMask: number): number {
  return ((formMask & DMY_DATES) === 0 ? 0 : DMY_DATES) | ((formMask & MDY_DATES) === 0 ? 0 : MDY_DATES);
}

export function addCell(
  column: ColumnState,
  [, text, forms, traits]: KeptCell,
  line: number,
  maxSamples: number,
): void {
  if (forms === BLANK_FORM) {
    column.blanks++;
    return;
  }
  if (column.forms === 0) narrowHints(column, forms);
  narrowColumn(column, forms, traits, () => ({ value: text, line }));
  if (column.sample.length < maxSamples && !column.sample.includes(text)) column.sample.push(text);
}

/** Merges the columns of two runs of rows, of which `a` comes first. */
export function mergeColumns(a: ColumnState, b: ColumnState, maxSamples: number): ColumnState {
  const formMask = a.forms & b.forms;
  const conflictingValue = formMask === 0 && a.forms !== 0 && b.forms !== 0 ? (b.narrowed ?? b.first) : null;
  const hints = getHints(a);
  const { decimals, dates } = getHints(b);
  narrowHints(hints, decimals | dates);
  return {
    forms: formMask,
    traits: a.traits | b.traits,
    nulls: a.nulls + b.nulls,
    blanks: a.blanks + b.blanks,
    sample: [...new Set([...a.sample, ...b.sample])].slice(0, maxSamples),
    ...hints,
    first: a.first ?? b.first,
    narrowed: b.narrowed ?? a.narrowed,
    notInteger: a.notInteger ?? b.notInteger,
    withTime: a.withTime ?? b.withTime,
    notTyped: a.notTyped ?? b.notTyped ?? conflictingValue,
  };
}
