import { and, eq, exists, gt, inArray, isNotNull, isNull, lt, notExists, notLike, type SQL, sql } from 'drizzle-orm';
import type { ControlDb, Statement } from '../../db/client.ts';
import { insertWhen } from '../../db/insert-when.ts';
import { users } from '../users/tables.ts';
import { backupCodes, pendingSecondFactors, secondFactors, usedTotpSteps } from './tables.ts';

export type SecondFactor = typeof secondFactors.$inferSelect;
export type Pending = typeof pendingSecondFactors.$inferSelect;

/** A code as it is used up: the time step it is right for, or the digests a backup code may be stored under. */
export type Proof = { step: number } | { backupDigests: string[] };

/** Backup codes as they are kept: HMACs under a version of the encryption keys. */
export interface KeptCodes {
  digests: string[];
  keyVersion: number;
}

/** Codes that may be tried with one pending token. */
const PENDING_TRIES = 5;

const afterChange = sql`changes() > 0`;

export const insertPending = (db: ControlDb, record: Pending) => db.insert(pendingSecondFactors).values(record);

const livePending = (digest: string, now: number) =>
  and(
    eq(pendingSecondFactors.digest, digest),
    isNull(pendingSecondFactors.endedAt),
    gt(pendingSecondFactors.expiresAt, now),
    lt(pendingSecondFactors.tries, PENDING_TRIES),
  );

/** The sign-in that waits behind a token, with its user and their authenticator: nothing when any of them has ended. */
export const selectPending = (db: ControlDb, digest: string, now: number) =>
  db
    .select({ user: users, factorId: sql<string>`${secondFactors.id}`.as('factor_id'), secret: secondFactors.secret })
    .from(pendingSecondFactors)
    .innerJoin(
      users,
      and(
        eq(users.id, pendingSecondFactors.userId),
        eq(users.companyId, pendingSecondFactors.companyId),
        eq(users.sessionEpoch, pendingSecondFactors.sessionEpoch),
      ),
    )
    .innerJoin(
      secondFactors,
      and(eq(secondFactors.userId, users.id), eq(secondFactors.companyId, users.companyId), isConfirmed),
    )
    .where(and(livePending(digest, now), eq(users.isActive, true), isNull(users.deletedAt)));

const isConfirmed = isNotNull(secondFactors.confirmedAt);

/** Counts one try with a pending token, while it lives. */
export const countTry = (db: ControlDb, digest: string, now: number) =>
  db
    .update(pendingSecondFactors)
    .set({ tries: sql`${pendingSecondFactors.tries} + 1` })
    .where(livePending(digest, now));

/** Ends a pending token, if the statement before it changed a row. */
export const endPending = (db: ControlDb, digest: string, now: number) =>
  db
    .update(pendingSecondFactors)
    .set({ endedAt: now })
    .where(and(eq(pendingSecondFactors.digest, digest), isNull(pendingSecondFactors.endedAt), afterChange));

/** The user's authenticator, confirmed or not. */
export const selectFactor = (db: ControlDb, companyId: string, userId: string) =>
  db
    .select()
    .from(secondFactors)
    .where(and(eq(secondFactors.companyId, companyId), eq(secondFactors.userId, userId)));

/** Keeps a new authenticator in the place of one that was never confirmed; a confirmed one stays. */
export const replaceFactor = (db: ControlDb, record: SecondFactor) =>
  db
    .insert(secondFactors)
    .values(record)
    .onConflictDoUpdate({
      target: secondFactors.userId,
      set: { id: record.id, secret: record.secret, createdAt: record.createdAt },
      setWhere: isNull(secondFactors.confirmedAt),
    });

/** Uses up a code. Changes a row only if it was not used before and, with `when`, that holds. */
export const useProof = (
  db: ControlDb,
  factor: { companyId: string; id: string },
  proof: Proof,
  when?: SQL,
): Statement =>
  'step' in proof
    ? insertWhen(
        db,
        usedTotpSteps,
        { companyId: factor.companyId, factorId: factor.id, step: proof.step },
        when ?? exists(factorRow(db, factor)),
      ).onConflictDoNothing()
    : db
        .delete(backupCodes)
        .where(
          and(
            eq(backupCodes.companyId, factor.companyId),
            eq(backupCodes.factorId, factor.id),
            inArray(backupCodes.digest, proof.backupDigests),
            when,
          ),
        );

