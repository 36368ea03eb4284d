import type { CompanyContext } from '../../../context.ts';
import { metricNamesIn } from '../metrics/tokens.ts';
import { semanticItemInUse } from '../resources/failures.ts';
import { normalized, type Resource } from '../resources/service.ts';
import type { SemanticItem } from './item.ts';
import { noOthersMayName, selectMayName } from './store.ts';

/**
 * Refuses to make a metric or an entity another kind of item while others name it.
 * @returns what must hold at the write, as one that names it may come in between
 */
export async function requireNobodyNames(
  ctx: CompanyContext,
  { id, content: { kind, name } }: Resource<SemanticItem>,
  changed: SemanticItem,
): Promise<ReturnType<typeof noOthersMayName> | undefined> {
  if (changed.kind === kind) return undefined;
  const { companyId } = ctx.actor;
  const seen = await selectMayName(ctx.db, companyId, id);
  const buildsOnIt = (formula: string | null) =>
    kind === 'metric' &&
    formula !== null &&
    metricNamesIn(formula).some((named) => normalized(named) === normalized(name));
  const naming = seen.filter(({ refers, formula }) => refers || buildsOnIt(formula));
  if (naming.length > 0) throw semanticItemInUse(kind, naming);
  return noOthersMayName(companyId, id, seen);
}
