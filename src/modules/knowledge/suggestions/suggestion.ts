import { z } from 'zod';
import type { Principal } from '../../../access/actors.ts';
import { findDeniedEverywhere } from '../../../access/denials.ts';
import type { PrincipalContext } from '../../../context.ts';
import type { Content, ResourceType } from '../../../db/schema/knowledge-resources.ts';
import type { TargetType } from '../../../db/schema/knowledge-suggestions.ts';
import { concept } from '../concepts/concept.ts';
import { ontologyNode } from '../ontology/node.ts';
import { ontologyRelation } from '../ontology/relation.ts';
import type { Definition } from '../resources/service.ts';
import { semanticItem } from '../semantic/item.ts';

export const DEFINITIONS: Record<ResourceType, Definition> = {
  concept: concept as Definition<never> as Definition,
  semantic: semanticItem as Definition<never> as Definition,
  ontology_node: ontologyNode as Definition<never> as Definition,
  ontology_relation: ontologyRelation as Definition<never> as Definition,
};

/** The suggestions denied to the caller, and the denied targets of suggestions. */
export const deniedSuggestions = ({ actor }: PrincipalContext) => ({
  suggestions: findDeniedEverywhere(actor, 'suggestion'),
  targets: {
    concept: findDeniedEverywhere(actor, 'concept'),
    semantic: findDeniedEverywhere(actor, 'semantic'),
    ontology_node: findDeniedEverywhere(actor, 'ontology_node'),
    ontology_relation: findDeniedEverywhere(actor, 'ontology_relation'),
  },
});

/** The type of resource that a suggestion is about, and whether it creates one. */
export function getTarget(targetType: TargetType): { definition: Definition; creates: boolean } {
  const creates = targetType.endsWith('_create');
  const type = (creates ? targetType.slice(0, -'_create'.length) : targetType) as ResourceType;
  return { definition: DEFINITIONS[type], creates };
}

/** Requires the permission to create or update the target of a suggestion. */
export function requireTargetPermission(actor: Principal, targetType: TargetType, targetId: string | null): void {
  const { definition, creates } = getTarget(targetType);
  if (creates) definition.permissions.requireCreate(actor);
  else definition.permissions.requireUpdate(actor, targetId ?? '*');
}

const relationEnds = z.object({
  subject_suggestion_id: z.string().nullable().default(null),
  object_suggestion_id: z.string().nullable().default(null),
});

/** The field of a payload that refers to pending suggestions instead of resources. */
const suggestedFields = z.object({
  suggested: z.record(z.string(), z.union([z.string(), z.array(z.string())])).default({}),
});

/** A field that is to hold the resources which these suggestions become. */
export interface SuggestedReference {
  field: string;
  ids: string[];
  isList: boolean;
}

/** The references of a suggestion to other suggestions: the ends of a relation, and the names in an imported document. */
export function listSuggestedReferences(payload: Content): SuggestedReference[] {
  const { subject_suggestion_id: subject, object_suggestion_id: object } = relationEnds.parse(payload);
  const { suggested } = suggestedFields.parse(payload);
  const all = { ...suggested, ...(subject && { subject_node_id: subject }), ...(object && { object_node_id: object }) };
  return Object.entries(all).map(([field, ids]) => ({ field, ids: [ids].flat(), isList: Array.isArray(ids) }));
}
