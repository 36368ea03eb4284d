import { commitAccess, makeAffectedPrincipals } from '../../access/commit-access.ts';
import { findListDenials, findReadDenials, isDenied } from '../../access/denials.ts';
import { isAdministrator } from '../../access/evaluation.ts';
import { writeWithoutEscalation } from '../../access/grants.ts';
import type { Context, PrincipalContext } from '../../context.ts';
import { commit, readTogether } from '../../db/client.ts';
import type { Metadata } from '../../db/columns.ts';
import { EVERYTHING_DENIED } from '../../permissions/denials.ts';
import { hashPassword } from '../../platform/passwords.ts';
import { isAccountHidden } from '../accounts/service.ts';
import { selectCompany } from '../companies/service.ts';
import { endSessionsOfInactiveUser } from '../sessions/queries.ts';
import {
  emailTaken,
  externalIdTaken,
  invitedEmailNotChangeable,
  ownerEmailNotChangeable,
  ownerNotDeactivatable,
  ownerNotDeletable,
  selfNotDeactivatable,
  selfNotDeletable,
  userAlreadyDeleted,
  userNotFound,
  userStillInvited,
} from './failures.ts';
import { requireUnlikeOwner } from './fields.ts';
import {
  endInvitation,
  endPasswordResets,
  insertUser,
  readUsers,
  readUsersWithGroups,
  removeMemberships,
  selectGroupsOfUser,
  selectOpenInvitation,
  selectUser,
  selectUserByEmail,
  selectUserEvenDeleted,
  selectUserWithGroups,
  softDeleteUser,
  type User,
  type UserChanges,
  type UserFilter,
  type UserPageRequest,
  type UserSearch,
  type UserStatus,
  type UserWithGroups,
  updateUser,
} from './store.ts';

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
  nameSource?: User['nameSource'];
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
const makeDefaultName = (email: string): string => email.split('@')[0] as string;

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
    nameSource: input.nameSource ?? null,
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

/** Lists a page of the company's users; no users of an account that is hidden from the caller. */
export function listUsers(ctx: PrincipalContext, filter: Omit<UserFilter, 'denials'>, page: UserPageRequest) {
  const denials = isAccountHidden(ctx, filter.accountId)
    ? EVERYTHING_DENIED
    : findListDenials(ctx.actor, 'organization_user');
  return readUsers(ctx.db, ctx.actor.companyId, { ...filter, denials }, page);
}

/** Lists a page of the company's users that are not deleted, with the groups they are in. */
export function listUsersWithGroups(ctx: PrincipalContext, userSearch: UserSearch) {
  const denials = { users: findListDenials(ctx.actor, 'user'), groups: findReadDenials(ctx.actor, 'group') };
  return readUsersWithGroups(ctx.db, ctx.actor.companyId, denials, userSearch);
}

/** Finds a user of the company who is not deleted, with the groups they are in. */
export async function findUserWithGroups(ctx: PrincipalContext, id: string): Promise<UserWithGroups> {
  const denials = findReadDenials(ctx.actor, 'group');
  const [user] = await selectUserWithGroups(ctx.db, ctx.actor.companyId, id, denials);
  if (!user) throw userNotFound();
  return user;
}

/** Finds a user of the company who is not deleted. */
export async function findUser(ctx: PrincipalContext, id: string): Promise<User> {
  const [user] = await selectUser(ctx.db, ctx.actor.companyId, id);
  if (!user) throw userNotFound();
  return user;
}

/** Creates a user who can sign in at once, in no group. `email` is lower-case. */
export async function createUser(
  ctx: PrincipalContext,
  { email, password, metadata }: { email: string; password: string; metadata: Metadata },
): Promise<User> {
  const { companyId } = ctx.actor;
  const {
    taken,
    company: [company],
  } = await readTogether(ctx.db, {
    taken: selectUserByEmail(ctx.db, companyId, email),
    company: selectCompany(ctx.db, companyId),
  });
  // Spares the work of hashing; the index decides.
  if (taken.length > 0) throw emailTaken();
  if (company) requireUnlikeOwner(password, { email, name: makeDefaultName(email), company }, 'password');
  const passwordHash = await hashPassword(password);
  const { record, statement } = prepareActiveUser(ctx, companyId, { email, passwordHash, metadata });
  await commit(ctx.db, { inserted: statement }, UNIQUE_FAILURES);
  return record;
}

const UNIQUE_FAILURES = { 'users.email': emailTaken, 'users.external_id': externalIdTaken };

