import { z } from 'zod';
import { concurrentChange } from '../../../db/failures.ts';
import { SUGGESTION_STATUSES, TARGET_TYPES } from '../../../db/schema/knowledge-suggestions.ts';
import { created, ok } from '../../../http/endpoint.ts';
import { wordFailure } from '../../../http/surface.ts';
import { endpoint, listOf, pagesQuery, surface, viewList } from '../../../http/surfaces/knowledge.ts';
import { tenantSqlFailures } from '../../../tenant-sql/failures.ts';
import type { Locale } from '../../../texts/locales.ts';
import {
  conceptFailures,
  ontologyNodeFailures,
  ontologyRelationFailures,
  type ResourceFailures,
  semanticItemFailures,
  semanticItemInUse,
} from '../resources/failures.ts';
import { makeTextSchema } from '../resources/fields.ts';
import {
  dependencyPending,
  modelFailures,
  suggestionNotFound,
  suggestionNotPending,
  suggestionStale,
} from './failures.ts';
import {
  acceptSuggestion,
  acceptSuggestions,
  type FailedAcceptance,
  getSuggestion,
  rejectSuggestion,
  requireAcceptableSuggestion,
} from './review.ts';
import { listSuggestions, suggestChange, suggestPromotion } from './service.ts';
import { acceptedSuggestionRecord, suggestionRecord, viewAcceptedSuggestion, viewSuggestion } from './views.ts';

const SUGGESTIONS_PATH = '/api/v1/domain-knowledge/suggestions';

/** Returns a suggestion that was not accepted, worded as `accept` would word it, in the language of the caller. */
const viewFailedAcceptance = ({ id, failure }: FailedAcceptance, locale: Locale) => ({
  id,
  ...(wordFailure(surface, failure, locale).body as { error: string; message: string; details?: unknown }),
});

/** Defines the contract of a route that asks the model about the resource of its path. */
const defineModelRoute = <const Path extends string>(
  path: Path,
  operationId: string,
  summary: string,
  description: string,
  { notFound, archived }: ResourceFailures,
) =>
  ({
    method: 'post',
    path,
    access: 'knowledge_reviews:generate',
    resource: 'none',
    operationId,
    summary,
    description: `${description} Waits for the answer of the model. Nothing changes before the suggestion is accepted.`,
    returns: created(suggestionRecord),
    fails: [notFound, archived, ...modelFailures, ...tenantSqlFailures],
  }) as const;

