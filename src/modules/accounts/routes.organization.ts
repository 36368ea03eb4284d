import { z } from 'zod';
import { created, noContent, ok } from '../../http/endpoint.ts';
import { listQuery, livingOrAll, pageRequest, queryFlag } from '../../http/list-query.ts';
import { endpoint, list, listOf } from '../../http/surfaces/organization.ts';
import { displayName, metadata } from '../../kernel/fields.ts';
import { changeAccount, createAccount, deleteAccount, getAccount, listAccounts, restoreAccount } from './service.ts';
import { accountView, viewAccount } from './views.ts';

const ORDER = ['created_at', 'updated_at', 'name'] as const;

const accountInput = z
  .object({ name: displayName, is_default: z.boolean().default(false), metadata: metadata.default({}) })
  .transform(({ is_default, ...rest }) => ({ ...rest, isDefault: is_default }));

const accountChanges = z
  .object({
    name: displayName,
    metadata: metadata.meta({ description: 'Replaces the metadata as a whole.' }),
    is_active: z.boolean().meta({ description: 'The default account is always active.' }),
    is_default: z
      .literal(true, { error: 'must be true; to take the default away, make another account the default' })
      .meta({ description: 'Moves the default to this account.' }),
  })
  .partial()
  .transform(({ is_active, is_default, ...rest }) => ({
    ...rest,
    ...(is_active !== undefined && { isActive: is_active }),
    ...(is_default !== undefined && { isDefault: is_default }),
  }));

export const accountEndpoints = [
  endpoint(
    {
      method: 'get',
      path: '/accounts',
      access: 'accounts:ListAccounts',
      summary: 'List accounts',
      description: '`include_deleted=true` is for administrators.',
      query: listQuery(ORDER).extend({ include_deleted: queryFlag }),
      returns: ok(listOf(accountView)),
    },
    async ({ ctx, query }) =>
      list(await listAccounts(ctx, livingOrAll(ctx.actor, query.include_deleted), pageRequest(query)), viewAccount),
  ),
  endpoint(
    {
      method: 'get',
      path: '/accounts/{id}',
      access: 'accounts:GetAccount',
      summary: 'Get an account',
      returns: ok(accountView),
    },
    async ({ ctx, params }) => viewAccount(await getAccount(ctx, params.id)),
  ),
  endpoint(
    {
      method: 'post',
      path: '/accounts',
      access: 'accounts:CreateAccount',
      summary: 'Create an account',
      description: 'With `is_default: true` it takes the default over from the account that has it.',
      body: accountInput,
      returns: created(accountView),
    },
    async ({ ctx, body }) => viewAccount(await createAccount(ctx, body)),
  ),
  endpoint(
    {
      method: 'patch',
      path: '/accounts/{id}',
      access: 'accounts:UpdateAccount',
      summary: 'Change an account',
      body: accountChanges,
      returns: ok(accountView),
    },
    async ({ ctx, params, body }) => viewAccount(await changeAccount(ctx, params.id, body)),
  ),
  endpoint(
    {
      method: 'delete',
      path: '/accounts/{id}',
      access: 'accounts:DeleteAccount',
      summary: 'Delete an account',
      description:
        'Neither the default account, nor the last one, nor one that users or service accounts are attached to (409).',
      returns: noContent,
    },
    ({ ctx, params }) => deleteAccount(ctx, params.id),
  ),
  endpoint(
    {
      method: 'get',
      path: '/admin/deleted/accounts',
      access: 'administrator',
      summary: 'List deleted accounts',
      query: listQuery(ORDER),
      returns: ok(listOf(accountView)),
    },
    async ({ ctx, query }) => list(await listAccounts(ctx, 'deleted', pageRequest(query)), viewAccount),
  ),
  endpoint(
    {
      method: 'post',
      path: '/admin/restore/account/{id}',
      access: 'administrator',
      summary: 'Restore a deleted account',
      description: '409 when it is not deleted, or when its name was given away meanwhile.',
      returns: ok(accountView),
    },
    async ({ ctx, params }) => viewAccount(await restoreAccount(ctx, params.id)),
  ),
];
