import { mayGetRecord } from '../../../access/denials.ts';
import type { PrincipalContext } from '../../../context.ts';
import { listMetricNames } from '../metrics/tokens.ts';
import { normalizeName } from '../resources/definition.ts';
import { semanticItemInUse } from '../resources/failures.ts';
import type { Resource } from '../resources/reading.ts';
import type { SemanticItem } from './item.ts';
import { hasNoNewReferrers, selectPossibleReferrers } from './store.ts';

/**
 * Throws if a metric or an entity would become another kind of item while other items refer to it, of which the failure
 * names those that the caller may get. @returns the condition that must hold at the write, as another item may begin to refer to
 * it in between
 */
export async function requireUnreferenced(
  ctx: PrincipalContext,
  { id, content: { kind, name } }: Resource<SemanticItem>,
  changedItem: SemanticItem,
): Promise<ReturnType<typeof hasNoNewReferrers> | undefined> {
  if (changedItem.kind === kind) return undefined;
  const { companyId } = ctx.actor;
  const referrers = await selectPossibleReferrers(ctx.db, companyId, id);
  const buildsOnItem = (formula: string | null) =>
    kind === 'metric' &&
    formula !== null &&
    listMetricNames(formula).some((metricName) => normalizeName(metricName) === normalizeName(name));
  const referringItems = referrers.filter(({ refers, formula }) => refers || buildsOnItem(formula));
  if (referringItems.length > 0) {
    const namedItems = referringItems.filter((item) => mayGetRecord(ctx.actor, 'semantic', item.id));
    throw semanticItemInUse(kind, namedItems);
  }
  return hasNoNewReferrers(companyId, id, referrers);
}
