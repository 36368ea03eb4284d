import { and, count, eq, inArray, isNotNull, isNull, lt, not, notLike, or, type SQL, sql } from 'drizzle-orm';
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core';
import type { ControlDb } from '../../db/client.ts';
import { passkeys } from '../../db/schema/passkeys.ts';
import { backupCodes, pendingSecondFactors, secondFactors, usedTotpSteps } from '../../db/schema/sign-in.ts';
import { users } from '../../db/schema/users.ts';
import { existsSql, HAS_CHANGED_ROWS, insertWhen, makeIdListSql, matchesId } from '../../db/statements.ts';

export type SecondFactor = typeof secondFactors.$inferSelect;
type User = typeof users.$inferSelect;

/** The stored form of backup codes: HMACs under a version of the encryption keys. */
export interface StoredBackupCodes {
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
 * Stores a new authenticator in place of an unconfirmed one; a confirmed one stays. @param options.requiresProof whether
 * to store it only if the statement before it in the batch changed a row
 */
export const replaceFactor = (db: ControlDb, record: SecondFactor, { requiresProof }: { requiresProof: boolean }) =>
  insertWhen(db, secondFactors, record, requiresProof ? HAS_CHANGED_ROWS : sql`true`).onConflictDoUpdate({
    target: secondFactors.userId,
    set: { id: record.id, secret: record.secret, createdAt: record.createdAt },
    setWhere: isNull(secondFactors.confirmedAt),
  });

const isStoredFactor = ({ companyId, id }: SecondFactor): SQL =>
  existsSql(secondFactors, matchesId(secondFactors, companyId, id));

/** The SQL of the next epoch of a user's sessions, which ends every sign-in in progress. */
const nextSessionEpoch = sql`${users.sessionEpoch} + 1`;

/** Confirms an authenticator and ends sign-ins in progress: each statement only if the one before changed a row. */
export const confirmFactor = (db: ControlDb, factor: SecondFactor, codes: StoredBackupCodes, now: number) => ({
  confirm: db
    .update(secondFactors)
    .set({ confirmedAt: now })
    .where(
      and(matchesId(secondFactors, factor.companyId, factor.id), isNull(secondFactors.confirmedAt), HAS_CHANGED_ROWS),
    ),
  enable: db
    .update(users)
    .set({ mfaEnabled: true, updatedAt: now, sessionEpoch: nextSessionEpoch })
    .where(and(matchesId(users, factor.companyId, factor.userId), HAS_CHANGED_ROWS)),
  backupCodes: insertBackupCodes(db, factor, codes, HAS_CHANGED_ROWS),
});

/**
 * Stores a new set of backup codes of a factor that still exists, and ends every sign-in in progress: each statement only if the
 * one before it in the batch changed a row.
 */
export const addBackupCodes = (db: ControlDb, factor: SecondFactor, codes: StoredBackupCodes) => ({
  user: db
    .update(users)
    .set({ sessionEpoch: nextSessionEpoch })
    .where(and(matchesId(users, factor.companyId, factor.userId), isStoredFactor(factor), HAS_CHANGED_ROWS)),
  backupCodes: insertBackupCodes(db, factor, codes, HAS_CHANGED_ROWS),
});

const isCodeOfFactor = ({ companyId, id }: SecondFactor): SQL =>
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

/** Deletes the other backup codes of a factor, if this set is stored. */
export const deleteOtherBackupCodes = (db: ControlDb, factor: SecondFactor, { digests }: StoredBackupCodes) => {
  const isNew = inArray(backupCodes.digest, makeIdListSql(digests));
  const isSetStored = existsSql(backupCodes, isCodeOfFactor(factor), isNew);
  return db.delete(backupCodes).where(and(isCodeOfFactor(factor), not(isNew), isSetStored));
};

const insertBackupCodes = (
  db: ControlDb,
  factor: SecondFactor,
  { digests, keyVersion }: StoredBackupCodes,
  condition: SQL,
) =>
  db
    .insert(backupCodes)
    .select(
      sql`select ${factor.companyId}, ${factor.id}, value, ${keyVersion} from json_each(${JSON.stringify(digests)}) where ${condition}`,
    );

/** Selects a row if a user has a passkey. */
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
export const removeAllFactors = (db: ControlDb, { companyId, id }: Pick<User, 'companyId' | 'id'>, now: number) => {
  const isEnabledFactor = and(eq(secondFactors.companyId, companyId), eq(secondFactors.userId, id), isConfirmed) as SQL;
  const isOwnPasskey = and(eq(passkeys.companyId, companyId), eq(passkeys.userId, id)) as SQL;
  const isOfEnabledFactor = (factorId: SQLiteColumn) =>
    sql`${factorId} in (select ${secondFactors.id} from ${secondFactors} where ${isEnabledFactor})`;
  return {
    user: db
      .update(users)
      .set({ mfaEnabled: false, updatedAt: now, sessionEpoch: nextSessionEpoch })
      .where(
        and(
          matchesId(users, companyId, id),
          or(existsSql(secondFactors, isEnabledFactor), existsSql(passkeys, isOwnPasskey)),
        ),
      ),
    factors: [
      db.delete(backupCodes).where(and(eq(backupCodes.companyId, companyId), isOfEnabledFactor(backupCodes.factorId))),
      db
        .delete(usedTotpSteps)
        .where(and(eq(usedTotpSteps.companyId, companyId), isOfEnabledFactor(usedTotpSteps.factorId))),
      db.delete(secondFactors).where(isEnabledFactor),
      db.delete(passkeys).where(isOwnPasskey),
    ] as const,
  };
};

/**
 * Deletes and disables one second factor, and ends every sign-in in progress. `remove` changes a row only if the factor was
 * enabled and the statement before it in the batch changed one; `disable` only if `remove` did.
 */
export const removeFactor = (db: ControlDb, factor: SecondFactor, now: number) => ({
  remove: db
    .delete(secondFactors)
    .where(and(matchesId(secondFactors, factor.companyId, factor.id), isConfirmed, HAS_CHANGED_ROWS)),
  disable: db
    .update(users)
    .set({ mfaEnabled: false, updatedAt: now, sessionEpoch: nextSessionEpoch })
    .where(and(matchesId(users, factor.companyId, factor.userId), HAS_CHANGED_ROWS)),
});

/** Deletes the backup codes and used time steps of a second factor that is deleted. */
export const deleteFactorRemains = (db: ControlDb, factor: SecondFactor) => {
  const isDeletedFactor = not(isStoredFactor(factor));
  const stepsOfFactor = and(eq(usedTotpSteps.companyId, factor.companyId), eq(usedTotpSteps.factorId, factor.id));
  return [
    db.delete(backupCodes).where(and(isCodeOfFactor(factor), isDeletedFactor)),
    db.delete(usedTotpSteps).where(and(stepsOfFactor, isDeletedFactor)),
  ] as const;
};

/** Deletes expired pending tokens, and used time steps whose codes are no longer accepted. */
export const deleteExpiredSecondFactors = (db: ControlDb, now: number, oldestStep: number) =>
  [
    db.delete(pendingSecondFactors).where(lt(pendingSecondFactors.expiresAt, now)),
    db.delete(usedTotpSteps).where(lt(usedTotpSteps.step, oldestStep)),
  ] as const;

/** Selects authenticators whose secret is encrypted under an older key: it does not begin with `prefix`. */
export const selectFactorsUnderOlderKey = (db: ControlDb, prefix: string, limit: number) =>
  db
    .select()
    .from(secondFactors)
    .where(notLike(secondFactors.secret, `${prefix}%`))
    .limit(limit);

/** Stores an authenticator's secret, encrypted again under another key. A new secret would be a factor with another id. */
export const replaceFactorSecret = (db: ControlDb, factor: SecondFactor, secret: string) =>
  db
    .update(secondFactors)
    .set({ secret })
    .where(matchesId(secondFactors, factor.companyId, factor.id));
