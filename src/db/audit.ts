import { sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import type { SQLiteTable } from 'drizzle-orm/sqlite-core';
import type { ControlDb } from './client.ts';

/**
 * The audit database: records of requests, and messages that no consumer could handle. Any replica may answer, since
 * records are behind by a queue in any case.
 */
export function openAuditDb(database: D1Database): ControlDb {
  return drizzle(database.withSession('first-unconstrained') as unknown as D1Database);
}

/** The oldest rows of a table whose ids sort before `before`, as the database has them. */
export const selectOldest = (db: ControlDb, table: SQLiteTable, before: string, limit: number) =>
  db.all<{ id: string }>(sql`select * from ${table} where id < ${before} order by id limit ${limit}`);

/** Deletes rows by id. */
export const deleteRows = (db: ControlDb, table: SQLiteTable, ids: readonly string[]) =>
  db.run(sql`delete from ${table} where id in (select value from json_each(${JSON.stringify(ids)}))`);

/** A table that `selectOldest` takes. */
export type AuditTable = SQLiteTable;
