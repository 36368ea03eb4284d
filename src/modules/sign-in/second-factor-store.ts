import {
  and,
  eq,
  exists,
  gt,
  gte,
  inArray,
  isNotNull,
  isNull,
  lt,
  not,
  notExists,
  notLike,
  type SQL,
  sql,
} from 'drizzle-orm';
import type { ControlDb, Statement } from '../../db/client.ts';
import { insertWhen } from '../../db/insert-when.ts';
import { backupCodes, pendingSecondFactors, secondFactors, sessions, usedTotpSteps } from '../../db/schema/sign-in.ts';
import { users } from '../../db/schema/users.ts';

export type SecondFactor = typeof secondFactors.$inferSelect;
export type Pending = typeof pendingSecondFactors.$inferSelect;
type User = typeof users.$inferSelect;

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

const livePending = (digest: string, now: number, purpose: Pending['purpose']) =>
  and(
    eq(pendingSecondFactors.digest, digest),
    eq(pendingSecondFactors.purpose, purpose),
    isNull(pendingSecondFactors.endedAt),
    gt(pendingSecondFactors.expiresAt, now),
    lt(pendingSecondFactors.tries, PENDING_TRIES),
  );

/** The sign-in that waits behind a token, with its user and their authenticator: nothing when any of them has ended. */
export const selectPending = (db: ControlDb, digest: string, now: number) =>
  db
    .select({ user: users, factorId: sql<string>`${secondFactors.id}`.as('factor_id'), secret: secondFactors.secret })
    .from(pendingSecondFactors)
    .innerJoin(users, isWaiting)
    .innerJoin(
      secondFactors,
      and(eq(secondFactors.userId, users.id), eq(secondFactors.companyId, users.companyId), isConfirmed),
    )
    .where(and(livePending(digest, now, 'login'), isActive));

/** The user behind a token whose sign-in waits for a second factor to be set up. */
export const selectPendingSetup = (db: ControlDb, digest: string, now: number) =>
  db
    .select({ user: users })
    .from(pendingSecondFactors)
    .innerJoin(users, isWaiting)
    .where(and(livePending(digest, now, 'setup'), isActive));

/** The user of a pending token, unless all their sessions were ended since. */
const isWaiting = and(
  eq(users.id, pendingSecondFactors.userId),
  eq(users.companyId, pendingSecondFactors.companyId),
  eq(users.sessionEpoch, pendingSecondFactors.sessionEpoch),
);
const isActive = and(eq(users.isActive, true), isNull(users.deletedAt));
const isConfirmed = isNotNull(secondFactors.confirmedAt);

/** Counts one try with a pending token, while it lives. */
export const countTry = (db: ControlDb, digest: string, now: number, purpose: Pending['purpose']) =>
  db
    .update(pendingSecondFactors)
    .set({ tries: sql`${pendingSecondFactors.tries} + 1` })
    .where(livePending(digest, now, purpose));

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

/**
 * Keeps a new authenticator in the place of one that was never confirmed; a confirmed one stays.
 * @param afterProof only if the statement before it in the batch changed a row
 */
