import { commitAccess, makeAffectedPrincipals } from '../../access/commit-access.ts';
import { findListDenials, findReadDenials } from '../../access/denials.ts';
import { isAdministrator } from '../../access/evaluation.ts';
import { writeWithoutEscalation } from '../../access/grants.ts';
import type { PrincipalContext } from '../../context.ts';
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
import { getUserStatus, makeDefaultName, prepareActiveUser } from './service.ts';
import {
  endInvitation,
  endPasswordResets,
  readUsers,
  readUsersWithGroups,
  removeMemberships,
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
  type UserWithGroups,
  updateUser,
} from './store.ts';

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

/**
 * Creates a user on behalf of a directory (SCIM), which has identified them: without a password, in no group. `email` is
 * lower-case.
 */
export async function provisionUser(
  ctx: PrincipalContext,
  input: { email: string; name?: string; externalId?: string | null; isActive?: boolean },
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

/** Activates a deactivated user; an active user stays unchanged. */
export async function activateUser(ctx: PrincipalContext, id: string): Promise<User> {
  return changeUser(ctx, id, { isActive: true });
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
