import { getTableName, sql } from 'drizzle-orm';
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core';
import type { ControlDb } from '../../../db/client.ts';
import { companies } from '../../../db/schema/companies.ts';
import { type Kind, selectColumns, TABLE_KINDS, viewValue } from '../../../db/shown-columns.ts';

/** The tables that are exported, by their names. */
export const EXPORTED_KINDS: ReadonlyMap<string, Kind> = new Map(
  TABLE_KINDS.filter(({ columns }) => Object.values(columns).includes(true)).map((each) => [
    getTableName(each.table),
    each,
  ]),
);

/** The maximum number of rows of one query, and the number of characters after which it returns no further row. */
const MAX_ROWS = 2_000;
const MAX_CHARACTERS = 500_000;

/** Exported rows of a company, and the `rowid` of the last one, after which to read on; null at the end. */
export interface Records {
  records: Record<string, unknown>[];
  next: number | null;
}

/** Reads rows of a table after a place, without columns that are not exported. Together they fit into memory. */
export async function readRecords(db: ControlDb, companyId: string, kind: Kind, after: number): Promise<Records> {
  const shown = selectColumns(kind.table, (name) => kind.columns[name] === true);
  const names = sql.join(
    shown.map(({ name }) => sql.identifier(name)),
    sql`, `,
  );
  const length = sql.join(
    shown.map(({ name }) => sql`length(coalesce(${sql.identifier(name)}, ''))`),
    sql` + `,
  );
  const owner = sql.identifier(kind.table === companies ? 'id' : 'company_id');
  const rows = await db.all<Record<string, unknown> & { place: number }>(sql`
    select place, ${names} from (
      select place, ${names}, sum(${length}) over (order by place rows between unbounded preceding and 1 preceding) as before_it
      from (
        select rowid as place, ${names} from ${kind.table}
        where ${owner} = ${companyId} and rowid > ${after} order by rowid limit ${MAX_ROWS}
      )
    ) where coalesce(before_it, 0) < ${MAX_CHARACTERS} order by place`);
  const records = rows.map((row) =>
    Object.fromEntries(shown.map((column) => [column.name, readValue(column, row[column.name])])),
  );
  return { records, next: rows.at(-1)?.place ?? null };
}

const readValue = (column: SQLiteColumn, value: unknown): unknown =>
  value === null || value === undefined ? null : viewValue(column, column.mapFromDriverValue(value as never));
