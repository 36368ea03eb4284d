import type { KnownType } from '../../../formats/records/record-facts.ts';
import {
  BOOLEANS,
  DATES,
  DECIMAL_COMMA,
  DECIMAL_POINT,
  DECIMALS,
  DMY_DATES,
  HAS_FALSE,
  HAS_TIME,
  HAS_TRUE,
  INTEGER,
  LETTER_BOOLEANS,
  MDY_DATES,
  ONE_ZERO,
  POINT_DECIMAL,
  TELEPHONE,
  WORD_BOOLEANS,
} from '../../../formats/values/forms.ts';
import type { ColumnState } from './columns.ts';
import { isBooleanHeader } from './header.ts';
import type { ColumnType } from './schema.ts';

/** Infers the type of the values of all files: the first type of the lattice that every file's column allows. */
export function inferType(columns: ColumnState[], header: string): ColumnType {
  const filledColumns = columns.filter(({ first }) => first !== null);
  const doAllAllow = (formMask: number) =>
    filledColumns.length > 0 && filledColumns.every((column) => (column.forms & formMask) !== 0);
  if (doAllAllow(WORD_BOOLEANS | LETTER_BOOLEANS | (isBooleanHeader(header) ? ONE_ZERO : 0)))
    return areBooleanValues(filledColumns) ? 'boolean' : 'text';
  if (doAllAllow(TELEPHONE)) return 'text';
  if (doAllAllow(INTEGER)) return 'integer';
  if (doAllAllow(DECIMALS)) return 'decimal';
  if (!doAllAllow(DATES)) return 'text';
  return filledColumns.some(({ traits }) => (traits & HAS_TIME) !== 0) ? 'datetime' : 'date';
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

/** Infers the type of a column whose file declares its type: the declared one, unless a value is beyond that type's range. */
export function inferTypeWithin(knownType: KnownType, columns: ColumnState[]): ColumnType {
  const doAllFit = (formMask: number) =>
    columns.every((column) => column.first === null || (column.forms & formMask) !== 0);
  return POSSIBLE_TYPES[knownType].find(([, forms]) => doAllFit(forms))?.[0] ?? 'text';
}

/** Tells whether the values are booleans: single letters are booleans only if both letters of a pair occur. */
function areBooleanValues(columns: ColumnState[]): boolean {
  const letterColumns = columns.filter(({ forms }) => (forms & (WORD_BOOLEANS | ONE_ZERO)) === 0);
  const hasBothLetters = (pair: number) => {
    const traitMask = letterColumns.reduce(
      (seenTraits, column) => ((column.forms & pair) === 0 ? seenTraits : seenTraits | column.traits),
      0,
    );
    return (traitMask & HAS_TRUE) !== 0 && (traitMask & HAS_FALSE) !== 0;
  };
  const pairs = splitBits(LETTER_BOOLEANS).filter(hasBothLetters);
  return letterColumns.every(({ forms }) => pairs.some((pair) => (forms & pair) !== 0));
}

const splitBits = (formMask: number): number[] =>
  Array.from({ length: 31 }, (_, bit) => 1 << bit).filter((bit) => (formMask & bit) !== 0);

/** The delimiter of each file; null where it has none. */
export type Delimiters = readonly (string | null)[];

/** Lists for each file the form in which its values are read as a column of this type; 0 for text. */
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
      .map(narrowToSharedForms)
      .map(getLowestForm);
  return chooseDateForms(columns.map(({ forms }) => forms & DATES));
}

/**
 * Chooses the form of each file's decimals among those that its values allow. A file whose values do not settle the
 * decimal separator (`1.234`) follows the other files, if they agree. Otherwise `1.234` is a point decimal, and `1,234`
 * is grouped, but a decimal comma in a file delimited by semicolons.
 */
export function chooseDecimalForms(formMasks: number[], delimiters: Delimiters): number[] {
  const decimalForms = narrowToAgreedForms(formMasks, [DECIMAL_POINT, DECIMAL_COMMA]).map((formMask, file) => {
    const hasDecimalComma = (formMask & POINT_DECIMAL) === 0 && delimiters[file] === ';';
    return narrowFormsUnlessEmpty(
      formMask,
      hasDecimalComma || (formMask & DECIMAL_POINT) === 0 ? DECIMAL_COMMA : DECIMAL_POINT,
    );
  });
  return decimalForms.map(narrowToSharedForms).map(getLowestForm);
}

/** Chooses the form of each file's dates: day first, unless its values, or the files that settle the order, say otherwise. */
export function chooseDateForms(formMasks: number[]): number[] {
  return narrowToAgreedForms(formMasks, [DMY_DATES, MDY_DATES]).map(getLowestForm);
}

/** Narrows the files that allow several readings to the reading of the files that allow only one, if all of the latter agree. */
function narrowToAgreedForms(formMasks: number[], candidateForms: number[]): number[] {
  const filterReadings = (formMask: number) => candidateForms.filter((reading) => (formMask & reading) !== 0);
  const decidedReadings = new Set(
    formMasks.map(filterReadings).flatMap((fileReadings) => (fileReadings.length === 1 ? fileReadings : [])),
  );
  const [agreed] = decidedReadings;
  if (agreed === undefined || decidedReadings.size > 1) return formMasks;
  return formMasks.map((formMask) => narrowFormsUnlessEmpty(formMask, agreed));
}

/**
 * Narrows a file's forms to those in which every other file that has one of them can be read, too: beside a file with
 * `1.234,5`, the comma of `12,5` is a decimal comma.
 */
function narrowToSharedForms(formMask: number, _file: number, formMasks: number[]): number {
  const relatedForms = formMasks.filter((otherMask) => (otherMask & formMask) !== 0);
  return narrowFormsUnlessEmpty(
    formMask,
    relatedForms.reduce((commonForms, otherMask) => commonForms & otherMask, formMask),
  );
}

const narrowFormsUnlessEmpty = (formMask: number, by: number): number => formMask & by || formMask;

/** Returns the file's first form in the order of preference. */
const getLowestForm = (formMask: number): number => formMask & -formMask;
