import { findReadDenials } from '../../access/denials.ts';
import { isAllowed, requireAction } from '../../access/requirements.ts';
import type { PrincipalContext } from '../../context.ts';
import type { Page } from '../../db/page.ts';
import type { Action } from '../../permissions/actions.ts';
import {
  changeGroupOfUsers,
  createGroup,
  type Group,
  type GroupOfUsers,
  getGroupOfUsers,
  listGroupsWhere,
  listUserMembers,
} from '../groups/service.ts';
import {
  changeUser,
  findUserWithGroups,
  hasOpenInvitation,
  listUsersWithGroups,
  provisionUser,
  type UserChanges,
  type UserWithGroups,
} from '../users/service.ts';
import { globalGroupReadOnly, invalidFilter, invalidValue, targetNotFound, tooManyMembers } from './failures.ts';
import { compileFilter } from './filter-store.ts';
import { type Filter, FilterSyntaxError, parseFilter } from './grammar.ts';
import {
  type CompleteGroupInput,
  type CompleteUserInput,
  chooseName,
  type GroupInput,
  type MemberChange,
  type UserInput,
} from './input.ts';
import { matchesFilter } from './match-filter.ts';
import { isInSchema, isUnstoredAttribute, type ResourceKind } from './schemas.ts';

/** The filter, order and page of a list. */
export interface Search {
  filter?: string;
  /** The 1-based position of the first resource on the page. */
  startIndex: number;
  count: number;
  sortBy?: string;
  descending: boolean;
}

/** A page of resources, and the number of all resources that match the filter. */
export type ResourcePage<T> = Pick<Page<T>, 'total' | 'records'>;

/** A group; `members` is null where the request excludes them. */
export interface DirectoryGroup {
  group: Group;
  members: { id: string; name: string }[] | null;
}

/** The maximum number of members in one response. */
const MAX_MEMBERS = 50_000;

const USER_ORDERS = {
  id: 'id',
  externalId: 'external_id',
  userName: 'email',
  emails: 'email',
  'emails.value': 'email',
  active: 'is_active',
  displayName: 'name',
  'name.formatted': 'name',
  'meta.created': 'created_at',
  'meta.lastModified': 'updated_at',
} as const;
const GROUP_ORDERS = {
  id: 'id',
  externalId: 'external_id',
  displayName: 'name_in_any_case',
  'meta.created': 'created_at',
  'meta.lastModified': 'changed_with_members_at',
} as const;

/** Returns the users that match a filter, except those hidden from the caller; the oldest first by default. */
export async function searchUsers(
  ctx: PrincipalContext,
  search: Search,
  isAnyKind = false,
): Promise<ResourcePage<UserWithGroups>> {
  return listUsersWithGroups(ctx, {
    ...toPage(search),
    search: '',
    by: chooseOrder('User', USER_ORDERS, search, isAnyKind),
    condition: compileCondition(ctx, 'User', search, isAnyKind),
  });
}

/** Returns the groups that match a filter, as `searchUsers` does. @param includesMembers whether their members are read */
export async function searchGroups(
  ctx: PrincipalContext,
  search: Search,
  includesMembers: boolean,
  isAnyKind = false,
): Promise<ResourcePage<DirectoryGroup>> {
  const page = { ...toPage(search), by: chooseOrder('Group', GROUP_ORDERS, search, isAnyKind) };
  const { total, records } = await listGroupsWhere(ctx, compileCondition(ctx, 'Group', search, isAnyKind), page);
  if (!includesMembers || records.length === 0)
    return { total, records: records.map((group) => ({ group, members: null })) };
  const ids = records.map(({ id }) => id);
  const members = await listUserMembers(ctx, ids, MAX_MEMBERS + 1);
  if (members.length > MAX_MEMBERS) throw tooManyMembers();
  const membersByGroup = Map.groupBy(members, ({ groupId }) => groupId);
  return { total, records: records.map((group) => ({ group, members: membersByGroup.get(group.id) ?? [] })) };
}

