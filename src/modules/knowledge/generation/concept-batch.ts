import { z } from 'zod';
import type { Content } from '../../../db/schema/knowledge-resources.ts';
import { askModel } from '../../../platform/ai.ts';
import { CONCEPT_TYPES, type Concept, concept } from '../concepts/concept.ts';
import { composePrompt, PROMPTS } from '../prompts/compose.ts';
import { findChangedFields } from '../resources/definition.ts';
import { MAX_LIST_ITEMS } from '../resources/fields.ts';
import type { Resource } from '../resources/reading.ts';
import { RATIONALE_SHAPE, type Rationale } from '../suggestions/model-answers.ts';
import { describeConcepts, joinLines } from '../suggestions/prompt-texts.ts';
import { CREATION, type Proposal } from '../suggestions/propose.ts';
import { makeSuggestion } from '../suggestions/service.ts';
import { selectStagedNames } from '../suggestions/store.ts';
import { type BatchInput, type BatchResult, omitNulls, parseRationale, SourceMissingError, toOrigin } from './batch.ts';
import { readBatch } from './sources.ts';

const CONCEPT_PROMPT = PROMPTS.conceptGeneration;
/** The maximum number of candidates read from one answer. */
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

/** Asks the model for the concepts of one part of the text, or of one business domain where there is no text. */
export async function proposeConcepts(input: BatchInput): Promise<BatchResult> {
  const { ctx, settings, job, usage } = input;
  const textSections = await makeSourceSections(input);
  const { text, concepts, omittedCount } = await describeConcepts(
    ctx,
    textSections.map((section) => section.text).join('\n'),
  );
  const stagedNames = await selectStagedNames(ctx.db, job.companyId, job.id);
  const stagedConcepts = stagedNames
    .filter(({ targetType }) => targetType === 'concept_create')
    .map(({ targetName }) => targetName);
  const sections = [
    ...textSections,
    { title: 'existing concepts', text },
    { title: 'names already proposed', text: joinLines(stagedConcepts.map((name) => JSON.stringify(name))) },
  ];
  const { value: candidates, model } = await askModel(
    settings,
    {
      name: 'concepts',
      ...composePrompt(CONCEPT_PROMPT, sections),
      answerSchema: ANSWER_SHAPE,
      readAnswer: (json) => modelAnswer.parse(json).candidates,
    },
    usage,
  );
  const conceptsById = new Map(concepts.map((resource) => [resource.id, resource]));
  const uniqueKeys = new Set(concepts.map(({ content }) => concept.makeUniqueKey(content)));
  const candidateKeys = new Set(stagedNames.map(({ candidateKey }) => candidateKey));
  const suggestions = candidates.slice(0, MAX_CANDIDATES).flatMap((candidate) => {
    const proposal = readCandidate(candidate, conceptsById, uniqueKeys);
    if (!proposal) return [];
    const candidateKey = makeCandidateKey(proposal);
    if (candidateKeys.has(candidateKey)) return [];
    candidateKeys.add(candidateKey);
    const completeProposal = { ...proposal, model, promptVersion: CONCEPT_PROMPT.version };
    return [makeSuggestion(ctx, completeProposal, toOrigin(job, candidateKey))];
  });
  return { suggestions, rejectedCount: candidates.length - suggestions.length, conceptsNotSent: omittedCount };
}

async function makeSourceSections({ ctx, job }: BatchInput) {
  const { businessDomains = [], source } = job.input;
  const formatDomains = (domains: typeof businessDomains) => joinLines(domains.map((domain) => JSON.stringify(domain)));
  if (!source) {
    const domain = businessDomains.slice(job.processedCount, job.processedCount + 1);
    return [{ title: 'business domain', text: formatDomains(domain) }];
  }
  const text = await readBatch(ctx, source, job.processedCount);
  if (text === undefined) throw new SourceMissingError();
  return [
    { title: 'business domains', text: formatDomains(businessDomains) },
    { title: `part ${job.processedCount + 1} of ${job.totalCount} of a document`, text },
  ];
}

type ConceptProposal = Omit<Proposal, 'model' | 'promptVersion'>;

const makeCandidateKey = ({ targetId, targetName }: ConceptProposal): string =>
  targetId === null ? `create\n${concept.makeUniqueKey({ name: targetName } as Concept)}` : `enrich\n${targetId}`;

/** Parses a candidate as a proposal; undefined if it is not valid, or would create a concept that exists. */
function readCandidate(
  candidate: unknown,
  conceptsById: Map<string, Resource<Concept>>,
  uniqueKeys: Set<string>,
): ConceptProposal | undefined {
  const fields = candidateFields.safeParse(candidate);
  if (!fields.success) return undefined;
  const { action, existing_concept_id, ...content } = fields.data;
  const rationale = parseRationale(candidate);
  if (!rationale) return undefined;
  if (action === 'enrich') {
    const existingConcept = conceptsById.get(existing_concept_id ?? '');
    return existingConcept && readEnrichment(existingConcept, content, rationale);
  }
  const parsedConcept = concept.createSchema.safeParse({
    ...omitNulls(content),
    source: 'model',
    confidence: rationale.confidence,
  });
  if (!parsedConcept.success) return undefined;
  const name = parsedConcept.data.name as string;
  if (uniqueKeys.has(concept.makeUniqueKey(parsedConcept.data as Concept))) return undefined;
  return { ...CREATION, ...rationale, targetType: 'concept_create', targetName: name, payload: parsedConcept.data };
}

function readEnrichment(
  existingConcept: Resource<Concept>,
  { description, type, aliases, tags }: Content,
  rationale: Rationale,
): ConceptProposal | undefined {
  const parsedChanges = concept.changesSchema.safeParse(omitNulls({ description, type, aliases, tags }));
  if (!parsedChanges.success) return undefined;
  const { content } = existingConcept;
  const { aliases: moreAliases = [], tags: moreTags = [], ...rest } = parsedChanges.data;
  // Aliases and tags are added to those that people gave; none is removed.
  const enrichedContent: Content = {
    ...rest,
    aliases: mergeTexts(content.aliases, moreAliases),
    tags: mergeTexts(content.tags, moreTags),
  };
  const payload = findChangedFields(content, enrichedContent);
  if (Object.keys(payload).length === 0) return undefined;
  return {
    ...rationale,
    targetType: 'concept',
    targetId: existingConcept.id,
    targetVersion: existingConcept.version,
    targetName: content.name,
    conceptId: existingConcept.id,
    conceptName: content.name,
    payload,
  };
}

const mergeTexts = (existingTexts: string[], addedTexts: string[]): string[] =>
  [...new Set([...existingTexts, ...addedTexts])].slice(0, MAX_LIST_ITEMS);
