import { z } from 'zod';
import type { PrincipalContext } from '../../context.ts';
import { ok } from '../../http/endpoint.ts';
import { BASE_PATH, endpoint } from '../../http/surfaces/directory.ts';
import {
  filterNotSupported,
  invalidFilter,
  invalidSyntax,
  invalidValue,
  resourceTypeNotFound,
  schemaNotFound,
  tooManyMembers,
} from './failures.ts';
import { discoveryQuery, searchBody } from './fields.ts';
import { isAttributeRequested, parseSearch, readListParameters } from './list-parameters.ts';
import { PROVIDER_CONFIGURATION, RESOURCE_TYPES, SCHEMAS } from './schemas.ts';
import { searchAllResources } from './service.ts';
import { groupView, makeListResponse, makeListSchema, userView, viewGroup, viewUser } from './views.ts';

const SCHEMA_URN = 'urn:ietf:params:scim:schemas:core:2.0:Schema';
const RESOURCE_TYPE_URN = 'urn:ietf:params:scim:schemas:core:2.0:ResourceType';
const PROVIDER_CONFIG_URN = 'urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig';

const meta = z.object({ resourceType: z.string(), location: z.url() });
const supported = z.object({ supported: z.boolean() });

const configurationView = z
  .object({
    schemas: z.array(z.literal(PROVIDER_CONFIG_URN)),
    documentationUri: z.url(),
    patch: supported,
    bulk: supported.extend({ maxOperations: z.int(), maxPayloadSize: z.int() }),
    filter: supported.extend({ maxResults: z.int() }),
    changePassword: supported,
    sort: supported,
    etag: supported,
    authenticationSchemes: z.array(
      z.object({ type: z.string(), name: z.string(), description: z.string(), primary: z.boolean() }),
    ),
    meta,
  })
  .meta({ id: 'DirectoryConfiguration' });

const resourceTypeView = z
  .object({
    schemas: z.array(z.literal(RESOURCE_TYPE_URN)),
    id: z.string(),
    name: z.string(),
    endpoint: z.string(),
    description: z.string(),
    schema: z.string(),
    meta,
  })
  .meta({ id: 'DirectoryResourceType' });

const schemaView = z
  .object({
    schemas: z.array(z.literal(SCHEMA_URN)),
    id: z.string(),
    name: z.string(),
    description: z.string(),
    attributes: z.array(z.object({ name: z.string(), type: z.string() }).loose()),
    meta,
  })
  .meta({ id: 'DirectorySchema' });

const makeMeta = ({ baseUrl }: PrincipalContext, resourceType: string, path: string) => ({
  resourceType,
  location: `${baseUrl}${BASE_PATH}${path}`,
});

const listResourceTypes = (ctx: PrincipalContext): z.input<typeof resourceTypeView>[] =>
  RESOURCE_TYPES.map((resourceType) => ({
    schemas: [RESOURCE_TYPE_URN],
    ...resourceType,
    meta: makeMeta(ctx, 'ResourceType', `/ResourceTypes/${resourceType.id}`),
  }));

const listSchemas = (ctx: PrincipalContext): z.input<typeof schemaView>[] =>
  SCHEMAS.map((schema) => ({
    schemas: [SCHEMA_URN],
    ...schema,
    attributes: schema.attributes.map((attribute) => ({ ...attribute })),
    meta: makeMeta(ctx, 'Schema', `/Schemas/${schema.id}`),
  }));

const makeWholeListResponse = <V extends object>(resources: V[]) =>
  makeListResponse({ total: resources.length }, { startIndex: 1 }, {}, resources);

/** Throws for a filter: a client that sends one would take the unfiltered response for the matches. */
function requireNoFilter({ filter }: { filter?: string | undefined }): void {
  if (filter !== undefined) throw filterNotSupported();
}

const findById = <T extends { id: string }>(items: T[], id: string): T | undefined =>
  items.find((item) => item.id.toLowerCase() === id.toLowerCase());

