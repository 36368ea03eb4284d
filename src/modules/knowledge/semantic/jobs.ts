import type { CompanyContext } from '../../../context.ts';
import { noteErrors } from '../resources/service.ts';
import { problemsOf } from './check.ts';
import type { SemanticItem } from './item.ts';
import { selectDependents } from './store.ts';

/** Items that one message checks: each may take several statements of the company's Postgres. */
const ITEMS_PER_MESSAGE = 20;

/**
 * Checks again what depends on tables that were changed; the next message goes on where this one ends.
 * @param tables ids and names, old and new; none for every item of the company
 * @param after the id of the last item checked so far, or ''
 * @throws Failure of kind `unavailable`, so that the message comes again
 */
export async function recheckItems(ctx: CompanyContext, tables: string[], after: string): Promise<void> {
  const { companyId } = ctx.actor;
  const items = await selectDependents(ctx.db, { companyId, tables, after }, ITEMS_PER_MESSAGE);
  for (const item of items) await noteErrors(ctx, item, await problemsOf(ctx, item.content as SemanticItem));
  const last = items.at(-1);
  if (last && items.length === ITEMS_PER_MESSAGE) {
    await ctx.jobs.send({ type: 'knowledge.recheck', companyId, tables, after: last.id });
  }
}
