import { and, asc, eq, getTableColumns, gt, inArray, isNotNull, isNull, type SQL, sql } from 'drizzle-orm';
import {
  DEFAULT_ACCOUNT_JOIN,
  isBindingOfPrincipal,
  isMembershipOfUser,
  selectDefaultAccount,
} from '../../access/sources.ts';
import type { ControlDb } from '../../db/client.ts';
import { isNotDenied } from '../../db/denials.ts';
import { type PageRequest, readPage, type SearchRequest } from '../../db/page.ts';
import { groupBindings, groups } from '../../db/schema/groups.ts';
import { passwordResets } from '../../db/schema/sign-in.ts';
import { accountUserCounts, accountUsers, invitations, userCounts, users } from '../../db/schema/users.ts';
import { makeContainsSql, makeNocaseSql } from '../../db/search.ts';
import { existsSql, HAS_CHANGED_ROWS, matchesDeletion, matchesId, matchesUndeletedId } from '../../db/statements.ts';
import { type Denials, isNothingDenied } from '../../permissions/denials.ts';

export type User = typeof users.$inferSelect;

export const insertUser = (db: ControlDb, record: User) => db.insert(users).values(record);

/** Selects the user of an id, unless deleted, for a batch. */
export const selectUser = (db: ControlDb, companyId: string, id: string) =>
  db
    .select()
    .from(users)
    .where(matchesUndeletedId(users, companyId, id));

/** Selects the user of an email, which must be lower-case, unless deleted. */
export const selectUserByEmail = (db: ControlDb, companyId: string, email: string) =>
  db
    .select()
    .from(users)
    .where(and(eq(users.companyId, companyId), eq(users.email, email), isNull(users.deletedAt)));

/** Selects the groups that a user is in on the console. */
export const selectGroupsOfUser = (db: ControlDb, companyId: string, userId: string) =>
  db
    .select({ groupId: groupBindings.groupId })
    .from(groupBindings)
    .where(isMembershipOfUser(companyId, userId))
    .orderBy(asc(groupBindings.groupId));

/** Records a sign-in, if the statement before it in the batch, which begins the session, changed a row. */
export const recordSignIn = (db: ControlDb, user: User, now: number) =>
  db
    .update(users)
    .set({ lastLoginAt: now })
    .where(and(matchesId(users, user.companyId, user.id), HAS_CHANGED_ROWS));

/**
 * Ends sign-ins in progress, so that they get no session: for the batch that ends the sessions. @param writeCondition a further
 * condition, if any
 */
export const endSignInsInProgress = (
  db: ControlDb,
  { companyId, userId }: { companyId: string; userId: string },
  writeCondition?: SQL,
) =>
  db
    .update(users)
    .set({ sessionEpoch: sql`${users.sessionEpoch} + 1` })
    .where(and(matchesId(users, companyId, userId), writeCondition));

/** Replaces the hash of a password by a newer one, unless the password has changed since `user` was read. */
export const upgradePasswordHash = (db: ControlDb, user: User, passwordHash: string) =>
  db
    .update(users)
    .set({ passwordHash })
    .where(and(matchesId(users, user.companyId, user.id), eq(users.passwordHash, user.passwordHash as string)));

/** Sets a new password and ends every sign-in in progress, unless the password has changed since `user` was read. */
export const setPassword = (db: ControlDb, user: User, passwordHash: string, now: number) =>
  db
    .update(users)
    .set({ passwordHash, updatedAt: now, sessionEpoch: sql`${users.sessionEpoch} + 1` })
    .where(
      and(matchesUndeletedId(users, user.companyId, user.id), eq(users.passwordHash, user.passwordHash as string)),
    );

/** Ends the links to reset a user's password. @param email only where this is the user's address */
export const endPasswordResets = (
  db: ControlDb,
  { companyId, id }: { companyId: string; id: string },
  now: number,
  email?: string,
) =>
  db
    .update(passwordResets)
    .set({ usedAt: now })
    .where(
      and(
        eq(passwordResets.companyId, companyId),
        eq(passwordResets.userId, id),
        isNull(passwordResets.usedAt),
        email === undefined ? undefined : existsSql(users, matchesId(users, companyId, id), eq(users.email, email)),
      ),
    );

/** Marks the user's email address as verified. */
export const markEmailVerified = (db: ControlDb, user: User, now: number) =>
  db
    .update(users)
    .set({ isVerified: true, updatedAt: now })
    .where(and(matchesId(users, user.companyId, user.id), eq(users.isVerified, false)));

/** Selects the user of an id, even a deleted one. */
export const selectUserEvenDeleted = (db: ControlDb, companyId: string, id: string) =>
  db
    .select()
    .from(users)
    .where(matchesId(users, companyId, id));

