import type { Context } from '../../context.ts';
import { commit, type Statement } from '../../db/client.ts';
import { newSecretToken } from '../../kernel/ids.ts';
import { sha256Hex } from '../../platform/secrets.ts';
import type { User } from '../users/service.ts';
import { userNotActive } from './failures.ts';
import { insertPending } from './second-factor-store.ts';
import { beginSession, type TokenPair } from './sessions.ts';

const PENDING_SECONDS = 300;

/** A session begun, and whose it is. */
export interface SignedIn extends TokenPair {
  user: User;
}

/** A first factor passed; the second is still asked for. `expiresIn` in seconds. */
export interface PendingSecondFactor {
  pendingToken: string;
  expiresIn: number;
}

export type SignInResult = SignedIn | PendingSecondFactor;

/**
 * The end of every way in, once it is proved that `user` is the one who asks: begins a session, or asks for the second
 * factor of those who have one. `alongside` is stored in the same unit.
 * @throws Failure `sign_in.user_not_active`, `sign_in.overtaken`
 */
export async function completeSignIn(ctx: Context, user: User, alongside: Statement[] = []): Promise<SignInResult> {
  ctx.belongsTo(user.companyId, { type: 'user', id: user.id });
  if (!user.isActive) throw userNotActive();
  if (!user.mfaEnabled) return { ...(await beginSession(ctx, user, alongside)), user };
  const now = ctx.now();
  const pendingToken = newSecretToken();
  const pending = insertPending(ctx.db, {
    digest: await sha256Hex(pendingToken),
    companyId: user.companyId,
    userId: user.id,
    sessionEpoch: user.sessionEpoch,
    tries: 0,
    createdAt: now,
    expiresAt: now + PENDING_SECONDS * 1000,
    endedAt: null,
  });
  await commit(ctx.db, [pending, ...alongside]);
  return { pendingToken, expiresIn: PENDING_SECONDS };
}
