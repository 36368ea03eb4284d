import { z } from 'zod';
import { grantExceeds } from '../../access/failures.ts';
import { concurrentChange } from '../../db/failures.ts';
import { ok } from '../../http/endpoint.ts';
import { endpoint } from '../../http/surfaces/console.ts';
import { makeIdsSchema } from '../../kernel/fields.ts';
import { policyLimitExceeded } from '../policies/failures.ts';
import { userNotFound } from '../users/failures.ts';
import { consoleUserView, viewConsoleUser } from '../users/views.ts';
import { groupNotFound } from './failures.ts';
import { addUserToGroups, removeUserFromGroups, replaceUserGroups } from './service.ts';

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
