import { z } from 'zod';
import { grantExceeds } from '../../access/failures.ts';
import { concurrentChange } from '../../db/failures.ts';
import { created, declareVersion, noContent, ok } from '../../http/endpoint.ts';
import { makePageQuery, makeSearchSchema, makeSortedListQuery, toSortedRequest } from '../../http/list-query.ts';
import { endpoint, makeListSchema, viewList } from '../../http/surfaces/console.ts';
import { displayNameSchema, makeIdsSchema, slugSchema } from '../../kernel/fields.ts';
import { LEGACY_ACTIONS } from '../../permissions/legacy.ts';
import { permissionNotFound } from '../legacy-permissions/failures.ts';
import { policyLimitExceeded, policyNotFound } from '../policies/failures.ts';
import { userNotFound } from '../users/failures.ts';
import { consoleUserView, viewConsoleUser } from '../users/views.ts';
import {
  addGroupPermissions,
  attachPolicyToGroup,
  detachPolicyFromGroup,
  removeGroupPermissions,
  replaceGroupPermissions,
} from './attachments.ts';
import {
  globalGroupNotDeletable,
  globalGroupNotModifiable,
  groupAlreadyDeleted,
  groupNameTaken,
  groupNotFound,
  groupSlugTaken,
  policyNotAttached,
} from './failures.ts';
import { listMembersByName } from './members.ts';
import {
  addUserToGroups,
  changeGroup,
  createGroup,
  deleteGroup,
  getGroup,
  removeUserFromGroups,
  replaceUserGroups,
  searchGroups,
} from './service.ts';
import { consoleGroupView, groupMemberView, viewConsoleGroup, viewGroupMember } from './views.ts';

const MAX_ROLES = 50;

const role = z.object({
  name: z.string().trim().min(1).max(200),
  target: z
    .string()
    .min(1)
    .max(100)
    .meta({ description: 'A service that `GET /v1/policies/actions` lists, or `*` for all.' }),
  actions: z.array(z.enum(LEGACY_ACTIONS)).min(1).max(LEGACY_ACTIONS.length),
});

const name = displayNameSchema.min(2);
const description = z.string().trim().min(10).max(2000);

const groupInput = z.object({
  name,
  slug: slugSchema,
  description,
  roles: z.array(role).max(MAX_ROLES).default([]),
  permissionIds: makeIdsSchema().default([]),
});
const groupChanges = z.object({ name, slug: slugSchema, description }).partial();

const permissionsInput = z.object({ permissionIds: makeIdsSchema(1) });
const optionalPermissionsInput = z.object({ permissionIds: makeIdsSchema() });

const groupListQuery = makeSortedListQuery({
  searchedField: 'the name',
  fields: ['name', 'created_at'],
  defaultOrdering: '-created_at',
}).extend({
  include_global: z
    .enum(['true', 'false'], { error: 'must be true or false' })
    .default('true')
    .transform((text) => text === 'true')
    .meta({ description: '`false` leaves out global groups.' }),
});

const memberListQuery = makePageQuery('per_page').extend({ search: makeSearchSchema('the name or email address') });

