import { and, inArray, lte, type SQL, sql } from 'drizzle-orm';
import type { ControlDb } from '../../db/client.ts';
import { outbox } from '../../db/schema/outbox.ts';
import { afterChange, type Condition, idListSql, insertWhen } from '../../db/statements.ts';
import { isCompanyActive } from '../companies/queries.ts';

export type OutboxRow = typeof outbox.$inferSelect;

export const insertRow = (db: ControlDb, row: OutboxRow) => db.insert(outbox).values(row);

/** Stores a message, if the statement before it in the batch changed a row and `condition` holds. */
export const insertRowAfterChange = (db: ControlDb, row: OutboxRow, condition: Condition = sql`true`) =>
  insertWhen(db, outbox, row, and(afterChange, condition) as SQL).returning({ id: outbox.id });

const isOneOf = (rows: readonly OutboxRow[]) => inArray(outbox.id, idListSql(rows.map(({ id }) => id)));

export const deleteRows = (db: ControlDb, rows: readonly OutboxRow[]) => db.delete(outbox).where(isOneOf(rows));

export const makeDue = (db: ControlDb, rows: readonly OutboxRow[], dueAt: number) =>
  db.update(outbox).set({ dueAt }).where(isOneOf(rows));

/** Claims messages of any active company that are due, the longest waiting first, until `next`. */
export const claimDue = (db: ControlDb, { now, next, limit }: { now: number; next: number; limit: number }) => {
  const due = db
    .select({ id: outbox.id })
    .from(outbox)
    .where(and(lte(outbox.dueAt, now), isCompanyActive(outbox.companyId)))
    .orderBy(outbox.dueAt)
    .limit(limit);
  return db.update(outbox).set({ dueAt: next }).where(inArray(outbox.id, due)).returning();
};
