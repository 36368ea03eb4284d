import { MAX_CELL_CHARACTERS, type WrittenCell } from '../../formats/workbook/write.ts';
import { isTooLong, toWrittenCell } from '../../formats/workbook/written-cells.ts';
import { invalidInput } from '../../kernel/failure.ts';
import type { TableColumnDefinition } from '../../tenant-sql/columns.ts';
import { toJsonValue } from '../../tenant-sql/values.ts';
import type { RawRow } from './page.ts';

/**
 * Returns the cells of a row: its id, then its columns. @param escapesFormulas whether texts must be written so that a spreadsheet does not
 * treat them as formulas
 */
export const toCells = (columns: TableColumnDefinition[], row: RawRow, escapesFormulas: boolean): WrittenCell[] => [
  row.id,
  ...columns.map(({ name, type }, at) => {
    const cell = toWrittenCell(toJsonValue(type, row[`c${at}`] ?? null), type, escapesFormulas);
    if (isTooLong(cell)) throw makeTextTooLongFailure(name);
    return cell;
  }),
];

/** Returns the failure for a column with a text that no cell can hold. */
export const makeTextTooLongFailure = (column: string) =>
  invalidInput([
    {
      field: 'fields',
      message: `"${column}" has a text of more than ${MAX_CELL_CHARACTERS} characters, which no cell can hold`,
    },
  ]);
