import type { Context } from '../../context.ts';
import { commit, type Statement } from '../../db/client.ts';
import { newSecretToken } from '../../kernel/ids.ts';
import { sha256Hex } from '../../platform/secrets.ts';
import { selectCompany } from '../companies/service.ts';
import type { User } from '../users/service.ts';
import { userNotActive } from './failures.ts';
import { insertPending, type Pending } from './second-factor-store.ts';
import { beginSession, type TokenPair } from './sessions.ts';

/** How long a second factor is waited for; an authenticator has to be found and set up first. */
const SECONDS: Record<Pending['purpose'], number> = { login: 300, setup: 600 };

/** A session begun, and whose it is. */
export interface SignedIn extends TokenPair {
  user: User;
}

/** A first factor passed; the second is still asked for, or has to be set up first. `expiresIn` in seconds. */
export interface PendingSecondFactor {
  purpose: Pending['purpose'];
  pendingToken: string;
  expiresIn: number;
}

export type SignInResult = SignedIn | PendingSecondFactor;

/**
 * The end of every way in, once it is proved that `user` is the one who asks: begins a session, or asks for the second
 * factor of those who have one, and for setting one up where the company demands it. `alongside` is stored in the same unit.
 * @throws Failure `sign_in.user_not_active`, `sign_in.overtaken`
 */
export async function completeSignIn(ctx: Context, user: User, alongside: Statement[] = []): Promise<SignInResult> {
  ctx.belongsTo(user.companyId, { type: 'user', id: user.id });
  if (!user.isActive) throw userNotActive();
  if (user.mfaEnabled) return askForSecondFactor(ctx, user, 'login', alongside);
  const [company] = await selectCompany(ctx.db, user.companyId);
  if (company?.require2fa) return askForSecondFactor(ctx, user, 'setup', alongside);
  return { ...(await beginSession(ctx, user, alongside)), user };
}

async function askForSecondFactor(
  ctx: Context,
  user: User,
  purpose: Pending['purpose'],
  alongside: Statement[],
): Promise<PendingSecondFactor> {
  const now = ctx.now();
  const pendingToken = newSecretToken();
  const pending = insertPending(ctx.db, {
    digest: await sha256Hex(pendingToken),
    companyId: user.companyId,
    userId: user.id,
    purpose,
    sessionEpoch: user.sessionEpoch,
    tries: 0,
    createdAt: now,
    expiresAt: now + SECONDS[purpose] * 1000,
    endedAt: null,
  });
  await commit(ctx.db, [pending, ...alongside]);
  return { purpose, pendingToken, expiresIn: SECONDS[purpose] };
}
