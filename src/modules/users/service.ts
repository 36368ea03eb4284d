import { commitAccess, makeAffectedPrincipals } from '../../access/commit-access.ts';
import { isDenied } from '../../access/denials.ts';
import type { Context, PrincipalContext } from '../../context.ts';
import { readTogether } from '../../db/client.ts';
import { userNotFound } from './failures.ts';
import {
  insertUser,
  selectGroupsOfUser,
  selectUser,
  type User,
  type UserChanges,
  type UserStatus,
  type UserWithGroups,
  updateUser,
} from './store.ts';

export {
  changeUser,
  deleteUser,
  findUserWithGroups,
  hasOpenInvitation,
  listUsersWithGroups,
  provisionUser,
} from './administration.ts';
export { emailTaken, userNotFound } from './failures.ts';
export { normalizeClaimedEmail } from './fields.ts';
export {
  endPasswordResets,
  endSignInsInProgress,
  markEmailVerified,
  recordSignIn,
  selectGroupsOfUser,
  selectUser,
  selectUserByEmail,
  setPassword,
  upgradePasswordHash,
} from './store.ts';
export type { User, UserChanges, UserStatus, UserWithGroups };

/** Returns the status of a user: invited users have never been active. */
export function getUserStatus(user: Pick<User, 'isActive' | 'activatedAt'>): UserStatus {
  if (user.isActive) return 'active';
  return user.activatedAt === null ? 'invited' : 'inactive';
}

interface NewUser {
  /** The email in lower case. */
  email: string;
  /** The user's name; the local part of the email when not given. */
  name?: string;
  passwordHash: string | null;
  isOwner?: boolean;
  teams?: string[];
  metadata?: Record<string, unknown>;
  isActive?: boolean;
  externalId?: string | null;
}

/** Prepares a new user who can sign in at once, unless `isActive` is false, and the statement that stores the user. */
export function prepareActiveUser(ctx: Context, companyId: string, input: NewUser) {
  const now = ctx.now();
  const record = createUserRecord(ctx, companyId, { ...input, isActive: input.isActive ?? true, activatedAt: now });
  return { record, statement: insertUser(ctx.db, record) };
}

/** Prepares a new user who cannot sign in before accepting an invitation, and the statement that stores the user. */
export function prepareInvitedUser(ctx: Context, companyId: string, input: Pick<NewUser, 'email' | 'name' | 'teams'>) {
  const record = createUserRecord(ctx, companyId, { ...input, passwordHash: null, isActive: false, activatedAt: null });
  return { record, statement: insertUser(ctx.db, record) };
}

/** Makes the name of a user of whom only the email is known. */
export const makeDefaultName = (email: string): string => email.split('@')[0] as string;

function createUserRecord(
  ctx: Context,
  companyId: string,
  input: NewUser & Pick<User, 'isActive' | 'activatedAt'>,
): User {
  const now = ctx.now();
  return {
    id: ctx.newId(),
    companyId,
    email: input.email,
    name: input.name ?? makeDefaultName(input.email),
    externalId: input.externalId ?? null,
    passwordHash: input.passwordHash,
    isOwner: input.isOwner ?? false,
    isActive: input.isActive,
    isVerified: false,
    mfaEnabled: false,
    activatedAt: input.activatedAt,
    teams: input.teams ?? [],
    metadata: input.metadata ?? {},
    lastLoginAt: null,
    sessionEpoch: 0,
    createdAt: now,
    updatedAt: now,
    deletedAt: null,
  };
}

/** Lists the ids of a user's groups without those that a Deny hides from the caller. */
export function listVisibleGroups(ctx: PrincipalContext, memberships: readonly { groupId: string }[]): string[] {
  return memberships.flatMap(({ groupId }) => (isDenied(ctx.actor, 'group', groupId) ? [] : [groupId]));
}

/** A user with the groups they are in, without those that the caller may not see. */
export interface UserInGroups {
  user: User;
  groupIds: string[];
}

/** Returns a user of the caller's company with the groups they are in. */
export async function getUser(ctx: PrincipalContext, id: string): Promise<UserInGroups> {
  const { companyId } = ctx.actor;
  const {
    user: [user],
    memberships,
  } = await readTogether(ctx.db, {
    user: selectUser(ctx.db, companyId, id),
    memberships: selectGroupsOfUser(ctx.db, companyId, id),
  });
  if (!user) throw userNotFound();
  return { user, groupIds: listVisibleGroups(ctx, memberships) };
}

/** Changes the sent fields of a user's name and teams. */
export async function changeProfile(
  ctx: PrincipalContext,
  id: string,
  changes: Partial<Pick<User, 'name' | 'teams'>>,
): Promise<UserInGroups> {
  const { companyId } = ctx.actor;
  const {
    updated: [user],
    memberships,
  } = await commitAccess(ctx, makeAffectedPrincipals(companyId, id), {
    updated: updateUser(ctx.db, companyId, id, ctx.now(), changes),
    memberships: selectGroupsOfUser(ctx.db, companyId, id),
  });
  if (!user) throw userNotFound();
  return { user, groupIds: listVisibleGroups(ctx, memberships) };
}
