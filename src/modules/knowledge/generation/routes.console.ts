import { z } from 'zod';
import { JOB_STATUSES } from '../../../db/schema/knowledge-jobs.ts';
import { RESOURCE_TYPES } from '../../../db/schema/knowledge-resources.ts';
import { accepted, ok } from '../../../http/endpoint.ts';
import { endpoint, list, listOf, pages } from '../../../http/surfaces/knowledge.ts';
import { conceptGeneration, conceptGenerationForm, generationOf, readConceptForm } from './form.ts';
import {
  cancelJob,
  conceptPrerequisites,
  getJob,
  listEnrichments,
  ontologyPrerequisites,
  startConceptGeneration,
  startEnrichment,
  startOntologyGeneration,
} from './service.ts';
import {
  conceptPrerequisitesRecord,
  jobRecord,
  ontologyPrerequisitesRecord,
  viewConceptPrerequisites,
  viewJob,
  viewOntologyPrerequisites,
} from './views.ts';

const PATH = '/api/v1/domain-knowledge';

export const generationEndpoints = [
  endpoint(
    {
      method: 'get',
      path: `${PATH}/concepts/generation/prerequisites`,
      access: 'knowledge_reviews:generate',
      summary: 'What generating concepts needs, and what of it is missing',
      returns: ok(conceptPrerequisitesRecord),
    },
    async ({ ctx }) => viewConceptPrerequisites(await conceptPrerequisites(ctx)),
  ),
  endpoint(
    {
      method: 'post',
      path: `${PATH}/concepts/generation/jobs`,
      access: 'knowledge_reviews:generate',
      summary: 'Generate concepts from business domains, text and a file',
      description:
        'One at a time. When it succeeds with at least one suggestion, these take the place of the pending ones of earlier generations; otherwise those stay.',
      body: conceptGeneration,
      form: conceptGenerationForm,
      returns: accepted(jobRecord),
    },
    async ({ ctx, body, request }) =>
      viewJob(await startConceptGeneration(ctx, body ? generationOf(body) : await readConceptForm(request))),
  ),
  endpoint(
    {
      method: 'get',
      path: `${PATH}/concepts/generation/jobs/{id}`,
      access: 'knowledge_reviews:generate',
      resource: 'none',
      summary: 'How far a generation of concepts is',
      returns: ok(jobRecord),
    },
    async ({ ctx, params }) => viewJob(await getJob(ctx, params.id, 'concept_generation')),
  ),
  endpoint(
    {
      method: 'get',
      path: `${PATH}/ontology/generation/prerequisites`,
      access: 'knowledge_reviews:generate',
      summary: 'What generating an ontology needs, and what of it is missing',
      returns: ok(ontologyPrerequisitesRecord),
    },
    async ({ ctx }) => viewOntologyPrerequisites(await ontologyPrerequisites(ctx)),
  ),
  endpoint(
    {
      method: 'post',
      path: `${PATH}/ontology/generation/jobs`,
      access: 'knowledge_reviews:generate',
      summary: 'Generate nodes and relations from the concepts of type entity_hint and the catalogue of a connection',
      description: 'One at a time. It proposes nodes and relations, and changes nothing.',
      body: z.object({ connection_id: z.string().max(64) }).meta({ id: 'OntologyGeneration' }),
      returns: accepted(jobRecord),
    },
    async ({ ctx, body }) => viewJob(await startOntologyGeneration(ctx, body.connection_id)),
  ),
  endpoint(
    {
      method: 'get',
      path: `${PATH}/ontology/generation/jobs/{id}`,
      access: 'knowledge_reviews:generate',
      resource: 'none',
      summary: 'How far a generation of ontology is',
      returns: ok(jobRecord),
    },
    async ({ ctx, params }) => viewJob(await getJob(ctx, params.id, 'ontology_generation')),
  ),
  endpoint(
    {
      method: 'post',
      path: `${PATH}/jobs/enrich`,
      access: 'knowledge_reviews:generate',
      summary: 'Ask how to improve several resources of one type',
      body: z
        .object({ target_type: z.enum(RESOURCE_TYPES), target_ids: z.array(z.string().max(24)).min(1).max(100) })
        .meta({ id: 'Enrichment' }),
      returns: accepted(jobRecord),
    },
    async ({ ctx, body }) => viewJob(await startEnrichment(ctx, body.target_type, body.target_ids)),
  ),
  endpoint(
    {
      method: 'get',
      path: `${PATH}/jobs`,
      access: 'knowledge_reviews:list',
      summary: 'Enrichment jobs, newest first',
      query: pages.extend({
        target_type: z.enum(RESOURCE_TYPES).optional(),
        status: z.enum(JOB_STATUSES).optional(),
      }),
      returns: ok(listOf(jobRecord)),
    },
    async ({ ctx, query: { page, per_page: perPage, target_type: targetType, status } }) =>
      list(await listEnrichments(ctx, { targetType, status }, { page, perPage }), viewJob),
  ),
  endpoint(
    {
      method: 'get',
      path: `${PATH}/jobs/{id}`,
      access: 'knowledge_reviews:list',
      resource: 'none',
      summary: 'How far a job of any type is',
      returns: ok(jobRecord),
    },
    async ({ ctx, params }) => viewJob(await getJob(ctx, params.id)),
  ),
  endpoint(
    {
      method: 'post',
      path: `${PATH}/jobs/{id}/cancel`,
      access: 'knowledge_reviews:generate',
      resource: 'none',
      summary: 'End a job that has not ended',
      description: 'Answers in flight are thrown away. What an enrichment has proposed already stays.',
      returns: ok(jobRecord),
    },
    async ({ ctx, params }) => viewJob(await cancelJob(ctx, params.id)),
  ),
];