/** Returns the columns of a table by which a list of users can be sorted. */
const getSortColumns = (table: typeof users | typeof accountUsers) => ({
  created_at: table.createdAt,
  updated_at: table.updatedAt,
  email: table.email,
  last_login_at: table.lastLoginAt,
});

export type UserPageRequest = PageRequest<keyof ReturnType<typeof getSortColumns>>;

/** The filter of a list of users: which deleted ones, which account, and which denied users it leaves out. */
export interface UserFilter {
  accountId?: string;
  lifecycle: 'living' | 'all';
  denials: Denials;
}

/** Reads a page of a company's users. Its total is a stored one, unless some users are denied. */
export function readUsers(db: ControlDb, companyId: string, filter: UserFilter, page: UserPageRequest) {
  const { accountId } = filter;
  const listQuery =
    accountId === undefined
      ? makeCompanyQuery(companyId, filter)
      : makeAccountQuery(companyId, { ...filter, accountId }, page.by);
  return readPage(db, listQuery, { ...page, by: getSortColumns(users)[page.by] });
}

/** A group in the list of a user's groups. */
export interface GroupName {
  id: string;
  name: string;
  slug: string;
}

const membershipCondition = and(
  eq(groupBindings.companyId, users.companyId),
  eq(groupBindings.principalType, 'user'),
  eq(groupBindings.principalId, users.id),
);
/**
 * Makes a column with the groups of a user that are not denied, as JSON. The join starts at the memberships, so that SQLite does
 * not scan all groups of the company for each user.
 */
const makeGroupsColumn = (denials: Denials) =>
  sql`(select json_group_array(json_object('id', id, 'name', name, 'slug', slug)) from (
  select groups.id, groups.name, groups.slug from ${groupBindings} ${DEFAULT_ACCOUNT_JOIN}
  cross join ${groups} on groups.id = group_bindings.group_id
  where ${and(membershipCondition, eq(groups.companyId, users.companyId), isNull(groups.deletedAt), isNotDenied(groups.id, denials))}
  order by groups.id))`
    .mapWith((text: string): GroupName[] => JSON.parse(text))
    .as('groups');

export interface UserWithGroups extends User {
  groups: GroupName[];
}

/** Selects the user of an id, unless deleted, with the groups they are in. */
export const selectUserWithGroups = (db: ControlDb, companyId: string, id: string, deniedGroups: Denials) =>
  db
    .select({ ...getTableColumns(users), groups: makeGroupsColumn(deniedGroups) })
    .from(users)
    .where(matchesUndeletedId(users, companyId, id));

/** The status of a user: invited users have never been active. */
export type UserStatus = 'invited' | 'active' | 'inactive';

const HAS_STATUS: Record<UserStatus, SQL> = {
  active: eq(users.isActive, true),
  invited: and(eq(users.isActive, false), isNull(users.activatedAt)) as SQL,
  inactive: and(eq(users.isActive, false), isNotNull(users.activatedAt)) as SQL,
};

/** Selects the ids of a group's members on the console; none where the group is denied. */
const selectMembers = (db: ControlDb, companyId: string, groupId: string, denials: Denials) =>
  db
    .select({ id: groupBindings.principalId })
    .from(groupBindings)
    .where(
      and(
        eq(groupBindings.companyId, companyId),
        eq(groupBindings.accountId, selectDefaultAccount(companyId)),
        eq(groupBindings.groupId, groupId),
        eq(groupBindings.principalType, 'user'),
        isNotDenied(groupBindings.groupId, denials),
      ),
    );

/** The columns by which users can be sorted in the console and in directories. */
const CONSOLE_ORDER_COLUMNS = {
  name: makeNocaseSql(users.name),
  created_at: users.createdAt,
  updated_at: users.updatedAt,
  email: users.email,
  last_login_at: users.lastLoginAt,
  id: users.id,
  external_id: users.externalId,
  is_active: users.isActive,
};

export type UserSearch = SearchRequest<keyof typeof CONSOLE_ORDER_COLUMNS> & {
  status?: UserStatus;
  groupId?: string;
  /** A further condition on the users. */
  condition?: SQL;
};

