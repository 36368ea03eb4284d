import { z } from 'zod';
import { created, declareVersion, noContent, ok } from '../../http/endpoint.ts';
import { INCLUDE_DELETED_OPTION, makeListQuery, toDeletionFilter, toPageRequest } from '../../http/list-query.ts';
import { endpoint, makeListSchema, viewList } from '../../http/surfaces/organization.ts';
import { toBodyFields } from '../../http/wire.ts';
import { displayNameSchema, metadataSchema } from '../../kernel/fields.ts';
import {
  accountAlreadyDeleted,
  accountInUse,
  accountNameTaken,
  accountNotDeleted,
  accountNotFound,
  defaultAccountNotDeactivatable,
  defaultAccountNotDeletable,
} from './failures.ts';
import { changeAccount, createAccount, deleteAccount, getAccount, listAccounts, restoreAccount } from './service.ts';
import { accountView, viewAccount } from './views.ts';

const ORDER_FIELDS = ['created_at', 'updated_at', 'name'] as const;

const accountInput = z
  .object({ name: displayNameSchema, is_default: z.boolean().default(false), metadata: metadataSchema.default({}) })
  .transform(toBodyFields);

const accountChanges = z
  .object({
    name: displayNameSchema,
    metadata: metadataSchema.meta({ description: 'Replaces the metadata as a whole.' }),
    is_active: z.boolean().meta({ description: 'The default account is always active.' }),
    is_default: z.boolean().meta({
      description:
        'True moves the default to this account. False is taken beside other changes of an account that is not the default.',
    }),
  })
  .partial()
  .transform(toBodyFields);

export const accountEndpoints = [
  endpoint(
    {
      method: 'get',
      path: '/accounts',
      access: 'accounts:ListAccounts',
      operationId: 'listAccounts',
      summary: 'List accounts',
      description: 'Lists deleted accounts too with `include_deleted=true`, which only administrators may send.',
      query: makeListQuery(ORDER_FIELDS).extend(INCLUDE_DELETED_OPTION.query),
      returns: ok(makeListSchema(accountView)),
      ...INCLUDE_DELETED_OPTION.contract,
      fails: [],
    },
    async ({ ctx, query }) =>
      viewList(await listAccounts(ctx, toDeletionFilter(query), toPageRequest(query)), viewAccount),
  ),
  endpoint(
    {
      method: 'get',
      path: '/accounts/{id}',
      access: 'accounts:GetAccount',
      operationId: 'getAccount',
      summary: 'Get an account',
      description: 'With its metadata, whether it is active, and whether it is the company’s default account.',
      returns: ok(accountView),
      versionDeclaration: declareVersion(),
      fails: [accountNotFound],
    },
    async ({ ctx, params }) => viewAccount(await getAccount(ctx, params.id)),
  ),
  endpoint(
    {
      method: 'post',
      path: '/accounts',
      access: 'accounts:CreateAccount',
      operationId: 'createAccount',
      summary: 'Create an account',
      description: 'With `is_default: true` it replaces the present default account.',
      body: accountInput,
      exactNumbers: 'text',
      returns: created(accountView),
      fails: [accountNameTaken],
    },
    async ({ ctx, body }) => viewAccount(await createAccount(ctx, body)),
  ),
  endpoint(
    {
      method: 'patch',
      path: '/accounts/{id}',
      access: 'accounts:UpdateAccount',
      operationId: 'updateAccount',
      summary: 'Update an account',
      description:
        'Changes only the fields that are sent. An account becomes the default in the place of the present one; the default account is always active.',
      body: accountChanges,
      exactNumbers: 'text',
      returns: ok(accountView),
      fails: [accountNotFound, accountNameTaken, defaultAccountNotDeactivatable],
    },
    async ({ ctx, params, body }) => viewAccount(await changeAccount(ctx, params.id, body)),
  ),
  endpoint(
    {
      method: 'delete',
      path: '/accounts/{id}',
      access: 'accounts:DeleteAccount',
      operationId: 'deleteAccount',
      summary: 'Delete an account',
      description: 'An account can be deleted once no user and no service account is attached to it.',
      returns: noContent,
      fails: [accountNotFound, accountAlreadyDeleted, defaultAccountNotDeletable, accountInUse],
    },
    ({ ctx, params }) => deleteAccount(ctx, params.id),
  ),
  endpoint(
    {
      method: 'get',
      path: '/admin/deleted/accounts',
      access: 'administrator',
      operationId: 'listDeletedAccounts',
      summary: 'List deleted accounts',
      description: 'Deleted accounts alone, for administrators, who can restore them.',
      query: makeListQuery(ORDER_FIELDS),
      returns: ok(makeListSchema(accountView)),
      fails: [],
    },
    async ({ ctx, query }) => viewList(await listAccounts(ctx, 'deleted', toPageRequest(query)), viewAccount),
  ),
  endpoint(
    {
      method: 'post',
      path: '/admin/restore/account/{id}',
      access: 'administrator',
      operationId: 'restoreAccount',
      summary: 'Restore a deleted account',
      description: 'A restored account is never the default.',
      returns: ok(accountView),
      fails: [accountNotFound, accountNotDeleted, accountNameTaken],
    },
    async ({ ctx, params }) => viewAccount(await restoreAccount(ctx, params.id)),
  ),
];
