import { commitAccess, onlyPrincipals } from '../../access/commit-access.ts';
import { deniedEverywhere, deniedInLists } from '../../access/denials.ts';
import type { PrincipalContext } from '../../context.ts';
import { commit, readTogether } from '../../db/client.ts';
import type { Metadata } from '../../db/columns.ts';
import { hashPassword } from '../../platform/passwords.ts';
import { selectCompany } from '../companies/service.ts';
import { endSessionsOfInactive } from '../sessions/queries.ts';
import {
  emailTaken,
  ownerNotDeactivatable,
  ownerNotDeletable,
  selfNotDeactivatable,
  selfNotDeletable,
  userAlreadyDeleted,
  userNotFound,
  userStillInvited,
} from './failures.ts';
import { requireUnlikePerson } from './fields.ts';
import { nameOf, prepareActiveUser, statusOf } from './service.ts';
import {
  readUsers,
  readUsersWithGroups,
  removeMemberships,
  selectUser,
  selectUserByEmail,
  selectUserEvenDeleted,
  softDeleteUser,
  type User,
  type UserFilter,
  type UserPageRequest,
  type UserSearch,
  updateUser,
} from './store.ts';

/** A page of the company's users. */
export function listUsers(ctx: PrincipalContext, filter: Omit<UserFilter, 'denied'>, page: UserPageRequest) {
  const denied = deniedInLists(ctx.actor, 'organization_user');
  return readUsers(ctx.db, ctx.actor.companyId, { ...filter, denied }, page);
}

/** A page of the company's living users with the groups they are in. */
export function listUsersWithGroups(ctx: PrincipalContext, wanted: UserSearch) {
  const denied = { users: deniedInLists(ctx.actor, 'user'), groups: deniedEverywhere(ctx.actor, 'group') };
  return readUsersWithGroups(ctx.db, ctx.actor.companyId, denied, wanted);
}

/** A living user of the company. */
export async function findUser(ctx: PrincipalContext, id: string): Promise<User> {
  const [user] = await selectUser(ctx.db, ctx.actor.companyId, id);
  if (!user) throw userNotFound();
  return user;
}

/** Makes a user who can sign in at once, in no group. `email` is lower-case. */
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
  if (company) requireUnlikePerson(password, { email, name: nameOf(email), company }, 'password');
  const passwordHash = await hashPassword(password);
  const { record, statement } = prepareActiveUser(ctx, companyId, { email, passwordHash, metadata });
  await commit(ctx.db, { inserted: statement }, { 'users.email': emailTaken });
  return record;
}

/** Changes what is sent. Deactivating ends the user's sessions. */
export async function changeUser(
  ctx: PrincipalContext,
  id: string,
  changes: { isActive?: boolean; metadata?: Metadata },
): Promise<User> {
  const { companyId } = ctx.actor;
  const now = ctx.now();
  const {
    found: [user],
    updated: [changed],
  } = await commitAccess(ctx, onlyPrincipals(companyId, id), {
    found: selectUser(ctx.db, companyId, id),
    updated: updateUser(ctx.db, companyId, id, now, changes),
    sessions: endSessionsOfInactive(ctx.db, companyId, id, now),
  });
  if (changed) return changed;
  if (!user) throw userNotFound();
  throw changes.isActive ? userStillInvited() : ownerNotDeactivatable();
}

/** Activates a deactivated user. Nothing changes for an active one. */
export async function activateUser(ctx: PrincipalContext, id: string): Promise<User> {
  return changeUser(ctx, id, { isActive: true });
}

/** Keeps a user from signing in, and ends the sessions. */
export async function deactivateUser(ctx: PrincipalContext, id: string): Promise<User> {
  if (id === ctx.actor.id) throw selfNotDeactivatable();
  if (statusOf(await findUser(ctx, id)) === 'invited') throw userStillInvited();
  return changeUser(ctx, id, { isActive: false });
}

/** Deletes a user, removes the memberships and ends the sessions. */
export async function deleteUser(ctx: PrincipalContext, id: string): Promise<void> {
  const { companyId } = ctx.actor;
  const now = ctx.now();
  const {
    found: [user],
    deleted,
  } = await commitAccess(ctx, onlyPrincipals(companyId, id), {
    found: selectUserEvenDeleted(ctx.db, companyId, id),
    deleted: softDeleteUser(ctx.db, companyId, id, now),
    memberships: removeMemberships(ctx.db, companyId, id),
    sessions: endSessionsOfInactive(ctx.db, companyId, id, now),
  });
  if (deleted.length > 0) return;
  if (!user) throw userNotFound();
  throw user.deletedAt === null ? ownerNotDeletable() : userAlreadyDeleted();
}

/** The same for people, who do not delete themselves. The link of somebody who is only invited stops working. */
export async function deleteOtherUser(ctx: PrincipalContext, id: string): Promise<void> {
  if (id === ctx.actor.id) throw selfNotDeletable();
  await deleteUser(ctx, id);
}
