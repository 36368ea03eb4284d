import { z } from 'zod';
import type { Principal } from '../../../access/actors.ts';
import { findReadDenials } from '../../../access/denials.ts';
import type { PrincipalContext } from '../../../context.ts';
import type { Content, ResourceType } from '../../../db/schema/knowledge-resources.ts';
import type { TargetType } from '../../../db/schema/knowledge-suggestions.ts';
import { concept } from '../concepts/concept.ts';
import { ontologyNode } from '../ontology/node.ts';
import { ontologyRelation } from '../ontology/relation.ts';
import type { ResourceDefinition } from '../resources/service.ts';
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
  targets: {
    concept: findReadDenials(actor, 'concept'),
    semantic: findReadDenials(actor, 'semantic'),
    ontology_node: findReadDenials(actor, 'ontology_node'),
    ontology_relation: findReadDenials(actor, 'ontology_relation'),
  },
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
  if (isCreation) definition.permissions.requireCreate(actor);
  else definition.permissions.requireUpdate(actor, targetId ?? '*');
}

const relationEnds = z.object({
  subject_suggestion_id: z.string().nullable().default(null),
  object_suggestion_id: z.string().nullable().default(null),
});

/** The schema of the field of a payload that refers to pending suggestions instead of resources. */
const suggestedFields = z.object({
  suggested: z.record(z.string(), z.union([z.string(), z.array(z.string())])).default({}),
});

/** A field of a payload for the ids of resources that do not exist yet, and the suggestions to create these resources. */
export interface SuggestedReference {
  field: string;
  ids: string[];
  isList: boolean;
}

/** Returns the references of a suggestion to other suggestions: relation ends, and names in an imported document. */
export function listSuggestedReferences(payload: Content): SuggestedReference[] {
  const { subject_suggestion_id: subjectSuggestionId, object_suggestion_id: objectSuggestionId } =
    relationEnds.parse(payload);
  const { suggested } = suggestedFields.parse(payload);
  const allReferences = {
    ...suggested,
    ...(subjectSuggestionId && { subject_node_id: subjectSuggestionId }),
    ...(objectSuggestionId && { object_node_id: objectSuggestionId }),
  };
  return Object.entries(allReferences).map(([field, ids]) => ({
    field,
    ids: [ids].flat(),
    isList: Array.isArray(ids),
  }));
}
