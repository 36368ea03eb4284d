import { z } from 'zod';
import { ok, versioned } from '../../http/endpoint.ts';
import { pageQuery } from '../../http/list-query.ts';
import { endpoint, list, listOf } from '../../http/surfaces/console.ts';
import { activateUser, deactivateUser, listUsersWithGroups } from './administration.ts';
import { ownerNotDeactivatable, selfNotDeactivatable, userNotFound, userStillInvited } from './failures.ts';
import { getUser } from './service.ts';
import { consoleUserView, userStatusView, viewConsoleUser, viewUserOfList, viewUserStatus } from './views.ts';

export const consoleUserEndpoints = [
  endpoint(
    {
      method: 'get',
      path: '/v1/users',
      access: 'users:list',
      operationId: 'listUsers',
      summary: 'List users',
      description: 'Newest first.',
      query: pageQuery('per_page').extend({ include: z.literal('groups').optional() }),
      returns: ok(listOf(consoleUserView)),
      fails: [],
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
      operationId: 'getUser',
      summary: 'Get a user',
      returns: ok(consoleUserView),
      versioned: versioned(),
      fails: [userNotFound],
    },
    async ({ ctx, params }) => viewConsoleUser(await getUser(ctx, params.id)),
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/users/{id}/activate',
      shows: '/v1/users/{id}',
      access: 'users:activate',
      operationId: 'activateUser',
      summary: 'Activate a user',
      description: 'Lets a deactivated user sign in again.',
      returns: ok(userStatusView),
      fails: [userNotFound, userStillInvited],
    },
    async ({ ctx, params }) => viewUserStatus(await activateUser(ctx, params.id)),
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/users/{id}/deactivate',
      shows: '/v1/users/{id}',
      access: 'users:deactivate',
      operationId: 'deactivateUser',
      summary: 'Deactivate a user',
      description: 'The user cannot sign in any more, and all sessions end.',
      returns: ok(userStatusView),
      fails: [userNotFound, userStillInvited, selfNotDeactivatable, ownerNotDeactivatable],
    },
    async ({ ctx, params }) => viewUserStatus(await deactivateUser(ctx, params.id)),
  ),
];
