import { defineFailure } from '../../../kernel/failure.ts';
import type { SemanticItem } from './definition.ts';

/** The kinds of items that a query can request. */
export type ItemKind = 'metric' | 'dimension';

type NamedItem = Pick<SemanticItem, 'id' | 'kind' | 'name'>;

/** The item does not exist, is not active, or cannot be computed. */
export const semanticItemUnknown = defineFailure('semantic_query.item_unknown', 'invalid', {
  message: 'There is no active metric or dimension of that id or name, or it has errors.',
  detail: (kind: ItemKind, name: string, reason?: string) => ({
    message: reason
      ? `The ${kind} "${name}" cannot be computed: ${reason}.`
      : `There is no active ${kind} "${name}" without validation errors.`,
    item: { kind, name },
  }),
  console: 'SEMANTIC_ITEM_UNKNOWN',
});

const describeItems = (statement: string) => (items: readonly NamedItem[], relations: readonly string[]) => ({
  message: `${items.map(({ name }) => `"${name}"`).join(', ')} ${statement}`,
  items: items.map(({ id, kind, name }) => ({ id, kind, name })),
  relations: [...relations],
});

/** The relations allow more than one path from one table to another. */
export const queryAmbiguous = defineFailure('semantic_query.ambiguous', 'invalid', {
  message: 'The mapped relations lead from the tables of one item to those of another in more than one way.',
  detail: describeItems('can be joined in more than one way.'),
  console: 'SEMANTIC_QUERY_AMBIGUOUS',
});

export const queryUnreachable = defineFailure('semantic_query.unreachable', 'invalid', {
  message: 'No mapped relations lead from the tables of one item to those of another.',
  detail: describeItems('have tables that no mapped relation joins.'),
  console: 'SEMANTIC_QUERY_UNREACHABLE',
});

export const queryFansOut = defineFailure('semantic_query.fans_out', 'invalid', {
  message: 'Joining the tables of the items would count rows of the metric more than once.',
  detail: describeItems(
    'cannot be joined without counting rows more than once: the joined column is neither `id` nor unique.',
  ),
  console: 'SEMANTIC_QUERY_FANS_OUT',
});

/** The failures of a query that cannot be compiled. */
export const compileFailures = [semanticItemUnknown, queryAmbiguous, queryUnreachable, queryFansOut];