export const suggestionEndpoints = [
  endpoint(
    {
      method: 'get',
      path: SUGGESTIONS_PATH,
      access: 'knowledge_reviews:list',
      operationId: 'listSuggestions',
      summary: 'List suggestions',
      description: 'Newest first; the pending ones unless a status is sent.',
      query: pagesQuery.extend({
        target_type: z.enum(TARGET_TYPES).optional(),
        status: z.enum(SUGGESTION_STATUSES).default('pending'),
        job_id: z.string().max(24).optional(),
      }),
      returns: ok(listOf(suggestionRecord)),
      fails: [],
    },
    async ({ ctx, query: { page, per_page: perPage, status, target_type: targetType, job_id: jobId } }) =>
      viewList(await listSuggestions(ctx, { status, targetType, jobId }, { page, perPage }), viewSuggestion),
  ),
  endpoint(
    defineModelRoute(
      `${SUGGESTIONS_PATH}/concepts/{id}/generate`,
      'suggestConceptChange',
      'Suggest a change to a concept',
      'Asks the model for a clearer description, other names, tags, and the tables and columns that the concept is about.',
      conceptFailures,
    ),
    async ({ ctx, params }) => viewSuggestion(await suggestChange(ctx, 'concept', params.id)),
  ),
  endpoint(
    defineModelRoute(
      `${SUGGESTIONS_PATH}/concepts/{id}/promote-semantic`,
      'suggestSemanticItemForConcept',
      'Suggest a semantic item for a concept',
      'Asks the model for the entity, metric, dimension or mapping that the concept becomes.',
      conceptFailures,
    ),
    async ({ ctx, params }) => viewSuggestion(await suggestPromotion(ctx, params.id, 'semantic')),
  ),
  endpoint(
    defineModelRoute(
      `${SUGGESTIONS_PATH}/concepts/{id}/promote-ontology`,
      'suggestOntologyNodeForConcept',
      'Suggest an ontology node for a concept',
      'Asks the model for the node that the concept becomes, with its attributes and constraints.',
      conceptFailures,
    ),
    async ({ ctx, params }) => viewSuggestion(await suggestPromotion(ctx, params.id, 'ontology_node')),
  ),
  endpoint(
    defineModelRoute(
      `${SUGGESTIONS_PATH}/semantic/{id}/generate`,
      'suggestSemanticItemChange',
      'Suggest a change to a semantic item',
      'Asks the model for a better description, mapping and, of a metric, formula and filters.',
      semanticItemFailures,
    ),
    async ({ ctx, params }) => viewSuggestion(await suggestChange(ctx, 'semantic', params.id)),
  ),
  endpoint(
    defineModelRoute(
      `${SUGGESTIONS_PATH}/ontology/nodes/{id}/generate`,
      'suggestOntologyNodeChange',
      'Suggest a change to an ontology node',
      'Asks the model for a better description, other names, attributes and constraints of the node.',
      ontologyNodeFailures,
    ),
    async ({ ctx, params }) => viewSuggestion(await suggestChange(ctx, 'ontology_node', params.id)),
  ),
  endpoint(
    defineModelRoute(
      `${SUGGESTIONS_PATH}/ontology/relations/{id}/generate`,
      'suggestOntologyRelationChange',
      'Suggest a change to an ontology relation',
      'Asks the model for a better description, cardinality and type of the relation.',
      ontologyRelationFailures,
    ),
    async ({ ctx, params }) => viewSuggestion(await suggestChange(ctx, 'ontology_relation', params.id)),
  ),
  endpoint(
    {
      method: 'post',
      path: `${SUGGESTIONS_PATH}/bulk-accept`,
      access: 'knowledge_reviews:review',
      operationId: 'acceptSuggestions',
      summary: 'Accept several suggestions',
      description:
        'Suggestions that others depend on are accepted first. Each needs the permission to create or update its target too. One that fails does not stop the others; `failed` says why.',
      body: z.object({ ids: z.array(z.string().max(24)).min(1).max(100) }).meta({ id: 'SuggestionIds' }),
      returns: ok(
        z.object({
          accepted: z.array(acceptedSuggestionRecord),
          failed: z.array(
            z.object({ id: z.string(), error: z.string(), message: z.string(), details: z.unknown().optional() }),
          ),
        }),
      ),
      fails: [],
    },
    async ({ ctx, body }) => {
      const { acceptedSuggestions: accepted, failedAcceptances: failed } = await acceptSuggestions(ctx, body.ids);
      const { locale } = ctx.caller();
      const views = await Promise.all(accepted.map((suggestion) => viewAcceptedSuggestion(ctx, suggestion)));
      return { accepted: views, failed: failed.map((failure) => viewFailedAcceptance(failure, locale)) };
    },
  ),
  endpoint(
    {
      method: 'post',
      path: `${SUGGESTIONS_PATH}/{id}/accept`,
      access: 'knowledge_reviews:review',
      operationId: 'acceptSuggestion',
      summary: 'Accept a suggestion',
      description:
        'Creates or updates its target, which needs the permission for that too. `override_payload` changes fields before they are applied.',
      body: z
        .object({ override_payload: z.record(z.string(), z.unknown()).optional() })
        .meta({ id: 'SuggestionAcceptance' }),
      checkPath: (ctx, { id = '' }) => requireAcceptableSuggestion(ctx, id),
      returns: ok(acceptedSuggestionRecord),
      fails: [
        suggestionNotFound,
        suggestionNotPending,
        suggestionStale,
        dependencyPending,
        conceptFailures.duplicate,
        semanticItemFailures.duplicate,
        semanticItemInUse,
        ontologyNodeFailures.duplicate,
        ontologyRelationFailures.duplicate,
        concurrentChange,
      ],
    },
    async ({ ctx, params, body }) =>
      viewAcceptedSuggestion(ctx, await acceptSuggestion(ctx, params.id, body.override_payload)),
  ),
  endpoint(
    {
      method: 'post',
      path: `${SUGGESTIONS_PATH}/{id}/reject`,
      access: 'knowledge_reviews:review',
      operationId: 'rejectSuggestion',
      summary: 'Reject a suggestion',
      description: 'Only while it is pending. Nothing else changes; the note is kept with the suggestion.',
      body: z
        .object({ review_note: makeTextSchema(4096).nullable().default(null) })
        .meta({ id: 'SuggestionRejection' }),
      checkPath: (ctx, { id = '' }) => getSuggestion(ctx, id),
      returns: ok(suggestionRecord),
      fails: [suggestionNotFound, suggestionNotPending],
    },
    async ({ ctx, params, body }) => viewSuggestion(await rejectSuggestion(ctx, params.id, body.review_note)),
  ),
];
