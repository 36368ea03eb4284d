import { z } from 'zod';
import { JOB_STATUSES, JOB_TYPES } from '../../../db/schema/knowledge-jobs.ts';
import { RESOURCE_TYPES } from '../../../db/schema/knowledge-resources.ts';
import { makeView } from '../../../http/wire.ts';
import { timestampSchema } from '../../../kernel/fields.ts';
import { businessDomain } from '../business-domains/service.ts';
import { usageView } from '../resources/views.ts';
import type { JobRow } from './store.ts';

export const jobRecord = z
  .object({
    _id: z.string(),
    company_id: z.string(),
    type: z.enum(JOB_TYPES),
    target_type: z.enum(RESOURCE_TYPES),
    target_ids: z.array(z.string()),
    status: z.enum(JOB_STATUSES),
    processed_count: z.int().meta({ description: 'Batches done; a target of an enrichment is one.' }),
    total_count: z.int(),
    suggestion_count: z.int(),
    rejected_count: z
      .int()
      .meta({ description: 'Suggestions of the model that were dropped because they were not valid.' }),
    concepts_not_sent_count: z.int().meta({
      description:
        'Existing concepts that did not fit into a question to the model, the most of any batch: those with the least to do with its text. The model may propose them again.',
    }),
    usage: usageView,
    last_error: z.string().nullable(),
    request_id: z.string().meta({ description: 'The `x-correlation-id` of the request that started the job.' }),
    business_domains: z
      .array(z.string())
      .meta({ description: 'Keys of the business domains that concepts are generated for.' }),
    connection_id: z.string().nullable(),
    file_name: z.string().nullable(),
    created_by_user_id: z.string(),
    created_at: timestampSchema,
    updated_at: timestampSchema,
    ended_at: timestampSchema.nullable(),
  })
  .meta({ id: 'KnowledgeJob' });

const viewJobRecord = makeView(jobRecord);
export const viewJob = ({ conceptsNotSent, input, ...job }: JobRow) =>
  viewJobRecord({
    ...job,
    conceptsNotSentCount: conceptsNotSent,
    businessDomains: input.businessDomains?.map(({ key }) => key) ?? [],
    connectionId: input.connectionId ?? null,
    fileName: input.fileName ?? null,
  });

const missingPrerequisites = z.array(z.string()).meta({
  description: '`ai_provider`, `business_domains`, `entity_hint_concepts` or `connection`; empty when ready.',
});

export const conceptPrerequisitesRecord = z
  .object({
    ready: z.boolean(),
    ai_configured: z.boolean(),
    business_domains: z.array(businessDomain),
    accepted_file_types: z.array(z.string()),
    missing: missingPrerequisites,
  })
  .meta({ id: 'ConceptGenerationPrerequisites' });

export const viewConceptPrerequisites = makeView(conceptPrerequisitesRecord);

export const ontologyPrerequisitesRecord = z
  .object({
    ready: z.boolean(),
    ai_configured: z.boolean(),
    connections: z.array(z.object({ connection_id: z.string(), name: z.string(), table_count: z.int() })),
    entity_hint_count: z.int(),
    missing: missingPrerequisites,
  })
  .meta({ id: 'OntologyGenerationPrerequisites' });

export const viewOntologyPrerequisites = makeView(ontologyPrerequisitesRecord);
