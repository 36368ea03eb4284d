import { z } from 'zod';
import type { UserActor } from '../../../access/actors.ts';
import type { Content, ResourceType } from '../../../db/schema/knowledge-resources.ts';
import type { Evidence, TargetType } from '../../../db/schema/knowledge-suggestions.ts';
import { concept } from '../concepts/service.ts';
import { ontologyNode, ontologyRelation } from '../ontology/service.ts';
import type { Definition } from '../resources/service.ts';
import { semanticItem } from '../semantic/service.ts';

export {
  SUGGESTION_STATUSES,
  type SuggestionStatus,
  TARGET_TYPES,
  type TargetType,
} from '../../../db/schema/knowledge-suggestions.ts';

/** Every type of resource, for those who treat them alike. */
export const DEFINITIONS: Record<ResourceType, Definition> = {
  concept: concept as Definition<never> as Definition,
  semantic: semanticItem as Definition<never> as Definition,
  ontology_node: ontologyNode as Definition<never> as Definition,
  ontology_relation: ontologyRelation as Definition<never> as Definition,
};

/** What a suggestion is about: a type of resource, to be made or changed. */
export function aimOf(targetType: TargetType): { definition: Definition; makes: boolean } {
  const makes = targetType.endsWith('_create');
  const type = (makes ? targetType.slice(0, -'_create'.length) : targetType) as ResourceType;
  return { definition: DEFINITIONS[type], makes };
}

/** @throws Failure `access.denied` for whoever may not make or change the target */
export function requireTarget(actor: UserActor, targetType: TargetType, targetId: string | null): void {
  const { definition, makes } = aimOf(targetType);
  if (makes) definition.permissions.requireCreate(actor);
  else definition.permissions.requireUpdate(actor, targetId ?? '*');
}

/** Why a model proposes something. */
export interface Grounds {
  explanation: string;
  evidence: Evidence[];
  confidence: number | null;
}

/** Nodes that a suggested relation waits for; null for ends that exist. */
export const relationEnds = z.object({
  subject_suggestion_id: z.string().nullable().default(null),
  object_suggestion_id: z.string().nullable().default(null),
});

export type Payload = Content;