/** Reads a page of a company's users that are not deleted, with the groups they are in, without denied users and groups. */
export function readUsersWithGroups(
  db: ControlDb,
  companyId: string,
  denials: { users: Denials; groups: Denials },
  { search, status, groupId, condition: extraCondition, ...page }: UserSearch,
) {
  const { filter, ...all } = makeCompanyQuery(companyId, { lifecycle: 'living', denials: denials.users });
  const searchConditions = [
    makeContainsSql([users.name, users.email], search),
    extraCondition,
    status && HAS_STATUS[status],
    groupId === undefined ? undefined : inArray(users.id, selectMembers(db, companyId, groupId, denials.groups)),
  ].filter((condition) => condition !== undefined);
  return readPage(
    db,
    {
      ...(searchConditions.length === 0
        ? { ...all, filter }
        : { table: users, filter: and(filter, ...searchConditions) as SQL }),
      extra: { groups: makeGroupsColumn(denials.groups) },
    },
    { ...page, by: CONSOLE_ORDER_COLUMNS[page.by] },
  );
}

const makeCompanyQuery = (companyId: string, { lifecycle, denials }: UserFilter) => ({
  table: users,
  filter: and(eq(users.companyId, companyId), matchesDeletion(users, lifecycle), isNotDenied(users.id, denials)) as SQL,
  ...(isNothingDenied(denials) && {
    total: sql`select ${lifecycle === 'all' ? userCounts.total : userCounts.living} from ${userCounts} where ${eq(userCounts.companyId, companyId)}`,
  }),
});

/** Makes the query of an account's users; deleted users are attached to no account. */
const makeAccountQuery = (
  companyId: string,
  { accountId, denials }: UserFilter & { accountId: string },
  by: UserPageRequest['by'],
) => ({
  table: users,
  indexTable: { table: accountUsers, id: accountUsers.userId, by: getSortColumns(accountUsers)[by] },
  filter: and(
    eq(accountUsers.companyId, companyId),
    eq(accountUsers.accountId, accountId),
    isNotDenied(accountUsers.userId, denials),
  ) as SQL,
  ...(isNothingDenied(denials) && {
    total: sql`select ${accountUserCounts.users} from ${accountUserCounts} where ${and(eq(accountUserCounts.companyId, companyId), eq(accountUserCounts.accountId, accountId))}`,
  }),
});

/** The changes that can be made to a user. */
export type UserChanges = Partial<
  Pick<User, 'isActive' | 'metadata' | 'name' | 'nameSource' | 'teams' | 'email' | 'externalId'>
>;

/**
 * Updates a user who is not deleted. Changes nothing if it would deactivate the owner or change the owner's email, or activate an
 * only invited user or change their email. @param allChanges all fields of the request of which `changes` is a part: none is
 * changed if one is not allowed
 */
export const updateUser = (
  db: ControlDb,
  companyId: string,
  id: string,
  now: number,
  changes: UserChanges,
  allChanges = changes,
) =>
  db
    .update(users)
    .set({
      ...changes,
      updatedAt: now,
      ...(changes.email !== undefined && { isVerified: false }),
      // A sign-in that is under way gets no session, even if the user is active again when it ends.
      ...((changes.isActive === false || changes.email !== undefined) && {
        sessionEpoch: sql`${users.sessionEpoch} + 1`,
      }),
    })
    .where(
      and(
        matchesUndeletedId(users, companyId, id),
        allChanges.isActive === false || allChanges.email !== undefined ? eq(users.isOwner, false) : undefined,
        allChanges.isActive === true || allChanges.email !== undefined ? isNotNull(users.activatedAt) : undefined,
      ),
    )
    .returning();

/** Selects the invitation of a user, unless it has expired. */
export const selectOpenInvitation = (db: ControlDb, companyId: string, userId: string, now: number) =>
  db
    .select({ userId: invitations.userId })
    .from(invitations)
    .where(and(eq(invitations.companyId, companyId), eq(invitations.userId, userId), gt(invitations.expiresAt, now)));

/** Ends the invitation of a user whom the statement before it changed: the link stops working, they can be invited again. */
export const endInvitation = (db: ControlDb, companyId: string, userId: string) =>
  db
    .delete(invitations)
    .where(and(eq(invitations.companyId, companyId), eq(invitations.userId, userId), HAS_CHANGED_ROWS));

/** Marks a user who is not deleted and not the owner as deleted. */
export const softDeleteUser = (db: ControlDb, companyId: string, id: string, now: number) =>
  db
    .update(users)
    .set({ deletedAt: now, updatedAt: now })
    .where(and(matchesUndeletedId(users, companyId, id), eq(users.isOwner, false)))
    .returning({ id: users.id });

/** Removes the memberships of a user whom the same batch marks as deleted. */
export const removeMemberships = (db: ControlDb, companyId: string, id: string) =>
  db
    .delete(groupBindings)
    .where(
      and(
        isBindingOfPrincipal({ companyId, principalType: 'user', principalId: id }),
        existsSql(users, matchesId(users, companyId, id), isNotNull(users.deletedAt)),
      ),
    );
