import { z } from 'zod';
import type { UserActor } from '../../access/actors.ts';
import type { Page } from '../../kernel/page.ts';
import { endpointFor } from '../endpoint.ts';
import { pageQuery } from '../list-query.ts';
import { detailsOf, type OldWording, type Surface } from '../surface.ts';
import * as console from './console.ts';

/** Endpoints of domain knowledge: called by people with a session token, worded like the console. */
export const endpoint = endpointFor<'console', UserActor>();

const REASONS: Record<string, OldWording> = {
  'concept.not_found': [404, 'CONCEPT_NOT_FOUND'],
  'concept.duplicate': [409, 'CONCEPT_DUPLICATE'],
  'concept.archived': [409, 'CONCEPT_ARCHIVED'],
  'semantic_item.not_found': [404, 'SEMANTIC_ITEM_NOT_FOUND'],
  'semantic_item.duplicate': [409, 'SEMANTIC_ITEM_DUPLICATE'],
  'semantic_item.archived': [409, 'SEMANTIC_ITEM_ARCHIVED'],
  'ontology_node.not_found': [404, 'ONTOLOGY_NODE_NOT_FOUND'],
  'ontology_node.duplicate': [409, 'ONTOLOGY_NODE_DUPLICATE'],
  'ontology_node.archived': [409, 'ONTOLOGY_NODE_ARCHIVED'],
  'ontology_relation.not_found': [404, 'ONTOLOGY_RELATION_NOT_FOUND'],
  'ontology_relation.duplicate': [409, 'ONTOLOGY_RELATION_DUPLICATE'],
  'ontology_relation.archived': [409, 'ONTOLOGY_RELATION_ARCHIVED'],
  'suggestion.not_found': [404, 'SUGGESTION_NOT_FOUND'],
  'suggestion.not_pending': [409, 'SUGGESTION_NOT_PENDING'],
  'suggestion.dependency_pending': [409, 'SUGGESTION_DEPENDENCY_PENDING'],
  'suggestion.stale': [409, 'SUGGESTION_STALE'],
  'knowledge_job.not_found': [404, 'JOB_NOT_FOUND'],
  'knowledge_job.ended': [409, 'JOB_ENDED'],
  'knowledge_job.running': [409, 'JOB_RUNNING'],
  'ai.not_configured': [503, 'AI_PROVIDER_NOT_CONFIGURED', 'No AI provider is configured.'],
  'ai.unavailable': [503, 'AI_PROVIDER_UNAVAILABLE'],
  'ai.refused': [502, 'AI_PROVIDER_REFUSED'],
  'ai.invalid_output': [502, 'AI_OUTPUT_INVALID'],
  'ai.nothing_proposed': [502, 'AI_OUTPUT_INVALID'],
};

export const surface: Surface = {
  ...console.surface,
  name: 'knowledge',
  bases: ['/api/v1/domain-knowledge'],
  title: 'Domain knowledge',
  description:
    'Concepts, a semantic layer and an ontology, with every version, and suggestions of a model that people review. With a session token.',
  word(failure) {
    const wording = REASONS[failure.reason];
    if (!wording) return console.surface.word(failure);
    const [status, code, message] = wording;
    const details = detailsOf(failure);
    return {
      status,
      body: { error: code, message: message ?? failure.message, ...(details !== undefined && { details }) },
    };
  },
};

/** The query of every list: which page. */
export const pages = pageQuery('per_page');

/** Schema of the list envelope of domain knowledge. */
export const listOf = <S extends z.ZodType>(record: S) =>
  z.object({ total: z.int(), page: z.int(), per_page: z.int(), records: z.array(record) });

/** A page of records in the list envelope of domain knowledge. */
export const list = <T, V>({ total, page, perPage, records }: Page<T>, view: (record: T) => V) => ({
  total,
  page,
  per_page: perPage,
  records: records.map(view),
});
