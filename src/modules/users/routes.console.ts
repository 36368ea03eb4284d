import { z } from 'zod';
import { declareVersion, noContent, ok } from '../../http/endpoint.ts';
import { makeSortedListQuery, toSortedRequest } from '../../http/list-query.ts';
import { endpoint, makeListSchema, viewList } from '../../http/surfaces/console.ts';
import { displayNameSchema, makeIdsSchema } from '../../kernel/fields.ts';
import {
  ownerNotDeactivatable,
  ownerNotDeletable,
  selfNotDeactivatable,
  selfNotDeletable,
  userAlreadyDeleted,
  userNotFound,
  userStillInvited,
} from './failures.ts';
import { changeProfile, changeUser, deactivateUser, deleteOtherUser, getUser, listUsersWithGroups } from './service.ts';
import {
  consoleUserView,
  userStatusField,
  userStatusView,
  viewConsoleUser,
  viewUserOfList,
  viewUserStatus,
} from './views.ts';

const userListQuery = makeSortedListQuery({
  searchedField: 'the name or email address',
  fields: ['name', 'created_at', 'email', 'last_login_at'],
  defaultOrdering: '-created_at',
}).extend({
  include: z.literal('groups').optional(),
  status: userStatusField.optional().meta({ description: 'Only users of this status.' }),
  group_id: z
    .string()
    .min(1)
    .max(100)
    .optional()
    .meta({ description: 'Only members of this group within the default account.' }),
});

const userChangesInput = z
  .object({ name: displayNameSchema, team_ids: makeIdsSchema() })
  .partial()
  .transform(({ team_ids: teams, ...rest }) => ({ ...rest, ...(teams && { teams }) }));

export const consoleUserEndpoints = [
  endpoint(
    {
      method: 'get',
      path: '/v1/users',
      access: 'users:list',
      operationId: 'listUsers',
      summary: 'List users',
      description: 'Active, invited and deactivated users. The newest first, unless `sort_by` says otherwise.',
      query: userListQuery,
      returns: ok(makeListSchema(consoleUserView)),
      fails: [],
    },
    async ({ ctx, query }) =>
      viewList(
        await listUsersWithGroups(ctx, { ...toSortedRequest(query), status: query.status, groupId: query.group_id }),
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
      description: 'With status, teams and groups. An invited user, who has not accepted yet, is found too.',
      returns: ok(consoleUserView),
      versionDeclaration: declareVersion(),
      fails: [userNotFound],
    },
    async ({ ctx, params }) => viewConsoleUser(await getUser(ctx, params.id)),
  ),
  endpoint(
    {
      method: 'put',
      path: '/v1/users/{id}',
      access: 'users:update',
      operationId: 'updateUser',
      summary: 'Update a user',
      description: 'Changes only the fields that are sent; `team_ids` replace all teams of the user.',
      body: userChangesInput,
      alsoChanges: ['teams'],
      changers: { teams: 'team_ids', email: 'PATCH /scim/v2/Users/{id}' },
      returns: ok(consoleUserView),
      fails: [userNotFound],
    },
    async ({ ctx, params, body }) => viewConsoleUser(await changeProfile(ctx, params.id, body)),
  ),
  endpoint(
    {
      method: 'delete',
      path: '/v1/users/{id}',
      access: 'users:delete',
      operationId: 'deleteUser',
      summary: 'Delete a user',
      description:
        'Memberships are removed, and sessions end. Of somebody who has not accepted the invitation yet, the link stops working.',
      returns: noContent,
      fails: [userNotFound, userAlreadyDeleted, selfNotDeletable, ownerNotDeletable],
    },
    ({ ctx, params }) => deleteOtherUser(ctx, params.id),
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/users/{id}/activate',
      shownPath: '/v1/users/{id}',
      access: 'users:activate',
      operationId: 'activateUser',
      summary: 'Activate a user',
      description: 'Lets a deactivated user sign in again.',
      alsoChanges: ['status'],
      returns: ok(userStatusView),
      fails: [userNotFound, userStillInvited],
    },
    async ({ ctx, params }) => viewUserStatus(await changeUser(ctx, params.id, { isActive: true })),
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/users/{id}/deactivate',
      shownPath: '/v1/users/{id}',
      access: 'users:deactivate',
      operationId: 'deactivateUser',
      summary: 'Deactivate a user',
      description: 'The user cannot sign in any more, and all sessions end.',
      alsoChanges: ['status'],
      returns: ok(userStatusView),
      fails: [userNotFound, userStillInvited, selfNotDeactivatable, ownerNotDeactivatable],
    },
    async ({ ctx, params }) => viewUserStatus(await deactivateUser(ctx, params.id)),
  ),
];
