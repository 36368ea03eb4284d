import { z } from 'zod';
import { created, noContent, ok } from '../../../http/endpoint.ts';
import { endpoint, list, listOf, pages } from '../../../http/surfaces/knowledge.ts';
import { textOf } from '../resources/members.ts';
import { status } from '../resources/queries.ts';
import {
  archiveResource,
  changeResource,
  createResource,
  listResources,
  listVersions,
  normalized,
} from '../resources/service.ts';
import { recordOf, versionRecord, viewResource, viewVersion } from '../resources/views.ts';
import { ontologyRelation, relationMembers } from './relation.ts';

const PATH = '/api/v1/domain-knowledge/ontology/relations';

const record = recordOf(relationMembers).meta({ id: 'OntologyRelation' });

export const ontologyRelationEndpoints = [
  endpoint(
    {
      method: 'get',
      path: PATH,
      access: 'ontology:list',
      resource: 'relation',
      summary: 'The relations of the ontology of the company, newest first',
      query: pages.extend({
        status,
        predicate: textOf(200).optional(),
        subject_node_id: z.string().max(24).optional(),
        object_node_id: z.string().max(24).optional(),
      }),
      returns: ok(listOf(record)),
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
      summary: 'Make a relation',
      body: ontologyRelation.create,
      returns: created(record),
    },
    async ({ ctx, body }) => viewResource(await createResource(ctx, ontologyRelation, body)),
  ),
  endpoint(
    {
      method: 'patch',
      path: `${PATH}/{id}`,
      access: 'ontology:update',
      resource: 'relation',
      summary: 'Change a relation',
      description: 'Changes what is sent. An archived one comes back when `status` is sent with the change.',
      body: ontologyRelation.patch,
      returns: ok(record),
    },
    async ({ ctx, params, body }) => viewResource(await changeResource(ctx, ontologyRelation, params.id, body)),
  ),
  endpoint(
    {
      method: 'delete',
      path: `${PATH}/{id}`,
      access: 'ontology:delete',
      resource: 'relation',
      summary: 'Archive a relation',
      description: 'It leaves the lists; what refers to it keeps doing so.',
      returns: noContent,
    },
    ({ ctx, params }) => archiveResource(ctx, ontologyRelation, params.id),
  ),
  endpoint(
    {
      method: 'get',
      path: `${PATH}/{id}/versions`,
      access: 'ontology:list',
      resource: 'relation',
      summary: 'Every version of a relation, newest first',
      query: pages,
      returns: ok(listOf(versionRecord)),
    },
    async ({ ctx, params, query: { page, per_page: perPage } }) =>
      list(await listVersions(ctx, ontologyRelation, params.id, { page, perPage }), viewVersion),
  ),
];
