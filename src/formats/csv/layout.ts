import { BLANK_FORM, DATES, DECIMALS, INTEGER, LETTER_BOOLEANS, TELEPHONE, WORD_BOOLEANS } from '../values/forms.ts';
import type { Dialect } from './dialect.ts';
import type { HeadRecord } from './head.ts';

/** Width and beginning of a file's body. */
export interface Layout {
  /** Number of fields of a full record. */
  width: number;
  /** Number of first (not blank) records that are titles and notes instead of rows. */
  preambleCount: number;
  /** True if the preamble's last record has one field fewer than the body: perhaps the header of all columns but the first. */
  hasRowNames: boolean;
  /** Share of the body's records that have the width; a higher share makes a dialect more plausible. */
  consistency: number;
}

/** The largest number of note records below a table. */
export const MAX_FOOTNOTES = 50;

/** The largest number of title records above a table. */
export const MAX_TITLES = 50;

/** Minimum number of columns, and of records of that width, that commas in a text cannot form by accident. */
const MIN_TABLE_SIZE = 3;

/**
 * Finds the body's width and first record. Each record that is wider than all before it suggests a width; the best one leaves the
 * fewest records too wide, too short or skipped. @param isDelimiterGiven whether a person set the delimiter, so that commas always separate
 * columns
 */
export function findLayout(records: HeadRecord[], dialect: Dialect, isDelimiterGiven = false): Layout {
  const commentCount = countComments(records);
  const titleCount = countTitles(records, commentCount);
  const header = findHeader(records, titleCount);
  let best = { width: 1, preambleCount: commentCount, hasRowNames: false, consistency: 0, score: -Infinity };
  let maxWidth = 0;
  for (let start = commentCount; start < records.length && start <= commentCount + MAX_TITLES; start++) {
    const { width, effectiveWidth } = records[start] as HeadRecord;
    if (width <= maxWidth) continue;
    const hasRowNames = start > 0 && start <= titleCount + 1 && areColumnsNamedButFirst(records, start, dialect);
    if (maxWidth > 0 && effectiveWidth <= maxWidth && !hasRowNames) continue;
    maxWidth = width;
    const preambleCount = width === 1 ? commentCount : hasRowNames ? start : header;
    if (
      !isDelimiterGiven &&
      preambleCount > commentCount &&
      areCommasWithinTexts(records, preambleCount, width, dialect)
    )
      continue;
    const { fitting, short, over } = countWidths(records, preambleCount, width);
    const score = fitting - over - (preambleCount - commentCount) * 0.5;
    if (score <= best.score && !isTableBelowTitles(records, titleCount, width)) continue;
    const consistency = Math.max(0, fitting + short * 0.5 - over) / (records.length - preambleCount);
    best = { width, preambleCount, hasRowNames, consistency, score };
  }
  const { score: _, ...layout } = best;
  return layout;
}

