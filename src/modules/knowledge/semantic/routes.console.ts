import { z } from 'zod';
import { created, noContent, ok } from '../../../http/endpoint.ts';
import { endpoint, list, listOf, pages } from '../../../http/surfaces/knowledge.ts';
import { search, status } from '../resources/queries.ts';
import type { Resource } from '../resources/service.ts';
import { archiveResource, changeResource, createResource, listResources, listVersions } from '../resources/service.ts';
import { recordOf, validationErrors, versionRecord, viewResource, viewVersion } from '../resources/views.ts';
import { SEMANTIC_KINDS, type SemanticItem, semanticItem, semanticMembers } from './item.ts';

const PATH = '/api/v1/domain-knowledge/semantic';

const record = recordOf({ ...semanticMembers, validation_errors: validationErrors }).meta({ id: 'SemanticItem' });

const viewItem = (item: Resource<SemanticItem>) => ({
  ...viewResource(item),
  validation_errors: item.validationErrors,
});

export const semanticEndpoints = [
  endpoint(
    {
      method: 'get',
      path: PATH,
      access: 'semantic:list',
      summary: 'The semantic items of the company, newest first',
      query: pages.extend({ search, status, kind: z.enum(SEMANTIC_KINDS).optional() }),
      returns: ok(listOf(record)),
    },
    async ({ ctx, query: { page, per_page: perPage, kind, ...filter } }) =>
      list(await listResources(ctx, semanticItem, { ...filter, facet: kind }, { page, perPage }), viewItem),
  ),
  endpoint(
    {
      method: 'post',
      path: PATH,
      access: 'semantic:create',
      summary: 'Make a semantic item',
      body: semanticItem.create,
      returns: created(record),
    },
    async ({ ctx, body }) => viewItem(await createResource(ctx, semanticItem, body)),
  ),
  endpoint(
    {
      method: 'patch',
      path: `${PATH}/{id}`,
      access: 'semantic:update',
      summary: 'Change a semantic item',
      description: 'Changes what is sent. An archived one comes back when `status` is sent with the change.',
      body: semanticItem.patch,
      returns: ok(record),
    },
    async ({ ctx, params, body }) => viewItem(await changeResource(ctx, semanticItem, params.id, body)),
  ),
  endpoint(
    {
      method: 'delete',
      path: `${PATH}/{id}`,
      access: 'semantic:delete',
      summary: 'Archive a semantic item',
      description: 'It leaves the lists; what refers to it keeps doing so.',
      returns: noContent,
    },
    ({ ctx, params }) => archiveResource(ctx, semanticItem, params.id),
  ),
  endpoint(
    {
      method: 'get',
      path: `${PATH}/{id}/versions`,
      access: 'semantic:list',
      summary: 'Every version of a semantic item, newest first',
      query: pages,
      returns: ok(listOf(versionRecord)),
    },
    async ({ ctx, params, query: { page, per_page: perPage } }) =>
      list(await listVersions(ctx, semanticItem, params.id, { page, perPage }), viewVersion),
  ),
];
