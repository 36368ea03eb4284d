import { z } from 'zod';
import { concurrentChange } from '../../../db/failures.ts';
import { created, noContent, ok, versioned } from '../../../http/endpoint.ts';
import { endpoint, list, listOf, pages } from '../../../http/surfaces/knowledge.ts';
import { searchQuery, statusQuery } from '../resources/fields.ts';
import {
  archiveResource,
  changeResource,
  createResource,
  getResource,
  listResources,
  listVersions,
} from '../resources/service.ts';
import { recordSchema, versionRecord, viewResource, viewVersion } from '../resources/views.ts';
import { NODE_TYPES, nodeFields, ontologyNode } from './node.ts';

const PATH = '/api/v1/domain-knowledge/ontology/nodes';

const record = recordSchema(nodeFields).meta({ id: 'OntologyNode' });

export const ontologyNodeEndpoints = [
  endpoint(
    {
      method: 'get',
      path: PATH,
      access: 'ontology:list',
      resource: 'node',
      operationId: 'listOntologyNodes',
      summary: 'List ontology nodes',
      description: 'By type of node, status and text; archived ones only if `status` asks for them. Newest first.',
      query: pages.extend({ search: searchQuery, status: statusQuery, node_type: z.enum(NODE_TYPES).optional() }),
      returns: ok(listOf(record)),
      fails: [],
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
      operationId: 'createOntologyNode',
      summary: 'Create an ontology node',
      description:
        'A class, role, event, object or state of the business, which may have a parent. Relations between nodes are created by themselves.',
      body: ontologyNode.create,
      returns: created(record),
      fails: [ontologyNode.failures.duplicate, concurrentChange],
    },
    async ({ ctx, body }) => viewResource(await createResource(ctx, ontologyNode, body)),
  ),
  endpoint(
    {
      method: 'get',
      path: `${PATH}/{id}`,
      access: 'ontology:list',
      resource: 'node',
      operationId: 'getOntologyNode',
      summary: 'Get an ontology node',
      description: 'With its attributes, constraints and what it stands for in the data, also when it is archived.',
      returns: ok(record),
      versioned: versioned(),
      fails: [ontologyNode.failures.notFound],
    },
    async ({ ctx, params }) => viewResource(await getResource(ctx, ontologyNode, params.id)),
  ),
  endpoint(
    {
      method: 'patch',
      path: `${PATH}/{id}`,
      access: 'ontology:update',
      resource: 'node',
      operationId: 'updateOntologyNode',
      summary: 'Update an ontology node',
      description: 'Changes only the fields that are sent. To restore an archived node, send `status` with the change.',
      body: ontologyNode.patch,
      returns: ok(record),
      fails: [
        ontologyNode.failures.notFound,
        ontologyNode.failures.archived,
        ontologyNode.failures.duplicate,
        concurrentChange,
      ],
    },
    async ({ ctx, params, body }) => viewResource(await changeResource(ctx, ontologyNode, params.id, body)),
  ),
  endpoint(
    {
      method: 'delete',
      path: `${PATH}/{id}`,
      access: 'ontology:delete',
      resource: 'node',
      operationId: 'archiveOntologyNode',
      summary: 'Archive an ontology node',
      description: 'It disappears from lists and its name can be used again; relations that refer to it stay.',
      returns: noContent,
      fails: [ontologyNode.failures.notFound, concurrentChange],
    },
    ({ ctx, params }) => archiveResource(ctx, ontologyNode, params.id),
  ),
  endpoint(
    {
      method: 'get',
      path: `${PATH}/{id}/versions`,
      access: 'ontology:list',
      resource: 'node',
      operationId: 'listOntologyNodeVersions',
      summary: 'List the versions of an ontology node',
      description:
        'What the node was after each change, who made it, and the suggestion that it came from. Newest first.',
      query: pages,
      returns: ok(listOf(versionRecord)),
      fails: [ontologyNode.failures.notFound],
    },
    async ({ ctx, params, query: { page, per_page: perPage } }) =>
      list(await listVersions(ctx, ontologyNode, params.id, { page, perPage }), viewVersion),
  ),
];
