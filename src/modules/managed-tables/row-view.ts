import type { Column } from '../../tenant-sql/columns.ts';
import { toJsonValue } from '../../tenant-sql/values.ts';
import type { RawRow } from './page.ts';

/** A row in the API: `id` and the table's columns. It has no prototype, so that a column may have any name. */
export type Row = Record<string, string | number | boolean | null>;

/** A row as the API shows it. */
export function toRow(columns: Column[], raw: RawRow): Row {
  const row: Row = Object.create(null);
  row.id = raw.id;
  for (const [index, { name, type }] of columns.entries()) row[name] = toJsonValue(type, raw[`c${index}`] ?? null);
  return row;
}