export const consoleGroupEndpoints = [
  endpoint(
    {
      method: 'get',
      path: '/v1/groups',
      access: 'groups:list',
      operationId: 'listGroups',
      summary: 'List groups',
      description:
        'The company’s groups and, unless they are left out, the global ones. The newest first, unless `sort_by` says otherwise.',
      query: groupListQuery,
      returns: ok(makeListSchema(consoleGroupView)),
      fails: [],
    },
    async ({ ctx, query }) =>
      viewList(
        await searchGroups(ctx, { excludesGlobalGroups: !query.include_global }, toSortedRequest(query)),
        viewConsoleGroup,
      ),
  ),
  endpoint(
    {
      method: 'get',
      path: '/v1/groups/{id}',
      access: 'groups:get',
      operationId: 'getGroup',
      summary: 'Get a group',
      description: 'With its roles, its permissions of the older model, and the ids of its attached policies.',
      returns: ok(consoleGroupView),
      versionDeclaration: declareVersion(),
      fails: [groupNotFound],
    },
    async ({ ctx, params }) => viewConsoleGroup(await getGroup(ctx, params.id)),
  ),
  endpoint(
    {
      method: 'get',
      path: '/v1/groups/{id}/members',
      access: 'groups:get',
      operationId: 'listGroupMembers',
      summary: 'List the members of a group',
      description:
        'Users and service accounts by name, each with the account in which it is a member. Who is a member in two accounts stands there twice.',
      query: memberListQuery,
      returns: ok(makeListSchema(groupMemberView)),
      fails: [groupNotFound],
    },
    async ({ ctx, params, query }) =>
      viewList(
        await listMembersByName(ctx, params.id, { page: query.page, perPage: query.per_page, search: query.search }),
        viewGroupMember,
      ),
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/groups',
      access: 'groups:create',
      operationId: 'createGroup',
      summary: 'Create a group',
      description: 'Refused if its roles or permissions allow more than the caller may do.',
      body: groupInput,
      attachedIdField: 'permissionIds',
      dryRun: true,
      returns: created(consoleGroupView),
      fails: [permissionNotFound, groupNameTaken, groupSlugTaken, grantExceeds],
    },
    async ({ ctx, body }) => viewConsoleGroup(await createGroup(ctx, body)),
  ),
  endpoint(
    {
      method: 'put',
      path: '/v1/groups/{id}',
      access: 'groups:update',
      operationId: 'updateGroup',
      summary: 'Update a group',
      description:
        'Changes only the fields that are sent. The name, slug and description of a global group cannot be changed; its members and attachments can.',
      body: groupChanges,
      returns: ok(consoleGroupView),
      fails: [groupNotFound, groupNameTaken, groupSlugTaken, globalGroupNotModifiable],
    },
    async ({ ctx, params, body }) => viewConsoleGroup(await changeGroup(ctx, params.id, body)),
  ),
  endpoint(
    {
      method: 'delete',
      path: '/v1/groups/{id}',
      access: 'groups:delete',
      operationId: 'deleteGroup',
      summary: 'Delete a group',
      description:
        'Its memberships and attachments are removed; its members, policies and permissions stay. Refused if the group denies something that the caller may not do: its members would gain it.',
      dryRun: true,
      returns: noContent,
      fails: [groupNotFound, groupAlreadyDeleted, globalGroupNotDeletable, grantExceeds],
    },
    ({ ctx, params }) => deleteGroup(ctx, params.id),
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/groups/{id}/permissions',
      access: 'groups:update',
      operationId: 'addGroupPermissions',
      summary: 'Add permissions to a group',
      description: 'Refused if they allow more than the caller may do.',
      body: permissionsInput,
      attachedIdField: 'permissionIds',
      dryRun: true,
      returns: ok(consoleGroupView),
      fails: [groupNotFound, permissionNotFound, grantExceeds],
    },
    async ({ ctx, params, body }) => viewConsoleGroup(await addGroupPermissions(ctx, params.id, body.permissionIds)),
  ),
  endpoint(
    {
      method: 'put',
      path: '/v1/groups/{id}/permissions',
      access: 'groups:update',
      operationId: 'replaceGroupPermissions',
      summary: "Replace a group's permissions",
      description: 'Refused if new permissions allow more than the caller may do.',
      body: optionalPermissionsInput,
      attachedIdField: 'permissionIds',
      dryRun: true,
      returns: ok(consoleGroupView),
      fails: [groupNotFound, permissionNotFound, grantExceeds],
    },
    async ({ ctx, params, body }) =>
      viewConsoleGroup(await replaceGroupPermissions(ctx, params.id, body.permissionIds)),
  ),
  endpoint(
    {
      method: 'delete',
      path: '/v1/groups/{id}/permissions',
      access: 'groups:update',
      operationId: 'removeGroupPermissions',
      summary: 'Remove permissions from a group',
      description: 'Members lose what only these permissions allowed. The permissions themselves stay.',
      body: optionalPermissionsInput,
      attachedIdField: 'permissionIds',
      dryRun: true,
      returns: ok(consoleGroupView),
      fails: [groupNotFound, permissionNotFound],
    },
    async ({ ctx, params, body }) => viewConsoleGroup(await removeGroupPermissions(ctx, params.id, body.permissionIds)),
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/groups/{id}/policies/{policy_id}',
      access: 'groups:attach_policy',
      operationId: 'attachGroupPolicy',
      summary: 'Attach a policy to a group',
      description:
        'A managed policy or one of the company, to a global group or one of the company. Attaching it twice changes nothing. Refused if the policy allows more than the caller may do.',
      alsoChanges: ['attached_policies'],
      dryRun: true,
      returns: noContent,
      fails: [groupNotFound, policyNotFound, policyLimitExceeded, grantExceeds],
    },
    ({ ctx, params }) => attachPolicyToGroup(ctx, params.id, params.policy_id),
  ),
  endpoint(
    {
      method: 'delete',
      path: '/v1/groups/{id}/policies/{policy_id}',
      access: 'groups:detach_policy',
      operationId: 'detachGroupPolicy',
      summary: 'Detach a policy from a group',
      description:
        'The policy itself stays, and so do its other groups. Refused if it denies something that the caller may not do: the members would gain it.',
      dryRun: true,
      returns: noContent,
      fails: [groupNotFound, policyNotAttached, grantExceeds],
    },
    ({ ctx, params }) => detachPolicyFromGroup(ctx, params.id, params.policy_id),
  ),
];

