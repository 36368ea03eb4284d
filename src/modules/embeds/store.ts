import { and, eq, gte, inArray, lt, lte, max, sql } from 'drizzle-orm';
import type { ControlDb } from '../../db/client.ts';
import { embedKeys, embedRevocations } from '../../db/schema/shares.ts';
import { existsSql, insertWhen } from '../../db/statements.ts';

/** Selects the number of times that a company has rotated its key; no row if never. */
export const selectRotations = (db: ControlDb, companyId: string) =>
  db.select({ rotations: embedKeys.rotations }).from(embedKeys).where(eq(embedKeys.companyId, companyId));

/** Increases the number of a company's key rotations by one. */
export const incrementRotations = (db: ControlDb, companyId: string) =>
  db
    .insert(embedKeys)
    .values({ companyId, rotations: 1 })
    .onConflictDoUpdate({ target: embedKeys.companyId, set: { rotations: sql`${embedKeys.rotations} + 1` } });

/** Selects the last time (ms) at which tokens with one of these subjects were revoked; null when never. One row. */
export const selectRevokedAt = (db: ControlDb, companyId: string, subjects: readonly string[]) =>
  db
    .select({ revokedAt: max(embedRevocations.revokedAt) })
    .from(embedRevocations)
    .where(and(eq(embedRevocations.companyId, companyId), inArray(embedRevocations.subject, [...subjects])));

/**
 * Revokes the tokens of a subject that were issued until `revokedAt`; a later revocation that exists stays. @param maxRevocations
 * the maximum number of single tokens and viewers that the company may have revoked; null for a revocation without this limit
 */
export const upsertRevocation = (
  db: ControlDb,
  record: typeof embedRevocations.$inferSelect,
  maxRevocations: number | null,
) => {
  const { companyId, subject } = record;
  const isOfCompany = eq(embedRevocations.companyId, companyId);
  const isSubjectKnown = existsSql(embedRevocations, isOfCompany, eq(embedRevocations.subject, subject));
  const hasQuotaLeft = sql`(select count(*) from ${embedRevocations} where ${isOfCompany}) < ${maxRevocations}`;
  return insertWhen(
    db,
    embedRevocations,
    record,
    maxRevocations === null ? sql`true` : sql`(${isSubjectKnown} or ${hasQuotaLeft})`,
  )
    .onConflictDoUpdate({
      target: [embedRevocations.companyId, embedRevocations.subject],
      set: { revokedAt: sql`max(${embedRevocations.revokedAt}, excluded.revoked_at)` },
    })
    .returning({ subject: embedRevocations.subject });
};

/** Deletes revocations that a newer one covers: subjects in a range, revoked until `revokedUntil` (ms). */
export const deleteTargetRevocations = (
  db: ControlDb,
  companyId: string,
  { firstSubject, endSubject }: { firstSubject: string; endSubject: string },
  revokedUntil: number,
) =>
  db
    .delete(embedRevocations)
    .where(
      and(
        eq(embedRevocations.companyId, companyId),
        gte(embedRevocations.subject, firstSubject),
        lt(embedRevocations.subject, endSubject),
        lte(embedRevocations.revokedAt, revokedUntil),
      ),
    );

/** Deletes revocations made before a time (ms), of all companies. */
export const deleteRevocationsBefore = (db: ControlDb, time: number) =>
  db.delete(embedRevocations).where(lt(embedRevocations.revokedAt, time));