export const replaceFactor = (db: ControlDb, record: SecondFactor, { afterProof }: { afterProof: boolean }) =>
  insertWhen(db, secondFactors, record, afterProof ? afterChange : sql`true`).onConflictDoUpdate({
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

/** Somebody shows again that it is they, with the password whose hash was verified. Changes a row if it still is theirs. */
export const usePassword = (db: ControlDb, user: User, now: number): Statement =>
  db
    .update(users)
    .set({ updatedAt: now })
    .where(and(isUser(user), eq(users.passwordHash, user.passwordHash as string)));

/** The same for somebody who has neither a password nor a second factor, by having signed in since. */
export const useFreshSession = (
  db: ControlDb,
  user: User,
  { sessionId, since, now }: { sessionId: string; since: number; now: number },
): Statement =>
  db
    .update(users)
    .set({ updatedAt: now })
    .where(
      and(
        isUser(user),
        isNull(users.passwordHash),
        eq(users.mfaEnabled, false),
        exists(
          db
            .select({ id: sessions.id })
            .from(sessions)
            .where(
              and(
                eq(sessions.id, sessionId),
                eq(sessions.companyId, user.companyId),
                eq(sessions.userId, user.id),
                gte(sessions.createdAt, since),
              ),
            ),
        ),
      ),
    );

const isUser = ({ companyId, id }: { companyId: string; id: string }) =>
  and(eq(users.companyId, companyId), eq(users.id, id), isNull(users.deletedAt));

/** What ends every sign-in under way. */
const nextEpoch = sql`${users.sessionEpoch} + 1`;

/**
 * Confirms an authenticator, asks for it from now on and ends every sign-in under way, if the statement before it changed
 * a row.
 */
export const confirmFactor = (db: ControlDb, factor: SecondFactor, codes: KeptCodes, now: number) =>
  [
    db
      .update(secondFactors)
      .set({ confirmedAt: now })
      .where(and(eq(secondFactors.id, factor.id), isNull(secondFactors.confirmedAt), afterChange)),
    db
      .update(users)
      .set({ mfaEnabled: true, updatedAt: now, sessionEpoch: nextEpoch })
      .where(and(eq(users.companyId, factor.companyId), eq(users.id, factor.userId), afterChange)),
    insertBackupCodes(db, factor, codes, afterChange),
  ] as const;

/** Stores a new set of backup codes and ends every sign-in under way, if the statement before it changed a row. */
export const addBackupCodes = (db: ControlDb, factor: SecondFactor, codes: KeptCodes) =>
  [
    db
      .update(users)
      .set({ sessionEpoch: nextEpoch })
      .where(
        and(
          eq(users.companyId, factor.companyId),
          eq(users.id, factor.userId),
          eq(users.mfaEnabled, true),
          afterChange,
        ),
      ),
    insertBackupCodes(db, factor, codes, afterChange),
  ] as const;

/** Deletes the backup codes of a factor that are not of this set, once that is stored. */
export const deleteOtherBackupCodes = (db: ControlDb, factor: SecondFactor, { digests }: KeptCodes) => {
  const own = and(eq(backupCodes.companyId, factor.companyId), eq(backupCodes.factorId, factor.id)) as SQL;
  const isNew = sql`${backupCodes.digest} in (select value from json_each(${JSON.stringify(digests)}))`;
  const isStored = exists(db.select({ digest: backupCodes.digest }).from(backupCodes).where(and(own, isNew)));
  return db.delete(backupCodes).where(and(own, not(isNew), isStored));
};

const insertBackupCodes = (db: ControlDb, factor: SecondFactor, { digests, keyVersion }: KeptCodes, when: SQL) =>
  db
    .insert(backupCodes)
    .select(
      sql`select ${factor.companyId}, ${factor.id}, value, ${keyVersion} from json_each(${JSON.stringify(digests)}) where ${when}`,
    );

/**
 * Forgets the second factor and ends every sign-in under way. The first statement changes a row only if it was enabled and,
 * with `afterProof`, the statement before it changed one; the second one if the first did.
 */
export const removeFactor = (
  db: ControlDb,
  factor: SecondFactor,
  now: number,
  { afterProof }: { afterProof: boolean },
) =>
  [
    db
      .update(users)
      .set({ mfaEnabled: false, updatedAt: now, sessionEpoch: nextEpoch })
      .where(
        and(
          eq(users.companyId, factor.companyId),
          eq(users.id, factor.userId),
          eq(users.mfaEnabled, true),
          afterProof ? afterChange : undefined,
        ),
      ),
    db.delete(secondFactors).where(and(eq(secondFactors.id, factor.id), afterChange)),
  ] as const;

/** Forgets what belonged to a second factor that is gone. */
export const removeRemains = (db: ControlDb, factor: SecondFactor) => {
  const isGone = notExists(factorRow(db, factor));
  return [
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
