import { and, eq, type SQL } from 'drizzle-orm';
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core';

/** The row of an id, if it is the company's. */
export const byId = (table: { companyId: SQLiteColumn; id: SQLiteColumn }, companyId: string, id: string): SQL =>
  and(eq(table.companyId, companyId), eq(table.id, id)) as SQL;
