import { findDeniedEverywhere } from '../../../access/denials.ts';
import type { CompanyContext } from '../../../context.ts';
import { isNothingDenied } from '../../../permissions/denials.ts';
import { uniqueKeyFrom } from '../resources/service.ts';
import { selectDeniedItems } from './store.ts';
import { listMetricNames } from './tokens.ts';

/** The ids and unique keys of the semantic items that are hidden from a caller. */
export interface HiddenItems {
  ids: ReadonlySet<string>;
  keys: ReadonlySet<string>;
}

const NOTHING_HIDDEN: HiddenItems = { ids: new Set(), keys: new Set() };

/**
 * Finds the items that are hidden from the caller: by a Deny on the item or on all of its concepts, or because it builds on a
 * hidden item, by its formula or by the items that it says it depends on.
 */
export async function findHiddenItems(ctx: CompanyContext): Promise<HiddenItems> {
  const denied = {
    items: findDeniedEverywhere(ctx.actor, 'semantic'),
    concepts: findDeniedEverywhere(ctx.actor, 'concept'),
  };
  if (isNothingDenied(denied.items) && isNothingDenied(denied.concepts)) return NOTHING_HIDDEN;
  const items = await selectDeniedItems(ctx.db, ctx.actor.companyId, denied);
  const builtOn = new Map<string, typeof items>();
  for (const item of items) {
    const metrics = listMetricNames(item.formula ?? '').map((name) => uniqueKeyFrom('metric', name));
    for (const base of [...(JSON.parse(item.dependsOn) as string[]), ...metrics]) {
      builtOn.set(base, [...(builtOn.get(base) ?? []), item]);
    }
  }
  const hidden = new Set(items.filter(({ isDenied }) => isDenied));
  const listKeys = ({ uniqueKey, status }: (typeof items)[number]) => (status === 'archived' ? [] : [uniqueKey]);
  // A set goes on to what is added to it meanwhile.
  for (const item of hidden) {
    for (const base of [item.id, ...listKeys(item)]) for (const each of builtOn.get(base) ?? []) hidden.add(each);
  }
  return { ids: new Set([...hidden].map(({ id }) => id)), keys: new Set([...hidden].flatMap(listKeys)) };
}

/** The metrics, dimensions and filters of a query: by name as the caller sends it, by id as it is stored. */
interface NamedItems {
  metrics: readonly string[];
  dimensions: readonly string[];
  filters: readonly { dimension: string }[];
}

/** Whether a query names something hidden. */
export function namesHidden({ metrics, dimensions, filters }: NamedItems, { ids, keys }: HiddenItems): boolean {
  const isHidden = (kind: string, name: string) => ids.has(name) || keys.has(uniqueKeyFrom(kind, name));
  const all = [...dimensions, ...filters.map(({ dimension }) => dimension)];
  return metrics.some((name) => isHidden('metric', name)) || all.some((name) => isHidden('dimension', name));
}
