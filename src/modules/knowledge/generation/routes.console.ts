import { z } from 'zod';
import { JOB_STATUSES } from '../../../db/schema/knowledge-jobs.ts';
import { RESOURCE_TYPES } from '../../../db/schema/knowledge-resources.ts';
import { accepted, ok } from '../../../http/endpoint.ts';
import { toSentBody } from '../../../http/sent-body.ts';
import { endpoint, listOf, pagesQuery, viewList } from '../../../http/surfaces/knowledge.ts';
import { declareWaiting } from '../../../http/waiting.ts';
import { aiNotConfigured } from '../../../platform/ai-failures.ts';
import { storageUnavailable } from '../../../platform/file-storage.ts';
import { tenantSqlFailures } from '../../../tenant-sql/failures.ts';
import { fileTooLarge, jobEnded, jobNotFound, jobRunning, malformedForm, tooManyFiles } from './failures.ts';
import { conceptGeneration, conceptGenerationForm, readConceptForm } from './form.ts';
import { checkConceptPrerequisites, checkOntologyPrerequisites } from './prerequisites.ts';
import { cancelJob, getJob, listEnrichments, readKnowledgeJobVersions } from './service.ts';
import { startConceptGeneration, startEnrichment, startOntologyGeneration } from './start.ts';
import {
  conceptPrerequisitesRecord,
  jobRecord,
  ontologyPrerequisitesRecord,
  viewConceptPrerequisites,
  viewJob,
  viewOntologyPrerequisites,
} from './views.ts';

const KNOWLEDGE_PATH = '/api/v1/domain-knowledge';

