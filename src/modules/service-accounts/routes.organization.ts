import { z } from 'zod';
import { findListDenials } from '../../access/denials.ts';
import { grantExceeds } from '../../access/failures.ts';
import type { PrincipalContext } from '../../context.ts';
import { created, declareVersion, noContent, ok } from '../../http/endpoint.ts';
import {
  INCLUDE_DELETED_OPTION,
  makeListQuery,
  queryFlag,
  toDeletionFilter,
  toPageRequest,
} from '../../http/list-query.ts';
import { endpoint, makeListSchema, viewList } from '../../http/surfaces/organization.ts';
import { toBodyFields } from '../../http/wire.ts';
import { accountNotFound } from '../accounts/failures.ts';
import { keyAlreadyRevoked, keyNotFound, serviceAccountAlreadyDeleted, serviceAccountNotFound } from './failures.ts';
import {
  changeServiceAccount,
  createServiceAccount,
  deleteServiceAccount,
  getServiceAccount,
  issueKey,
  listKeys,
  listServiceAccounts,
  requireNotDeniedServiceAccount,
  requireServiceAccountForKey,
  revokeKey,
} from './service.ts';
import { issueServiceToken, TOKEN_LIFETIME_SECONDS } from './service-token.ts';
import {
  accountId,
  apiKeyView,
  issuedApiKeyView,
  keyInput,
  serviceAccountChanges,
  serviceAccountFields,
  serviceAccountView,
  viewApiKey,
  viewServiceAccount,
} from './views.ts';

const serviceAccountInput = z.object({ ...serviceAccountFields, account_id: accountId }).transform(toBodyFields);

const serviceAccountListQuery = makeListQuery(['created_at', 'updated_at', 'name', 'last_used_at']).extend({
  account_id: accountId.optional(),
  include_inactive: queryFlag,
  ...INCLUDE_DELETED_OPTION.query,
});

const requireNotDenied = (ctx: PrincipalContext, id: string): string =>
  requireNotDeniedServiceAccount(ctx, 'service_account', id);

const { min, max } = TOKEN_LIFETIME_SECONDS;

const tokenInput = z.object({
  expires_in: z.int().min(min).max(max).default(max).meta({ description: 'Seconds.' }),
});

