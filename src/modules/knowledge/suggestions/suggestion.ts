import { z } from 'zod';
import type { Principal } from '../../../access/actors.ts';
import { findReadDenials } from '../../../access/denials.ts';
import { requireAction } from '../../../access/requirements.ts';
import type { PrincipalContext } from '../../../context.ts';
import { type Content, RESOURCE_TYPES, type ResourceType } from '../../../db/schema/knowledge-resources.ts';
import type { TargetType } from '../../../db/schema/knowledge-suggestions.ts';
import type { Denials } from '../../../permissions/denials.ts';
import { concept } from '../concepts/concept.ts';
import { ontologyNode, ontologyRelation } from '../ontology/definitions.ts';
import type { ResourceDefinition } from '../resources/definition.ts';
import { semanticItem } from '../semantic/item.ts';

export const RESOURCE_DEFINITIONS: Record<ResourceType, ResourceDefinition> = {
  concept: concept as ResourceDefinition<never> as ResourceDefinition,
  semantic: semanticItem as ResourceDefinition<never> as ResourceDefinition,
  ontology_node: ontologyNode as ResourceDefinition<never> as ResourceDefinition,
  ontology_relation: ontologyRelation as ResourceDefinition<never> as ResourceDefinition,
};

/** Returns the suggestions denied to the caller, and the denied targets of suggestions. */
export const getDeniedSuggestions = ({ actor }: PrincipalContext) => ({
  suggestions: findReadDenials(actor, 'suggestion'),
  targets: Object.fromEntries(RESOURCE_TYPES.map((type) => [type, findReadDenials(actor, type)])) as Record<
    ResourceType,
    Denials
  >,
});

/** Returns the type of resource that a suggestion is about, and whether the suggestion creates one. */
export function getTargetDefinition(targetType: TargetType): { definition: ResourceDefinition; isCreation: boolean } {
  const isCreation = targetType.endsWith('_create');
  const type = (isCreation ? targetType.slice(0, -'_create'.length) : targetType) as ResourceType;
  return { definition: RESOURCE_DEFINITIONS[type], isCreation };
}

/** Throws unless the caller has the permission to create or update the target of a suggestion. */
export function requireTargetPermission(actor: Principal, targetType: TargetType, targetId: string | null): void {
  const { definition, isCreation } = getTargetDefinition(targetType);
  const { create, update } = definition.actions;
  requireAction(actor, isCreation ? create : update, targetId ?? '*', definition.arnType);
}

/** The schema of the fields of a payload that refer to pending suggestions instead of resources. */
const suggestedFields = z.object({
  subject_suggestion_id: z.string().nullish(),
  object_suggestion_id: z.string().nullish(),
  suggested: z.record(z.string(), z.union([z.string(), z.array(z.string())])).default({}),
});

/**
 * Returns the references of a suggestion to other suggestions, relation ends and names in an imported document: for each field of
 * the payload the suggestions to create its resources.
 */
export function listSuggestedReferences(payload: Content) {
  const { subject_suggestion_id: subject, object_suggestion_id: object, suggested } = suggestedFields.parse(payload);
  const references: typeof suggested = {
    ...suggested,
    ...(subject && { subject_node_id: subject }),
    ...(object && { object_node_id: object }),
  };
  return Object.entries(references).map(([field, ids]) => ({ field, ids: [ids].flat(), isList: Array.isArray(ids) }));
}
