import { BLANK } from '../values/forms.ts';
import type { HeadRecord } from './head.ts';
import { type Layout, MAX_TITLES } from './layout.ts';

/** What a sheet's conversion knows of its text. */
export interface SheetShape {
  /** The number of fields of the sheet's widest row. */
  width: number;
  /** The row of a header that was joined from merged cells; null where it has to be found. */
  header: number | null;
}

/**
 * Finds where the table of a sheet's text begins. Its columns are those of the widest row, and no row names them but the
 * header: nothing is read as a row with a field more or fewer.
 *
 * Leading rows of a single value are titles where a wider row follows. With more values they are titles only directly above
 * a header: a row of texts alone with more values than each of them, above at least one column that is no text.
 */
export function sheetLayout(records: HeadRecord[], { width, header }: SheetShape): Layout {
  const layout = { width: Math.max(1, width), rowNames: false, consistency: 1 };
  if (header !== null) {
    const row = records.findIndex(({ line }) => line === header);
    return { ...layout, preamble: Math.max(0, row) };
  }
  const wide = records.findIndex(({ filled }) => filled > 1);
  if (wide < 0 || wide > MAX_TITLES) return { ...layout, preamble: 0 };
  let most = 1;
  for (const [start, record] of records.slice(0, MAX_TITLES + 1).entries()) {
    if (record.filled > most && isOfTexts(record) && isAboveTyped(records, start, layout.width)) {
      return { ...layout, preamble: start };
    }
    most = Math.max(most, record.filled);
  }
  return { ...layout, preamble: wide };
}

const isOfTexts = ({ forms }: HeadRecord): boolean => forms.every((form) => form === BLANK || form === 0);

/** Whether some column of the records below a place has values, which are all numbers, dates or booleans. */
function isAboveTyped(records: HeadRecord[], start: number, width: number): boolean {
  const below = records.slice(start + 1);
  return Array.from({ length: width }, (_, column) => below.map(({ forms }) => forms[column] ?? BLANK)).some(
    (column) => {
      const filled = column.filter((form) => form !== BLANK);
      return filled.length > 0 && filled.reduce((all, form) => all & form) !== 0;
    },
  );
}