/** Returns matching users, then matching groups, without a kind that the caller may not list. */
export async function searchAllResources(ctx: PrincipalContext, search: Search, includesMembers: boolean) {
  const emptyPage = { total: 0, records: [] };
  const users = isAllowed(ctx.actor, 'users:list', '*') ? await searchUsers(ctx, search, true) : emptyPage;
  const remainingSearch = {
    ...search,
    startIndex: Math.max(1, search.startIndex - users.total),
    count: search.count - users.records.length,
  };
  const groups = isAllowed(ctx.actor, 'groups:list', '*')
    ? await searchGroups(ctx, remainingSearch, includesMembers, true)
    : emptyPage;
  return { users: users.records, groups: groups.records, total: users.total + groups.total };
}

const toPage = ({ startIndex, count, descending }: Search) => ({
  page: 1,
  perPage: count,
  skippedCount: startIndex - 1,
  descending,
});

/** Chooses the order of a list. By an attribute that no record has, records are in the default order. */
function chooseOrder<O extends Readonly<Record<string, string>>>(
  kind: ResourceKind,
  orders: O,
  { sortBy }: Search,
  isAnyKind: boolean,
) {
  if (sortBy === undefined) return 'created_at';
  const [, schema, path = ''] = /^(?:(urn:.*):)?(.*)$/is.exec(sortBy.toLowerCase()) ?? [];
  const order = Object.keys(orders).find((name) => name.toLowerCase() === path);
  if (order !== undefined && isInSchema(schema, kind)) return orders[order] as O[keyof O];
  const [attribute = ''] = path.split('.', 1);
  const isMissingSubAttribute =
    isInSchema(schema, kind) && Object.keys(orders).some((name) => name.startsWith(`${attribute}.`));
  if (isAnyKind || isMissingSubAttribute || isUnstoredAttribute(kind, schema, attribute)) return 'created_at';
  throw invalidValue(`sortBy must be one of ${Object.keys(orders).join(', ')}.`);
}

function compileCondition(ctx: PrincipalContext, kind: ResourceKind, { filter }: Search, isAnyKind: boolean) {
  if (filter === undefined || filter.trim() === '') return undefined;
  const hiddenRecords = { users: findReadDenials(ctx.actor, 'user'), groups: findReadDenials(ctx.actor, 'group') };
  try {
    return compileFilter(parseFilter(filter), kind, hiddenRecords, isAnyKind);
  } catch (error) {
    throw error instanceof FilterSyntaxError ? invalidFilter(error.message) : error;
  }
}

/** Creates a user without a password, who is active unless the directory says otherwise. */
export async function createDirectoryUser(ctx: PrincipalContext, input: CompleteUserInput): Promise<UserWithGroups> {
  const { userName: email, externalId, active: isActive } = input;
  const user = await provisionUser(ctx, { email, ...chooseName(input), externalId, isActive });
  return { ...user, groups: [] };
}

/** The permissions to change users: one of these is enough for a request that needs no other permission. */
export const USER_WRITE_PERMISSIONS = ['users:update', 'users:activate', 'users:deactivate'] as const;

/**
 * Changes the values of a user that differ from the stored ones; writes nothing where none does. Somebody who is only
 * invited is shown as not active: for such a user, `active: false` is a change while the invitation is open, and ends
 * the invitation. @param isWhole whether `input` has all that the directory knows of the user
 */
export async function changeDirectoryUser(
  ctx: PrincipalContext,
  id: string,
  input: UserInput,
  { isWhole }: { isWhole: boolean },
): Promise<UserWithGroups> {
  const user = await requireChangeableUser(ctx, id);
  const chosenName = chooseName(input, isWhole ? { name: user.name } : user);
  const requestedChanges: UserChanges = {
    email: input.userName,
    ...(chosenName?.name !== user.name && chosenName),
    externalId: input.externalId,
    isActive: input.active,
  };
  const endsInvitation = input.active === false && (await hasOpenInvitation(ctx, user));
  const changedEntries = Object.entries(requestedChanges).filter(
    ([field, value]) =>
      value !== undefined && (value !== user[field as keyof UserChanges] || (field === 'isActive' && endsInvitation)),
  );
  if (changedEntries.length === 0) return user;
  const { isActive, ...others } = Object.fromEntries(changedEntries) as UserChanges;
  if (isActive !== undefined) {
    const action = isActive ? 'users:activate' : 'users:deactivate';
    ctx.setAuditAction(action);
    requireAction(ctx.actor, action, id);
  }
  if (Object.keys(others).length > 0) requireAction(ctx.actor, 'users:update', id);
  const changedUser = await changeUser(ctx, id, { ...others, ...(isActive !== undefined && { isActive }) });
  return { ...changedUser, groups: user.groups };
}

