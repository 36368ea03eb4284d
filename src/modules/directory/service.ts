import { findDeniedEverywhere } from '../../access/denials.ts';
import { isAllowed, requireAction } from '../../access/requirements.ts';
import type { PrincipalContext } from '../../context.ts';
import type { Action } from '../../permissions/actions.ts';
import {
  changeGroupOfUsers,
  createGroup,
  deleteGroup,
  type Group,
  type GroupOfUsers,
  getGroupOfUsers,
  listGroupsWhere,
  listUserMembers,
} from '../groups/service.ts';
import {
  changeUser,
  deleteUser,
  findUserWithGroups,
  listUsersWithGroups,
  provisionUser,
  type UserChanges,
  type UserWithGroups,
} from '../users/service.ts';
import { matchesFilter } from './elements.ts';
import { globalGroupReadOnly, invalidFilter, invalidValue, tooManyMembers } from './failures.ts';
import { compileFilter } from './filter-store.ts';
import { type Filter, parseFilter, SyntaxProblem } from './grammar.ts';
import {
  chooseName,
  type GroupInput,
  type MemberStep,
  type UserInput,
  type WholeGroup,
  type WholeUser,
} from './input.ts';
import type { ResourceKind } from './schemas.ts';

/** The filter, order and page of a list. */
export interface Search {
  filter?: string;
  /** The place of the first resource on the page, counted from 1. */
  startIndex: number;
  count: number;
  sortBy?: string;
  descending: boolean;
}

/** A page of resources, and the number of all that match the filter. */
export interface ResourcePage<T> {
  total: number;
  records: T[];
}

/** A group; `members` are null where they were not asked for. */
export interface DirectoryGroup {
  group: Group;
  members: { id: string; name: string }[] | null;
}

/** The maximum number of members that one answer holds. */
const MAX_MEMBERS = 50_000;

const USER_ORDERS = {
  id: 'id',
  externalid: 'external_id',
  username: 'email',
  emails: 'email',
  'emails.value': 'email',
  active: 'is_active',
  displayname: 'name',
  'name.formatted': 'name',
  'meta.created': 'created_at',
  'meta.lastmodified': 'updated_at',
} as const;
const GROUP_ORDERS = {
  id: 'id',
  externalid: 'external_id',
  displayname: 'name_in_any_case',
  'meta.created': 'created_at',
  'meta.lastmodified': 'changed_with_members_at',
} as const;

/** The users that match a filter, without those that the caller may not see; the oldest first by default. */
export async function searchUsers(
  ctx: PrincipalContext,
  search: Search,
  anyKind = false,
): Promise<ResourcePage<UserWithGroups>> {
  return listUsersWithGroups(ctx, {
    ...toPage(search),
    search: '',
    by: chooseOrder(USER_ORDERS, search, anyKind),
    where: compileWhere(ctx, 'User', search, anyKind),
  });
}

/** The groups that match a filter, as `searchUsers`. @param withMembers whether their members are read */
export async function searchGroups(
  ctx: PrincipalContext,
  search: Search,
  withMembers: boolean,
  anyKind = false,
): Promise<ResourcePage<DirectoryGroup>> {
  const page = { ...toPage(search), by: chooseOrder(GROUP_ORDERS, search, anyKind) };
  const { total, records } = await listGroupsWhere(ctx, compileWhere(ctx, 'Group', search, anyKind), page);
  if (!withMembers || records.length === 0)
    return { total, records: records.map((group) => ({ group, members: null })) };
  const ids = records.map(({ id }) => id);
  const members = await listUserMembers(ctx, ids, MAX_MEMBERS + 1);
  if (members.length > MAX_MEMBERS) throw tooManyMembers();
  const byGroup = Map.groupBy(members, ({ groupId }) => groupId);
  return { total, records: records.map((group) => ({ group, members: byGroup.get(group.id) ?? [] })) };
}

/** Users and groups that match a filter: first users, then groups, without a kind that the caller may not list. */
export async function searchAll(ctx: PrincipalContext, search: Search, withMembers: boolean) {
  const nobody = { total: 0, records: [] };
  const users = isAllowed(ctx.actor, 'users:list', '*') ? await searchUsers(ctx, search, true) : nobody;
  const rest = {
    ...search,
    startIndex: Math.max(1, search.startIndex - users.total),
    count: search.count - users.records.length,
  };
  const groups = isAllowed(ctx.actor, 'groups:list', '*') ? await searchGroups(ctx, rest, withMembers, true) : nobody;
  return { users: users.records, groups: groups.records, total: users.total + groups.total };
}

const toPage = ({ startIndex, count, descending }: Search) => ({
  page: 1,
  perPage: count,
  skipped: startIndex - 1,
  descending,
});

function chooseOrder<O extends Readonly<Record<string, string>>>(orders: O, { sortBy }: Search, anyKind: boolean) {
  if (sortBy === undefined) return 'created_at';
  const name = sortBy.toLowerCase();
  if (Object.hasOwn(orders, name)) return orders[name] as O[keyof O];
  if (anyKind) return 'created_at';
  throw invalidValue(`sortBy must be one of ${Object.keys(orders).join(', ')}.`);
}

function compileWhere(ctx: PrincipalContext, kind: ResourceKind, { filter }: Search, anyKind: boolean) {
  if (filter === undefined || filter.trim() === '') return undefined;
  const hidden = { users: findDeniedEverywhere(ctx.actor, 'user'), groups: findDeniedEverywhere(ctx.actor, 'group') };
  return compileFilter(toFilter(filter), kind, hidden, anyKind);
}

function toFilter(text: string): Filter {
  try {
    return parseFilter(text);
  } catch (error) {
    if (error instanceof SyntaxProblem) throw invalidFilter(error.message);
    throw error;
  }
}

