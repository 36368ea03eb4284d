import type { CompanyContext } from '../../../context.ts';
import { listMetricNames } from '../metrics/tokens.ts';
import { semanticItemInUse } from '../resources/failures.ts';
import { normalizeName, type Resource } from '../resources/service.ts';
import type { SemanticItem } from './item.ts';
import { noNewReferrers, selectPossibleReferrers } from './store.ts';

/**
 * Refuses to make a metric or an entity another kind of item while others refer to it.
 * @returns the condition that must hold at the write, as another item may begin to refer to it in between
 */
export async function requireUnreferenced(
  ctx: CompanyContext,
  { id, content: { kind, name } }: Resource<SemanticItem>,
  changed: SemanticItem,
): Promise<ReturnType<typeof noNewReferrers> | undefined> {
  if (changed.kind === kind) return undefined;
  const { companyId } = ctx.actor;
  const referrers = await selectPossibleReferrers(ctx.db, companyId, id);
  const buildsOnIt = (formula: string | null) =>
    kind === 'metric' &&
    formula !== null &&
    listMetricNames(formula).some((named) => normalizeName(named) === normalizeName(name));
  const users = referrers.filter(({ refers, formula }) => refers || buildsOnIt(formula));
  if (users.length > 0) throw semanticItemInUse(kind, users);
  return noNewReferrers(companyId, id, referrers);
}