export const serviceAccountEndpoints = [
  endpoint(
    {
      method: 'get',
      path: '/service-accounts',
      access: 'service-accounts:ListServiceAccounts',
      operationId: 'listServiceAccounts',
      summary: 'List service accounts',
      description:
        'Lists inactive ones too with `include_inactive=true`, and deleted ones with `include_deleted=true`, which only administrators may send.',
      query: serviceAccountListQuery,
      returns: ok(makeListSchema(serviceAccountView)),
      ...INCLUDE_DELETED_OPTION.contract,
      fails: [],
    },
    async ({ ctx, query }) =>
      viewList(
        await listServiceAccounts(
          ctx,
          {
            accountId: query.account_id,
            includesInactive: query.include_inactive,
            lifecycle: toDeletionFilter(query),
            denials: findListDenials(ctx.actor, 'service_account'),
          },
          toPageRequest(query),
        ),
        viewServiceAccount,
      ),
  ),
  endpoint(
    {
      method: 'get',
      path: '/service-accounts/{id}',
      access: 'service-accounts:GetServiceAccount',
      operationId: 'getServiceAccount',
      summary: 'Get a service account',
      description: 'With the account that it is in and when it was last used. Its keys have a list of their own.',
      returns: ok(serviceAccountView),
      versionDeclaration: declareVersion('last_used_at'),
      fails: [serviceAccountNotFound],
    },
    async ({ ctx, params }) => viewServiceAccount(await getServiceAccount(ctx, params.id)),
  ),
  endpoint(
    {
      method: 'post',
      path: '/service-accounts',
      access: 'service-accounts:CreateServiceAccount',
      operationId: 'createServiceAccount',
      summary: 'Create a service account',
      description:
        'The identity of a program, in an account. It can do nothing until it has an API key, and is in a group that allows something.',
      body: serviceAccountInput,
      exactNumbers: 'text',
      returns: created(serviceAccountView),
      fails: [accountNotFound],
    },
    async ({ ctx, body }) => viewServiceAccount(await createServiceAccount(ctx, body)),
  ),
  endpoint(
    {
      method: 'patch',
      path: '/service-accounts/{id}',
      access: 'service-accounts:UpdateServiceAccount',
      operationId: 'updateServiceAccount',
      summary: 'Update a service account',
      description:
        'Changes only the fields that are sent. While it is inactive, requests signed with its keys are refused.',
      body: serviceAccountChanges,
      exactNumbers: 'text',
      returns: ok(serviceAccountView),
      fails: [serviceAccountNotFound],
    },
    async ({ ctx, params, body }) => viewServiceAccount(await changeServiceAccount(ctx, params.id, body)),
  ),
  endpoint(
    {
      method: 'delete',
      path: '/service-accounts/{id}',
      access: 'service-accounts:DeleteServiceAccount',
      operationId: 'deleteServiceAccount',
      summary: 'Delete a service account',
      description:
        'Its keys are revoked and its memberships removed. Administrators find it again by `include_deleted=true`.',
      returns: noContent,
      fails: [serviceAccountNotFound, serviceAccountAlreadyDeleted],
    },
    ({ ctx, params }) => deleteServiceAccount(ctx, params.id),
  ),
  // Access to keys is checked; of the service account in the path, only that the caller is not denied it.
  endpoint(
    {
      method: 'post',
      path: '/service-accounts/{id}/keys',
      access: 'service-accounts:IssueKey',
      operationId: 'createApiKey',
      summary: 'Create an API key',
      description:
        'A key with which programs sign requests as the service account. `secret_key` is shown in this answer only. Refused if the service account may do more than the caller.',
      body: keyInput,
      checkPath: (ctx, { id = '' }) => requireServiceAccountForKey(ctx, requireNotDenied(ctx, id)),
      returns: created(issuedApiKeyView),
      fails: [serviceAccountNotFound, grantExceeds],
    },
    async ({ ctx, params, body }) => {
      const { key, secretKey } = await issueKey(ctx, requireNotDenied(ctx, params.id), body);
      return { ...viewApiKey(key), secret_key: secretKey };
    },
  ),
  endpoint(
    {
      method: 'get',
      path: '/service-accounts/{id}/keys',
      access: 'service-accounts:ListKeys',
      operationId: 'listApiKeys',
      summary: 'List the API keys of a service account',
      description: 'Revoked keys stay listed, with `is_active: false`.',
      query: makeListQuery(['created_at', 'updated_at', 'last_used_at']),
      returns: ok(makeListSchema(apiKeyView)),
      fails: [serviceAccountNotFound],
    },
    async ({ ctx, params, query }) =>
      viewList(await listKeys(ctx, requireNotDenied(ctx, params.id), toPageRequest(query)), viewApiKey),
  ),
  endpoint(
    {
      method: 'delete',
      path: '/service-accounts/{id}/keys/{key_id}',
      access: 'service-accounts:RevokeKey',
      operationId: 'revokeApiKey',
      summary: 'Revoke an API key',
      description: 'The key stays listed, with `is_active: false`. The next request signed with it is refused.',
      returns: noContent,
      fails: [serviceAccountNotFound, keyNotFound, keyAlreadyRevoked],
    },
    ({ ctx, params }) => revokeKey(ctx, requireNotDenied(ctx, params.id), params.key_id),
  ),
  endpoint(
    {
      method: 'post',
      path: '/tokens',
      access: 'authenticated',
      operationId: 'createServiceToken',
      summary: 'Create a service token',
      description:
        'The token is accepted wherever a session token is, with the access of the service account. It stops working when the key that signed this request does.',
      body: tokenInput,
      returns: created(
        z
          .object({ token: z.string(), token_type: z.literal('Bearer'), expires_in: z.int() })
          .meta({ id: 'ServiceToken' }),
      ),
      fails: [],
    },
    async ({ ctx, body: { expires_in } }) => ({
      token: await issueServiceToken(ctx, expires_in),
      token_type: 'Bearer' as const,
      expires_in,
    }),
  ),
];
