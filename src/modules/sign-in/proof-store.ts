import { and, eq, gte, inArray, isNull, type SQL, sql } from 'drizzle-orm';
import type { ControlDb, Statement } from '../../db/client.ts';
import { backupCodes, sessions, usedTotpSteps } from '../../db/schema/sign-in.ts';
import { users } from '../../db/schema/users.ts';
import { afterChange, byId, exists, insertWhen, livingById } from '../../db/statements.ts';

type User = typeof users.$inferSelect;

/** The proof that a right code consumes: the time step of the authenticator, or the digests a backup code may be stored under. */
export type Proof = { step: number } | { backupDigests: string[] };

/** Uses a code. Changes a row only if it was not used before and `when` holds, if given. */
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
        when ?? sql`true`,
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

/** As `useProof`, only if the previous statement of the batch changed a row. */
export const useProofAfterChange = (db: ControlDb, factor: { companyId: string; id: string }, proof: Proof) =>
  useProof(db, factor, proof, afterChange);

/** Proof by password: changes a row if the verified password is still the user's. */
export const usePassword = (db: ControlDb, user: User, now: number): Statement =>
  db
    .update(users)
    .set({ updatedAt: now })
    .where(and(livingById(users, user.companyId, user.id), eq(users.passwordHash, user.passwordHash as string)));

/** Proof by a new session: changes a row if the user has neither password nor second factor, and signed in since. */
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
        livingById(users, user.companyId, user.id),
        isNull(users.passwordHash),
        eq(users.mfaEnabled, false),
        exists(
          sessions,
          byId(sessions, user.companyId, sessionId),
          eq(sessions.userId, user.id),
          gte(sessions.createdAt, since),
        ),
      ),
    );
