import { MAX_CELL_TEXT, type WrittenCell } from '../../formats/workbook/write.ts';
import { isTooLong, toWrittenCell } from '../../formats/workbook/written-cells.ts';
import { invalid } from '../../kernel/failure.ts';
import type { Column } from '../../tenant-sql/columns.ts';
import { toJsonValue } from '../../tenant-sql/values.ts';
import type { RawRow } from './page.ts';

/**
 * The cells of a row: its id, then its columns.
 * @param safe whether texts must be written so that a spreadsheet takes none for a formula
 */
export const toCells = (columns: Column[], row: RawRow, safe: boolean): WrittenCell[] => [
  row.id,
  ...columns.map(({ name, type }, at) => {
    const cell = toWrittenCell(toJsonValue(type, row[`c${at}`] ?? null), type, safe);
    if (isTooLong(cell)) throw textTooLong(name);
    return cell;
  }),
];

/** A column has a text that no cell can hold. */
export const textTooLong = (column: string) =>
  invalid([
    {
      field: 'fields',
      message: `"${column}" has a text of more than ${MAX_CELL_TEXT} characters, which no cell can hold`,
    },
  ]);
