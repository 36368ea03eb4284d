import type { KnownType } from '../../../formats/records/facts.ts';
import {
  BOOLEANS,
  DATES,
  DECIMAL_COMMA,
  DECIMAL_POINT,
  DECIMALS,
  DMY,
  HAS_FALSE,
  HAS_TIME,
  HAS_TRUE,
  INTEGER,
  LETTERS,
  MDY,
  ONE_ZERO,
  POINT_DECIMAL,
  TELEPHONE,
  WORDS,
} from '../../../formats/values/forms.ts';
import type { ColumnState } from './columns.ts';
import { isBooleanHeader } from './header.ts';
import type { ColumnType } from './schema.ts';

/** The type of the values of all files: the first type of the lattice that every file's column allows. */
export function inferType(columns: ColumnState[], header: string): ColumnType {
  const filled = columns.filter(({ first }) => first !== null);
  const all = (forms: number) => filled.length > 0 && filled.every((column) => (column.forms & forms) !== 0);
  if (all(WORDS | LETTERS | (isBooleanHeader(header) ? ONE_ZERO : 0)))
    return areBooleanValues(filled) ? 'boolean' : 'text';
  if (all(TELEPHONE)) return 'text';
  if (all(INTEGER)) return 'integer';
  if (all(DECIMALS)) return 'decimal';
  if (!all(DATES)) return 'text';
  return filled.some(({ traits }) => (traits & HAS_TIME) !== 0) ? 'datetime' : 'date';
}

/** The types that are possible for a column whose file declares its type, the narrowest first. */
const POSSIBLE_TYPES: Record<KnownType, [ColumnType, number][]> = {
  text: [],
  integer: [
    ['integer', INTEGER],
    ['decimal', DECIMALS],
  ],
  decimal: [['decimal', DECIMALS]],
  boolean: [['boolean', BOOLEANS]],
  date: [['date', DATES]],
  datetime: [['datetime', DATES]],
};

/** The type of a column whose file declares its type: that one, unless a value is beyond the values of such columns. */
export function inferTypeWithin(known: KnownType, columns: ColumnState[]): ColumnType {
  const fits = (forms: number) => columns.every((column) => column.first === null || (column.forms & forms) !== 0);
  return POSSIBLE_TYPES[known].find(([, forms]) => fits(forms))?.[0] ?? 'text';
}

/** Whether the values are booleans: single letters are only if both letters of a pair occur. */
function areBooleanValues(columns: ColumnState[]): boolean {
  const lettered = columns.filter(({ forms }) => (forms & (WORDS | ONE_ZERO)) === 0);
  const complete = (pair: number) => {
    const traits = lettered.reduce((seen, column) => ((column.forms & pair) === 0 ? seen : seen | column.traits), 0);
    return (traits & HAS_TRUE) !== 0 && (traits & HAS_FALSE) !== 0;
  };
  const pairs = splitBits(LETTERS).filter(complete);
  return lettered.every(({ forms }) => pairs.some((pair) => (forms & pair) !== 0));
}

const splitBits = (forms: number): number[] =>
  Array.from({ length: 31 }, (_, bit) => 1 << bit).filter((bit) => (forms & bit) !== 0);

/** The delimiter of each file; null where it has none. */
export type Delimiters = readonly (string | null)[];

/** For each file, the form in which its values of a column of that type are read; 0 for text. */
export function listForms(type: ColumnType, columns: ColumnState[], delimiters: Delimiters): number[] {
  if (type === 'text') return columns.map(() => 0);
  if (type === 'integer') return columns.map(() => INTEGER);
  if (type === 'decimal')
    return chooseDecimalForms(
      columns.map(({ forms }) => forms & DECIMALS),
      delimiters,
    );
  if (type === 'boolean')
    return columns
      .map(({ forms }) => forms & BOOLEANS)
      .map(narrowToShared)
      .map(getLowestForm);
  return chooseDateForms(columns.map(({ forms }) => forms & DATES));
}

/**
 * Chooses the form of each file's decimals among those that its values allow. A file whose values do not settle the
 * decimal separator (`1.234`) follows the other files, if they agree. Otherwise `1.234` is a point decimal, and `1,234`
 * is grouped, but a decimal comma in a file delimited by semicolons.
 */
export function chooseDecimalForms(sets: number[], delimiters: Delimiters): number[] {
  const read = narrowToAgreed(sets, [DECIMAL_POINT, DECIMAL_COMMA]).map((forms, file) => {
    const isComma = (forms & POINT_DECIMAL) === 0 && delimiters[file] === ';';
    return narrowUnlessEmpty(forms, isComma || (forms & DECIMAL_POINT) === 0 ? DECIMAL_COMMA : DECIMAL_POINT);
  });
  return read.map(narrowToShared).map(getLowestForm);
}

/**
 * Chooses the form of each file's dates likewise: day first, unless its values, or the files that settle it, say
 * otherwise.
 */
export function chooseDateForms(sets: number[]): number[] {
  return narrowToAgreed(sets, [DMY, MDY]).map(getLowestForm);
}

/**
 * Narrows the files that allow several readings to the reading of the files that allow only one, if all of those have
 * the same.
 */
function narrowToAgreed(sets: number[], readings: number[]): number[] {
  const filterReadings = (forms: number) => readings.filter((reading) => (forms & reading) !== 0);
  const decided = new Set(sets.map(filterReadings).flatMap((found) => (found.length === 1 ? found : [])));
  const [agreed] = decided;
  if (agreed === undefined || decided.size > 1) return sets;
  return sets.map((forms) => narrowUnlessEmpty(forms, agreed));
}

/**
 * Narrows a file's forms to those shared with every file that has one of them: `12,5` is then read in the form of
 * `1.234,5`.
 */
function narrowToShared(forms: number, _file: number, sets: number[]): number {
  const kin = sets.filter((others) => (others & forms) !== 0);
  return narrowUnlessEmpty(
    forms,
    kin.reduce((common, others) => common & others, forms),
  );
}

const narrowUnlessEmpty = (forms: number, by: number): number => forms & by || forms;

/** The file's first form in the order of preference. */
const getLowestForm = (forms: number): number => forms & -forms;
