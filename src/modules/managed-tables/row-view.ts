import type { TableColumnDefinition } from '../../tenant-sql/columns.ts';
import { toJsonValue } from '../../tenant-sql/values.ts';
import type { RawRow } from './page.ts';

/** A row in the API: `id` and the table's columns. It has no prototype, so that a column may have any name. */
export type RowRecord = Record<string, string | number | boolean | null>;

/** Converts a row to the form that the API shows. */
export function toRowRecord(columns: TableColumnDefinition[], rawRow: RawRow): RowRecord {
  const row: RowRecord = Object.create(null);
  row.id = rawRow.id;
  for (const [index, { name, type }] of columns.entries()) row[name] = toJsonValue(type, rawRow[`c${index}`] ?? null);
  return row;
}
