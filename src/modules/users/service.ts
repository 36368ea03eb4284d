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

export { changeUser, deleteUser, findUserWithGroups, listUsersWithGroups, provisionUser } from './administration.ts';
export { emailTaken, userNotFound } from './failures.ts';
export { claimedEmail } from './fields.ts';
export {
  endResets,
  endSignInsUnderWay,
  recordSignIn,
  recordVerified,
  selectGroupsOfUser,
  selectUser,
  selectUserByEmail,
  setPassword,
  upgradePasswordHash,
} from './store.ts';
export type { User, UserChanges, UserStatus, UserWithGroups };

/** The status of a user: invited ones have never been active. */
export function getStatus(user: Pick<User, 'isActive' | 'activatedAt'>): UserStatus {
  if (user.isActive) return 'active';
  return user.activatedAt === null ? 'invited' : 'inactive';
}

interface NewUser {
  /** Lower-case. */
  email: string;
  /** The local part of the email when not given. */
  name?: string;
  passwordHash: string | null;
  isOwner?: boolean;
  teams?: string[];
  metadata?: Record<string, unknown>;
  isActive?: boolean;
  externalId?: string | null;
}

/** A new user who can sign in at once, unless `isActive` is false, and the statement that stores it. */
export function prepareActiveUser(ctx: Context, companyId: string, input: NewUser) {
  const now = ctx.now();
  const record = newUser(ctx, companyId, { ...input, isActive: input.isActive ?? true, activatedAt: now });
  return { record, statement: insertUser(ctx.db, record) };
}

/** A new user who cannot sign in before accepting an invitation, and the statement that stores it. */
export function prepareInvitedUser(ctx: Context, companyId: string, input: Pick<NewUser, 'email' | 'name' | 'teams'>) {
  const record = newUser(ctx, companyId, { ...input, passwordHash: null, isActive: false, activatedAt: null });
  return { record, statement: insertUser(ctx.db, record) };
}

/** The name of somebody of whom only the email is known. */
export const defaultName = (email: string): string => email.split('@')[0] as string;

function newUser(ctx: Context, companyId: string, input: NewUser & Pick<User, 'isActive' | 'activatedAt'>): User {
  const now = ctx.now();
  return {
    id: ctx.newId(),
    companyId,
    email: input.email,
    name: input.name ?? defaultName(input.email),
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

/** The groups of somebody as the caller is shown them: without those that a Deny keeps from the caller. */
export function shownGroups(ctx: PrincipalContext, memberships: readonly { groupId: string }[]): string[] {
  return memberships.flatMap(({ groupId }) => (isDenied(ctx.actor, 'group', groupId) ? [] : [groupId]));
}

/** A user with the groups it is in, without those that the caller may not see. */
export interface UserInGroups {
  user: User;
  groupIds: string[];
}

/** A user of the caller's company with the groups it is in. */
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
  return { user, groupIds: shownGroups(ctx, memberships) };
}

/** Changes the fields that are sent of a user's name and teams. */
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
  return { user, groupIds: shownGroups(ctx, memberships) };
}
