import { and, asc, eq, isNotNull, isNull, lt } from 'drizzle-orm';
import type { ControlDb } from '../../db/client.ts';
import { deadLetters } from '../../db/schema/audit/dead-letters.ts';

export type DeadLetter = typeof deadLetters.$inferSelect;

/** Stores a dead message, unless it is there already. */
export const insertDeadLetter = (db: ControlDb, letter: DeadLetter) =>
  db.insert(deadLetters).values(letter).onConflictDoNothing();

/** Letters that were asked to be sent again and were not yet, the oldest request first. */
export const selectToReplay = (db: ControlDb, limit: number) =>
  db
    .select()
    .from(deadLetters)
    .where(and(isNotNull(deadLetters.replayRequestedAt), isNull(deadLetters.replayedAt)))
    .orderBy(asc(deadLetters.replayRequestedAt))
    .limit(limit);

export const markReplayed = (db: ControlDb, id: string, now: number) =>
  db.update(deadLetters).set({ replayedAt: now }).where(eq(deadLetters.id, id));

/** Puts a letter that was asked to be sent again behind all others. */
export const postponeReplay = (db: ControlDb, id: string, now: number) =>
  db.update(deadLetters).set({ replayRequestedAt: now }).where(eq(deadLetters.id, id));

/** Deletes letters that were sent again before a moment (ms). */
export const deleteReplayed = (db: ControlDb, before: number) =>
  db.delete(deadLetters).where(lt(deadLetters.replayedAt, before));
