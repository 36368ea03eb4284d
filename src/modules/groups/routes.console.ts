import { z } from 'zod';
import { created, noContent, ok } from '../../http/endpoint.ts';
import { pageQuery } from '../../http/list-query.ts';
import { endpoint, list, listOf } from '../../http/surfaces/console.ts';
import { displayName, idsInput, slug } from '../../kernel/fields.ts';
import { LEGACY_ACTIONS } from '../../kernel/legacy.ts';
import { attachPolicyToGroup, detachPolicyFromGroup } from './attachments.ts';
import {
  addGroupPermissions,
  createGroupWithPermissions,
  removeGroupPermissions,
  replaceGroupPermissions,
} from './permissions.ts';
import { changeGroup, deleteGroup, getGroup, listGroups } from './service.ts';
import { consoleGroupView, viewConsoleGroup } from './views.ts';

const ROLES = 50;

const role = z.object({
  name: z.string().trim().min(1).max(200),
  target: z.string().min(1).max(100).meta({ description: 'A service of the catalogue, or `*` for all.' }),
  actions: z.array(z.enum(LEGACY_ACTIONS)).min(1).max(LEGACY_ACTIONS.length),
});

const name = displayName.min(2);
const description = z.string().trim().min(10).max(2000);

const groupInput = z.object({
  name,
  slug,
  description,
  roles: z.array(role).max(ROLES).default([]),
  permissionIds: idsInput().default([]),
});
const groupChanges = z.object({ name, slug, description }).partial();

const somePermissions = z.object({ permissionIds: idsInput(1) });
const anyPermissions = z.object({ permissionIds: idsInput() });

const groupListQuery = pageQuery('per_page').extend({
  include_global: z
    .enum(['true', 'false'], { error: 'must be true or false' })
    .default('true')
    .transform((text) => text === 'true'),
});

export const consoleGroupEndpoints = [
  endpoint(
    {
      method: 'get',
      path: '/v1/groups',
      access: 'groups:list',
      summary: 'List groups, the newest first',
      query: groupListQuery,
      returns: ok(listOf(consoleGroupView)),
    },
    async ({ ctx, query }) =>
      list(
        await listGroups(
          ctx,
          { which: 'living', withoutGlobal: !query.include_global },
          { by: 'created_at', descending: true, page: query.page, perPage: query.per_page },
        ),
        viewConsoleGroup,
      ),
  ),
  endpoint(
    {
      method: 'get',
      path: '/v1/groups/{id}',
      access: 'groups:get',
      summary: 'Get a group',
      returns: ok(consoleGroupView),
    },
    async ({ ctx, params }) => viewConsoleGroup(await getGroup(ctx, params.id)),
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/groups',
      access: 'groups:create',
      summary: 'Create a group',
      description: '403 when its roles or permissions allow more than the caller may.',
      body: groupInput,
      attaches: 'permissionIds',
      returns: created(consoleGroupView),
    },
    async ({ ctx, body }) => viewConsoleGroup(await createGroupWithPermissions(ctx, body)),
  ),
  endpoint(
    {
      method: 'put',
      path: '/v1/groups/{id}',
      access: 'groups:update',
      summary: 'Change what is sent of a group',
      description:
        'Name, slug and description of a global group stay (400 CANNOT_MODIFY_GLOBAL); who is in it and what is attached to it can change.',
      body: groupChanges,
      returns: ok(consoleGroupView),
    },
    async ({ ctx, params, body }) => viewConsoleGroup(await changeGroup(ctx, params.id, body)),
  ),
  endpoint(
    {
      method: 'delete',
      path: '/v1/groups/{id}',
      access: 'groups:delete',
      summary: 'Delete a group',
      description:
        'Its memberships and attachments are removed; its members, policies and permissions stay. 403 when it denies what the caller may not do: its members would gain that.',
      returns: noContent,
    },
    ({ ctx, params }) => deleteGroup(ctx, params.id),
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/groups/{id}/permissions',
      access: 'groups:update',
      summary: 'List more legacy permissions on a group',
      description: '403 when they allow more than the caller may.',
      body: somePermissions,
      attaches: 'permissionIds',
      returns: ok(consoleGroupView),
    },
    async ({ ctx, params, body }) => viewConsoleGroup(await addGroupPermissions(ctx, params.id, body.permissionIds)),
  ),
  endpoint(
    {
      method: 'put',
      path: '/v1/groups/{id}/permissions',
      access: 'groups:update',
      summary: 'List these legacy permissions on a group and no others',
      description: '403 when new ones allow more than the caller may.',
      body: anyPermissions,
      attaches: 'permissionIds',
      returns: ok(consoleGroupView),
    },
    async ({ ctx, params, body }) =>
      viewConsoleGroup(await replaceGroupPermissions(ctx, params.id, body.permissionIds)),
  ),
  endpoint(
    {
      method: 'delete',
      path: '/v1/groups/{id}/permissions',
      access: 'groups:update',
      summary: 'Take legacy permissions from a group',
      body: anyPermissions,
      attaches: 'permissionIds',
      returns: ok(consoleGroupView),
    },
    async ({ ctx, params, body }) => viewConsoleGroup(await removeGroupPermissions(ctx, params.id, body.permissionIds)),
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/groups/{id}/policies/{policy_id}',
      access: 'groups:attach_policy',
      summary: 'Attach a policy to a group',
      description: 'Attaching twice changes nothing. 403 when the policy allows more than the caller may.',
      returns: noContent,
    },
    ({ ctx, params }) => attachPolicyToGroup(ctx, params.id, params.policy_id),
  ),
  endpoint(
    {
      method: 'delete',
      path: '/v1/groups/{id}/policies/{policy_id}',
      access: 'groups:detach_policy',
      summary: 'Detach a policy from a group',
      description: '403 when the policy denies what the caller may not do: the members would gain that.',
      returns: noContent,
    },
    ({ ctx, params }) => detachPolicyFromGroup(ctx, params.id, params.policy_id),
  ),
];
