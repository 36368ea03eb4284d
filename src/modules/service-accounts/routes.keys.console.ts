import { findListDenials } from '../../access/denials.ts';
import { grantExceeds } from '../../access/failures.ts';
import { created, noContent, ok } from '../../http/endpoint.ts';
import { makePageQuery } from '../../http/list-query.ts';
import { endpoint, makeListSchema, viewList } from '../../http/surfaces/console.ts';
import { keyAlreadyRevoked, keyNotFound, serviceAccountNotFound } from './failures.ts';
import {
  issueKey,
  listKeys,
  requireNotDeniedServiceAccount,
  requireServiceAccountForKey,
  revokeKey,
} from './service.ts';
import { consoleApiKeyView, issuedConsoleApiKeyView, keyInput, viewConsoleApiKey } from './views.ts';

/**
 * Routes for API keys. Access to the keys is checked; of the service account in the path, only that the caller is not denied it.
 */
export const consoleApiKeyEndpoints = [
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
      checkPath: (ctx, { id = '' }) =>
        requireServiceAccountForKey(ctx, requireNotDeniedServiceAccount(ctx, 'integration_user', id)),
      returns: created(issuedConsoleApiKeyView),
      fails: [serviceAccountNotFound, grantExceeds],
    },
    async ({ ctx, params, body }) => {
      const { key, secretKey } = await issueKey(
        ctx,
        requireNotDeniedServiceAccount(ctx, 'integration_user', params.id),
        body,
      );
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
          requireNotDeniedServiceAccount(ctx, 'integration_user', params.id),
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
    ({ ctx, params }) =>
      revokeKey(ctx, requireNotDeniedServiceAccount(ctx, 'integration_user', params.id), params.key_id),
  ),
];
