import { z } from 'zod';
import { ok } from '../../http/endpoint.ts';
import { endpoint } from '../../http/surfaces/console.ts';
import { idsInput } from '../../kernel/fields.ts';
import { consoleUserView, viewConsoleUser } from '../users/views.ts';
import { addUserToGroups, removeUserFromGroups, replaceUserGroups } from './service.ts';

const someGroups = z.object({ group_ids: idsInput(1) });
const anyGroups = z.object({ group_ids: idsInput() });

/** The groups that a user is in. */
export const userGroupEndpoints = [
  endpoint(
    {
      method: 'post',
      path: '/v1/users/{id}/groups',
      access: 'users:assign_groups',
      summary: 'Put a user into more groups',
      description: 'Within the default account. 403 when a group may do more than the caller.',
      body: someGroups,
      attaches: 'group_ids',
      returns: ok(consoleUserView),
    },
    async ({ ctx, params, body }) => viewConsoleUser(await addUserToGroups(ctx, params.id, body.group_ids)),
  ),
  endpoint(
    {
      method: 'put',
      path: '/v1/users/{id}/groups',
      access: 'users:assign_groups',
      summary: 'Put a user into these groups and no others',
      description:
        '403 when a new group may do more than the caller, or one that is left denies what the caller may not do.',
      body: anyGroups,
      attaches: 'group_ids',
      returns: ok(consoleUserView),
    },
    async ({ ctx, params, body }) => viewConsoleUser(await replaceUserGroups(ctx, params.id, body.group_ids)),
  ),
  endpoint(
    {
      method: 'delete',
      path: '/v1/users/{id}/groups',
      access: 'users:remove_groups',
      summary: 'Take a user out of groups, in every account',
      description: '403 when a group denies what the caller may not do: the user would gain that.',
      body: anyGroups,
      attaches: 'group_ids',
      returns: ok(consoleUserView),
    },
    async ({ ctx, params, body }) => viewConsoleUser(await removeUserFromGroups(ctx, params.id, body.group_ids)),
  ),
];
