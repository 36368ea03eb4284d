import { BLANK } from '../values/forms.ts';
import type { HeadRecord } from './head.ts';

/** Where a file's body begins. */
export interface Layout {
  /** Number of fields of a full record. */
  width: number;
  /** How many of the first (not blank) records are titles and notes instead of rows. */
  preamble: number;
  /**
   * The preamble's last record has one field fewer than the body: it may be the header of all columns but the first.
   */
  rowNames: boolean;
  /** Share of the body's records that have the width; a higher share makes a dialect more plausible. */
  consistency: number;
}

/** The largest number of note records below a table. */
export const MAX_FOOTNOTES = 50;

/** The largest number of title and note records above a table. */
export const MAX_PREAMBLE = 50;

/**
 * Finds the body's width and first record. Each record that is wider than all before it suggests a width; the records
 * above it would then be the preamble. The best width leaves the fewest records too wide, too short or skipped.
 */
export function findLayout(records: HeadRecord[]): Layout {
  let best = { width: 1, start: 0, score: -Infinity, consistency: 0 };
  let widest = 0;
  for (const [start, { width, effective }] of records.entries()) {
    if (start > MAX_PREAMBLE) break;
    if (width <= widest || (start > 0 && effective <= widest)) continue;
    widest = width;
    const { fitting, short, over } = countWidths(records, start, width);
    const score = fitting - over - start * 0.5;
    // A single last record that is more than one field wider than those above it is a mistake, not a body.
    const alone = start > 0 && records.length - start === 1 && (records[start - 1] as HeadRecord).width !== width - 1;
    if (alone || (score <= best.score && !isTableBelowNotes(records, start, width))) continue;
    const body = records.length - start;
    best = { width, start, score, consistency: Math.max(0, fitting + short * 0.5 - over) / body };
  }
  const { width, start, consistency } = best;
  const above = records[start - 1];
  const rowNames = above !== undefined && above.width === width - 1 && above.filled === above.width;
  const titles = start === 0 || !rowNames ? sparseTitles(records, start, width) : 0;
  return { width, preamble: start + titles, rowNames: rowNames && titles === 0, consistency };
}

/** This many columns, and records of the same width, cannot come from commas in a text by accident. */
const MIN_TABLE = 3;

/**
 * Whether a table stands below single-field lines with only single-field lines after it: however short, it is the body.
 */
function isTableBelowNotes(records: HeadRecord[], start: number, width: number): boolean {
  const isNote = (record: HeadRecord) => record.width === 1;
  const end = records.findLastIndex((record) => !isNote(record)) + 1;
  const isEven = records.slice(start, end).every((record) => record.width === width);
  const isBody = end - start >= MIN_TABLE && records.length - end <= MAX_FOOTNOTES;
  return width >= MIN_TABLE && isBody && isEven && records.slice(0, start).every(isNote);
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

/**
 * Counts the title lines at the top that are as wide as the body because the spreadsheet padded them with delimiters:
 * lines with a value in the first cell alone, or with names of column groups above a header.
 */
function sparseTitles(records: HeadRecord[], start: number, width: number): number {
  if (width < 2) return 0;
  const body = records.slice(start);
  const columns = usualColumns(body.slice(1));
  const full = body.slice(0, MAX_PREAMBLE + 1).findIndex((record) => record.filled >= columns);
  if (full === 0 || columns < 2) return 0;
  const titles = body.findIndex((record) => !isTitle(record));
  if (full < 0) {
    const next = body[titles];
    const enough = Math.max(3, Math.ceil(columns / 2));
    return titles > 0 && next !== undefined && next.filled >= enough && next.forms[0] !== BLANK ? titles : 0;
  }
  const unlike = unlikeBelow(body, full, columns);
  const groups = body.slice(0, full).every((record) => record.forms[0] !== BLANK || record.filled < columns - 1);
  if (unlike === 'all' && groups) return full;
  return titles === full && unlike !== 'none' ? full : 0;
}

/**
 * The number of columns that a quarter of the records reach, so that a stray wide record does not make all others
 * sparse.
 */
function usualColumns(records: HeadRecord[]): number {
  const sorted = records.map((record) => record.effective).sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length * 0.75)] ?? 1;
}

function isTitle(record: HeadRecord): boolean {
  return record.filled === 1 && record.forms[0] !== BLANK;
}

/**
 * How the record's cells compare with the typed columns below: `all`, `some` or `none` differ; `text` if no column is
 * typed.
 */
function unlikeBelow(body: HeadRecord[], at: number, columns: number): 'all' | 'some' | 'none' | 'text' {
  let typed = 0;
  let unlike = 0;
  const record = body[at] as HeadRecord;
  for (let column = 0; column < columns; column++) {
    let forms = -1;
    for (let below = at + 1; below < body.length; below++) {
      const form = (body[below] as HeadRecord).forms[column] ?? BLANK;
      if (form !== BLANK) forms &= form;
    }
    if (forms === -1 || forms === 0) continue;
    typed++;
    if (((record.forms[column] ?? BLANK) & forms) === 0) unlike++;
  }
  if (typed === 0) return 'text';
  return unlike === typed ? 'all' : unlike === 0 ? 'none' : 'some';
}