/** The same, only if the statement before it changed a row. */
export const useProofAfterChange = (db: ControlDb, factor: { companyId: string; id: string }, proof: Proof) =>
  useProof(db, factor, proof, afterChange);

const factorRow = (db: ControlDb, { companyId, id }: { companyId: string; id: string }) =>
  db
    .select({ id: secondFactors.id })
    .from(secondFactors)
    .where(and(eq(secondFactors.companyId, companyId), eq(secondFactors.id, id)));

/** Confirms an authenticator and asks for it from now on, if the statement before it changed a row. */
export const confirmFactor = (db: ControlDb, factor: SecondFactor, codes: KeptCodes, now: number) =>
  [
    db
      .update(secondFactors)
      .set({ confirmedAt: now })
      .where(and(eq(secondFactors.id, factor.id), isNull(secondFactors.confirmedAt), afterChange)),
    db
      .update(users)
      .set({ mfaEnabled: true, updatedAt: now })
      .where(and(eq(users.companyId, factor.companyId), eq(users.id, factor.userId), afterChange)),
    insertBackupCodes(db, factor, codes, afterChange),
  ] as const;

/** Puts a new set of backup codes in the place of the old. */
export const replaceBackupCodes = (db: ControlDb, factor: SecondFactor, codes: KeptCodes) =>
  [
    db.delete(backupCodes).where(and(eq(backupCodes.companyId, factor.companyId), eq(backupCodes.factorId, factor.id))),
    insertBackupCodes(db, factor, codes, exists(factorRow(db, factor))),
  ] as const;

const insertBackupCodes = (db: ControlDb, factor: SecondFactor, { digests, keyVersion }: KeptCodes, when: SQL) =>
  db
    .insert(backupCodes)
    .select(
      sql`select ${factor.companyId}, ${factor.id}, value, ${keyVersion} from json_each(${JSON.stringify(digests)}) where ${when}`,
    );

/**
 * Forgets the second factor, with all that belongs to it. The first statement changes a row only if it was enabled and,
 * with `afterProof`, the statement before it changed one.
 */
export const removeFactor = (
  db: ControlDb,
  factor: SecondFactor,
  now: number,
  { afterProof }: { afterProof: boolean },
) => {
  const isGone = notExists(factorRow(db, factor));
  return [
    db
      .update(users)
      .set({ mfaEnabled: false, updatedAt: now })
      .where(
        and(
          eq(users.companyId, factor.companyId),
          eq(users.id, factor.userId),
          eq(users.mfaEnabled, true),
          afterProof ? afterChange : undefined,
        ),
      ),
    db.delete(secondFactors).where(and(eq(secondFactors.id, factor.id), afterChange)),
    db.delete(backupCodes).where(and(eq(backupCodes.factorId, factor.id), isGone)),
    db.delete(usedTotpSteps).where(and(eq(usedTotpSteps.factorId, factor.id), isGone)),
  ] as const;
};

/** Forgets pending tokens and used time steps that could not be used again anyway. */
export const deleteExpiredSecondFactors = (db: ControlDb, now: number, oldestStep: number) =>
  [
    db.delete(pendingSecondFactors).where(lt(pendingSecondFactors.expiresAt, now)),
    db.delete(usedTotpSteps).where(lt(usedTotpSteps.step, oldestStep)),
  ] as const;

/** Authenticators whose secret does not begin with `prefix`: it is encrypted under an older key. */
export const selectFactorsNotUnder = (db: ControlDb, prefix: string, limit: number) =>
  db
    .select()
    .from(secondFactors)
    .where(notLike(secondFactors.secret, `${prefix}%`))
    .limit(limit);

/** Puts the same secret under another key in the place of `factor`'s, unless that has changed. */
export const renewFactorSecret = (db: ControlDb, factor: SecondFactor, secret: string) =>
  db
    .update(secondFactors)
    .set({ secret })
    .where(and(eq(secondFactors.id, factor.id), eq(secondFactors.secret, factor.secret)));
