import { z } from 'zod';
import { findListDenials } from '../../access/denials.ts';
import { grantExceeds } from '../../access/failures.ts';
import type { PrincipalContext } from '../../context.ts';
import { created, declareVersion, noContent, ok } from '../../http/endpoint.ts';
import { makePageQuery, makeSortedListQuery, queryFlag, toSortedRequest } from '../../http/list-query.ts';
import { endpoint, makeListSchema, viewList } from '../../http/surfaces/console.ts';
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
  requireNotDeniedServiceAccount,
  requireServiceAccountForKey,
  revokeKey,
  searchServiceAccounts,
} from './service.ts';
import {
  accountId,
  consoleApiKeyView,
  consoleServiceAccountView,
  issuedConsoleApiKeyView,
  keyInput,
  serviceAccountChanges,
  serviceAccountFields,
  viewConsoleApiKey,
  viewConsoleServiceAccount,
} from './views.ts';

const serviceAccountInput = z
  .object({
    ...serviceAccountFields,
    account_id: accountId
      .optional()
      .meta({ description: "The account that it is in; the company's default account when not sent." }),
  })
  .transform(toBodyFields);

const serviceAccountListQuery = makeSortedListQuery({
  searchedField: 'the name',
  fields: ['name', 'created_at'],
  defaultOrdering: '-created_at',
}).extend({
  account_id: accountId.optional(),
  include_inactive: queryFlag.meta({ description: '`true` lists inactive ones too.' }),
});

const requireNotDenied = (ctx: PrincipalContext, id: string): string =>
  requireNotDeniedServiceAccount(ctx, 'integration_user', id);

export const consoleServiceAccountEndpoints = [
  endpoint(
    {
      method: 'get',
      path: '/v1/service-accounts',
      access: 'users:list_integration_users',
      operationId: 'listCompanyServiceAccounts',
      summary: 'List service accounts',
      description:
        'The newest first, unless `sort_by` says otherwise. Lists inactive ones too with `include_inactive=true`.',
      query: serviceAccountListQuery,
      returns: ok(makeListSchema(consoleServiceAccountView)),
      fails: [],
    },
    async ({ ctx, query }) =>
      viewList(
        await searchServiceAccounts(
          ctx,
          {
            accountId: query.account_id,
            includesInactive: query.include_inactive,
            denials: findListDenials(ctx.actor, 'integration_user'),
          },
          toSortedRequest(query),
        ),
        viewConsoleServiceAccount,
      ),
  ),
  endpoint(
    {
      method: 'get',
      path: '/v1/service-accounts/{id}',
      access: 'users:list_integration_users',
      operationId: 'getCompanyServiceAccount',
      summary: 'Get a service account',
      description: 'The record of the organization API in the console’s words, without keys.',
      returns: ok(consoleServiceAccountView),
      versionDeclaration: declareVersion('last_used_at'),
      fails: [serviceAccountNotFound],
    },
    async ({ ctx, params }) => viewConsoleServiceAccount(await getServiceAccount(ctx, params.id)),
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/service-accounts',
      access: 'users:create_integration_user',
      operationId: 'createCompanyServiceAccount',
      summary: 'Create a service account',
      description: 'It is in no group, and so may do nothing yet.',
      body: serviceAccountInput,
      exactNumbers: 'text',
      returns: created(consoleServiceAccountView),
      fails: [accountNotFound],
    },
    async ({ ctx, body }) => viewConsoleServiceAccount(await createServiceAccount(ctx, body)),
  ),
  endpoint(
    {
      method: 'put',
      path: '/v1/service-accounts/{id}',
      access: 'users:create_integration_user',
      operationId: 'updateCompanyServiceAccount',
      summary: 'Update a service account',
      description:
        'Changes only the fields that are sent; its account and its keys stay. While it is inactive, requests signed with its keys are refused.',
      body: serviceAccountChanges,
      exactNumbers: 'text',
      returns: ok(consoleServiceAccountView),
      fails: [serviceAccountNotFound],
    },
    async ({ ctx, params, body }) => viewConsoleServiceAccount(await changeServiceAccount(ctx, params.id, body)),
  ),
  endpoint(
    {
      method: 'delete',
      path: '/v1/service-accounts/{id}',
      access: 'users:delete_integration_user',
      operationId: 'deleteCompanyServiceAccount',
      summary: 'Delete a service account',
      description:
        'Programs that use it are refused from the next request on: its keys are revoked and its memberships removed.',
      returns: noContent,
      fails: [serviceAccountNotFound, serviceAccountAlreadyDeleted],
    },
    ({ ctx, params }) => deleteServiceAccount(ctx, params.id),
  ),
  // Access to keys is checked; of the service account in the path, only that the caller is not denied it.
  endpoint(
    {
      method: 'post',
      path: '/v1/service-accounts/{id}/keys',
      access: 'api_keys:create',
      resource: 'none',
      operationId: 'createCompanyApiKey',
      summary: 'Create an API key',
      description:
        'For programs that people of the company run. `secret_key` is shown in this answer only. Refused if the service account may do more than the caller.',
      body: keyInput,
      checkPath: (ctx, { id = '' }) => requireServiceAccountForKey(ctx, requireNotDenied(ctx, id)),
      returns: created(issuedConsoleApiKeyView),
      fails: [serviceAccountNotFound, grantExceeds],
    },
    async ({ ctx, params, body }) => {
      const { key, secretKey } = await issueKey(ctx, requireNotDenied(ctx, params.id), body);
      return { ...viewConsoleApiKey(key), secret_key: secretKey };
    },
  ),
  endpoint(
    {
      method: 'get',
      path: '/v1/service-accounts/{id}/keys',
      access: 'api_keys:list',
      resource: 'none',
      operationId: 'listCompanyApiKeys',
      summary: 'List the API keys of a service account',
      description: 'Newest first. Revoked keys stay listed, with `is_active: false`.',
      query: makePageQuery('per_page'),
      returns: ok(makeListSchema(consoleApiKeyView)),
      fails: [serviceAccountNotFound],
    },
    async ({ ctx, params, query: { page, per_page: perPage } }) =>
      viewList(
        await listKeys(
          ctx,
          requireNotDenied(ctx, params.id),
          { by: 'created_at', descending: true, page, perPage },
          findListDenials(ctx.actor, 'api_key'),
        ),
        viewConsoleApiKey,
      ),
  ),
  endpoint(
    {
      method: 'delete',
      path: '/v1/service-accounts/{id}/keys/{key_id}',
      access: 'api_keys:delete',
      resourceIdParameter: 'key_id',
      operationId: 'revokeCompanyApiKey',
      summary: 'Revoke an API key',
      description: 'The next request signed with it is refused, and so is a service token that was made with it.',
      returns: noContent,
      fails: [serviceAccountNotFound, keyNotFound, keyAlreadyRevoked],
    },
    ({ ctx, params }) => revokeKey(ctx, requireNotDenied(ctx, params.id), params.key_id),
  ),
];
