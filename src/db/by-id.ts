import { and, eq, isNull, type SQL, sql } from 'drizzle-orm';
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core';

type Owned = { companyId: SQLiteColumn; id: SQLiteColumn };

/** The row of an id, if it is the company's. */
export const byId = (table: Owned, companyId: string, id: string): SQL =>
  and(eq(table.companyId, companyId), eq(table.id, id)) as SQL;

/** The same, unless it is deleted. */
export const livingById = (table: Owned & { deletedAt: SQLiteColumn }, companyId: string, id: string): SQL =>
  and(byId(table, companyId, id), isNull(table.deletedAt)) as SQL;

/** Holds while the table has such a row: for the WHERE of a write that depends on it. */
export const exists = (table: SQLiteTable, condition: SQL): SQL =>
  sql`exists (select 1 from ${table} where ${condition})`;
