import { z } from 'zod';
import { quotaExceeded } from '../../db/failures.ts';
import { created, noContent, ok, versioned } from '../../http/endpoint.ts';
import { INCLUDE_DELETED, listQuery, toDeletionFilter, toPageRequest } from '../../http/list-query.ts';
import { endpoint, list, listSchema } from '../../http/surfaces/organization.ts';
import { toBodyFields } from '../../http/wire.ts';
import { email, metadata } from '../../kernel/fields.ts';
import { changeUser, createUser, deleteUser, findUser, listUsers } from './administration.ts';
import {
  emailTaken,
  ownerNotDeactivatable,
  ownerNotDeletable,
  userAlreadyDeleted,
  userNotFound,
  userStillInvited,
} from './failures.ts';
import { newPassword } from './fields.ts';
import { organizationUserView, viewOrganizationUser } from './views.ts';

const MIN_PASSWORD_LENGTH = 8;

const userInput = z.object({ email, password: newPassword(MIN_PASSWORD_LENGTH), metadata: metadata.default({}) });

const userChanges = z
  .object({
    is_active: z.boolean().meta({ description: '`false` ends the user’s sessions.' }),
    metadata: metadata.meta({ description: 'Replaces the metadata as a whole.' }),
  })
  .partial()
  .transform(toBodyFields);

const userListQuery = listQuery(['created_at', 'updated_at', 'email', 'last_login_at']).extend({
  account_id: z.string().max(100).optional().meta({ description: 'Users with a membership in this account.' }),
  ...INCLUDE_DELETED.query,
});

export const organizationUserEndpoints = [
  endpoint(
    {
      method: 'get',
      path: '/users',
      access: 'users:ListUsers',
      operationId: 'listOrganizationUsers',
      summary: 'List users',
      description: 'Lists deleted users too with `include_deleted=true`, which only administrators may send.',
      query: userListQuery,
      returns: ok(listSchema(organizationUserView)),
      ...INCLUDE_DELETED.contract,
      fails: [],
    },
    async ({ ctx, query }) =>
      list(
        await listUsers(ctx, { accountId: query.account_id, which: toDeletionFilter(query) }, toPageRequest(query)),
        viewOrganizationUser,
      ),
  ),
  endpoint(
    {
      method: 'get',
      path: '/users/{id}',
      access: 'users:GetUser',
      operationId: 'getOrganizationUser',
      summary: 'Get a user',
      description: 'With metadata, the last sign-in, and whether a second factor is set up.',
      returns: ok(organizationUserView),
      versioned: versioned('last_login_at'),
      fails: [userNotFound],
    },
    async ({ ctx, params }) => viewOrganizationUser(await findUser(ctx, params.id)),
  ),
  endpoint(
    {
      method: 'post',
      path: '/users',
      access: 'users:CreateUser',
      operationId: 'createOrganizationUser',
      summary: 'Create a user',
      description: 'The user can sign in at once, and is in no group.',
      body: userInput,
      returns: created(organizationUserView),
      fails: [emailTaken, quotaExceeded],
    },
    async ({ ctx, body }) => viewOrganizationUser(await createUser(ctx, body)),
  ),
  endpoint(
    {
      method: 'patch',
      path: '/users/{id}',
      access: 'users:UpdateUser',
      operationId: 'updateOrganizationUser',
      summary: 'Update a user',
      description: 'Changes only the fields that are sent. A user who becomes inactive is signed out everywhere.',
      body: userChanges,
      changedBy: { mfa_enabled: 'DELETE /v1/users/{id}/2fa', email: 'PATCH /scim/v2/Users/{id}' },
      returns: ok(organizationUserView),
      fails: [userNotFound, ownerNotDeactivatable, userStillInvited],
    },
    async ({ ctx, params, body }) => viewOrganizationUser(await changeUser(ctx, params.id, body)),
  ),
  endpoint(
    {
      method: 'delete',
      path: '/users/{id}',
      access: 'users:DeleteUser',
      operationId: 'deleteOrganizationUser',
      summary: 'Delete a user',
      description: 'Memberships are removed and sessions end.',
      returns: noContent,
      fails: [userNotFound, userAlreadyDeleted, ownerNotDeletable],
    },
    ({ ctx, params }) => deleteUser(ctx, params.id),
  ),
];
