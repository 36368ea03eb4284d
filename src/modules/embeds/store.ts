import { and, eq, gte, inArray, like, lt, lte, max, notLike, or, sql } from 'drizzle-orm';
import type { ControlDb } from '../../db/client.ts';
import { type PageRequest, readPage } from '../../db/page.ts';
import { embedKeys, embedRevocations, embedSigningKeys } from '../../db/schema/shares.ts';
import { existsSql, insertWhen, matchesId } from '../../db/statements.ts';

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

const IS_OF_TOKEN_OR_VIEWER = or(like(embedRevocations.subject, 'token:%'), like(embedRevocations.subject, 'viewer:%'));

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
  const hasQuotaLeft = sql`(select count(*) from ${embedRevocations} where ${and(isOfCompany, IS_OF_TOKEN_OR_VIEWER)}) < ${maxRevocations}`;
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

/** Selects the revocations of a company whose subject is the id of a token or viewer as it is. */
export const selectShownRevocations = (db: ControlDb, companyId: string) =>
  db
    .select()
    .from(embedRevocations)
    .where(
      and(
        eq(embedRevocations.companyId, companyId),
        IS_OF_TOKEN_OR_VIEWER,
        notLike(embedRevocations.subject, 'token:sha256:%'),
        notLike(embedRevocations.subject, 'viewer:sha256:%'),
      ),
    );

export const deleteRevocation = (db: ControlDb, { companyId, subject }: typeof embedRevocations.$inferSelect) =>
  db
    .delete(embedRevocations)
    .where(and(eq(embedRevocations.companyId, companyId), eq(embedRevocations.subject, subject)));

export type SigningKey = typeof embedSigningKeys.$inferSelect;

/** Adds a key while the company has fewer than `maxKeys`. */
export const insertSigningKey = (db: ControlDb, record: SigningKey, maxKeys: number) =>
  insertWhen(
    db,
    embedSigningKeys,
    record,
    sql`(select count(*) from ${embedSigningKeys} where company_id = ${record.companyId}) < ${maxKeys}`,
  ).returning({ id: embedSigningKeys.id });

export const selectSigningKey = (db: ControlDb, companyId: string, id: string) =>
  db
    .select()
    .from(embedSigningKeys)
    .where(matchesId(embedSigningKeys, companyId, id));

/** Reads a page of a company's keys. */
export const readSigningKeys = (db: ControlDb, companyId: string, pageRequest: Omit<PageRequest, 'by'>) =>
  readPage(
    db,
    { table: embedSigningKeys, filter: eq(embedSigningKeys.companyId, companyId) },
    { by: embedSigningKeys.createdAt, ...pageRequest },
  );

export const deleteSigningKey = (db: ControlDb, companyId: string, id: string) =>
  db
    .delete(embedSigningKeys)
    .where(matchesId(embedSigningKeys, companyId, id))
    .returning({ id: embedSigningKeys.id });

/** Selects keys, of all companies, whose secret does not begin with the prefix of the newest encryption key. */
export const selectSigningKeysUnderOlderKey = (db: ControlDb, prefix: string, limit: number) =>
  db
    .select()
    .from(embedSigningKeys)
    .where(notLike(embedSigningKeys.encryptedSecret, `${prefix}%`))
    .limit(limit);

/** Stores a secret that was encrypted again under another key. */
export const replaceSigningSecret = (db: ControlDb, { companyId, id }: SigningKey, encryptedSecret: string) =>
  db
    .update(embedSigningKeys)
    .set({ encryptedSecret })
    .where(matchesId(embedSigningKeys, companyId, id));