export const getUser = (ctx: PrincipalContext, id: string): Promise<UserWithGroups> => findUserWithGroups(ctx, id);

/** Creates a user without a password, who is active unless the directory says otherwise. */
export async function createDirectoryUser(ctx: PrincipalContext, input: WholeUser): Promise<UserWithGroups> {
  const { userName: email, externalId, active: isActive } = input;
  const user = await provisionUser(ctx, { email, name: chooseName(input), externalId, isActive });
  return { ...user, groups: [] };
}

/** The permissions to change users: one of these is enough for a request that needs no other. */
export const USER_WRITES = ['users:update', 'users:activate', 'users:deactivate'] as const;

/** Changes the values of a user that differ from the present ones; writes nothing where none does. */
export async function changeDirectoryUser(
  ctx: PrincipalContext,
  id: string,
  input: UserInput,
): Promise<UserWithGroups> {
  const user = await requireChangeableUser(ctx, id);
  const wanted: UserChanges = {
    email: input.userName,
    name: chooseName(input, user.name),
    externalId: input.externalId,
    isActive: input.active,
  };
  const differing = Object.entries(wanted).filter(
    ([field, value]) => value !== undefined && value !== user[field as keyof UserChanges],
  );
  if (differing.length === 0) return user;
  const { isActive, ...others } = Object.fromEntries(differing) as UserChanges;
  if (isActive !== undefined) {
    const action = isActive ? 'users:activate' : 'users:deactivate';
    ctx.setAuditAction(action);
    requireAction(ctx.actor, action, id);
  }
  if (Object.keys(others).length > 0) requireAction(ctx.actor, 'users:update', id);
  const changed = await changeUser(ctx, id, { ...others, ...(isActive !== undefined && { isActive }) });
  return { ...changed, groups: user.groups };
}

/** A user, for a caller who may change users in some way. Others do not learn whether the user exists. */
async function requireChangeableUser(ctx: PrincipalContext, id: string): Promise<UserWithGroups> {
  if (!USER_WRITES.some((action) => isAllowed(ctx.actor, action, id))) requireAction(ctx.actor, 'users:update', id);
  return findUserWithGroups(ctx, id);
}

export { deleteGroup, deleteUser };

/**
 * A group with its members.
 * @param isWithout whether the request excludes members: then too many of them are no failure
 */
export async function getGroupWithMembers(
  ctx: PrincipalContext,
  id: string,
  isWithout: boolean,
): Promise<DirectoryGroup> {
  const { group, members } = await getGroupOfUsers(ctx, id, MAX_MEMBERS + 1);
  if (members.length <= MAX_MEMBERS) return { group, members };
  if (isWithout) return { group, members: null };
  throw tooManyMembers();
}

/** Creates a group with these members and without any permissions. */
export async function createDirectoryGroup(
  ctx: PrincipalContext,
  { displayName, externalId, members }: WholeGroup,
): Promise<DirectoryGroup> {
  const userIds = [...computeMembers([], members)];
  const { id } = await createGroup(ctx, {
    name: displayName,
    description: '',
    externalId,
    userIds,
    isUniqueInAnyCase: true,
  });
  recordMembers(ctx, 'groups:create', userIds);
  return toWriteResult(await getGroupOfUsers(ctx, id, MAX_MEMBERS + 1));
}

/** Changes the values of a group that differ from the present ones; writes nothing where none does. */
export async function changeDirectoryGroup(
  ctx: PrincipalContext,
  id: string,
  { displayName, externalId, members: steps }: GroupInput,
): Promise<DirectoryGroup> {
  let before: GroupOfUsers['members'] = [];
  const changed = await changeGroupOfUsers(ctx, id, ({ group, members }) => {
    before = members;
    if (group.isGlobal) throw globalGroupReadOnly();
    return {
      ...(displayName !== undefined && { name: displayName }),
      ...(externalId !== undefined && { externalId }),
      ...(steps.length > 0 && { userIds: computeMembers(members, steps) }),
    };
  });
  recordMembers(ctx, 'groups:update', [...collectIds(before).symmetricDifference(collectIds(changed.members))]);
  return toWriteResult(changed);
}

const collectIds = (members: readonly { id: string }[]) => new Set(members.map(({ id }) => id));

/** The maximum number of members whom the audit trail names: as many as one request of the console adds to a group. */
const MAX_AUDITED_MEMBERS = 100;

const recordMembers = (ctx: PrincipalContext, action: Action, ids: readonly string[]): void =>
  ctx.setAuditAction(action, ids.length > MAX_AUDITED_MEMBERS ? [] : ids);

/** The response to a completed write, which must not fail any more: if there are too many members, they are left out. */
const toWriteResult = ({ group, members }: GroupOfUsers): DirectoryGroup => ({
  group,
  members: members.length > MAX_MEMBERS ? null : members,
});

/** The ids of the members after all steps, one after the other. */
function computeMembers(present: readonly { id: string; name: string }[], steps: readonly MemberStep[]): Set<string> {
  const names = new Map(present.map(({ id, name }) => [id, name]));
  let ids = new Set(names.keys());
  for (const step of steps) {
    switch (step.op) {
      case 'add':
        for (const id of step.ids) ids.add(id);
        break;
      case 'remove':
        for (const id of step.ids) ids.delete(id);
        break;
      case 'replace':
        ids = new Set(step.ids);
        break;
      case 'removeWhere':
        for (const id of ids) {
          if (matchesFilter(step.filter, { value: id, display: names.get(id) ?? null, type: 'User' })) ids.delete(id);
        }
    }
  }
  return ids;
}
