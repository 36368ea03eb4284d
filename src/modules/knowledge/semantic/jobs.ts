import type { CompanyContext } from '../../../context.ts';
import { hasAnyQuestion } from '../questions/service.ts';
import { computePauseSeconds, isUnreachable, MAX_TRIES, recordCheck } from '../resources/service.ts';
import { checkItemNow } from './check.ts';
import type { SemanticItem } from './item.ts';
import { selectDependents } from './store.ts';

/** The maximum number of items that one message checks, and the time after which it begins with no other. */
const ITEMS_PER_MESSAGE = 20;
const MILLISECONDS_PER_MESSAGE = 30_000;

/** The progress of a recheck of items. */
interface RecheckProgress {
  /** Ids and names of the changed tables, old and new; empty for every item of the company. */
  tables: string[];
  /** The id of the last item checked so far, or ''. */
  after: string;
  /** The number of times that the database could not be reached so far. */
  tries?: number;
}

/**
 * Checks the items that depend on changed tables, and then the verified questions, which depend on both. The next message
 * continues where this one ends, later while the database cannot be reached.
 */
export async function recheckItems(ctx: CompanyContext, { tables, after, tries = 0 }: RecheckProgress): Promise<void> {
  const { companyId } = ctx.actor;
  const continueAfter = (from: string, tried: number, pause?: number) =>
    ctx.jobs.send({ type: 'knowledge.recheck', companyId, tables, after: from, tries: tried }, pause);
  const until = ctx.now() + MILLISECONDS_PER_MESSAGE;
  const items = await selectDependents(ctx.db, { companyId, tables, after }, ITEMS_PER_MESSAGE);
  let checked = after;
  for (const item of items) {
    if (ctx.now() > until) return continueAfter(checked, 0);
    try {
      await recordCheck(ctx, item, () => checkItemNow(ctx, item.content as SemanticItem));
    } catch (error) {
      if (!isUnreachable(error) || tries === MAX_TRIES) throw error;
      return continueAfter(checked, tries + 1, computePauseSeconds(tries));
    }
    checked = item.id;
  }
  if (items.length === ITEMS_PER_MESSAGE) return continueAfter(checked, 0);
  if (await hasAnyQuestion(ctx)) await ctx.jobs.send({ type: 'knowledge.recheck_questions', companyId, after: '' });
}
