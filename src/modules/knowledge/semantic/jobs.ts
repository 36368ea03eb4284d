import type { CompanyContext } from '../../../context.ts';
import { selectAnyQuestion } from '../questions/store.ts';
import { computePauseSeconds, isDatabaseUnreachable, MAX_PAUSES, recordCheck } from '../resources/checks.ts';
import { checkItemNow } from './check.ts';
import type { SemanticItem } from './item.ts';
import { selectDependentItems } from './store.ts';

/** The maximum number of items that one message checks. */
const ITEMS_PER_MESSAGE = 20;
/** The time after which one message starts no further check. */
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
  const continueAfter = (from: string, attemptCount: number, pauseSeconds?: number) =>
    ctx.jobs.send({ type: 'knowledge.recheck', companyId, tables, after: from, tries: attemptCount }, pauseSeconds);
  const deadline = ctx.now() + MILLISECONDS_PER_MESSAGE;
  const items = await selectDependentItems(ctx.db, { companyId, tables, after }, ITEMS_PER_MESSAGE);
  let lastCheckedId = after;
  for (const item of items) {
    if (ctx.now() > deadline) return continueAfter(lastCheckedId, 0);
    try {
      await recordCheck(ctx, item, () => checkItemNow(ctx, item.content as SemanticItem));
    } catch (error) {
      if (!isDatabaseUnreachable(error) || tries === MAX_PAUSES) throw error;
      return continueAfter(lastCheckedId, tries + 1, computePauseSeconds(tries));
    }
    lastCheckedId = item.id;
  }
  if (items.length === ITEMS_PER_MESSAGE) return continueAfter(lastCheckedId, 0);
  const [question] = await selectAnyQuestion(ctx.db, companyId);
  if (question) await ctx.jobs.send({ type: 'knowledge.recheck_questions', companyId, after: '' });
}
