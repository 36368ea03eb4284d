import type { ZodType, z } from 'zod';
import type { PrincipalContext } from '../../../context.ts';
import { concurrentChange } from '../../../db/failures.ts';
import type { Content } from '../../../db/schema/knowledge-resources.ts';
import { created, declareVersion, type Endpoint, noContent, ok } from '../../../http/endpoint.ts';
import { endpoint, listOf, pagesQuery, viewList } from '../../../http/surfaces/knowledge.ts';
import type { FailureType } from '../../../kernel/failure.ts';
import type { ResourceDefinition } from './definition.ts';
import { archiveResource, changeResource, createResource } from './lifecycle.ts';
import { getResource, listResources, listVersions, type Resource } from './reading.ts';
import type { ResourceFilter } from './store.ts';
import { versionRecord, viewVersion } from './views.ts';

/** The parts of a resource type's endpoints that differ between types. */
interface ResourceRoutes<C extends Content, Shown extends ZodType, Query> {
  definition: ResourceDefinition<C>;
  path: `/api/v1/domain-knowledge/${string}`;
  /** The names of the type in texts: with its article, `an ontology node`; the plural; and a short name, `node`. */
  names: { singular: string; plural: string; short: string };
  /** The names of the type in operation ids. */
  ids: { singular: string; plural: string };
  descriptions: Record<'list' | 'create' | 'get' | 'archive', string>;
  viewSchema: Shown;
  view(ctx: PrincipalContext, resources: Resource<C>[]): z.input<Shown>[] | Promise<z.input<Shown>[]>;
  query: ZodType<Query>;
  filter(query: Query): ResourceFilter;
  /** Additional failures of creating and of changing a resource. */
  fails?: { create?: readonly FailureType[]; update?: readonly FailureType[] };
}

/** Creates the endpoints of a type of resource: list, create, get, change, archive, and list the versions. */
export function createResourceEndpoints<
  C extends Content,
  Shown extends ZodType,
  Query extends { page: number; per_page: number },
>(routes: ResourceRoutes<C, Shown, Query>): Endpoint[] {
  const { definition, path, names, ids, descriptions, viewSchema, view, fails } = routes;
  const { actions, arnType } = definition;
  const { notFound, archived, duplicate } = definition.failures;
  const resource = arnType && { resource: arnType };
  const resourcePath = `${path}/{id}` as '/{id}';
  const viewResource = async (ctx: PrincipalContext, foundResource: Resource<C>) =>
    (await view(ctx, [foundResource]))[0] as z.input<Shown>;
  return [
    endpoint(
      {
        method: 'get',
        path,
        access: actions.list,
        ...resource,
        operationId: `list${ids.plural}`,
        summary: `List ${names.plural}`,
        description: descriptions.list,
        query: routes.query,
        returns: ok(listOf(viewSchema)),
        fails: [],
      },
      async ({ ctx, query }) => {
        const { page, per_page: perPage } = query as Query;
        const resourcePage = await listResources(ctx, definition, routes.filter(query as Query), { page, perPage });
        return viewList({ ...resourcePage, records: await view(ctx, resourcePage.records) }, (record) => record);
      },
    ),
    endpoint(
      {
        method: 'post',
        path,
        access: actions.create,
        ...resource,
        operationId: `create${ids.singular}`,
        summary: `Create ${names.singular}`,
        description: descriptions.create,
        body: definition.createSchema,
        returns: created(viewSchema),
        fails: [duplicate, ...(fails?.create ?? [])],
      },
      async ({ ctx, body }) => viewResource(ctx, await createResource(ctx, definition, body)),
    ),
    endpoint(
      {
        method: 'get',
        path: resourcePath,
        access: actions.get,
        ...resource,
        operationId: `get${ids.singular}`,
        summary: `Get ${names.singular}`,
        description: descriptions.get,
        returns: ok(viewSchema),
        versionDeclaration: declareVersion(),
        fails: [notFound],
      },
      async ({ ctx, params }) => viewResource(ctx, await getResource(ctx, definition, params.id)),
    ),
    endpoint(
      {
        method: 'patch',
        path: resourcePath,
        access: actions.update,
        ...resource,
        operationId: `update${ids.singular}`,
        summary: `Update ${names.singular}`,
        description: `Changes only the fields that are sent. To restore an archived ${names.short}, send \`status\` with the change.`,
        body: definition.patchSchema,
        returns: ok(viewSchema),
        fails: [notFound, archived, duplicate, ...(fails?.update ?? []), concurrentChange],
      },
      async ({ ctx, params, body }) => viewResource(ctx, await changeResource(ctx, definition, params.id, body)),
    ),
    endpoint(
      {
        method: 'delete',
        path: resourcePath,
        access: actions.archive,
        ...resource,
        operationId: `archive${ids.singular}`,
        summary: `Archive ${names.singular}`,
        description: descriptions.archive,
        returns: noContent,
        fails: [notFound, concurrentChange],
      },
      ({ ctx, params }) => archiveResource(ctx, definition, params.id),
    ),
    endpoint(
      {
        method: 'get',
        path: `${resourcePath}/versions`,
        access: actions.get,
        ...resource,
        operationId: `list${ids.singular}Versions`,
        summary: `List the versions of ${names.singular}`,
        description: `What the ${names.short} was after each change, who made it, and the suggestion that it came from. Newest first.`,
        query: pagesQuery,
        returns: ok(listOf(versionRecord)),
        fails: [notFound],
      },
      async ({ ctx, params, query: { page, per_page: perPage } }) =>
        viewList(await listVersions(ctx, definition, params.id, { page, perPage }), viewVersion),
    ),
  ];
}
