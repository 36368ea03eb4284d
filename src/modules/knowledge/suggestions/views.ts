import { z } from 'zod';
import { mayGetRecord } from '../../../access/denials.ts';
import type { PrincipalContext } from '../../../context.ts';
import { SUGGESTION_STATUSES, type SuggestionStatus, TARGET_TYPES } from '../../../db/schema/knowledge-suggestions.ts';
import { makeView } from '../../../http/wire.ts';
import { timestampSchema } from '../../../kernel/fields.ts';
import { evidence } from '../resources/fields.ts';
import type { Resource } from '../resources/reading.ts';
import { viewResource } from '../resources/views.ts';
import { filterVisibleErrors } from '../semantic/check.ts';
import type { SemanticItem } from '../semantic/item.ts';
import type { AcceptedSuggestion } from './review.ts';
import type { SuggestionRow } from './store.ts';

const fields = z.record(z.string(), z.unknown());

/** The schema of a suggestion. */
export const suggestionRecord = z
  .object({
    _id: z.string(),
    company_id: z.string(),
    target_type: z.enum(TARGET_TYPES),
    target_id: z.string().nullable().meta({ description: 'The resource to update; null when one is created.' }),
    target_version: z.int().nullable().meta({ description: 'The version of the target that the model read.' }),
    target_name: z.string(),
    concept_id: z.string().nullable(),
    concept_name: z.string().nullable(),
    suggested_payload: fields.meta({
      description:
        'Fields of the target. A relation between nodes that are only suggested has `subject_suggestion_id` and `object_suggestion_id`. In a suggestion from an import, `suggested` holds, by field, the ids of the suggestions that it refers to.',
    }),
    explanation: z.string(),
    evidence: z.array(evidence),
    confidence: z.number().nullable(),
    model: z.string(),
    prompt_version: z.string(),
    status: z.enum(SUGGESTION_STATUSES),
    request_id: z.string(),
    job_id: z.string().nullable(),
    review_note: z.string().nullable(),
    reviewed_by_user_id: z.string().nullable(),
    reviewed_at: timestampSchema.nullable(),
    resource_id: z.string().nullable().meta({ description: 'The resource that accepting it created or updated.' }),
    created_by_user_id: z.string(),
    created_at: timestampSchema,
    updated_at: timestampSchema,
  })
  .meta({ id: 'KnowledgeSuggestion' });

const viewSuggestionRecord = makeView(suggestionRecord);
export const viewSuggestion = ({ payload, status, ...row }: SuggestionRow) =>
  viewSuggestionRecord({ ...row, suggestedPayload: payload, status: status as SuggestionStatus });

export const acceptedSuggestionRecord = z
  .object({
    suggestion: suggestionRecord,
    resource: fields.meta({
      description:
        'The concept, semantic item, node or relation, as its own routes show it; to who may not get it, its `_id` alone.',
    }),
  })
  .meta({ id: 'AcceptedSuggestion' });

/** Returns the resource as its own routes show it to the caller; only its id to a caller who may not get it. */
export async function viewAcceptedSuggestion(ctx: PrincipalContext, { suggestion, resource }: AcceptedSuggestion) {
  return { suggestion: viewSuggestion(suggestion), resource: await viewWrittenResource(ctx, resource) };
}

async function viewWrittenResource(ctx: PrincipalContext, resource: Resource): Promise<Record<string, unknown>> {
  if (!mayGetRecord(ctx.actor, resource.resourceType, resource.id)) return { _id: resource.id };
  if (resource.resourceType !== 'semantic') return viewResource(resource);
  const [visible] = await filterVisibleErrors(ctx, [resource as Resource<SemanticItem>]);
  return { ...viewResource(resource), validation_errors: visible?.validationErrors };
}
