import { z } from 'zod';
import { quotaExceeded } from '../../db/failures.ts';
import { created, declareVersion, noContent, ok } from '../../http/endpoint.ts';
import { INCLUDE_DELETED_OPTION, makeListQuery, toDeletionFilter, toPageRequest } from '../../http/list-query.ts';
import { endpoint, makeListSchema, viewList } from '../../http/surfaces/organization.ts';
import { toBodyFields } from '../../http/wire.ts';
import { email, metadataSchema } from '../../kernel/fields.ts';
import {
  emailTaken,
  ownerNotDeactivatable,
  ownerNotDeletable,
  userAlreadyDeleted,
  userNotFound,
  userStillInvited,
} from './failures.ts';
import { makeNewPasswordField } from './fields.ts';
import { changeUser, createUser, deleteUser, findUser, listUsers } from './service.ts';
import { organizationUserView, viewOrganizationUser } from './views.ts';

const MIN_PASSWORD_LENGTH = 8;

const userInput = z.object({
  email,
  password: makeNewPasswordField(MIN_PASSWORD_LENGTH),
  metadata: metadataSchema.default({}),
});

const userChangesInput = z
  .object({
    is_active: z.boolean().meta({ description: '`false` ends the user’s sessions.' }),
    metadata: metadataSchema.meta({ description: 'Replaces the metadata as a whole.' }),
  })
  .partial()
  .transform(toBodyFields);

const userListQuery = makeListQuery(['created_at', 'updated_at', 'email', 'last_login_at']).extend({
  account_id: z.string().max(100).optional().meta({ description: 'Users with a membership in this account.' }),
  ...INCLUDE_DELETED_OPTION.query,
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
      returns: ok(makeListSchema(organizationUserView)),
      ...INCLUDE_DELETED_OPTION.contract,
      fails: [],
    },
    async ({ ctx, query }) =>
      viewList(
        await listUsers(ctx, { accountId: query.account_id, lifecycle: toDeletionFilter(query) }, toPageRequest(query)),
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
      versionDeclaration: declareVersion('last_login_at'),
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
      exactNumbers: 'text',
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
      body: userChangesInput,
      exactNumbers: 'text',
      changers: { mfa_enabled: 'DELETE /v1/users/{id}/2fa', email: 'PATCH /scim/v2/Users/{id}' },
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
