import type { Context, PrincipalContext } from '../../context.ts';
import { userNotFound } from './failures.ts';
import { insertUser, selectGroupIds, selectUser, type User } from './store.ts';

export { userNotFound } from './failures.ts';
export { noteSignIn, noteVerified, selectUser, selectUserByEmail, upgradePasswordHash } from './store.ts';
export type { User };

export type UserStatus = 'invited' | 'active' | 'inactive';

/** Where a user stands: invited ones have never been active. */
export function statusOf(user: Pick<User, 'isActive' | 'activatedAt'>): UserStatus {
  if (user.isActive) return 'active';
  return user.activatedAt === null ? 'invited' : 'inactive';
}

/** A new user who can sign in at once, and the statement that stores it. `email` is lower-case; the name defaults to its local part. */
export function prepareActiveUser(
  ctx: Context,
  companyId: string,
  input: {
    email: string;
    name?: string;
    passwordHash: string | null;
    isOwner?: boolean;
    metadata?: Record<string, unknown>;
  },
) {
  const now = ctx.now();
  const record: User = {
    id: ctx.newId(),
    companyId,
    email: input.email,
    name: input.name ?? (input.email.split('@')[0] as string),
    passwordHash: input.passwordHash,
    isOwner: input.isOwner ?? false,
    isActive: true,
    isVerified: false,
    mfaEnabled: false,
    activatedAt: now,
    teams: [],
    metadata: input.metadata ?? {},
    lastLoginAt: null,
    sessionEpoch: 0,
    createdAt: now,
    updatedAt: now,
    deletedAt: null,
  };
  return { record, statement: insertUser(ctx.db, record) };
}

/** A user of the caller's company with the groups it is in. @throws Failure `user.not_found` */
export async function getUser(ctx: PrincipalContext, id: string): Promise<{ user: User; groupIds: string[] }> {
  const { companyId } = ctx.actor;
  const [[user], memberships] = await ctx.db.batch([
    selectUser(ctx.db, companyId, id),
    selectGroupIds(ctx.db, companyId, id),
  ]);
  if (!user) throw userNotFound();
  return { user, groupIds: memberships.map(({ groupId }) => groupId) };
}
