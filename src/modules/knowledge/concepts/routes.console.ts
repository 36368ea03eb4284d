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
import { CONCEPT_TYPES, concept, conceptFields } from './concept.ts';

const PATH = '/api/v1/domain-knowledge/concepts';

const record = recordSchema(conceptFields).meta({ id: 'Concept' });

export const conceptEndpoints = [
  endpoint(
    {
      method: 'get',
      path: PATH,
      access: 'concepts:list',
      operationId: 'listConcepts',
      summary: 'List concepts',
      description: 'By type, status and text; archived ones only if `status` asks for them. Newest first.',
      query: pages.extend({ search: searchQuery, status: statusQuery, type: z.enum(CONCEPT_TYPES).optional() }),
      returns: ok(listOf(record)),
      fails: [],
    },
    async ({ ctx, query: { page, per_page: perPage, type, ...filter } }) =>
      list(await listResources(ctx, concept, { ...filter, facet: type }, { page, perPage }), viewResource),
  ),
  endpoint(
    {
      method: 'post',
      path: PATH,
      access: 'concepts:create',
      operationId: 'createConcept',
      summary: 'Create a concept',
      description:
        'A term, rule or hint of the business, in words. Its name must be free among the concepts that are not archived.',
      body: concept.create,
      returns: created(record),
      fails: [concept.failures.duplicate],
    },
    async ({ ctx, body }) => viewResource(await createResource(ctx, concept, body)),
  ),
  endpoint(
    {
      method: 'get',
      path: `${PATH}/{id}`,
      access: 'concepts:get',
      operationId: 'getConcept',
      summary: 'Get a concept',
      description: 'As it is now, also when it is archived. What it was before is told by its versions.',
      returns: ok(record),
      versioned: versioned(),
      fails: [concept.failures.notFound],
    },
    async ({ ctx, params }) => viewResource(await getResource(ctx, concept, params.id)),
  ),
  endpoint(
    {
      method: 'patch',
      path: `${PATH}/{id}`,
      access: 'concepts:update',
      operationId: 'updateConcept',
      summary: 'Update a concept',
      description:
        'Changes only the fields that are sent. To restore an archived concept, send `status` with the change.',
      body: concept.patch,
      returns: ok(record),
      fails: [concept.failures.notFound, concept.failures.archived, concept.failures.duplicate, concurrentChange],
    },
    async ({ ctx, params, body }) => viewResource(await changeResource(ctx, concept, params.id, body)),
  ),
  endpoint(
    {
      method: 'delete',
      path: `${PATH}/{id}`,
      access: 'concepts:delete',
      operationId: 'archiveConcept',
      summary: 'Archive a concept',
      description: 'Nothing is erased: it disappears from lists and its name can be used again; references to it stay.',
      returns: noContent,
      fails: [concept.failures.notFound, concurrentChange],
    },
    ({ ctx, params }) => archiveResource(ctx, concept, params.id),
  ),
  endpoint(
    {
      method: 'get',
      path: `${PATH}/{id}/versions`,
      access: 'concepts:get',
      operationId: 'listConceptVersions',
      summary: 'List the versions of a concept',
      description:
        'What the concept was after each change, who made it, and the suggestion that it came from. Newest first.',
      query: pages,
      returns: ok(listOf(versionRecord)),
      fails: [concept.failures.notFound],
    },
    async ({ ctx, params, query: { page, per_page: perPage } }) =>
      list(await listVersions(ctx, concept, params.id, { page, perPage }), viewVersion),
  ),
];
