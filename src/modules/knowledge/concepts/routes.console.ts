import { z } from 'zod';
import { created, noContent, ok } from '../../../http/endpoint.ts';
import { endpoint, list, listOf, pages } from '../../../http/surfaces/knowledge.ts';
import { search, status } from '../resources/queries.ts';
import {
  archiveResource,
  changeResource,
  createResource,
  getResource,
  listResources,
  listVersions,
} from '../resources/service.ts';
import { recordOf, versionRecord, viewResource, viewVersion } from '../resources/views.ts';
import { CONCEPT_TYPES, concept, conceptMembers } from './concept.ts';

const PATH = '/api/v1/domain-knowledge/concepts';

const record = recordOf(conceptMembers).meta({ id: 'Concept' });

export const conceptEndpoints = [
  endpoint(
    {
      method: 'get',
      path: PATH,
      access: 'concepts:list',
      summary: 'The concepts of the company, newest first',
      query: pages.extend({ search, status, type: z.enum(CONCEPT_TYPES).optional() }),
      returns: ok(listOf(record)),
    },
    async ({ ctx, query: { page, per_page: perPage, type, ...filter } }) =>
      list(await listResources(ctx, concept, { ...filter, facet: type }, { page, perPage }), viewResource),
  ),
  endpoint(
    {
      method: 'post',
      path: PATH,
      access: 'concepts:create',
      summary: 'Make a concept',
      body: concept.create,
      returns: created(record),
    },
    async ({ ctx, body }) => viewResource(await createResource(ctx, concept, body)),
  ),
  endpoint(
    {
      method: 'get',
      path: `${PATH}/{id}`,
      access: 'concepts:get',
      summary: 'One concept, archived or not',
      returns: ok(record),
    },
    async ({ ctx, params }) => viewResource(await getResource(ctx, concept, params.id)),
  ),
  endpoint(
    {
      method: 'patch',
      path: `${PATH}/{id}`,
      access: 'concepts:update',
      summary: 'Change a concept',
      description: 'Changes what is sent. An archived concept comes back when `status` is sent with the change.',
      body: concept.patch,
      returns: ok(record),
    },
    async ({ ctx, params, body }) => viewResource(await changeResource(ctx, concept, params.id, body)),
  ),
  endpoint(
    {
      method: 'delete',
      path: `${PATH}/{id}`,
      access: 'concepts:delete',
      summary: 'Archive a concept',
      description: 'It leaves the lists and its name is free again; what refers to it keeps doing so.',
      returns: noContent,
    },
    ({ ctx, params }) => archiveResource(ctx, concept, params.id),
  ),
  endpoint(
    {
      method: 'get',
      path: `${PATH}/{id}/versions`,
      access: 'concepts:get',
      summary: 'Every version of a concept, newest first',
      query: pages,
      returns: ok(listOf(versionRecord)),
    },
    async ({ ctx, params, query: { page, per_page: perPage } }) =>
      list(await listVersions(ctx, concept, params.id, { page, perPage }), viewVersion),
  ),
];
