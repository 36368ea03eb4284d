import { and, count, eq, inArray, isNotNull, isNull, lt, not, notLike, or, type SQL, sql } from 'drizzle-orm';
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core';
import type { ControlDb } from '../../db/client.ts';
import { passkeys } from '../../db/schema/passkeys.ts';
import { backupCodes, pendingSecondFactors, secondFactors, usedTotpSteps } from '../../db/schema/sign-in.ts';
import { users } from '../../db/schema/users.ts';
import { afterChange, byId, exists, idListSql, insertWhen } from '../../db/statements.ts';

export type SecondFactor = typeof secondFactors.$inferSelect;
type User = typeof users.$inferSelect;

/** Backup codes as they are stored: HMACs under a version of the encryption keys. */
export interface StoredCodes {
  digests: string[];
  keyVersion: number;
}

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

const isStored = ({ companyId, id }: SecondFactor): SQL => exists(secondFactors, byId(secondFactors, companyId, id));

/** The next epoch of a user's sessions, which ends every sign-in under way. */
const nextEpoch = sql`${users.sessionEpoch} + 1`;

/**
 * Confirms and enables an authenticator, and ends every sign-in under way: each statement only if the one before it in the
 * batch changed a row.
 */
export const confirmFactor = (db: ControlDb, factor: SecondFactor, codes: StoredCodes, now: number) => ({
  confirm: db
    .update(secondFactors)
    .set({ confirmedAt: now })
    .where(and(byId(secondFactors, factor.companyId, factor.id), isNull(secondFactors.confirmedAt), afterChange)),
  enable: db
    .update(users)
    .set({ mfaEnabled: true, updatedAt: now, sessionEpoch: nextEpoch })
    .where(and(byId(users, factor.companyId, factor.userId), afterChange)),
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
    .where(and(byId(users, factor.companyId, factor.userId), isStored(factor), afterChange)),
  backupCodes: insertBackupCodes(db, factor, codes, afterChange),
});

const byFactor = ({ companyId, id }: SecondFactor): SQL =>
  and(eq(backupCodes.companyId, companyId), eq(backupCodes.factorId, id)) as SQL;

/** Counts the backup codes of a user's second factor that were not used yet. */
export const countBackupCodes = (db: ControlDb, companyId: string, userId: string) =>
  db
    .select({ left: count() })
    .from(secondFactors)
    .innerJoin(
      backupCodes,
      and(eq(backupCodes.factorId, secondFactors.id), eq(backupCodes.companyId, secondFactors.companyId)),
    )
    .where(and(eq(secondFactors.companyId, companyId), eq(secondFactors.userId, userId)));

/** Deletes the backup codes of a factor that are not of this set, if the set is stored. */
export const deleteOtherBackupCodes = (db: ControlDb, factor: SecondFactor, { digests }: StoredCodes) => {
  const isNew = inArray(backupCodes.digest, idListSql(digests));
  const isSetStored = exists(backupCodes, byFactor(factor), isNew);
  return db.delete(backupCodes).where(and(byFactor(factor), not(isNew), isSetStored));
};

const insertBackupCodes = (db: ControlDb, factor: SecondFactor, { digests, keyVersion }: StoredCodes, when: SQL) =>
  db
    .insert(backupCodes)
    .select(
      sql`select ${factor.companyId}, ${factor.id}, value, ${keyVersion} from json_each(${JSON.stringify(digests)}) where ${when}`,
    );

/** Whether a user has a passkey. */
export const selectAnyPasskey = (db: ControlDb, companyId: string, userId: string) =>
  db
    .select({ id: passkeys.id })
    .from(passkeys)
    .where(and(eq(passkeys.companyId, companyId), eq(passkeys.userId, userId)))
    .limit(1);

/**
 * Removes all second factors of a user: an enabled authenticator, and passkeys. The `user` statement disables the second
 * factor, ends every sign-in in progress, and changes a row only if there was anything to remove; the `factors` statements must
 * come last in the unit.
 */
export const takeFactors = (db: ControlDb, { companyId, id }: Pick<User, 'companyId' | 'id'>, now: number) => {
  const enabled = and(eq(secondFactors.companyId, companyId), eq(secondFactors.userId, id), isConfirmed) as SQL;
  const own = and(eq(passkeys.companyId, companyId), eq(passkeys.userId, id)) as SQL;
  const ofEnabled = (factorId: SQLiteColumn) =>
    sql`${factorId} in (select ${secondFactors.id} from ${secondFactors} where ${enabled})`;
  return {
    user: db
      .update(users)
      .set({ mfaEnabled: false, updatedAt: now, sessionEpoch: nextEpoch })
      .where(and(byId(users, companyId, id), or(exists(secondFactors, enabled), exists(passkeys, own)))),
    factors: [
      db.delete(backupCodes).where(and(eq(backupCodes.companyId, companyId), ofEnabled(backupCodes.factorId))),
      db.delete(usedTotpSteps).where(and(eq(usedTotpSteps.companyId, companyId), ofEnabled(usedTotpSteps.factorId))),
      db.delete(secondFactors).where(enabled),
      db.delete(passkeys).where(own),
    ] as const,
  };
};

/**
 * Deletes and disables this very second factor, and ends every sign-in under way. `remove` changes a row only if it was
 * enabled and the statement before it in the batch changed one; `disable` only if `remove` did.
 */
export const removeFactor = (db: ControlDb, factor: SecondFactor, now: number) => ({
  remove: db
    .delete(secondFactors)
    .where(and(byId(secondFactors, factor.companyId, factor.id), isConfirmed, afterChange)),
  disable: db
    .update(users)
    .set({ mfaEnabled: false, updatedAt: now, sessionEpoch: nextEpoch })
    .where(and(byId(users, factor.companyId, factor.userId), afterChange)),
});

/** Deletes the backup codes and used time steps of a second factor that is deleted. */
export const deleteRemains = (db: ControlDb, factor: SecondFactor) => {
  const isGone = not(isStored(factor));
  const stepsOfFactor = and(eq(usedTotpSteps.companyId, factor.companyId), eq(usedTotpSteps.factorId, factor.id));
  return [
    db.delete(backupCodes).where(and(byFactor(factor), isGone)),
    db.delete(usedTotpSteps).where(and(stepsOfFactor, isGone)),
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
  db
    .update(secondFactors)
    .set({ secret })
    .where(byId(secondFactors, factor.companyId, factor.id));
