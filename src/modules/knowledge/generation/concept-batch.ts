import { z } from 'zod';
import type { Content } from '../../../db/schema/knowledge-resources.ts';
import { askModel } from '../../../platform/ai.ts';
import { CONCEPT_TYPES, type Concept, concept } from '../concepts/concept.ts';
import { compose, PROMPTS } from '../prompts/compose.ts';
import { MAX_ITEMS } from '../resources/fields.ts';
import { findChangedFields, type Resource } from '../resources/service.ts';
import {
  describeConcepts,
  joinLines,
  makeSuggestion,
  type Proposal,
  RATIONALE_SHAPE,
  type Rationale,
  readStagedNames,
} from '../suggestions/service.ts';
import { type BatchInput, type BatchResult, SourceMissing, toOrigin, toRationale, withoutNulls } from './batch.ts';
import { readBatch } from './sources.ts';

const PROMPT = PROMPTS.conceptGeneration;
/** The maximum number of candidates of one answer that are read. */
const MAX_CANDIDATES = 200;

const ANSWER_SHAPE = z.object({
  candidates: z.array(
    z.object({
      action: z.enum(['create', 'enrich']),
      existing_concept_id: z.string().nullable(),
      name: z.string(),
      description: z.string(),
      type: z.enum(CONCEPT_TYPES),
      aliases: z.array(z.string()),
      tags: z.array(z.string()),
      ...RATIONALE_SHAPE,
    }),
  ),
});

const modelAnswer = z.object({ candidates: z.array(z.unknown()) });

const candidateFields = z.object({
  action: z.enum(['create', 'enrich']),
  existing_concept_id: z.string().nullish(),
  name: z.unknown().optional(),
  description: z.unknown().optional(),
  type: z.unknown().optional(),
  aliases: z.unknown().optional(),
  tags: z.unknown().optional(),
});

/** Asks for the concepts of one part of the text, or of one business domain where there is no text. */
export async function proposeConcepts(input: BatchInput): Promise<BatchResult> {
  const { ctx, settings, job, usage } = input;
  const sources = await sourceSections(input);
  const { text, concepts, notSent } = await describeConcepts(ctx, sources.map((section) => section.text).join('\n'));
  const staged = await readStagedNames(ctx, job.id);
  const stagedConcepts = staged
    .filter(({ targetType }) => targetType === 'concept_create')
    .map(({ targetName }) => targetName);
  const sections = [
    ...sources,
    { title: 'existing concepts', text },
    { title: 'names already proposed', text: joinLines(stagedConcepts.map((name) => JSON.stringify(name))) },
  ];
  const { value: candidates, model } = await askModel(
    settings,
    {
      name: 'concepts',
      ...compose(PROMPT, sections),
      shape: ANSWER_SHAPE,
      read: (json) => modelAnswer.parse(json).candidates,
    },
    usage,
  );
  const known = new Map(concepts.map((resource) => [resource.id, resource]));
  const uniqueKeys = new Set(concepts.map(({ content }) => concept.makeUniqueKey(content)));
  const candidateKeys = new Set(staged.map(({ candidateKey }) => candidateKey));
  const suggestions = candidates.slice(0, MAX_CANDIDATES).flatMap((candidate) => {
    const proposal = readCandidate(candidate, known, uniqueKeys);
    if (!proposal) return [];
    const candidateKey = makeCandidateKey(proposal);
    if (candidateKeys.has(candidateKey)) return [];
    candidateKeys.add(candidateKey);
    const complete = { ...proposal, model, promptVersion: PROMPT.version };
    return [makeSuggestion(ctx, complete, toOrigin(job, candidateKey))];
  });
  return { suggestions, rejected: candidates.length - suggestions.length, conceptsNotSent: notSent };
}

async function sourceSections({ ctx, job }: BatchInput) {
  const { businessDomains = [], source } = job.input;
  const domainsText = (domains: typeof businessDomains) => joinLines(domains.map((domain) => JSON.stringify(domain)));
  if (!source) {
    return [
      {
        title: 'business domain',
        text: domainsText(businessDomains.slice(job.processedCount, job.processedCount + 1)),
      },
    ];
  }
  const text = await readBatch(ctx, source, job.processedCount);
  if (text === undefined) throw new SourceMissing();
  return [
    { title: 'business domains', text: domainsText(businessDomains) },
    { title: `part ${job.processedCount + 1} of ${job.totalCount} of a document`, text },
  ];
}

type ConceptProposal = Omit<Proposal, 'model' | 'promptVersion'>;

const makeCandidateKey = ({ targetId, targetName }: ConceptProposal): string =>
  targetId === null ? `create\n${concept.makeUniqueKey({ name: targetName } as Concept)}` : `enrich\n${targetId}`;

/** Reads a candidate as a proposal; undefined for one that is not valid, or creates a concept that exists. */
function readCandidate(
  candidate: unknown,
  known: Map<string, Resource<Concept>>,
  uniqueKeys: Set<string>,
): ConceptProposal | undefined {
  const fields = candidateFields.safeParse(candidate);
  if (!fields.success) return undefined;
  const { action, existing_concept_id, ...content } = fields.data;
  const rationale = toRationale(candidate);
  if (!rationale) return undefined;
  if (action === 'enrich') {
    const existing = known.get(existing_concept_id ?? '');
    return existing && readEnrichment(existing, content, rationale);
  }
  const parsed = concept.create.safeParse({
    ...withoutNulls(content),
    source: 'model',
    confidence: rationale.confidence,
  });
  if (!parsed.success) return undefined;
  const name = parsed.data.name as string;
  if (uniqueKeys.has(concept.makeUniqueKey(parsed.data as Concept))) return undefined;
  const target = { targetType: 'concept_create' as const, targetId: null, targetVersion: null, targetName: name };
  return { ...rationale, ...target, conceptId: null, conceptName: null, payload: parsed.data };
}

function readEnrichment(
  existing: Resource<Concept>,
  { description, type, aliases, tags }: Content,
  rationale: Rationale,
): ConceptProposal | undefined {
  const parsed = concept.changes.safeParse(withoutNulls({ description, type, aliases, tags }));
  if (!parsed.success) return undefined;
  const { content } = existing;
  const { aliases: moreAliases = [], tags: moreTags = [], ...rest } = parsed.data;
  // Aliases and tags are added to those that people gave; none is removed.
  const wanted: Content = {
    ...rest,
    aliases: mergeTexts(content.aliases, moreAliases),
    tags: mergeTexts(content.tags, moreTags),
  };
  const payload = findChangedFields(content, wanted);
  if (Object.keys(payload).length === 0) return undefined;
  return {
    ...rationale,
    targetType: 'concept',
    targetId: existing.id,
    targetVersion: existing.version,
    targetName: content.name,
    conceptId: existing.id,
    conceptName: content.name,
    payload,
  };
}

const mergeTexts = (kept: string[], more: string[]): string[] => [...new Set([...kept, ...more])].slice(0, MAX_ITEMS);
