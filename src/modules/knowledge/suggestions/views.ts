import { z } from 'zod';
import { isoTimestamp, isoTimestampOrNull, timestamp } from '../../../kernel/fields.ts';
import { evidence } from '../resources/members.ts';
import type { Resource } from '../resources/service.ts';
import { viewResource } from '../resources/views.ts';
import type { SuggestionRow } from './service.ts';
import { SUGGESTION_STATUSES, type SuggestionStatus, TARGET_TYPES } from './suggestion.ts';

const members = z.record(z.string(), z.unknown());

/** Schema of a suggestion. */
export const suggestionRecord = z
  .object({
    _id: z.string(),
    company_id: z.string(),
    target_type: z.enum(TARGET_TYPES),
    target_id: z.string().nullable().meta({ description: 'The resource to change; null for one to be made.' }),
    target_version: z.int().nullable().meta({ description: 'The version of the target that the model saw.' }),
    target_name: z.string(),
    concept_id: z.string().nullable(),
    concept_name: z.string().nullable(),
    suggested_payload: members.meta({
      description:
        'Members of the target. A relation whose nodes are only suggested names them by `subject_suggestion_id` and `object_suggestion_id`.',
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
    reviewed_at: timestamp.nullable(),
    resource_id: z.string().nullable().meta({ description: 'The resource that came of it.' }),
    created_by_user_id: z.string(),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'KnowledgeSuggestion' });

/** A suggestion as the API shows it. */
export const viewSuggestion = (row: SuggestionRow): z.input<typeof suggestionRecord> => ({
  _id: row.id,
  company_id: row.companyId,
  target_type: row.targetType,
  target_id: row.targetId,
  target_version: row.targetVersion,
  target_name: row.targetName,
  concept_id: row.conceptId,
  concept_name: row.conceptName,
  suggested_payload: row.payload,
  explanation: row.explanation,
  evidence: row.evidence,
  confidence: row.confidence,
  model: row.model,
  prompt_version: row.promptVersion,
  status: row.status as SuggestionStatus,
  request_id: row.requestId,
  job_id: row.jobId,
  review_note: row.reviewNote,
  reviewed_by_user_id: row.reviewedByUserId,
  reviewed_at: isoTimestampOrNull(row.reviewedAt),
  resource_id: row.resourceId,
  created_by_user_id: row.createdByUserId,
  created_at: isoTimestamp(row.createdAt),
  updated_at: isoTimestamp(row.updatedAt),
});

/** Schema of a suggestion with what came of it. */
export const acceptedRecord = z
  .object({
    suggestion: suggestionRecord,
    resource: members.meta({ description: 'The concept, semantic item, node or relation, as its own routes show it.' }),
  })
  .meta({ id: 'AcceptedSuggestion' });

/** An accepted suggestion with what came of it. */
export const viewAccepted = ({ suggestion, resource }: { suggestion: SuggestionRow; resource: Resource }) => ({
  suggestion: viewSuggestion(suggestion),
  resource: {
    ...viewResource(resource),
    ...(resource.resourceType === 'semantic' && { validation_errors: resource.validationErrors }),
  },
});
