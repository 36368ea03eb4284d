import { getTableName, sql } from 'drizzle-orm';
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core';
import type { ControlDb } from '../../../db/client.ts';
import { companies } from '../../../db/schema/companies.ts';
import { selectColumns, TABLE_KINDS, type TableKind, viewValue } from '../../../db/shown-columns.ts';

/** The exported tables of the control database, by name. */
export const EXPORTED_KINDS: ReadonlyMap<string, TableKind> = new Map(
  TABLE_KINDS.filter(({ columns }) => Object.values(columns).includes(true)).map((kind) => [
    getTableName(kind.table),
    kind,
  ]),
);

/** The maximum number of rows of one query. */
const MAX_ROWS_PER_QUERY = 2_000;
/** The number of characters of rows after which a query returns no further row. */
const MAX_CHARACTERS_PER_QUERY = 500_000;

/**
 * Reads rows of a table after a `rowid`, without columns that are not exported: as many as fit into memory. @returns them, and the
 * `rowid` of the last one; null at the end
 */
export async function readRecords(db: ControlDb, companyId: string, kind: TableKind, afterRowNumber: number) {
  const exportedColumns = selectColumns(kind.table, (name) => kind.columns[name] === true);
  const names = sql.join(
    exportedColumns.map(({ name }) => sql.identifier(name)),
    sql`, `,
  );
  const length = sql.join(
    exportedColumns.map(({ name }) => sql`length(coalesce(${sql.identifier(name)}, ''))`),
    sql` + `,
  );
  const owner = sql.identifier(kind.table === companies ? 'id' : 'company_id');
  const rows = await db.all<Record<string, unknown> & { place: number }>(sql`
    select place, ${names} from (
      select place, ${names}, sum(${length}) over (order by place rows between unbounded preceding and 1 preceding) as before_it
      from (
        select rowid as place, ${names} from ${kind.table}
        where ${owner} = ${companyId} and rowid > ${afterRowNumber} order by rowid limit ${MAX_ROWS_PER_QUERY}
      )
    ) where coalesce(before_it, 0) < ${MAX_CHARACTERS_PER_QUERY} order by place`);
  const records = rows.map((row) =>
    Object.fromEntries(exportedColumns.map((column) => [column.name, toExportedValue(column, row[column.name])])),
  );
  return { records, nextPosition: rows.at(-1)?.place ?? null };
}

const toExportedValue = (column: SQLiteColumn, value: unknown): unknown =>
  value === null || value === undefined ? null : viewValue(column, column.mapFromDriverValue(value as never));
