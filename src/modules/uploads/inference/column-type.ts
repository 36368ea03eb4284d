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
  POINT,
  WORDS,
} from '../../../formats/values/forms.ts';
import type { ColumnState } from './columns.ts';
import { asksYesOrNo } from './header.ts';
import type { ColumnType } from './schema.ts';

/** The type that the values of all files have in common: the first of the lattice that each of them allows. */
export function typeOf(columns: ColumnState[], header: string): ColumnType {
  const filled = columns.filter(({ first }) => first !== null);
  const all = (forms: number) => filled.length > 0 && filled.every((column) => (column.forms & forms) !== 0);
  if (all(WORDS | LETTERS | (asksYesOrNo(header) ? ONE_ZERO : 0))) return areAnswers(filled) ? 'boolean' : 'text';
  if (all(INTEGER)) return 'integer';
  if (all(DECIMALS)) return 'decimal';
  if (!all(DATES)) return 'text';
  return filled.some(({ traits }) => (traits & HAS_TIME) !== 0) ? 'datetime' : 'date';
}

/** Single letters are booleans only where both of a pair occur. */
function areAnswers(columns: ColumnState[]): boolean {
  const lettered = columns.filter(({ forms }) => (forms & (WORDS | ONE_ZERO)) === 0);
  const complete = (pair: number) => {
    const traits = lettered.reduce((seen, column) => ((column.forms & pair) === 0 ? seen : seen | column.traits), 0);
    return (traits & HAS_TRUE) !== 0 && (traits & HAS_FALSE) !== 0;
  };
  const pairs = bitsOf(LETTERS).filter(complete);
  return lettered.every(({ forms }) => pairs.some((pair) => (forms & pair) !== 0));
}

const bitsOf = (forms: number): number[] =>
  Array.from({ length: 31 }, (_, bit) => 1 << bit).filter((bit) => (forms & bit) !== 0);

/** For each file the one form by which it writes the values of a column of that type; 0 for text. */
export function formsOf(type: ColumnType, columns: ColumnState[], delimiters: string[]): number[] {
  if (type === 'text') return columns.map(() => 0);
  if (type === 'integer') return columns.map(() => INTEGER);
  if (type === 'decimal')
    return decimalForms(
      columns.map(({ forms }) => forms & DECIMALS),
      delimiters,
    );
  if (type === 'boolean')
    return columns
      .map(({ forms }) => forms & BOOLEANS)
      .map(inCommon)
      .map(lowest);
  return dateForms(columns.map(({ forms }) => forms & DATES));
}

/**
 * For each file the one form of its decimals, of those that it leaves open. Whether point or comma parts the fraction the
 * files decide each for itself; one that does not (`1.234`) reads as the others do, if they agree. Else `1.234` alone is
 * a point decimal, and `1,234` grouped, but a decimal comma where semicolons part the fields.
 */
export function decimalForms(sets: number[], delimiters: string[]): number[] {
  const read = agree(sets, [DECIMAL_POINT, DECIMAL_COMMA]).map((forms, file) => {
    const isComma = (forms & POINT) === 0 && delimiters[file] === ';';
    return narrowed(forms, isComma || (forms & DECIMAL_POINT) === 0 ? DECIMAL_COMMA : DECIMAL_POINT);
  });
  return read.map(inCommon).map(lowest);
}

/** For each file the one form of its dates likewise: day first unless a value, or the files that decide it, says otherwise. */
export function dateForms(sets: number[]): number[] {
  return agree(sets, [DMY, MDY]).map(lowest);
}

/** Files that allow several readings take the one that the files with one reading have, if that is the same one. */
function agree(sets: number[], readings: number[]): number[] {
  const readingsOf = (forms: number) => readings.filter((reading) => (forms & reading) !== 0);
  const decided = new Set(sets.map(readingsOf).flatMap((found) => (found.length === 1 ? found : [])));
  const [agreed] = decided;
  if (agreed === undefined || decided.size > 1) return sets;
  return sets.map((forms) => narrowed(forms, agreed));
}

/** What all files that share any of it have in common: `12,5` of one is written as `1.234,5` of another. */
function inCommon(forms: number, _file: number, sets: number[]): number {
  const kin = sets.filter((others) => (others & forms) !== 0);
  return narrowed(
    forms,
    kin.reduce((common, others) => common & others, forms),
  );
}

const narrowed = (forms: number, by: number): number => forms & by || forms;

/** The first form in the order of preference. */
const lowest = (forms: number): number => forms & -forms;
