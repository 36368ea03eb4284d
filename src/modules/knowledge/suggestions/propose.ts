import type { CompanyContext } from '../../../context.ts';
import type { Content, ResourceType } from '../../../db/schema/knowledge-resources.ts';
import { type AiSettings, type AiUsage, askModel } from '../../../platform/ai.ts';
import { aiNotConfigured } from '../../../platform/ai-failures.ts';
import { consumeModelCallQuota } from '../../usage/queries.ts';
import type { Concept } from '../concepts/concept.ts';
import { composePrompt, PROMPTS, type PromptSection } from '../prompts/compose.ts';
import { findChangedFields } from '../resources/definition.ts';
import { findResources, type Resource } from '../resources/reading.ts';
import { nothingProposed } from './failures.ts';
import { makeProposalShape, parseProposal, rationale } from './model-answers.ts';
import { describeResource, joinLines, readCatalogueText } from './prompt-texts.ts';
import type { NewSuggestion, Origin } from './store.ts';
import { RESOURCE_DEFINITIONS } from './suggestion.ts';

/** A model's proposal for one target. */
export type Proposal = Omit<NewSuggestion, keyof Origin | 'id' | 'companyId' | 'createdAt' | 'updatedAt'>;

/** The members of a proposal to create a resource that comes from no concept. */
export const CREATION = { targetId: null, targetVersion: null, conceptId: null, conceptName: null };

const IMPROVEMENT_PROMPTS = {
  concept: PROMPTS.improveConcept,
  semantic: PROMPTS.improveSemantic,
  ontology_node: PROMPTS.improveNode,
  ontology_relation: PROMPTS.improveRelation,
} as const satisfies Record<ResourceType, unknown>;

/** Tells whether the model can be asked at all. */
export const isAiConfigured = ({ config }: CompanyContext): boolean => config.AI_API_KEY !== undefined;

/**
 * Returns the settings for asking a model on behalf of a company: each call is counted, and none is made beyond the company's
 * daily quota.
 */
export function requireAi(ctx: CompanyContext): AiSettings {
  const { config } = ctx;
  if (config.AI_API_KEY === undefined) throw aiNotConfigured();
  return {
    apiKey: config.AI_API_KEY,
    baseUrl: config.AI_BASE_URL,
    model: config.AI_MODEL,
    timeoutMs: config.AI_TIMEOUT_MS,
    backoffMs: config.AI_BACKOFF_MS,
    beforeCall: () => consumeModelCallQuota(ctx),
  };
}

/** Asks the model how to improve a resource. */
export async function proposeChange(
  ctx: CompanyContext,
  settings: AiSettings,
  target: Resource,
  usage: AiUsage,
): Promise<Proposal> {
  const type = target.resourceType;
  const prompt = IMPROVEMENT_PROMPTS[type];
  const references = RESOURCE_DEFINITIONS[type].listReferences(target.content);
  const relatedResources = await findResources(
    ctx,
    references.map(({ id }) => id),
  );
  const sections = [
    { title: 'the resource', text: describeResource(target) },
    { title: 'what it belongs to', text: joinLines(relatedResources.values().map(describeResource)) },
    { title: 'the catalogue', text: await readCatalogueText(ctx) },
  ];
  const { value, model } = await askForProposal(settings, prompt, sections, type, usage, (payload) =>
    findChangedFields(target.content, RESOURCE_DEFINITIONS[type].changesSchema.parse(parseProposal(type, payload))),
  );
  if (Object.keys(value.payload).length === 0) throw nothingProposed();
  const isConcept = type === 'concept';
  return {
    ...value,
    model,
    promptVersion: prompt.version,
    targetType: type,
    targetId: target.id,
    targetVersion: target.version,
    targetName: RESOURCE_DEFINITIONS[type].getName(target.content),
    conceptId: isConcept ? target.id : null,
    conceptName: isConcept ? (target.content as Concept).name : null,
  };
}

/** Asks the model for the semantic item or ontology node of a concept. */
export async function proposePromotion(
  ctx: CompanyContext,
  settings: AiSettings,
  concept: Resource<Concept>,
  to: 'semantic' | 'ontology_node',
  usage: AiUsage,
): Promise<Proposal> {
  const prompt = to === 'semantic' ? PROMPTS.promoteSemantic : PROMPTS.promoteOntology;
  const sections = [
    { title: 'the concept', text: describeResource(concept) },
    { title: 'the catalogue', text: await readCatalogueText(ctx) },
  ];
  const { name, description, type } = concept.content;
  const conceptFields =
    to === 'semantic'
      ? { kind: type === 'metric_hint' ? 'metric' : 'entity', name, description, source_concept_ids: [concept.id] }
      : { name, description, source_concepts: [concept.id] };
  const { value, model } = await askForProposal(settings, prompt, sections, to, usage, (payload) =>
    RESOURCE_DEFINITIONS[to].createSchema.parse({ ...conceptFields, ...parseProposal(to, payload) }),
  );
  return {
    ...CREATION,
    ...value,
    model,
    promptVersion: prompt.version,
    targetType: `${to}_create`,
    targetName: RESOURCE_DEFINITIONS[to].getName(value.payload),
    conceptId: concept.id,
    conceptName: name,
  };
}

function askForProposal(
  settings: AiSettings,
  prompt: (typeof PROMPTS)[keyof typeof PROMPTS],
  sections: PromptSection[],
  type: ResourceType,
  usage: AiUsage,
  parsePayload: (payload: unknown) => Content,
) {
  return askModel(
    settings,
    {
      name: `${type}_proposal`,
      ...composePrompt(prompt, sections),
      answerSchema: makeProposalShape(type),
      readAnswer: (answer) => ({
        ...rationale.parse(answer),
        payload: parsePayload((answer as { payload?: unknown }).payload),
      }),
    },
    usage,
  );
}
