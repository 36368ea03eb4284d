import { BLANK, DATES, DECIMALS, INTEGER, LETTERS, TELEPHONE, WORDS } from '../values/forms.ts';
import type { Dialect } from './dialect.ts';
import type { HeadRecord } from './head.ts';

/** The width and the beginning of a file's body. */
export interface Layout {
  /** Number of fields of a full record. */
  width: number;
  /** The number of first (not blank) records that are titles and notes instead of rows. */
  preamble: number;
  /** The preamble's last record has one field fewer than the body: perhaps the header of all columns but the first. */
  rowNames: boolean;
  /** Share of the body's records that have the width; a higher share makes a dialect more plausible. */
  consistency: number;
}

/** The largest number of note records below a table. */
export const MAX_FOOTNOTES = 50;

/** The largest number of title records above a table. */
export const MAX_TITLES = 50;

/** The minimum number of columns, and of records of the same width, that cannot come from commas in a text by accident. */
const MIN_TABLE = 3;

/**
 * Finds the body's width and first record. Each record that is wider than all before it suggests a width; the best one
 * leaves the fewest records too wide, too short or skipped.
 * @param isSaid the delimiter is certain, so that commas part columns wherever they stand
 */
export function findLayout(records: HeadRecord[], dialect: Dialect, isSaid = false): Layout {
  const comments = countComments(records);
  const titles = countTitles(records, comments);
  const header = findHeader(records, titles);
  let best = { width: 1, preamble: comments, rowNames: false, consistency: 0, score: -Infinity };
  let widest = 0;
  for (let start = comments; start < records.length && start <= comments + MAX_TITLES; start++) {
    const { width, effective } = records[start] as HeadRecord;
    if (width <= widest) continue;
    const rowNames = start > 0 && start <= titles + 1 && namesColumnsButFirst(records, start, dialect);
    if (widest > 0 && effective <= widest && !rowNames) continue;
    widest = width;
    const preamble = width === 1 ? comments : rowNames ? start : header;
    if (!isSaid && preamble > comments && areCommasOfTexts(records, preamble, width, dialect)) continue;
    const { fitting, short, over } = countWidths(records, preamble, width);
    const score = fitting - over - (preamble - comments) * 0.5;
    if (score <= best.score && !isTableBelowTitles(records, titles, width)) continue;
    const consistency = Math.max(0, fitting + short * 0.5 - over) / (records.length - preamble);
    best = { width, preamble, rowNames, consistency, score };
  }
  const { score: _, ...layout } = best;
  return layout;
}

/** The body's width where it is known to begin with the first record: the one that fits most records. */
export function layoutFromFirst(records: HeadRecord[]): Layout {
  const layout = { width: 1, preamble: 0, rowNames: false, consistency: 0 };
  let best = -Infinity;
  for (const width of new Set(records.slice(0, MAX_TITLES).map((record) => record.width))) {
    const { fitting, short, over } = countWidths(records, 0, width);
    const score = fitting - over;
    if (score < best || (score === best && width <= layout.width)) continue;
    best = score;
    Object.assign(layout, { width, consistency: Math.max(0, score + short * 0.5) / records.length });
  }
  return layout;
}

/** Counts the `#` lines at the top. The last is the header where its texts stand above as many values, some numbers. */
function countComments(records: HeadRecord[]): number {
  const end = records.findIndex(({ hash, width }, index) => {
    const below = records[index + 1];
    const beside = records[index - 1]?.hash || below?.hash || (below !== undefined && below.width !== width);
    return !hash || !beside;
  });
  const comments = end < 0 ? records.length : end;
  const [last, below] = [records[comments - 1], records[comments]];
  if (comments < 2 || last === undefined || below?.width !== last.width || last.width < 2) return comments;
  return isHeaderOfTyped(records.slice(comments - 1)) ? comments - 1 : comments;
}

/** Counts the comments and the titles of one value below them. Of two columns the second's name alone is the header. */
function countTitles(records: HeadRecord[], comments: number): number {
  const isTitle = ({ filled, width, forms }: HeadRecord) => filled === 1 && !(width === 2 && forms[0] === BLANK);
  const end = records.findIndex((record, index) => index >= comments && !isTitle(record));
  return end > comments && end <= comments + MAX_TITLES ? end : comments;
}

/** The maximum number of titles with several values that may stand above fewer rows. */
const FEW_TITLES = 5;

/**
 * Finds the first record of the body: the one below the titles, unless titles with several values follow. These are
 * titles only above a header; many of them above fewer rows are a table of their own.
 */
function findHeader(records: HeadRecord[], titles: number): number {
  let most = 1;
  for (let index = titles; index < records.length && index <= MAX_TITLES; index++) {
    const record = records[index] as HeadRecord;
    const isFew = index - titles <= Math.max(FEW_TITLES, records.length - index);
    if (index > titles && record.filled > most && isFew) {
      if (isHeaderOfTyped(records.slice(index))) return index;
      const isTyped = typedColumns(records.slice(index + 1)).some((forms) => forms !== 0);
      const lacksOne = (title: HeadRecord) => title.filled === record.filled - 1 && hasTextsAlone(title);
      if (!isTyped && hasTextsAlone(record) && !records.slice(titles, index).some(lacksOne)) return index;
    }
    most = Math.max(most, record.filled);
  }
  return titles;
}

const NUMBERS_AND_DATES = INTEGER | DECIMALS | DATES;
const TYPED = NUMBERS_AND_DATES | WORDS;