/** Finds the width of a body that begins with the first record: the width that fits most records. */
export function findLayoutFromFirst(records: HeadRecord[]): Layout {
  const layout = { width: 1, preambleCount: 0, hasRowNames: false, consistency: 0 };
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

/**
 * Counts the `#` lines at the top. The last one does not count if it is a header: as many names as the record below has
 * values, of which some are numbers, dates or booleans.
 */
function countComments(records: HeadRecord[]): number {
  const end = records.findIndex(({ startsWithHash, width }, index) => {
    const nextRecord = records[index + 1];
    const isBesideComment =
      records[index - 1]?.startsWithHash ||
      nextRecord?.startsWithHash ||
      (nextRecord !== undefined && nextRecord.width !== width);
    return !startsWithHash || !isBesideComment;
  });
  const commentCount = end < 0 ? records.length : end;
  const [lastComment, below] = [records[commentCount - 1], records[commentCount]];
  if (commentCount < 2 || lastComment === undefined || below?.width !== lastComment.width || lastComment.width < 2)
    return commentCount;
  return isHeaderOfTypedColumns(records.slice(commentCount - 1)) ? commentCount - 1 : commentCount;
}

/**
 * Counts the comments, and the titles of one value below the comments. Of two columns, a name in the second one alone
 * is no title.
 */
function countTitles(records: HeadRecord[], commentCount: number): number {
  const isTitle = ({ filledCount, width, fieldForms }: HeadRecord) =>
    filledCount === 1 && !(width === 2 && fieldForms[0] === BLANK_FORM);
  const end = records.findIndex((record, index) => index >= commentCount && !isTitle(record));
  return end > commentCount && end <= commentCount + MAX_TITLES ? end : commentCount;
}

/** The maximum number of titles with several values that may stand above fewer rows. */
const MAX_TITLES_OVER_FEW_ROWS = 5;

/**
 * Finds the first record of the body: the record below the first `titleCount` ones, or a header further down, below more
 * titles, which have several values. Many such records above fewer rows are no titles: they are a table of their own.
 */
function findHeader(records: HeadRecord[], titleCount: number): number {
  let maxFilledCount = 1;
  for (let index = titleCount; index < records.length && index <= MAX_TITLES; index++) {
    const record = records[index] as HeadRecord;
    const isFew = index - titleCount <= Math.max(MAX_TITLES_OVER_FEW_ROWS, records.length - index);
    if (index > titleCount && record.filledCount > maxFilledCount && isFew) {
      if (isHeaderOfTypedColumns(records.slice(index))) return index;
      const isTyped = findTypedColumns(records.slice(index + 1)).some((formMask) => formMask !== 0);
      const lacksOneValue = (title: HeadRecord) => title.filledCount === record.filledCount - 1 && hasOnlyTexts(title);
      if (!isTyped && hasOnlyTexts(record) && !records.slice(titleCount, index).some(lacksOneValue)) return index;
    }
    maxFilledCount = Math.max(maxFilledCount, record.filledCount);
  }
  return titleCount;
}

const NUMBER_AND_DATE_FORMS = INTEGER | DECIMALS | DATES;
const TYPED_FORMS = NUMBER_AND_DATE_FORMS | WORD_BOOLEANS;

/** Returns true for a record without numbers, dates and booleans; years that are names count as texts. */
const hasOnlyTexts = ({ fieldForms, hasYearNames }: HeadRecord): boolean =>
  fieldForms.every(
    (formMask) =>
      formMask === BLANK_FORM || (formMask & TYPED_FORMS) === 0 || (hasYearNames && (formMask & INTEGER) !== 0),
  );

/** Returns true for a record without numbers and dates, except years that are names. Boolean words may be names. */
export const mayBeHeader = ({ fieldForms, hasYearNames }: Pick<HeadRecord, 'fieldForms' | 'hasYearNames'>): boolean =>
  fieldForms.every(
    (formMask) => (formMask & NUMBER_AND_DATE_FORMS) === 0 || (hasYearNames && (formMask & INTEGER) !== 0),
  );

/** Returns true if a header's field is no value of the column below, whose forms are given: years may name numbers. */
export const differsFromColumn = (formMask: number, columnForms: number | undefined): boolean =>
  columnForms !== undefined && columnForms !== 0 && ((formMask & columnForms) === 0 || (formMask & INTEGER) !== 0);

/**
 * Finds for each column the forms that all its values share, if these are numbers, or dates, or booleans; else 0. Letters are
 * booleans if both of a pair occur. Lines with a single value are left out.
 */
export function findTypedColumns(records: Pick<HeadRecord, 'fieldForms' | 'filledCount'>[]): number[] {
  const sharedForms: number[] = [];
  const letterForms: number[] = [];
  for (const { fieldForms, filledCount } of records) {
    if (filledCount === 1 && fieldForms.length > 1) continue;
    for (const [column, form] of fieldForms.entries()) {
      if (form === BLANK_FORM) continue;
      sharedForms[column] = (sharedForms[column] ?? -1) & form;
      letterForms[column] = (letterForms[column] ?? 0) | (form & LETTER_BOOLEANS);
    }
  }
  return Array.from(sharedForms, (formMask = 0, column) => {
    const isTyped = (formMask & TYPED_FORMS) !== 0 && (formMask & TELEPHONE) === 0;
    // The two letters of a pair differ in their forms, as one of them or both belong to another pair, too.
    return isTyped || ((formMask & LETTER_BOOLEANS) !== 0 && letterForms[column] !== (formMask & LETTER_BOOLEANS))
      ? formMask
      : 0;
  });
}

/** Returns true if the first record consists of names, and names a column of numbers, dates or booleans. */
function isHeaderOfTypedColumns([first, ...rows]: HeadRecord[]): boolean {
  if (first === undefined || !mayBeHeader(first)) return false;
  const columnForms = findTypedColumns(rows);
  return first.fieldForms.some(
    (formMask, column) => formMask !== BLANK_FORM && differsFromColumn(formMask, columnForms[column]),
  );
}

/**
 * Returns true if the record above the body names all its columns but the first (R style): it has exactly one field fewer, and
 * the body's first fields are unique names and no numbers. A single name above commas needs quotes around the values, which show
 * that the commas are not decimal ones.
 */
function areColumnsNamedButFirst(records: HeadRecord[], start: number, { delimiter }: Dialect): boolean {
  const recordAbove = records[start - 1] as HeadRecord;
  const { width } = records[start] as HeadRecord;
  if (recordAbove.width !== width - 1 || recordAbove.filledCount !== recordAbove.width || !hasOnlyTexts(recordAbove))
    return false;
  const rows = records.slice(start).filter((record) => record.width >= width);
  // Else their last delimiters only end the lines.
  if (!rows.some((record) => record.effectiveWidth >= width)) return false;
  if (delimiter === ',' && width === 2 && !rows.every(({ hasQuotedField }) => hasQuotedField)) return false;
  const isName = ({ fieldForms: [form = BLANK_FORM] }: HeadRecord) =>
    form !== BLANK_FORM && (form & (INTEGER | DECIMALS)) === 0;
  return rows.every(isName) && new Set(rows.map(({ firstText }) => firstText)).size === rows.length;
}

/**
 * Returns true if the commas below a line of one field rather belong to the values of a single column, which that line names:
 * decimals, or texts with commas. They separate columns if a header stands above numbers, if quotes stand around values, or if no
 * space follows a comma and most lines have three fields or more, or all have two texts.
 */
function areCommasWithinTexts(
  records: HeadRecord[],
  preambleCount: number,
  width: number,
  { delimiter }: Dialect,
): boolean {
  const recordAbove = records[preambleCount - 1] as HeadRecord;
  if (delimiter !== ',' || width === 1 || recordAbove.width > 1) return false;
  const end = records.findLastIndex((record) => record.width > 1) + 1;
  const body = records.slice(preambleCount, end);
  const [first] = body as [HeadRecord];
  if (isHeaderOfTypedColumns(body) || body.every(({ hasQuotedField }) => hasQuotedField)) return false;
  if (body.some(({ hasSpacedDelimiter }) => hasSpacedDelimiter)) return true;
  if (first.line > recordAbove.line + 1) return false;
  const evenCount = body.filter((record) => record.width === width).length;
  return width >= MIN_TABLE_SIZE ? evenCount * 2 < body.length : evenCount < body.length || !body.every(hasOnlyTexts);
}

/** Returns true if a table, however short, stands below titles of one field and above lines of one field only. */
function isTableBelowTitles(records: HeadRecord[], titleCount: number, width: number): boolean {
  const isNote = (record: HeadRecord) => record.width === 1;
  const end = records.findLastIndex((record) => !isNote(record)) + 1;
  const table = records.slice(titleCount, end);
  const isHeaderOnly = table.length === 1 && end === records.length && table.every(hasOnlyTexts);
  const isEven = table.every((record) => record.width === width && (!isHeaderOnly || !record.hasSpacedDelimiter));
  const isTable = (width >= MIN_TABLE_SIZE && table.length >= MIN_TABLE_SIZE) || isHeaderOfTypedColumns(table);
  const isBody = (isTable && records.length - end <= MAX_FOOTNOTES) || (width >= MIN_TABLE_SIZE && isHeaderOnly);
  return isBody && isEven && records.slice(0, titleCount).every(isNote);
}

/** Counts the records from `start` on that fit the width, are too short, or have values beyond it. */
export function countWidths(records: HeadRecord[], start: number, width: number) {
  const counts = { fitting: 0, short: 0, over: 0 };
  for (const record of records.slice(start)) {
    if (record.effectiveWidth > width) counts.over++;
    else if (record.width >= width) counts.fitting++;
    else counts.short++;
  }
  return counts;
}