const groupsInput = z.object({ group_ids: makeIdsSchema(1) });
const optionalGroupsInput = z.object({ group_ids: makeIdsSchema() });

/** The endpoints for the groups of a user. */
export const userGroupEndpoints = [
  endpoint(
    {
      method: 'post',
      path: '/v1/users/{id}/groups',
      access: 'users:assign_groups',
      operationId: 'addUserToGroups',
      summary: 'Add a user to groups',
      description:
        'The user joins them within the default account. Refused if a group allows more than the caller may do.',
      body: groupsInput,
      attachedIdField: 'group_ids',
      dryRun: true,
      returns: ok(consoleUserView),
      fails: [userNotFound, groupNotFound, policyLimitExceeded, grantExceeds, concurrentChange],
    },
    async ({ ctx, params, body }) => viewConsoleUser(await addUserToGroups(ctx, params.id, body.group_ids)),
  ),
  endpoint(
    {
      method: 'put',
      path: '/v1/users/{id}/groups',
      access: 'users:assign_groups',
      operationId: 'replaceUserGroups',
      summary: "Replace a user's groups",
      description:
        'Within the default account. Refused if an added group allows more than the caller may do, or a removed group denies something that the caller may not do.',
      body: optionalGroupsInput,
      attachedIdField: 'group_ids',
      alsoChanges: ['groups'],
      changers: { groups: 'group_ids' },
      dryRun: true,
      returns: ok(consoleUserView),
      fails: [userNotFound, groupNotFound, policyLimitExceeded, grantExceeds, concurrentChange],
    },
    async ({ ctx, params, body }) => viewConsoleUser(await replaceUserGroups(ctx, params.id, body.group_ids)),
  ),
  endpoint(
    {
      method: 'delete',
      path: '/v1/users/{id}/groups',
      access: 'users:remove_groups',
      operationId: 'removeUserFromGroups',
      summary: 'Remove a user from groups',
      description:
        'Removes the user from them within the default account. Refused if a group denies something that the caller may not do: the user would gain it.',
      body: optionalGroupsInput,
      attachedIdField: 'group_ids',
      dryRun: true,
      returns: ok(consoleUserView),
      fails: [userNotFound, groupNotFound, grantExceeds, concurrentChange],
    },
    async ({ ctx, params, body }) => viewConsoleUser(await removeUserFromGroups(ctx, params.id, body.group_ids)),
  ),
];