export const discoveryEndpoints = [
  endpoint(
    {
      method: 'get',
      path: '/scim/v2/ServiceProviderConfig',
      access: 'authenticated',
      operationId: 'getDirectoryConfiguration',
      summary: 'Get what SCIM can do here',
      description: 'Filters, sorting, versions and PATCH are supported; bulk and passwords are not.',
      query: discoveryQuery,
      returns: ok(configurationView),
      fails: [filterNotSupported],
    },
    ({ ctx, query }) => {
      requireNoFilter(query);
      return {
        schemas: [PROVIDER_CONFIG_URN] as (typeof PROVIDER_CONFIG_URN)[],
        documentationUri: `${ctx.baseUrl}/docs`,
        ...PROVIDER_CONFIGURATION,
        authenticationSchemes: [...PROVIDER_CONFIGURATION.authenticationSchemes],
        meta: makeMeta(ctx, 'ServiceProviderConfig', '/ServiceProviderConfig'),
      };
    },
  ),
  endpoint(
    {
      method: 'get',
      path: '/scim/v2/ResourceTypes',
      access: 'authenticated',
      operationId: 'listDirectoryResourceTypes',
      summary: 'List the kinds of resources of SCIM',
      description: 'There are users and groups.',
      query: discoveryQuery,
      returns: ok(makeListSchema(resourceTypeView)),
      fails: [filterNotSupported],
    },
    ({ ctx, query }) => {
      requireNoFilter(query);
      return makeWholeListResponse(listResourceTypes(ctx));
    },
  ),
  endpoint(
    {
      method: 'get',
      path: '/scim/v2/ResourceTypes/{name}',
      access: 'authenticated',
      operationId: 'getDirectoryResourceType',
      summary: 'Get a kind of resources of SCIM',
      description: 'By its name, which is `User` or `Group`.',
      returns: ok(resourceTypeView),
      fails: [resourceTypeNotFound],
    },
    ({ ctx, params }) => {
      const foundType = findById(listResourceTypes(ctx), params.name);
      if (!foundType) throw resourceTypeNotFound();
      return foundType;
    },
  ),
  endpoint(
    {
      method: 'get',
      path: '/scim/v2/Schemas',
      access: 'authenticated',
      operationId: 'listDirectorySchemas',
      summary: 'List the schemas of SCIM',
      description: 'The attributes of users and groups that are kept.',
      query: discoveryQuery,
      returns: ok(makeListSchema(schemaView)),
      fails: [filterNotSupported],
    },
    ({ ctx, query }) => {
      requireNoFilter(query);
      return makeWholeListResponse(listSchemas(ctx));
    },
  ),
  endpoint(
    {
      method: 'get',
      path: '/scim/v2/Schemas/{urn}',
      access: 'authenticated',
      operationId: 'getDirectorySchema',
      summary: 'Get a schema of SCIM',
      description: 'The schema of a URN, as the list of schemas shows it.',
      returns: ok(schemaView),
      fails: [schemaNotFound],
    },
    ({ ctx, params }) => {
      const foundSchema = findById(listSchemas(ctx), params.urn);
      if (!foundSchema) throw schemaNotFound();
      return foundSchema;
    },
  ),
  endpoint(
    {
      method: 'post',
      path: '/scim/v2/.search',
      safe: true,
      access: { decidedBy: 'users:list, groups:list: what the caller may list', anyOf: ['users:list', 'groups:list'] },
      operationId: 'queryDirectory',
      summary: 'Query users and groups for a directory',
      description: 'Users come first, then groups. An attribute that one of them does not have has no value there.',
      body: searchBody,
      bodyLimit: 64 * 1024,
      returns: ok(makeListSchema(z.union([userView, groupView]))),
      fails: [invalidFilter, invalidSyntax, invalidValue, tooManyMembers],
    },
    async ({ ctx, body }) => {
      const listParameters = readListParameters(body);
      const search = parseSearch(listParameters);
      const { users, groups, total } = await searchAllResources(
        ctx,
        search,
        isAttributeRequested(listParameters, 'members'),
      );
      return makeListResponse({ total }, search, listParameters, [
        ...(await Promise.all(users.map((user) => viewUser(ctx, user)))),
        ...(await Promise.all(groups.map((group) => viewGroup(ctx, group)))),
      ]);
    },
  ),
];