/** Returns a user, for a caller who may change users in some way. Other callers do not learn whether the user exists. */
export async function requireChangeableUser(ctx: PrincipalContext, id: string): Promise<UserWithGroups> {
  if (!USER_WRITE_PERMISSIONS.some((action) => isAllowed(ctx.actor, action, id)))
    requireAction(ctx.actor, 'users:update', id);
  return findUserWithGroups(ctx, id);
}

/**
 * Returns a group with its members. @param excludesMembers whether the request excludes members: too many are then left out,
 * instead of a failure
 */
export async function getGroupWithMembers(
  ctx: PrincipalContext,
  id: string,
  excludesMembers: boolean,
): Promise<DirectoryGroup> {
  const { group, members } = await getGroupOfUsers(ctx, id, MAX_MEMBERS + 1);
  if (members.length <= MAX_MEMBERS) return { group, members };
  if (excludesMembers) return { group, members: null };
  throw tooManyMembers();
}

/** Creates a group with these members and without any permissions. */
export async function createDirectoryGroup(
  ctx: PrincipalContext,
  { displayName, externalId, members }: CompleteGroupInput,
): Promise<DirectoryGroup> {
  const userIds = [...computeMembers([], members)];
  const { id } = await createGroup(ctx, {
    name: displayName,
    description: '',
    externalId,
    userIds,
    isUniqueInAnyCase: true,
  });
  auditMembers(ctx, 'groups:create', userIds);
  return toWriteResult(await getGroupOfUsers(ctx, id, MAX_MEMBERS + 1));
}

/** Changes the values of a group that differ from the stored ones; writes nothing where none does. */
export async function changeDirectoryGroup(
  ctx: PrincipalContext,
  id: string,
  { displayName, externalId, members: memberChanges }: GroupInput,
): Promise<DirectoryGroup> {
  let previousMembers: GroupOfUsers['members'] = [];
  const changedGroup = await changeGroupOfUsers(ctx, id, ({ group, members }) => {
    previousMembers = members;
    if (group.isGlobal) throw globalGroupReadOnly();
    return {
      ...(displayName !== undefined && { name: displayName }),
      ...(externalId !== undefined && { externalId }),
      ...(memberChanges.length > 0 && { userIds: computeMembers(members, memberChanges) }),
    };
  });
  auditMembers(ctx, 'groups:update', [
    ...collectIds(previousMembers).symmetricDifference(collectIds(changedGroup.members)),
  ]);
  return toWriteResult(changedGroup);
}

const collectIds = (members: readonly { id: string }[]) => new Set(members.map(({ id }) => id));

/** The maximum number of members that the audit trail names: as many as one request of the console adds to a group. */
const MAX_AUDITED_MEMBERS = 100;

const auditMembers = (ctx: PrincipalContext, action: Action, ids: readonly string[]): void =>
  ctx.setAuditAction(action, ids.length > MAX_AUDITED_MEMBERS ? [] : ids);

/** Returns the response to a completed write, which must not fail any more: if there are too many members, they are left out. */
const toWriteResult = ({ group, members }: GroupOfUsers): DirectoryGroup => ({
  group,
  members: members.length > MAX_MEMBERS ? null : members,
});

/** Returns the ids of the members after all changes were applied in order. @throws targetNotFound */
function computeMembers(
  currentMembers: readonly { id: string; name: string }[],
  memberChanges: readonly MemberChange[],
): Set<string> {
  const names = new Map(currentMembers.map(({ id, name }) => [id, name]));
  const isMatch = (id: string, filter: Filter) =>
    matchesFilter(filter, { value: id, display: names.get(id) ?? null, type: 'User' });
  let ids = new Set(names.keys());
  for (const memberChange of memberChanges) {
    switch (memberChange.op) {
      case 'add':
        for (const id of memberChange.ids) ids.add(id);
        break;
      case 'remove':
        for (const id of memberChange.ids) ids.delete(id);
        break;
      case 'replace':
        ids = new Set(memberChange.ids);
        break;
      case 'removeWhere':
        for (const id of ids) if (isMatch(id, memberChange.filter)) ids.delete(id);
        break;
      case 'requireWhere':
        if (!ids.values().some((id) => isMatch(id, memberChange.filter))) throw targetNotFound();
    }
  }
  return ids;
}