/** A record without numbers, dates and booleans: years that are names are texts, too. */
const hasTextsAlone = ({ forms, years }: HeadRecord): boolean =>
  forms.every((form) => form === BLANK || (form & TYPED) === 0 || (years && (form & INTEGER) !== 0));

/** A record without numbers and dates, but years that are names. Its words and letters of booleans may be names. */
export const mayBeHeader = ({ forms, years }: HeadRecord): boolean =>
  forms.every((form) => (form & NUMBERS_AND_DATES) === 0 || (years && (form & INTEGER) !== 0));

/** Whether a field of such a record is no value of the column below, whose forms are given: years are names of numbers. */
export const isUnlike = (form: number, typed: number | undefined): boolean =>
  typed !== undefined && typed !== 0 && ((form & typed) === 0 || (form & INTEGER) !== 0);

/**
 * For each column the forms that all its values share, if these are numbers, or dates, or booleans; else 0. Letters are
 * booleans where both of a pair occur. Lines with a single value are left out.
 */
export function typedColumns(records: HeadRecord[]): number[] {
  const shared: number[] = [];
  const letters: number[] = [];
  for (const { forms, filled } of records) {
    if (filled === 1 && forms.length > 1) continue;
    for (const [column, form] of forms.entries()) {
      if (form === BLANK) continue;
      shared[column] = (shared[column] ?? -1) & form;
      letters[column] = (letters[column] ?? 0) | (form & LETTERS);
    }
  }
  return Array.from(shared, (forms = 0, column) => {
    const isTyped = (forms & TYPED) !== 0 && (forms & TELEPHONE) === 0;
    // The two letters of a pair differ in their forms, as one of them or both belong to another pair, too.
    return isTyped || ((forms & LETTERS) !== 0 && letters[column] !== (forms & LETTERS)) ? forms : 0;
  });
}

/** Whether the first record is of names alone, and names a column of numbers, dates or booleans. */
function isHeaderOfTyped([first, ...rows]: HeadRecord[]): boolean {
  if (first === undefined || !mayBeHeader(first)) return false;
  const typed = typedColumns(rows);
  return first.forms.some((form, column) => form !== BLANK && isUnlike(form, typed[column]));
}

/**
 * Whether the record above the body names all its columns but the first (R style): it has exactly one field fewer, and
 * the body's first fields are names, which are unique and no numbers. A single name above commas needs quotes around
 * the values, which show that the commas are no decimal ones.
 */
function namesColumnsButFirst(records: HeadRecord[], start: number, { delimiter }: Dialect): boolean {
  const above = records[start - 1] as HeadRecord;
  const { width } = records[start] as HeadRecord;
  if (above.width !== width - 1 || above.filled !== above.width || !hasTextsAlone(above)) return false;
  const rows = records.slice(start).filter((record) => record.width >= width);
  // Else their last delimiters only end the lines.
  if (!rows.some((record) => record.effective >= width)) return false;
  if (delimiter === ',' && width === 2 && !rows.every(({ quoted }) => quoted)) return false;
  const isName = ({ forms: [form = BLANK] }: HeadRecord) => form !== BLANK && (form & (INTEGER | DECIMALS)) === 0;
  return rows.every(isName) && new Set(rows.map(({ first }) => first)).size === rows.length;
}

/**
 * Whether the commas below a line of one field rather belong to the values of a single column, which that line names:
 * decimals, or texts with commas. They part columns where a header stands above numbers, where quotes stand around
 * values, and where no space follows a comma, if most lines have three fields or more, or all have two texts.
 */
function areCommasOfTexts(records: HeadRecord[], preamble: number, width: number, { delimiter }: Dialect): boolean {
  const above = records[preamble - 1] as HeadRecord;
  if (delimiter !== ',' || width === 1 || above.width > 1) return false;
  const end = records.findLastIndex((record) => record.width > 1) + 1;
  const body = records.slice(preamble, end);
  const [first] = body as [HeadRecord];
  if (isHeaderOfTyped(body) || body.every(({ quoted }) => quoted)) return false;
  if (body.some(({ spaced }) => spaced)) return true;
  if (first.line > above.line + 1) return false;
  const even = body.filter((record) => record.width === width).length;
  return width >= MIN_TABLE ? even * 2 < body.length : even < body.length || !body.every(hasTextsAlone);
}

/** Whether a table, however short, stands below titles of one field with only lines of one field after it. */
function isTableBelowTitles(records: HeadRecord[], titles: number, width: number): boolean {
  const isNote = (record: HeadRecord) => record.width === 1;
  const end = records.findLastIndex((record) => !isNote(record)) + 1;
  const table = records.slice(titles, end);
  const isHeaderAlone = table.length === 1 && end === records.length && table.every(hasTextsAlone);
  const isEven = table.every((record) => record.width === width && (!isHeaderAlone || !record.spaced));
  const isTable = (width >= MIN_TABLE && table.length >= MIN_TABLE) || isHeaderOfTyped(table);
  const isBody = (isTable && records.length - end <= MAX_FOOTNOTES) || (width >= MIN_TABLE && isHeaderAlone);
  return isBody && isEven && records.slice(0, titles).every(isNote);
}

function countWidths(records: HeadRecord[], start: number, width: number) {
  let fitting = 0;
  let short = 0;
  let over = 0;
  for (let index = start; index < records.length; index++) {
    const record = records[index] as HeadRecord;
    if (record.effective > width) over++;
    else if (record.width >= width) fitting++;
    else short++;
  }
  return { fitting, short, over };
}
