import { z } from 'zod';
import type { Principal } from '../../../access/actors.ts';
import type { ResourceType } from '../../../db/schema/knowledge-resources.ts';
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

/** The type of resource that a suggestion is about, and whether it creates one. */
export function targetOf(targetType: TargetType): { definition: Definition; creates: boolean } {
  const creates = targetType.endsWith('_create');
  const type = (creates ? targetType.slice(0, -'_create'.length) : targetType) as ResourceType;
  return { definition: DEFINITIONS[type], creates };
}

/** Requires the permission to create or update the target of a suggestion. */
export function requireTargetPermission(actor: Principal, targetType: TargetType, targetId: string | null): void {
  const { definition, creates } = targetOf(targetType);
  if (creates) definition.permissions.requireCreate(actor);
  else definition.permissions.requireUpdate(actor, targetId ?? '*');
}

/** The suggestions of nodes that a suggested relation depends on; null for nodes that exist. */
export const relationDependencies = z.object({
  subject_suggestion_id: z.string().nullable().default(null),
  object_suggestion_id: z.string().nullable().default(null),
});
