import { z } from 'zod';
import { ok } from '../../http/endpoint.ts';
import { pageQuery } from '../../http/list-query.ts';
import { endpoint, list, listOf } from '../../http/surfaces/console.ts';
import { activateUser, deactivateUser, listUsersWithGroups } from './administration.ts';
import { getUser } from './service.ts';
import { consoleUserView, userStatusView, viewConsoleUser, viewUserOfList, viewUserStatus } from './views.ts';

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
];
