import { z } from 'zod';
import type { PrincipalContext } from '../../../context.ts';
import { concurrentChange } from '../../../db/failures.ts';
import { created, noContent, ok, versioned } from '../../../http/endpoint.ts';
import { endpoint, list, listOf, pages } from '../../../http/surfaces/knowledge.ts';
import { semanticItemInUse } from '../resources/failures.ts';
import { searchQuery, statusQuery } from '../resources/fields.ts';
import {
  archiveResource,
  changeResource,
  createResource,
  getResource,
  listResources,
  listVersions,
  type Resource,
} from '../resources/service.ts';
import { recordSchema, validationErrors, versionRecord, viewResource, viewVersion } from '../resources/views.ts';
import { withVisibleErrors } from './check.ts';
import { SEMANTIC_KINDS, type SemanticItem, semanticFields, semanticItem } from './item.ts';

const PATH = '/api/v1/domain-knowledge/semantic';

const record = recordSchema({ ...semanticFields, validation_errors: validationErrors }).meta({ id: 'SemanticItem' });

const view = (item: Resource<SemanticItem>) => ({
  ...viewResource(item),
  validation_errors: item.validationErrors,
});

/** An item as its reader may see it. */
async function viewItem(ctx: PrincipalContext, item: Resource<SemanticItem>) {
  const [visible] = await withVisibleErrors(ctx, [item]);
  return view(visible as Resource<SemanticItem>);
}

export const semanticEndpoints = [
  endpoint(
    {
      method: 'get',
      path: PATH,
      access: 'semantic:list',
      operationId: 'listSemanticItems',
      summary: 'List semantic items',
      description: 'By kind, status and text; archived ones only if `status` asks for them. Newest first.',
      query: pages.extend({ search: searchQuery, status: statusQuery, kind: z.enum(SEMANTIC_KINDS).optional() }),
      returns: ok(listOf(record)),
      fails: [],
    },
    async ({ ctx, query: { page, per_page: perPage, kind, ...filter } }) => {
      const found = await listResources(ctx, semanticItem, { ...filter, facet: kind }, { page, perPage });
      return list({ ...found, records: await withVisibleErrors(ctx, found.records) }, view);
    },
  ),
  endpoint(
    {
      method: 'post',
      path: PATH,
      access: 'semantic:create',
      operationId: 'createSemanticItem',
      summary: 'Create a semantic item',
      description:
        'An entity, metric or dimension with the tables and columns that it stands for, or a mapping alone. Active metrics and dimensions can be queried at once.',
      body: semanticItem.create,
      returns: created(record),
      fails: [semanticItem.failures.duplicate, concurrentChange],
    },
    async ({ ctx, body }) => viewItem(ctx, await createResource(ctx, semanticItem, body)),
  ),
  endpoint(
    {
      method: 'get',
      path: `${PATH}/{id}`,
      access: 'semantic:list',
      operationId: 'getSemanticItem',
      summary: 'Get a semantic item',
      description: 'With the tables and columns that it stands for, also when it is archived.',
      returns: ok(record),
      versioned: versioned(),
      fails: [semanticItem.failures.notFound],
    },
    async ({ ctx, params }) => viewItem(ctx, await getResource(ctx, semanticItem, params.id)),
  ),
  endpoint(
    {
      method: 'patch',
      path: `${PATH}/{id}`,
      access: 'semantic:update',
      operationId: 'updateSemanticItem',
      summary: 'Update a semantic item',
      description: 'Changes only the fields that are sent. To restore an archived item, send `status` with the change.',
      body: semanticItem.patch,
      returns: ok(record),
      fails: [
        semanticItem.failures.notFound,
        semanticItem.failures.archived,
        semanticItem.failures.duplicate,
        semanticItemInUse,
        concurrentChange,
      ],
    },
    async ({ ctx, params, body }) => viewItem(ctx, await changeResource(ctx, semanticItem, params.id, body)),
  ),
  endpoint(
    {
      method: 'delete',
      path: `${PATH}/{id}`,
      access: 'semantic:delete',
      operationId: 'archiveSemanticItem',
      summary: 'Archive a semantic item',
      description:
        'It disappears from lists, metric queries no longer take it, and its name can be used again; references to it stay.',
      returns: noContent,
      fails: [semanticItem.failures.notFound, concurrentChange],
    },
    ({ ctx, params }) => archiveResource(ctx, semanticItem, params.id),
  ),
  endpoint(
    {
      method: 'get',
      path: `${PATH}/{id}/versions`,
      access: 'semantic:list',
      operationId: 'listSemanticItemVersions',
      summary: 'List the versions of a semantic item',
      description:
        'What the item was after each change, who made it, and the suggestion that it came from. Newest first.',
      query: pages,
      returns: ok(listOf(versionRecord)),
      fails: [semanticItem.failures.notFound],
    },
    async ({ ctx, params, query: { page, per_page: perPage } }) =>
      list(await listVersions(ctx, semanticItem, params.id, { page, perPage }), viewVersion),
  ),
];
