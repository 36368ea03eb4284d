import { BLANK, INTEGER } from '../values/forms.ts';
import type { HeadRecord } from './head.ts';
import { type Layout, MAX_TITLES } from './layout.ts';

/** The shape of a sheet's text, as its conversion found it. */
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
 * a header: a row of names alone with more values than each of them, above at least one column that is no text.
 * @param isFromFirst the table is known to begin with the first record
 */
export function sheetLayout(records: HeadRecord[], { width, header }: SheetShape, isFromFirst = false): Layout {
  const layout = { width: Math.max(1, width), rowNames: false, consistency: 1 };
  if (isFromFirst) return { ...layout, preamble: 0 };
  if (header !== null) {
    const row = records.findIndex(({ line }) => line === header);
    return { ...layout, preamble: Math.max(0, row) };
  }
  const wide = records.findIndex(({ filled }) => filled > 1);
  if (wide < 0 || wide > MAX_TITLES) return { ...layout, preamble: 0 };
  const rows = records.slice(0, MAX_TITLES + 1);
  // Of wider rows the first is the header. Years are numbers in the columns of the rows above, so theirs is found before.
  const wider = rows.flatMap(({ filled }, row) =>
    filled > Math.max(1, ...rows.slice(0, row).map((above) => above.filled)) ? [row] : [],
  );
  const isHeader = (row: number) => isAboveTyped(records, row, layout.width);
  const years = wider.find((row) => row > wide && isOfYears(records, row) && isHeader(row));
  const found = years ?? wider.find((row) => isOfTexts(records[row] as HeadRecord) && isHeader(row));
  return { ...layout, preamble: found ?? wide };
}

const isOfTexts = ({ forms }: HeadRecord): boolean => forms.every((form) => form === BLANK || form === 0);

/** Whether the row's values are texts and years that rise, and are no values among years: some below is another number. */
function isOfYears(records: HeadRecord[], row: number): boolean {
  const { forms, years, yearsAlone } = records[row] as HeadRecord;
  const isName = (form: number) => form === BLANK || form === 0 || (form & INTEGER) !== 0;
  return years && yearsAlone && forms.every(isName) && !records.slice(row + 1).every((below) => below.yearsAlone);
}

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
