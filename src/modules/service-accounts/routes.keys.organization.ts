import { grantExceeds } from '../../access/failures.ts';
import type { PrincipalContext } from '../../context.ts';
import { created, noContent, ok } from '../../http/endpoint.ts';
import { makeListQuery, toPageRequest } from '../../http/list-query.ts';
import { endpoint, makeListSchema, viewList } from '../../http/surfaces/organization.ts';
import { keyAlreadyRevoked, keyNotFound, serviceAccountNotFound } from './failures.ts';
import {
  issueKey,
  listKeys,
  requireNotDeniedServiceAccount,
  requireServiceAccountForKey,
  revokeKey,
} from './service.ts';
import { apiKeyView, issuedApiKeyView, keyInput, viewApiKey } from './views.ts';

const requireNotDenied = (ctx: PrincipalContext, id: string): string =>
  requireNotDeniedServiceAccount(ctx, 'service_account', id);

/**
 * Routes for API keys. Access to the keys is checked; of the service account in the path, only that the caller is not denied it.
 */
export const apiKeyEndpoints = [
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
];
