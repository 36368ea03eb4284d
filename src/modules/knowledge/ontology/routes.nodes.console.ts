import { z } from 'zod';
import { created, noContent, ok } from '../../../http/endpoint.ts';
import { endpoint, list, listOf, pages } from '../../../http/surfaces/knowledge.ts';
import { search, status } from '../resources/queries.ts';
import { archiveResource, changeResource, createResource, listResources, listVersions } from '../resources/service.ts';
import { recordOf, versionRecord, viewResource, viewVersion } from '../resources/views.ts';
import { NODE_TYPES, nodeMembers, ontologyNode } from './node.ts';

const PATH = '/api/v1/domain-knowledge/ontology/nodes';

const record = recordOf(nodeMembers).meta({ id: 'OntologyNode' });

export const ontologyNodeEndpoints = [
  endpoint(
    {
      method: 'get',
      path: PATH,
      access: 'ontology:list',
      resource: 'node',
      summary: 'The nodes of the ontology of the company, newest first',
      query: pages.extend({ search, status, node_type: z.enum(NODE_TYPES).optional() }),
      returns: ok(listOf(record)),
    },
    async ({ ctx, query: { page, per_page: perPage, node_type, ...filter } }) =>
      list(await listResources(ctx, ontologyNode, { ...filter, facet: node_type }, { page, perPage }), viewResource),
  ),
  endpoint(
    {
      method: 'post',
      path: PATH,
      access: 'ontology:create',
      resource: 'node',
      summary: 'Make a node',
      body: ontologyNode.create,
      returns: created(record),
    },
    async ({ ctx, body }) => viewResource(await createResource(ctx, ontologyNode, body)),
  ),
  endpoint(
    {
      method: 'patch',
      path: `${PATH}/{id}`,
      access: 'ontology:update',
      resource: 'node',
      summary: 'Change a node',
      description: 'Changes what is sent. An archived one comes back when `status` is sent with the change.',
      body: ontologyNode.patch,
      returns: ok(record),
    },
    async ({ ctx, params, body }) => viewResource(await changeResource(ctx, ontologyNode, params.id, body)),
  ),
  endpoint(
    {
      method: 'delete',
      path: `${PATH}/{id}`,
      access: 'ontology:delete',
      resource: 'node',
      summary: 'Archive a node',
      description: 'It leaves the lists; what refers to it keeps doing so.',
      returns: noContent,
    },
    ({ ctx, params }) => archiveResource(ctx, ontologyNode, params.id),
  ),
  endpoint(
    {
      method: 'get',
      path: `${PATH}/{id}/versions`,
      access: 'ontology:list',
      resource: 'node',
      summary: 'Every version of a node, newest first',
      query: pages,
      returns: ok(listOf(versionRecord)),
    },
    async ({ ctx, params, query: { page, per_page: perPage } }) =>
      list(await listVersions(ctx, ontologyNode, params.id, { page, perPage }), viewVersion),
  ),
];
