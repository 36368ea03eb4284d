import type { CompanyContext } from '../../context.ts';
import { newSecretToken } from '../../kernel/ids.ts';
import { callObject } from '../../platform/objects.ts';
import { tooManyViewers } from './failures.ts';

/** How long a viewer without a slot waits before another try, in milliseconds; random, so that not all try at once. */
const PAUSE = { min: 250, spread: 1_000 };

/**
 * Runs `work`, which uses the company's database, when the viewer gets a slot: a single viewer must not use all
 * connections, and all viewers together must not use the company's own.
 */
export async function withSlot<T>(ctx: CompanyContext, work: () => Promise<T>): Promise<T> {
  const { VIEWER_GATE } = ctx.bindings;
  const { companyId } = ctx.actor;
  const slot = { id: newSecretToken(), viewer: viewerOf(ctx) };
  // Asking again with the same id does not take a second slot.
  const enter = () => callObject(VIEWER_GATE, companyId, async (gate) => await gate.enter(slot));
  if (!(await enter()) && !(await pause().then(enter))) {
    throw tooManyViewers();
  }
  try {
    return await work();
  } finally {
    ctx.defer(callObject(VIEWER_GATE, companyId, async (gate) => await gate.leave(slot.id)));
  }
}

/** Each holder of a token counts as one viewer, and so does each person. */
const viewerOf = ({ actor }: CompanyContext): string => {
  if (actor.kind === 'viewer') return actor.tokenId;
  return actor.kind === 'system' ? actor.kind : actor.id;
};

const pause = (): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, PAUSE.min + Math.random() * PAUSE.spread));
