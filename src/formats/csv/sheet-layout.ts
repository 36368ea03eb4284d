import { BLANK_FORM } from '../values/forms.ts';
import type { HeadRecord } from './head.ts';
import { differsFromColumn, findTypedColumns, type Layout, MAX_TITLES, mayBeHeader } from './layout.ts';

/** Shape of a sheet's text, as its conversion found it. */
export interface SheetShape {
  /** The number of fields of the sheet's widest row. */
  width: number;
  /** Row of a header that was joined from merged cells; null if it has to be found. */
  header: number | null;
}

/**
 * Finds where the table of a sheet's text begins. The table is as wide as the sheet's widest row; unlike in a CSV, no row with
 * one field fewer is taken for the names of all columns but the first.
 *
 * Leading rows of a single value are titles where a wider row follows. Rows with more values are titles only directly above a
 * header: a row of names alone with more values than each of them, above at least one column that is no text.
 * @param isFromFirst whether the table is known to begin with the first record
 */
export function findSheetLayout(records: HeadRecord[], { width, header }: SheetShape, isFromFirst = false): Layout {
  const layout = { width: Math.max(1, width), hasRowNames: false, consistency: 1 };
  if (isFromFirst) return { ...layout, preambleCount: 0 };
  if (header !== null) {
    const row = records.findIndex(({ line }) => line === header);
    return { ...layout, preambleCount: Math.max(0, row) };
  }
  const firstWideRow = records.findIndex(({ filledCount }) => filledCount > 1);
  if (firstWideRow < 0 || firstWideRow > MAX_TITLES) return { ...layout, preambleCount: 0 };
  const rows = records.slice(0, MAX_TITLES + 1);
  // Of wider rows the first is the header. Years are numbers in the columns of the rows above, so theirs is found before.
  const wideningRows = rows.flatMap(({ filledCount }, row) =>
    filledCount > Math.max(1, ...rows.slice(0, row).map((rowAbove) => rowAbove.filledCount)) ? [row] : [],
  );
  const isHeader = (row: number) => {
    const record = records[row] as HeadRecord;
    const columnForms = findTypedColumns(records.slice(row + 1));
    return (
      mayBeHeader(record) &&
      columnForms.some((formMask, column) => differsFromColumn(record.fieldForms[column] ?? BLANK_FORM, formMask))
    );
  };
  const yearHeader = wideningRows.find((row) => row > firstWideRow && isYearHeader(records, row) && isHeader(row));
  const foundHeader = yearHeader ?? wideningRows.find((row) => !records[row]?.hasYearNames && isHeader(row));
  return { ...layout, preambleCount: foundHeader ?? firstWideRow };
}

/** Returns true if the row has rising years that are names, not values: some number below is no year. */
function isYearHeader(records: HeadRecord[], row: number): boolean {
  const { hasYearNames, hasOnlyYears } = records[row] as HeadRecord;
  return hasYearNames && hasOnlyYears && !records.slice(row + 1).every((recordBelow) => recordBelow.hasOnlyYears);
}
