import { z } from 'zod';
import { created, ok } from '../../http/endpoint.ts';
import { email, idsInput, isoMoment, pageQuery } from '../../http/fields.ts';
import { endpoint, list, listOf } from '../../http/surfaces/console.ts';
import { addUserToGroups, removeUserFromGroups, replaceUserGroups } from '../groups/service.ts';
import { activateUser, deactivateUser, listUsersWithGroups } from './administration.ts';
import { inviteUser } from './invite.ts';
import { getUser } from './service.ts';
import {
  consoleUserView,
  invitedUserView,
  userStatusView,
  viewConsoleUser,
  viewUserOfList,
  viewUserStatus,
} from './views.ts';

const invitation = z
  .object({
    email,
    team_ids: idsInput().optional(),
    group_ids: idsInput().default([]),
  })
  .transform(({ team_ids, group_ids, ...rest }) => ({ ...rest, teams: team_ids, groupIds: group_ids }));

const someGroups = z.object({ group_ids: idsInput(1) });
const anyGroups = z.object({ group_ids: idsInput() });

export const consoleUserEndpoints = [
  endpoint(
    {
      method: 'get',
      path: '/v1/users',
      access: 'users:list',
      summary: 'List users, the newest first',
      query: pageQuery('per_page').extend({ include: z.literal('groups').optional() }),
      returns: ok(listOf(consoleUserView)),
    },
    async ({ ctx, query }) =>
      list(
        await listUsersWithGroups(ctx, { page: query.page, perPage: query.per_page }),
        viewUserOfList(query.include === 'groups'),
      ),
  ),
  endpoint(
    {
      method: 'get',
      path: '/v1/users/{id}',
      access: 'users:get',
      summary: 'Get a user',
      returns: ok(consoleUserView),
    },
    async ({ ctx, params }) => viewConsoleUser(await getUser(ctx, params.id)),
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/users/invite',
      access: 'users:invite',
      summary: 'Invite an email, by mail',
      description:
        'The link works for seven days. Inviting somebody who has not accepted yet renews it: the earlier link stops working, the groups come on top. ' +
        '400 USER_EMAIL_DUPLICATE for anybody else of the company; 403 when a group may do more than the caller.',
      body: invitation,
      attaches: 'groupIds',
      madeUnder: '/v1/users',
      returns: created(invitedUserView),
    },
    async ({ ctx, body }) => {
      const invited = await inviteUser(ctx, body);
      return { ...viewConsoleUser(invited), invitation_expires_at: isoMoment(invited.expiresAt) };
    },
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/users/{id}/activate',
      access: 'users:activate',
      summary: 'Let a deactivated user in again',
      description: '409 USER_STILL_INVITED for one who has not accepted the invitation yet.',
      returns: ok(userStatusView),
    },
    async ({ ctx, params }) => viewUserStatus(await activateUser(ctx, params.id)),
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/users/{id}/deactivate',
      access: 'users:deactivate',
      summary: 'Keep a user from signing in, and end their sessions',
      description: '409 USER_STILL_INVITED for one who has not accepted the invitation yet.',
      returns: ok(userStatusView),
    },
    async ({ ctx, params }) => viewUserStatus(await deactivateUser(ctx, params.id)),
  ),
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
