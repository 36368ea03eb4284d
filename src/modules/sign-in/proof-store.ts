import { and, eq, gte, inArray, isNull, type SQL, sql } from 'drizzle-orm';
import type { ControlDb, Statement } from '../../db/client.ts';
import { backupCodes, sessions, usedTotpSteps } from '../../db/schema/sign-in.ts';
import { users } from '../../db/schema/users.ts';
import { existsSql, HAS_CHANGED_ROWS, insertWhen, matchesId, matchesUndeletedId } from '../../db/statements.ts';

type User = typeof users.$inferSelect;

/** The data that a right code consumes: the time step of the authenticator, or the digests a backup code may be stored under. */
export type CodeProof = { step: number } | { backupDigests: string[] };

/** Uses a code. Changes a row only if the code was not used before and `condition` holds, if given. */
export const useProof = (
  db: ControlDb,
  factor: { companyId: string; id: string },
  proof: CodeProof,
  condition?: SQL,
): Statement =>
  'step' in proof
    ? insertWhen(
        db,
        usedTotpSteps,
        { companyId: factor.companyId, factorId: factor.id, step: proof.step },
        condition ?? sql`true`,
      ).onConflictDoNothing()
    : db
        .delete(backupCodes)
        .where(
          and(
            eq(backupCodes.companyId, factor.companyId),
            eq(backupCodes.factorId, factor.id),
            inArray(backupCodes.digest, proof.backupDigests),
            condition,
          ),
        );

/** Uses a code, only if the previous statement of the batch changed a row. */
export const useProofAfterChange = (db: ControlDb, factor: { companyId: string; id: string }, proof: CodeProof) =>
  useProof(db, factor, proof, HAS_CHANGED_ROWS);

/** Writes a row of a user without changing what it holds: a statement after it asks whether it was written. */
const UNCHANGED = { passwordHash: sql`${users.passwordHash}` };

/** Proves the user by password: writes a row if the verified password is still the user's. */
export const usePassword = (db: ControlDb, user: User): Statement =>
  db
    .update(users)
    .set(UNCHANGED)
    .where(
      and(matchesUndeletedId(users, user.companyId, user.id), eq(users.passwordHash, user.passwordHash as string)),
    );

/**
 * Makes the statement that accepts a new session as the proof of who the user is: it writes the user's row only if the user
 * has neither a password nor a second factor, and the session began at `since` or later.
 */
export const useFreshSession = (
  db: ControlDb,
  user: User,
  { sessionId, since }: { sessionId: string; since: number },
): Statement =>
  db
    .update(users)
    .set(UNCHANGED)
    .where(
      and(
        matchesUndeletedId(users, user.companyId, user.id),
        isNull(users.passwordHash),
        eq(users.mfaEnabled, false),
        existsSql(
          sessions,
          matchesId(sessions, user.companyId, sessionId),
          eq(sessions.userId, user.id),
          gte(sessions.createdAt, since),
        ),
      ),
    );
