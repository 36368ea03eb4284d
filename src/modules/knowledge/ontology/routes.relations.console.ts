import { z } from 'zod';
import { concurrentChange } from '../../../db/failures.ts';
import { created, noContent, ok, versioned } from '../../../http/endpoint.ts';
import { endpoint, list, listOf, pages } from '../../../http/surfaces/knowledge.ts';
import { statusQuery, textUpTo } from '../resources/fields.ts';
import {
  archiveResource,
  changeResource,
  createResource,
  getResource,
  listResources,
  listVersions,
  normalized,
} from '../resources/service.ts';
import { recordSchema, versionRecord, viewResource, viewVersion } from '../resources/views.ts';
import { ontologyRelation, relationFields } from './relation.ts';

const PATH = '/api/v1/domain-knowledge/ontology/relations';

const record = recordSchema(relationFields).meta({ id: 'OntologyRelation' });

export const ontologyRelationEndpoints = [
  endpoint(
    {
      method: 'get',
      path: PATH,
      access: 'ontology:list',
      resource: 'relation',
      operationId: 'listOntologyRelations',
      summary: 'List ontology relations',
      description:
        'By predicate, subject, object and status; archived ones only if `status` asks for them. Newest first.',
      query: pages.extend({
        status: statusQuery,
        predicate: textUpTo(200).optional(),
        subject_node_id: z.string().max(24).optional(),
        object_node_id: z.string().max(24).optional(),
      }),
      returns: ok(listOf(record)),
      fails: [],
    },
    async ({ ctx, query }) =>
      list(
        await listResources(
          ctx,
          ontologyRelation,
          {
            status: query.status,
            facet: query.predicate === undefined ? undefined : normalized(query.predicate),
            subjectId: query.subject_node_id,
            objectId: query.object_node_id,
          },
          { page: query.page, perPage: query.per_page },
        ),
        viewResource,
      ),
  ),
  endpoint(
    {
      method: 'post',
      path: PATH,
      access: 'ontology:create',
      resource: 'relation',
      operationId: 'createOntologyRelation',
      summary: 'Create an ontology relation',
      description:
        'Says how one node relates to another, such as `Customer places Order`. Subject, predicate and object stand together once among the relations that are not archived.',
      body: ontologyRelation.create,
      returns: created(record),
      fails: [ontologyRelation.failures.duplicate],
    },
    async ({ ctx, body }) => viewResource(await createResource(ctx, ontologyRelation, body)),
  ),
  endpoint(
    {
      method: 'get',
      path: `${PATH}/{id}`,
      access: 'ontology:list',
      resource: 'relation',
      operationId: 'getOntologyRelation',
      summary: 'Get an ontology relation',
      description: 'With the ids of both its nodes, also when it is archived.',
      returns: ok(record),
      versioned: versioned(),
      fails: [ontologyRelation.failures.notFound],
    },
    async ({ ctx, params }) => viewResource(await getResource(ctx, ontologyRelation, params.id)),
  ),
  endpoint(
    {
      method: 'patch',
      path: `${PATH}/{id}`,
      access: 'ontology:update',
      resource: 'relation',
      operationId: 'updateOntologyRelation',
      summary: 'Update an ontology relation',
      description:
        'Changes only the fields that are sent. To restore an archived relation, send `status` with the change.',
      body: ontologyRelation.patch,
      returns: ok(record),
      fails: [
        ontologyRelation.failures.notFound,
        ontologyRelation.failures.archived,
        ontologyRelation.failures.duplicate,
        concurrentChange,
      ],
    },
    async ({ ctx, params, body }) => viewResource(await changeResource(ctx, ontologyRelation, params.id, body)),
  ),
  endpoint(
    {
      method: 'delete',
      path: `${PATH}/{id}`,
      access: 'ontology:delete',
      resource: 'relation',
      operationId: 'archiveOntologyRelation',
      summary: 'Archive an ontology relation',
      description: 'It disappears from lists, and the same relation can be created again.',
      returns: noContent,
      fails: [ontologyRelation.failures.notFound, concurrentChange],
    },
    ({ ctx, params }) => archiveResource(ctx, ontologyRelation, params.id),
  ),
  endpoint(
    {
      method: 'get',
      path: `${PATH}/{id}/versions`,
      access: 'ontology:list',
      resource: 'relation',
      operationId: 'listOntologyRelationVersions',
      summary: 'List the versions of an ontology relation',
      description:
        'What the relation was after each change, who made it, and the suggestion that it came from. Newest first.',
      query: pages,
      returns: ok(listOf(versionRecord)),
      fails: [ontologyRelation.failures.notFound],
    },
    async ({ ctx, params, query: { page, per_page: perPage } }) =>
      list(await listVersions(ctx, ontologyRelation, params.id, { page, perPage }), viewVersion),
  ),
];
