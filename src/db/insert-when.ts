import { getTableColumns, type InferSelectModel, is, SQL, sql } from 'drizzle-orm';
import type { SQLiteTable } from 'drizzle-orm/sqlite-core';
import type { ControlDb } from './client.ts';

/** A record of which some members are found by the database itself, at the moment of the write. */
type Insertable<T extends SQLiteTable> = { [K in keyof InferSelectModel<T>]: InferSelectModel<T>[K] | SQL };

/**
 * An insert that happens only if `condition` holds at that moment: no earlier read can be out of date. Nothing is
 * inserted otherwise; append `.returning()` to see which.
 */
export function insertWhen<T extends SQLiteTable>(db: ControlDb, table: T, record: Insertable<T>, condition: SQL) {
  const values = Object.entries(getTableColumns(table)).map(([member, column]) => {
    const value = record[member as keyof Insertable<T>];
    return is(value, SQL) ? value : sql`${sql.param(value, column)}`;
  });
  return db.insert(table).select(sql`select ${sql.join(values, sql`, `)} where ${condition}`);
}
