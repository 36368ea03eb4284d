import type { CompanyContext } from '../../../context.ts';
import type { Content, ResourceType } from '../../../db/schema/knowledge-resources.ts';
import { type AiSettings, type AiUsage, askModel } from '../../../platform/ai.ts';
import type { Concept } from '../concepts/service.ts';
import type { OntologyRelation } from '../ontology/service.ts';
import { compose, type Material, PROMPTS } from '../prompts/compose.ts';
import type { Resource } from '../resources/service.ts';
import { nothingProposed } from './failures.ts';
import { catalogueText, resourcesText, resourceText } from './materials.ts';
import { groundsIn, proposalIn, proposalShape } from './proposals.ts';
import { DEFINITIONS, type Grounds, type TargetType } from './suggestion.ts';

/** What a model proposed for one target, ready to be kept. */
export interface Proposal extends Grounds {
  targetType: TargetType;
  targetId: string | null;
  targetVersion: number | null;
  targetName: string;
  conceptId: string | null;
  conceptName: string | null;
  payload: Content;
  model: string;
  promptVersion: string;
}

const IMPROVE = {
  concept: PROMPTS.improveConcept,
  semantic: PROMPTS.improveSemantic,
  ontology_node: PROMPTS.improveNode,
  ontology_relation: PROMPTS.improveRelation,
} as const satisfies Record<ResourceType, unknown>;

/**
 * Asks the model how to improve a resource.
 * @throws Failure of kind `unavailable`
 */
export async function proposeChange(
  ctx: CompanyContext,
  settings: AiSettings,
  target: Resource,
  usage: AiUsage,
): Promise<Proposal> {
  const type = target.resourceType;
  const prompt = IMPROVE[type];
  const materials = [
    { what: 'the resource', text: resourceText(target) },
    { what: 'what it belongs to', text: await resourcesText(ctx, relatedTo(target)) },
    { what: 'the catalogue', text: await catalogueText(ctx) },
  ];
  const { value, model } = await ask(settings, prompt, materials, type, usage, (payload) => {
    const changes = DEFINITIONS[type].changes.parse(proposalIn(type, payload));
    return Object.fromEntries(
      Object.entries(changes).filter(([member, now]) => JSON.stringify(now) !== JSON.stringify(target.content[member])),
    );
  });
  if (Object.keys(value.payload).length === 0) throw nothingProposed();
  const isConcept = type === 'concept';
  return {
    ...value,
    model,
    promptVersion: prompt.version,
    targetType: type,
    targetId: target.id,
    targetVersion: target.version,
    targetName: DEFINITIONS[type].nameOf(target.content),
    conceptId: isConcept ? target.id : null,
    conceptName: isConcept ? (target.content as Concept).name : null,
  };
}

/**
 * Asks the model what a concept becomes in the semantic layer or the ontology.
 * @throws Failure of kind `unavailable`
 */
export async function proposePromotion(
  ctx: CompanyContext,
  settings: AiSettings,
  concept: Resource<Concept>,
  to: 'semantic' | 'ontology_node',
  usage: AiUsage,
): Promise<Proposal> {
  const prompt = to === 'semantic' ? PROMPTS.promoteSemantic : PROMPTS.promoteOntology;
  const materials = [
    { what: 'the concept', text: resourceText(concept) },
    { what: 'the catalogue', text: await catalogueText(ctx) },
  ];
  const { name, description, type } = concept.content;
  const given =
    to === 'semantic'
      ? { kind: type === 'metric_hint' ? 'metric' : 'entity', name, description, source_concept_ids: [concept.id] }
      : { name, description, source_concepts: [concept.id] };
  const { value, model } = await ask(settings, prompt, materials, to, usage, (payload) =>
    DEFINITIONS[to].create.parse({ ...given, ...proposalIn(to, payload) }),
  );
  return {
    ...value,
    model,
    promptVersion: prompt.version,
    targetType: `${to}_create`,
    targetId: null,
    targetVersion: null,
    targetName: DEFINITIONS[to].nameOf(value.payload),
    conceptId: concept.id,
    conceptName: name,
  };
}

function ask(
  settings: AiSettings,
  prompt: (typeof PROMPTS)[keyof typeof PROMPTS],
  materials: Material[],
  type: ResourceType,
  usage: AiUsage,
  read: (payload: unknown) => Content,
) {
  return askModel(
    settings,
    {
      name: `${type}_proposal`,
      ...compose(prompt, materials),
      shape: proposalShape(type),
      read: (answer) => ({ ...groundsIn(answer), payload: read((answer as { payload?: unknown }).payload) }),
    },
    usage,
  );
}

/** The resources without which one cannot be understood. */
function relatedTo({ resourceType, content }: Resource): string[] {
  if (resourceType === 'ontology_relation') {
    const { subject_node_id, object_node_id } = content as OntologyRelation;
    return [subject_node_id, object_node_id];
  }
  return DEFINITIONS[resourceType].referencesOf(content).map(({ id }) => id);
}
