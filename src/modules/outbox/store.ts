import { and, inArray, lte, type SQL, sql } from 'drizzle-orm';
import type { ControlDb } from '../../db/client.ts';
import { outbox } from '../../db/schema/outbox.ts';
import { type Condition, HAS_CHANGED_ROWS, insertWhen, makeIdListSql } from '../../db/statements.ts';
import { isCompanyActive } from '../companies/queries.ts';

export type OutboxRow = typeof outbox.$inferSelect;

export const insertRow = (db: ControlDb, row: OutboxRow) => db.insert(outbox).values(row);

/** Stores a message, if the previous statement of the batch changed a row and `condition` holds. */
export const insertRowAfterChange = (db: ControlDb, row: OutboxRow, condition: Condition = sql`true`) =>
  insertWhen(db, outbox, row, and(HAS_CHANGED_ROWS, condition) as SQL).returning({ id: outbox.id });

const isRowAmong = (rows: readonly OutboxRow[]) => inArray(outbox.id, makeIdListSql(rows.map(({ id }) => id)));

export const deleteRows = (db: ControlDb, rows: readonly OutboxRow[]) => db.delete(outbox).where(isRowAmong(rows));

export const setDueAt = (db: ControlDb, rows: readonly OutboxRow[], dueAt: number) =>
  db.update(outbox).set({ dueAt }).where(isRowAmong(rows));

/** Claims due messages of any active company, the longest waiting first, until `nextDueAt`. */
export const claimDueMessages = (
  db: ControlDb,
  { now, nextDueAt, limit }: { now: number; nextDueAt: number; limit: number },
) => {
  const dueMessages = db
    .select({ id: outbox.id })
    .from(outbox)
    .where(and(lte(outbox.dueAt, now), isCompanyActive(outbox.companyId)))
    .orderBy(outbox.dueAt)
    .limit(limit);
  return db.update(outbox).set({ dueAt: nextDueAt }).where(inArray(outbox.id, dueMessages)).returning();
};
