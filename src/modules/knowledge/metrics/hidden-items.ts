import { findReadDenials } from '../../../access/denials.ts';
import type { CompanyContext } from '../../../context.ts';
import { isNothingDenied } from '../../../permissions/denials.ts';
import { joinUniqueKey } from '../resources/definition.ts';
import type { MetricQueryInput } from './query.ts';
import { selectDeniedItems } from './store.ts';
import { listMetricNames } from './tokens.ts';

/** The ids and unique keys of the semantic items that are hidden from a caller. */
export interface HiddenItems {
  ids: ReadonlySet<string>;
  keys: ReadonlySet<string>;
}

const NO_HIDDEN_ITEMS: HiddenItems = { ids: new Set(), keys: new Set() };

/**
 * Finds the items that are hidden from the caller: by a Deny on the item or on all of its concepts, or because it builds on a
 * hidden item, by its formula or by the items that it declares to depend on.
 */
export async function findHiddenItems(ctx: CompanyContext): Promise<HiddenItems> {
  const denials = {
    items: findReadDenials(ctx.actor, 'semantic'),
    concepts: findReadDenials(ctx.actor, 'concept'),
  };
  if (isNothingDenied(denials.items) && isNothingDenied(denials.concepts)) return NO_HIDDEN_ITEMS;
  const items = await selectDeniedItems(ctx.db, ctx.actor.companyId, denials);
  const dependentsByBase = new Map<string, typeof items>();
  for (const item of items) {
    const metrics = listMetricNames(item.formula ?? '').map((name) => joinUniqueKey('metric', name));
    for (const baseId of [...(JSON.parse(item.dependsOn) as string[]), ...metrics]) {
      dependentsByBase.set(baseId, [...(dependentsByBase.get(baseId) ?? []), item]);
    }
  }
  const hiddenItems = new Set(items.filter(({ isDenied }) => isDenied));
  const listKeys = ({ uniqueKey, status }: (typeof items)[number]) => (status === 'archived' ? [] : [uniqueKey]);
  // A set goes on to what is added to it meanwhile.
  for (const item of hiddenItems) {
    for (const baseId of [item.id, ...listKeys(item)])
      for (const dependent of dependentsByBase.get(baseId) ?? []) hiddenItems.add(dependent);
  }
  return { ids: new Set([...hiddenItems].map(({ id }) => id)), keys: new Set([...hiddenItems].flatMap(listKeys)) };
}

/** Tells whether a query names a hidden item, by its name or its id. */
export function namesHiddenItem(
  { metrics, dimensions, filters }: MetricQueryInput,
  { ids, keys }: HiddenItems,
): boolean {
  const isHidden = (kind: string, name: string) => ids.has(name) || keys.has(joinUniqueKey(kind, name));
  const allDimensions = [...dimensions, ...filters.map(({ dimension }) => dimension)];
  return metrics.some((name) => isHidden('metric', name)) || allDimensions.some((name) => isHidden('dimension', name));
}
