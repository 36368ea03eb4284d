import { and, eq, exists, isNotNull, isNull, lt, not, notExists, notLike, type SQL, sql } from 'drizzle-orm';
import type { ControlDb } from '../../db/client.ts';
import { backupCodes, pendingSecondFactors, secondFactors, usedTotpSteps } from '../../db/schema/sign-in.ts';
import { users } from '../../db/schema/users.ts';
import { insertWhen } from '../../db/statements.ts';

export type SecondFactor = typeof secondFactors.$inferSelect;

/** Backup codes as they are stored: HMACs under a version of the encryption keys. */
export interface StoredCodes {
  digests: string[];
  keyVersion: number;
}

const afterChange = sql`changes() > 0`;

const isConfirmed = isNotNull(secondFactors.confirmedAt);

export const selectFactor = (db: ControlDb, companyId: string, userId: string) =>
  db
    .select()
    .from(secondFactors)
    .where(and(eq(secondFactors.companyId, companyId), eq(secondFactors.userId, userId)));

/**
 * Stores a new authenticator in place of one that was never confirmed; a confirmed one stays.
 * @param afterProof only if the statement before it in the batch changed a row
 */
export const replaceFactor = (db: ControlDb, record: SecondFactor, { afterProof }: { afterProof: boolean }) =>
  insertWhen(db, secondFactors, record, afterProof ? afterChange : sql`true`).onConflictDoUpdate({
    target: secondFactors.userId,
    set: { id: record.id, secret: record.secret, createdAt: record.createdAt },
    setWhere: isNull(secondFactors.confirmedAt),
  });

const factorRow = (db: ControlDb, { companyId, id }: { companyId: string; id: string }) =>
  db
    .select({ id: secondFactors.id })
    .from(secondFactors)
    .where(and(eq(secondFactors.companyId, companyId), eq(secondFactors.id, id)));

/** Ends every sign-in under way. */
const nextEpoch = sql`${users.sessionEpoch} + 1`;

/**
 * Confirms and enables an authenticator, and ends every sign-in under way: each statement only if the one before it in the
 * batch changed a row.
 */
export const confirmFactor = (db: ControlDb, factor: SecondFactor, codes: StoredCodes, now: number) => ({
  confirm: db
    .update(secondFactors)
    .set({ confirmedAt: now })
    .where(and(eq(secondFactors.id, factor.id), isNull(secondFactors.confirmedAt), afterChange)),
  enable: db
    .update(users)
    .set({ mfaEnabled: true, updatedAt: now, sessionEpoch: nextEpoch })
    .where(and(eq(users.companyId, factor.companyId), eq(users.id, factor.userId), afterChange)),
  backupCodes: insertBackupCodes(db, factor, codes, afterChange),
});

/**
 * Stores a new set of backup codes of a factor that is still there, and ends every sign-in under way: each statement only if
 * the one before it in the batch changed a row.
 */
export const addBackupCodes = (db: ControlDb, factor: SecondFactor, codes: StoredCodes) => ({
  user: db
    .update(users)
    .set({ sessionEpoch: nextEpoch })
    .where(
      and(
        eq(users.companyId, factor.companyId),
        eq(users.id, factor.userId),
        exists(factorRow(db, factor)),
        afterChange,
      ),
    ),
  backupCodes: insertBackupCodes(db, factor, codes, afterChange),
});

/** Deletes the backup codes of a factor that are not of this set, if the set is stored. */
export const deleteOtherBackupCodes = (db: ControlDb, factor: SecondFactor, { digests }: StoredCodes) => {
  const own = and(eq(backupCodes.companyId, factor.companyId), eq(backupCodes.factorId, factor.id)) as SQL;
  const isNew = sql`${backupCodes.digest} in (select value from json_each(${JSON.stringify(digests)}))`;
  const isStored = exists(db.select({ digest: backupCodes.digest }).from(backupCodes).where(and(own, isNew)));
  return db.delete(backupCodes).where(and(own, not(isNew), isStored));
};

const insertBackupCodes = (db: ControlDb, factor: SecondFactor, { digests, keyVersion }: StoredCodes, when: SQL) =>
  db
    .insert(backupCodes)
    .select(
      sql`select ${factor.companyId}, ${factor.id}, value, ${keyVersion} from json_each(${JSON.stringify(digests)}) where ${when}`,
    );

/**
 * Deletes and disables this very second factor, and ends every sign-in under way. `remove` changes a row only if it was
 * enabled and, with `afterProof`, the statement before it in the batch changed one; `disable` only if `remove` did.
 */
export const removeFactor = (
  db: ControlDb,
  factor: SecondFactor,
  now: number,
  { afterProof }: { afterProof: boolean },
) => ({
  remove: db
    .delete(secondFactors)
    .where(and(eq(secondFactors.id, factor.id), isConfirmed, afterProof ? afterChange : undefined)),
  disable: db
    .update(users)
    .set({ mfaEnabled: false, updatedAt: now, sessionEpoch: nextEpoch })
    .where(and(eq(users.companyId, factor.companyId), eq(users.id, factor.userId), afterChange)),
});

/** Deletes what belonged to a second factor that is deleted. */
export const deleteRemains = (db: ControlDb, factor: SecondFactor) => {
  const isGone = notExists(factorRow(db, factor));
  return [
    db.delete(backupCodes).where(and(eq(backupCodes.factorId, factor.id), isGone)),
    db.delete(usedTotpSteps).where(and(eq(usedTotpSteps.factorId, factor.id), isGone)),
  ] as const;
};

/** Deletes pending tokens and used time steps that could not be used again anyway. */
export const deleteExpiredSecondFactors = (db: ControlDb, now: number, oldestStep: number) =>
  [
    db.delete(pendingSecondFactors).where(lt(pendingSecondFactors.expiresAt, now)),
    db.delete(usedTotpSteps).where(lt(usedTotpSteps.step, oldestStep)),
  ] as const;

/** Authenticators whose secret is encrypted under an older key: it does not begin with `prefix`. */
export const selectFactorsUnderOlderKey = (db: ControlDb, prefix: string, limit: number) =>
  db
    .select()
    .from(secondFactors)
    .where(notLike(secondFactors.secret, `${prefix}%`))
    .limit(limit);

/** Stores the secret as encrypted under another key. A new secret is a factor of another id. */
export const replaceFactorSecret = (db: ControlDb, factor: SecondFactor, secret: string) =>
  db.update(secondFactors).set({ secret }).where(eq(secondFactors.id, factor.id));