/** Creates a user for a directory (SCIM): without a password, in no group. `email` is lower-case. */
export async function provisionUser(
  ctx: PrincipalContext,
  input: Pick<NewUser, 'email' | 'name' | 'nameSource' | 'externalId' | 'isActive'>,
): Promise<User> {
  const { record, statement } = prepareActiveUser(ctx, ctx.actor.companyId, { ...input, passwordHash: null });
  await commit(ctx.db, { inserted: statement }, UNIQUE_FAILURES);
  return record;
}

/**
 * Changes the fields that are given. Deactivating ends the user's sessions, and the invitation of somebody who is only invited,
 * who could otherwise become active by its link; a new email invalidates pending links and sign-ins.
 * As whoever receives a user's mail can sign in as that user, changing an email requires at least the permissions of that user.
 */
export async function changeUser(ctx: PrincipalContext, id: string, changes: UserChanges): Promise<User> {
  const writeChanges = () => writeUser(ctx, id, changes);
  if (changes.email === undefined || isAdministrator(ctx.actor.access)) return writeChanges();
  return writeWithoutEscalation(ctx, { principalType: 'user', principalId: id }, writeChanges);
}

async function writeUser(ctx: PrincipalContext, id: string, changes: UserChanges): Promise<User> {
  const { companyId } = ctx.actor;
  const now = ctx.now();
  const { isActive, ...others } = changes;
  // Each has an event of its own: how somebody is called, and whether they may act.
  const parts = isActive !== undefined && Object.keys(others).length > 0 ? [others, { isActive }] : [changes];
  const {
    found: [user],
    updated,
  } = await commitAccess(
    ctx,
    makeAffectedPrincipals(companyId, id),
    {
      found: selectUser(ctx.db, companyId, id),
      updated: parts.map((batch) => updateUser(ctx.db, companyId, id, now, batch, changes)),
      invitation: isActive === false ? [endInvitation(ctx.db, companyId, id)] : [],
      sessions: endSessionsOfInactiveUser(ctx.db, companyId, id, now),
      resets: changes.email === undefined ? [] : [endPasswordResets(ctx.db, { companyId, id }, now, changes.email)],
    },
    UNIQUE_FAILURES,
  );
  const changedUser = updated.at(-1)?.[0];
  if (changedUser) return changedUser;
  if (!user) throw userNotFound();
  if (!user.isOwner) throw changes.email === undefined ? userStillInvited() : invitedEmailNotChangeable();
  throw changes.email === undefined ? ownerNotDeactivatable() : ownerEmailNotChangeable();
}

/** Returns whether a user has an invitation that can still be accepted; deactivating the user ends the invitation. */
export async function hasOpenInvitation(ctx: PrincipalContext, user: User): Promise<boolean> {
  if (getUserStatus(user) !== 'invited') return false;
  return (await selectOpenInvitation(ctx.db, user.companyId, user.id, ctx.now())).length > 0;
}

/** Deactivates a user, who can no longer sign in, and ends their sessions. */
export async function deactivateUser(ctx: PrincipalContext, id: string): Promise<User> {
  if (id === ctx.actor.id) throw selfNotDeactivatable();
  if (getUserStatus(await findUser(ctx, id)) === 'invited') throw userStillInvited();
  return changeUser(ctx, id, { isActive: false });
}

/** Deletes a user, removes the memberships and ends the sessions. */
export async function deleteUser(ctx: PrincipalContext, id: string): Promise<void> {
  const { companyId } = ctx.actor;
  const now = ctx.now();
  const {
    found: [user],
    deleted,
  } = await commitAccess(ctx, makeAffectedPrincipals(companyId, id), {
    found: selectUserEvenDeleted(ctx.db, companyId, id),
    deleted: softDeleteUser(ctx.db, companyId, id, now),
    memberships: removeMemberships(ctx.db, companyId, id),
    sessions: endSessionsOfInactiveUser(ctx.db, companyId, id, now),
  });
  if (deleted.length > 0) return;
  if (!user) throw userNotFound();
  throw user.deletedAt === null ? ownerNotDeletable() : userAlreadyDeleted();
}

/** Deletes another user: users do not delete themselves. The link of somebody who is only invited stops working. */
export async function deleteOtherUser(ctx: PrincipalContext, id: string): Promise<void> {
  if (id === ctx.actor.id) throw selfNotDeletable();
  await deleteUser(ctx, id);
}
