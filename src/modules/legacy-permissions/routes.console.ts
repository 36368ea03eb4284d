import { z } from 'zod';
import { grantExceeds } from '../../access/failures.ts';
import { concurrentChange } from '../../db/failures.ts';
import { created, declareVersion, noContent, ok } from '../../http/endpoint.ts';
import { makeSortedListQuery, toSortedRequest } from '../../http/list-query.ts';
import { endpoint, makeListSchema, viewList } from '../../http/surfaces/console.ts';
import { makeView } from '../../http/wire.ts';
import { timestampSchema } from '../../kernel/fields.ts';
import { ID_PATTERN } from '../../kernel/ids.ts';
import { ALL_SERVICES, type Service } from '../../permissions/actions.ts';
import { LEGACY_ACTIONS } from '../../permissions/legacy.ts';
import { foreignPermissionTarget, permissionNotFound } from './failures.ts';
import { changePermission, createPermission, deletePermission, getPermission, listPermissions } from './service.ts';

const idOrAny = z
  .string()
  .max(24)
  .refine((id) => id === '*' || ID_PATTERN.test(id), 'must be 24 lower-case hexadecimal characters, or "*"');

/** The schema of the actions that roles and permissions may allow. */
const actions = z.array(z.enum(LEGACY_ACTIONS)).min(1).max(LEGACY_ACTIONS.length);

const target = z
  .object({
    company_id: idOrAny.meta({ description: 'The caller’s own company; any other, and `*`, is refused (403).' }),
    service_name: z
      .enum(ALL_SERVICES as [Service, ...Service[]], { error: 'must be a service that GET /v1/policies/actions lists' })
      .optional(),
    service_id: idOrAny.optional(),
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
    created_at: timestampSchema,
    updated_at: timestampSchema,
  })
  .meta({ id: 'Permission' });

const viewPermission = makeView(permissionView);

export const permissionEndpoints = [
  endpoint(
    {
      method: 'get',
      path: '/v1/permissions',
      access: 'permissions:list',
      operationId: 'listPermissions',
      summary: 'List permissions',
      description:
        'Permissions of the older model, which groups can have besides policies. The newest first, unless `sort_by` says otherwise.',
      // Document 2 shows no query here: who sends none gets as many as there can be on a page.
      query: makeSortedListQuery(
        { searchedField: 'the name', fields: ['name', 'created_at'], defaultOrdering: '-created_at' },
        { usualPageSize: 100, maxPageSize: 100 },
      ),
      returns: ok(makeListSchema(permissionView)),
      fails: [],
    },
    async ({ ctx, query }) => viewList(await listPermissions(ctx, toSortedRequest(query)), viewPermission),
  ),
  endpoint(
    {
      method: 'get',
      path: '/v1/permissions/{id}',
      access: 'permissions:get',
      operationId: 'getPermission',
      summary: 'Get a permission',
      description:
        'A permission of the older model: a target, and the verbs that it allows there. Groups hold it beside their policies.',
      returns: ok(permissionView),
      versionDeclaration: declareVersion(),
      fails: [permissionNotFound],
    },
    async ({ ctx, params }) => viewPermission(await getPermission(ctx, params.id)),
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/permissions',
      access: 'permissions:create',
      operationId: 'createPermission',
      summary: 'Create a permission',
      description: 'It applies to the caller’s own company. Refused if it allows more than the caller may do.',
      body: permissionInput,
      dryRun: true,
      returns: created(permissionView),
      fails: [foreignPermissionTarget, grantExceeds],
    },
    async ({ ctx, body }) => viewPermission(await createPermission(ctx, body)),
  ),
  endpoint(
    {
      method: 'put',
      path: '/v1/permissions/{id}',
      access: 'permissions:update',
      operationId: 'updatePermission',
      summary: 'Update a permission',
      description:
        'Changes only the fields that are sent, for every group that has the permission. Refused if it newly allows more than the caller may do.',
      body: permissionInput.partial(),
      dryRun: true,
      returns: ok(permissionView),
      fails: [permissionNotFound, foreignPermissionTarget, grantExceeds, concurrentChange],
    },
    async ({ ctx, params, body }) => viewPermission(await changePermission(ctx, params.id, body)),
  ),
  endpoint(
    {
      method: 'delete',
      path: '/v1/permissions/{id}',
      access: 'permissions:delete',
      operationId: 'deletePermission',
      summary: 'Delete a permission',
      description: 'It is removed from every group that holds it.',
      dryRun: true,
      returns: noContent,
      fails: [permissionNotFound],
    },
    ({ ctx, params }) => deletePermission(ctx, params.id),
  ),
];
