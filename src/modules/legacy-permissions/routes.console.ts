import { z } from 'zod';
import { created, noContent, ok } from '../../http/endpoint.ts';
import { pageQuery } from '../../http/list-query.ts';
import { endpoint, list, listOf } from '../../http/surfaces/console.ts';
import { ALL_SERVICES, type Service } from '../../kernel/actions.ts';
import { isoTimestamp, timestamp } from '../../kernel/fields.ts';
import { ID_PATTERN } from '../../kernel/ids.ts';
import { LEGACY_ACTIONS } from '../../kernel/legacy.ts';
import {
  changePermission,
  createPermission,
  deletePermission,
  getPermission,
  listPermissions,
  type Permission,
} from './service.ts';

const idOrAll = z
  .string()
  .refine((id) => id === '*' || ID_PATTERN.test(id), 'must be 24 lowercase hexadecimal characters, or "*"');

/** What roles and permissions may allow. */
const actions = z.array(z.enum(LEGACY_ACTIONS)).min(1).max(LEGACY_ACTIONS.length);

const target = z
  .object({
    company_id: idOrAll.meta({ description: '`*` is for the platform’s operator (403).' }),
    service_name: z
      .enum(ALL_SERVICES as [Service, ...Service[]], { error: 'is not a service of the catalogue' })
      .optional(),
    service_id: idOrAll.optional(),
  })
  .refine(({ service_name, service_id }) => service_id === undefined || service_name !== undefined, {
    path: ['service_name'],
    message: 'is needed with service_id',
  })
  .meta({ id: 'PermissionTarget' });

const permissionInput = z.object({
  name: z.string().trim().min(3).max(200),
  description: z.string().trim().min(10).max(2000),
  target,
  actions,
});

const permissionView = z
  .object({
    _id: z.string(),
    name: z.string(),
    description: z.string(),
    target: z.object({
      company_id: z.string(),
      service_name: z.string().nullish(),
      service_id: z.string().nullish(),
    }),
    actions: z.array(z.enum(LEGACY_ACTIONS)),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Permission' });

const viewPermission = (permission: Permission): z.input<typeof permissionView> => ({
  _id: permission.id,
  name: permission.name,
  description: permission.description,
  target: permission.target,
  actions: [...permission.actions],
  created_at: isoTimestamp(permission.createdAt),
  updated_at: isoTimestamp(permission.updatedAt),
});

export const permissionEndpoints = [
  endpoint(
    {
      method: 'get',
      path: '/v1/permissions',
      access: 'permissions:list',
      summary: 'List the legacy permissions',
      // Document 2 shows no query here: who sends none gets as many as there can be on a page.
      query: pageQuery('per_page', { standard: 100, maximum: 100 }),
      returns: ok(listOf(permissionView)),
    },
    async ({ ctx, query }) =>
      list(await listPermissions(ctx, { page: query.page, perPage: query.per_page }), viewPermission),
  ),
  endpoint(
    {
      method: 'get',
      path: '/v1/permissions/{id}',
      access: 'permissions:get',
      summary: 'Get a legacy permission',
      returns: ok(permissionView),
    },
    async ({ ctx, params }) => viewPermission(await getPermission(ctx, params.id)),
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/permissions',
      access: 'permissions:create',
      summary: 'Make a legacy permission',
      description: '403 when it allows more than the caller may, or is for another company or all of them.',
      body: permissionInput,
      returns: created(permissionView),
    },
    async ({ ctx, body }) => viewPermission(await createPermission(ctx, body)),
  ),
  endpoint(
    {
      method: 'put',
      path: '/v1/permissions/{id}',
      access: 'permissions:update',
      summary: 'Change what is sent of a legacy permission',
      description: '403 when it would allow more than before, and more than the caller may.',
      body: permissionInput.partial(),
      returns: ok(permissionView),
    },
    async ({ ctx, params, body }) => viewPermission(await changePermission(ctx, params.id, body)),
  ),
  endpoint(
    {
      method: 'delete',
      path: '/v1/permissions/{id}',
      access: 'permissions:delete',
      summary: 'Delete a legacy permission',
      description: 'It is taken from every group that lists it.',
      returns: noContent,
    },
    ({ ctx, params }) => deletePermission(ctx, params.id),
  ),
];
