import { z } from 'zod';
import { created, ok } from '../../../http/endpoint.ts';
import { endpoint, list, listOf, pages, surface } from '../../../http/surfaces/knowledge.ts';
import { textOf } from '../resources/members.ts';
import {
  acceptSuggestion,
  acceptSuggestions,
  listSuggestions,
  type NotAccepted,
  rejectSuggestion,
  suggestChange,
  suggestPromotion,
} from './service.ts';
import { SUGGESTION_STATUSES, TARGET_TYPES } from './suggestion.ts';
import { acceptedRecord, suggestionRecord, viewAccepted, viewSuggestion } from './views.ts';

const PATH = '/api/v1/domain-knowledge/suggestions';

/** One that could not be accepted, in the words that accepting it alone would have had. */
const viewNotAccepted = ({ id, failure }: NotAccepted) => ({
  id,
  ...(surface.word(failure).body as { error: string; message: string; details?: unknown }),
});

/** A route that asks the model about the resource its path names. */
const asking = <const Path extends string>(path: Path, summary: string) =>
  ({
    method: 'post',
    path,
    access: 'knowledge_reviews:generate',
    resource: 'none',
    summary,
    description: 'Waits for the model. Nothing is applied before a person accepts it.',
    returns: created(suggestionRecord),
  }) as const;

export const suggestionEndpoints = [
  endpoint(
    {
      method: 'get',
      path: PATH,
      access: 'knowledge_reviews:list',
      summary: 'Suggestions of the model, newest first; the pending ones unless a status is sent',
      query: pages.extend({
        target_type: z.enum(TARGET_TYPES).optional(),
        status: z.enum(SUGGESTION_STATUSES).default('pending'),
        job_id: z.string().max(24).optional(),
      }),
      returns: ok(listOf(suggestionRecord)),
    },
    async ({ ctx, query: { page, per_page: perPage, status, target_type: targetType, job_id: jobId } }) =>
      list(await listSuggestions(ctx, { status, targetType, jobId }, { page, perPage }), viewSuggestion),
  ),
  endpoint(asking(`${PATH}/concepts/{id}/generate`, 'Ask how to improve a concept'), async ({ ctx, params }) =>
    viewSuggestion(await suggestChange(ctx, 'concept', params.id)),
  ),
  endpoint(
    asking(`${PATH}/concepts/{id}/promote-semantic`, 'Ask what a concept becomes in the semantic layer'),
    async ({ ctx, params }) => viewSuggestion(await suggestPromotion(ctx, params.id, 'semantic')),
  ),
  endpoint(
    asking(`${PATH}/concepts/{id}/promote-ontology`, 'Ask what a concept becomes in the ontology'),
    async ({ ctx, params }) => viewSuggestion(await suggestPromotion(ctx, params.id, 'ontology_node')),
  ),
  endpoint(asking(`${PATH}/semantic/{id}/generate`, 'Ask how to improve a semantic item'), async ({ ctx, params }) =>
    viewSuggestion(await suggestChange(ctx, 'semantic', params.id)),
  ),
  endpoint(asking(`${PATH}/ontology/nodes/{id}/generate`, 'Ask how to improve a node'), async ({ ctx, params }) =>
    viewSuggestion(await suggestChange(ctx, 'ontology_node', params.id)),
  ),
  endpoint(
    asking(`${PATH}/ontology/relations/{id}/generate`, 'Ask how to improve a relation'),
    async ({ ctx, params }) => viewSuggestion(await suggestChange(ctx, 'ontology_relation', params.id)),
  ),
  endpoint(
    {
      method: 'post',
      path: `${PATH}/bulk-accept`,
      access: 'knowledge_reviews:review',
      summary: 'Accept several suggestions, what others depend on first',
      description:
        'Each needs the permission to make or change its target as well. What cannot be accepted does not hold up the rest.',
      body: z.object({ ids: z.array(z.string().max(24)).min(1).max(100) }).meta({ id: 'SuggestionIds' }),
      returns: ok(
        z.object({
          accepted: z.array(acceptedRecord),
          failed: z.array(
            z.object({ id: z.string(), error: z.string(), message: z.string(), details: z.unknown().optional() }),
          ),
        }),
      ),
    },
    async ({ ctx, body }) => {
      const { accepted, failed } = await acceptSuggestions(ctx, body.ids);
      return { accepted: accepted.map(viewAccepted), failed: failed.map(viewNotAccepted) };
    },
  ),
  endpoint(
    {
      method: 'post',
      path: `${PATH}/{id}/accept`,
      access: 'knowledge_reviews:review',
      summary: 'Accept a suggestion: its target is made or changed',
      description:
        'Needs the permission to make or change the target as well. `override_payload` changes members before they are applied.',
      body: z
        .object({ override_payload: z.record(z.string(), z.unknown()).optional() })
        .meta({ id: 'SuggestionAcceptance' }),
      returns: ok(acceptedRecord),
    },
    async ({ ctx, params, body }) => viewAccepted(await acceptSuggestion(ctx, params.id, body.override_payload)),
  ),
  endpoint(
    {
      method: 'post',
      path: `${PATH}/{id}/reject`,
      access: 'knowledge_reviews:review',
      summary: 'Turn a suggestion down',
      body: z.object({ review_note: textOf(4096).nullable().default(null) }).meta({ id: 'SuggestionRejection' }),
      returns: ok(suggestionRecord),
    },
    async ({ ctx, params, body }) => viewSuggestion(await rejectSuggestion(ctx, params.id, body.review_note)),
  ),
];