export const generationEndpoints = [
  endpoint(
    {
      method: 'get',
      path: `${KNOWLEDGE_PATH}/concepts/generation/prerequisites`,
      access: 'knowledge_reviews:generate',
      operationId: 'getConceptGenerationPrerequisites',
      summary: 'Get the prerequisites of concept generation',
      description:
        'Whether concepts can be generated now; `missing` names what is not there yet, such as a configured model or business domains.',
      returns: ok(conceptPrerequisitesRecord),
      fails: [],
    },
    async ({ ctx }) => viewConceptPrerequisites(await checkConceptPrerequisites(ctx)),
  ),
  endpoint(
    {
      method: 'post',
      path: `${KNOWLEDGE_PATH}/concepts/generation/jobs`,
      access: 'knowledge_reviews:generate',
      operationId: 'generateConcepts',
      summary: 'Generate concepts from business domains, text and a file',
      description:
        'Starts a job, one at a time. When it succeeds with at least one suggestion, its suggestions replace the pending ones of earlier jobs; otherwise those stay.',
      body: conceptGeneration,
      form: conceptGenerationForm,
      returns: accepted(jobRecord),
      fails: [aiNotConfigured, jobRunning, malformedForm, fileTooLarge, tooManyFiles, storageUnavailable],
    },
    async ({ ctx, body, request }) =>
      viewJob(await startConceptGeneration(ctx, body ?? (await readConceptForm(toSentBody(request))))),
  ),
  endpoint(
    {
      method: 'get',
      path: `${KNOWLEDGE_PATH}/concepts/generation/jobs/{id}`,
      access: 'knowledge_reviews:generate',
      resource: 'none',
      operationId: 'getConceptGenerationJob',
      summary: 'Get a concept generation job',
      description: 'How far it is, and how many suggestions it made: GET …/suggestions lists them by `job_id`.',
      returns: ok(jobRecord),
      ...declareWaiting(readKnowledgeJobVersions),
      fails: [jobNotFound],
    },
    async ({ ctx, params }) => viewJob(await getJob(ctx, params.id, 'concept_generation')),
  ),
  endpoint(
    {
      method: 'get',
      path: `${KNOWLEDGE_PATH}/ontology/generation/prerequisites`,
      access: 'knowledge_reviews:generate',
      operationId: 'getOntologyGenerationPrerequisites',
      summary: 'Get the prerequisites of ontology generation',
      description:
        'Whether an ontology can be generated now; `missing` names what is not there yet, such as a model, a connection with tables, or concepts of type `entity_hint`.',
      returns: ok(ontologyPrerequisitesRecord),
      fails: tenantSqlFailures,
    },
    async ({ ctx }) => viewOntologyPrerequisites(await checkOntologyPrerequisites(ctx)),
  ),
  endpoint(
    {
      method: 'post',
      path: `${KNOWLEDGE_PATH}/ontology/generation/jobs`,
      access: 'knowledge_reviews:generate',
      operationId: 'generateOntology',
      summary: 'Generate an ontology',
      description:
        'Starts a job, one at a time, that suggests nodes and relations from the concepts of type `entity_hint` and the tables of a connection.',
      body: z.object({ connection_id: z.string().max(64) }).meta({ id: 'OntologyGeneration' }),
      returns: accepted(jobRecord),
      fails: [aiNotConfigured, jobRunning, storageUnavailable, ...tenantSqlFailures],
    },
    async ({ ctx, body }) => viewJob(await startOntologyGeneration(ctx, body.connection_id)),
  ),
  endpoint(
    {
      method: 'get',
      path: `${KNOWLEDGE_PATH}/ontology/generation/jobs/{id}`,
      access: 'knowledge_reviews:generate',
      resource: 'none',
      operationId: 'getOntologyGenerationJob',
      summary: 'Get an ontology generation job',
      description:
        'How far it is, how many nodes and relations it suggested, and what became of it. Jobs of other kinds are not found here.',
      returns: ok(jobRecord),
      ...declareWaiting(readKnowledgeJobVersions),
      fails: [jobNotFound],
    },
    async ({ ctx, params }) => viewJob(await getJob(ctx, params.id, 'ontology_generation')),
  ),
  endpoint(
    {
      method: 'post',
      path: `${KNOWLEDGE_PATH}/jobs/enrich`,
      access: 'knowledge_reviews:generate',
      operationId: 'suggestResourceChanges',
      summary: 'Suggest changes to several resources',
      description: 'Starts a job that suggests a change to each of the resources, which are of one type.',
      body: z
        .object({ target_type: z.enum(RESOURCE_TYPES), target_ids: z.array(z.string().max(24)).min(1).max(100) })
        .meta({ id: 'Enrichment' }),
      returns: accepted(jobRecord),
      fails: [aiNotConfigured],
    },
    async ({ ctx, body }) => viewJob(await startEnrichment(ctx, body.target_type, body.target_ids)),
  ),
  endpoint(
    {
      method: 'get',
      path: `${KNOWLEDGE_PATH}/jobs`,
      access: 'knowledge_reviews:list',
      operationId: 'listEnrichmentJobs',
      summary: 'List enrichment jobs',
      description: 'Jobs that suggest changes to several resources, by type and status. Newest first.',
      query: pagesQuery.extend({
        target_type: z.enum(RESOURCE_TYPES).optional(),
        status: z.enum(JOB_STATUSES).optional(),
      }),
      returns: ok(listOf(jobRecord)),
      fails: [],
    },
    async ({ ctx, query: { page, per_page: perPage, target_type: targetType, status } }) =>
      viewList(await listEnrichments(ctx, { targetType, status }, { page, perPage }), viewJob),
  ),
  endpoint(
    {
      method: 'get',
      path: `${KNOWLEDGE_PATH}/jobs/{id}`,
      access: 'knowledge_reviews:list',
      resource: 'none',
      operationId: 'getKnowledgeJob',
      summary: 'Get a knowledge job',
      description: 'A job of any kind: generation of concepts or of an ontology, or changes to several resources.',
      returns: ok(jobRecord),
      ...declareWaiting(readKnowledgeJobVersions),
      fails: [jobNotFound],
    },
    async ({ ctx, params }) => viewJob(await getJob(ctx, params.id)),
  ),
  endpoint(
    {
      method: 'post',
      path: `${KNOWLEDGE_PATH}/jobs/{id}/cancel`,
      access: 'knowledge_reviews:generate',
      resource: 'none',
      operationId: 'cancelKnowledgeJob',
      summary: 'Cancel a knowledge job',
      description:
        'The answer that the model is working on is discarded. Suggestions that an enrichment job has already made stay.',
      returns: ok(jobRecord),
      fails: [jobNotFound, jobEnded],
    },
    async ({ ctx, params }) => viewJob(await cancelJob(ctx, params.id)),
  ),
];
