import { defineFailure, defineNotFoundFailure } from '../../../kernel/failure.ts';

/** Defines the failures of one type of resource; codes on the console begin with its name: `CONCEPT_NOT_FOUND`. */
function defineResourceFailures(name: string) {
  const words = name.replaceAll('_', ' ');
  const code = name.toUpperCase();
  return {
    notFound: defineNotFoundFailure(name),
    duplicate: defineFailure(`${name}.duplicate`, 'conflict', {
      message: `The same ${words} already exists.`,
      detail: (existingName: string) => ({ name: existingName }),
      console: `${code}_DUPLICATE`,
    }),
    archived: defineFailure(`${name}.archived`, 'conflict', {
      message: `The ${words} is archived. To restore it, send the status draft or active with the change.`,
      console: `${code}_ARCHIVED`,
    }),
  };
}

export type ResourceFailures = ReturnType<typeof defineResourceFailures>;

export const conceptFailures = defineResourceFailures('concept');
export const semanticItemFailures = defineResourceFailures('semantic_item');
export const ontologyNodeFailures = defineResourceFailures('ontology_node');
export const ontologyRelationFailures = defineResourceFailures('ontology_relation');

/** The maximum number of referring items that a failure names. */
const MAX_NAMED_ITEMS = 20;

export const semanticItemInUse = defineFailure('semantic_item.in_use', 'conflict', {
  message: 'Other items refer to this item as a metric or an entity, so its kind cannot be changed.',
  detail: (kind: string, referringItems: readonly { id: string; kind: string; name: string }[]) => ({
    message: `The kind must stay ${kind}, because other items refer to it. Change those first.`,
    field: 'kind',
    items: referringItems.slice(0, MAX_NAMED_ITEMS).map(({ id, kind, name }) => ({ id, kind, name })),
  }),
  console: 'SEMANTIC_ITEM_IN_USE',
});
