import type { CompanyContext } from '../../../context.ts';
import { noteCheck } from '../resources/service.ts';
import { checkItemNow, isOutOfReach } from './check.ts';
import type { SemanticItem } from './item.ts';
import { selectDependents } from './store.ts';

/** Items that one message checks at most, and how long it goes on beginning with another. */
const ITEMS_PER_MESSAGE = 20;
const MILLISECONDS_PER_MESSAGE = 30_000;

/** Pause after a database was found out of reach; longer each time. Seconds. */
const FIRST_PAUSE = 60;
const LONGEST_PAUSE = 3_600;
/** Tries before the message goes the way of those that nobody can handle: after about a day. */
const MOST_TRIES = 30;

/** Which items are to be checked. */
export interface Recheck {
  /** Ids and names, old and new; none for every item of the company. */
  tables: string[];
  /** The id of the last item checked so far, or ''. */
  after: string;
  /** How often the company's database was out of reach so far. */
  tries?: number;
}

/**
 * Checks again what depends on tables that were changed; the next message goes on where this one ends, or later when the
 * company's database is out of reach.
 * @throws Failure of kind `unavailable` when it was for long
 */
export async function recheckItems(ctx: CompanyContext, { tables, after, tries = 0 }: Recheck): Promise<void> {
  const { companyId } = ctx.actor;
  const goOn = (from: string, tried: number, pause?: number) =>
    ctx.jobs.send({ type: 'knowledge.recheck', companyId, tables, after: from, tries: tried }, pause);
  const until = ctx.now() + MILLISECONDS_PER_MESSAGE;
  const items = await selectDependents(ctx.db, { companyId, tables, after }, ITEMS_PER_MESSAGE);
  let checked = after;
  for (const item of items) {
    if (ctx.now() > until) return goOn(checked, 0);
    try {
      await noteCheck(ctx, item, () => checkItemNow(ctx, item.content as SemanticItem));
    } catch (error) {
      if (!isOutOfReach(error) || tries === MOST_TRIES) throw error;
      return goOn(checked, tries + 1, Math.min(FIRST_PAUSE * 2 ** tries, LONGEST_PAUSE));
    }
    checked = item.id;
  }
  if (items.length === ITEMS_PER_MESSAGE) await goOn(checked, 0);
}
