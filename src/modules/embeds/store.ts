import { and, eq, gte, inArray, lt, lte, max, sql } from 'drizzle-orm';
import type { ControlDb } from '../../db/client.ts';
import { embedKeys, embedRevocations } from '../../db/schema/shares.ts';
import { exists, insertWhen } from '../../db/statements.ts';

/** Reads the number of times that a company has rotated its key; no row for none. */
export const selectRotations = (db: ControlDb, companyId: string) =>
  db.select({ rotations: embedKeys.rotations }).from(embedKeys).where(eq(embedKeys.companyId, companyId));

/** Rotates a company's key once more. */
export const incrementRotations = (db: ControlDb, companyId: string) =>
  db
    .insert(embedKeys)
    .values({ companyId, rotations: 1 })
    .onConflictDoUpdate({ target: embedKeys.companyId, set: { rotations: sql`${embedKeys.rotations} + 1` } });

/** The last time (ms) at which tokens about one of these subjects were revoked; null when never. One row. */
export const selectRevokedAt = (db: ControlDb, companyId: string, subjects: readonly string[]) =>
  db
    .select({ revokedAt: max(embedRevocations.revokedAt) })
    .from(embedRevocations)
    .where(and(eq(embedRevocations.companyId, companyId), inArray(embedRevocations.subject, [...subjects])));

/**
 * Revokes the tokens of a subject that were issued until `revokedAt`; a later revocation that exists stays.
 * @param most how many single tokens and viewers the company may have revoked; null for a revocation that this limit does not
 * apply to
 */
export const upsertRevocation = (db: ControlDb, record: typeof embedRevocations.$inferSelect, most: number | null) => {
  const { companyId, subject } = record;
  const ofCompany = eq(embedRevocations.companyId, companyId);
  const known = exists(embedRevocations, ofCompany, eq(embedRevocations.subject, subject));
  const room = sql`(select count(*) from ${embedRevocations} where ${ofCompany}) < ${most}`;
  return insertWhen(db, embedRevocations, record, most === null ? sql`true` : sql`(${known} or ${room})`)
    .onConflictDoUpdate({
      target: [embedRevocations.companyId, embedRevocations.subject],
      set: { revokedAt: sql`max(${embedRevocations.revokedAt}, excluded.revoked_at)` },
    })
    .returning({ subject: embedRevocations.subject });
};

/** Deletes revocations that a newer one covers: subjects in a range, revoked until `until` (ms). */
export const deleteTargetRevocations = (
  db: ControlDb,
  companyId: string,
  { from, to }: { from: string; to: string },
  until: number,
) =>
  db
    .delete(embedRevocations)
    .where(
      and(
        eq(embedRevocations.companyId, companyId),
        gte(embedRevocations.subject, from),
        lt(embedRevocations.subject, to),
        lte(embedRevocations.revokedAt, until),
      ),
    );

/** Deletes revocations from before a time (ms), of all companies. */
export const deleteRevocationsBefore = (db: ControlDb, time: number) =>
  db.delete(embedRevocations).where(lt(embedRevocations.revokedAt, time));
