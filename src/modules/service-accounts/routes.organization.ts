import { z } from 'zod';
import { findListDenials } from '../../access/denials.ts';
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
import { serviceAccountAlreadyDeleted, serviceAccountNotFound } from './failures.ts';
import {
  changeServiceAccount,
  createServiceAccount,
  deleteServiceAccount,
  getServiceAccount,
  listServiceAccounts,
} from './service.ts';
import {
  accountId,
  serviceAccountChanges,
  serviceAccountFields,
  serviceAccountView,
  viewServiceAccount,
} from './views.ts';

const serviceAccountInput = z.object({ ...serviceAccountFields, account_id: accountId }).transform(toBodyFields);

const serviceAccountListQuery = makeListQuery(['created_at', 'updated_at', 'name', 'last_used_at']).extend({
  account_id: accountId.optional(),
  include_inactive: queryFlag,
  ...INCLUDE_DELETED_OPTION.query,
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
];
