import type { CompanyContext } from '../../context.ts';
import { newSecretToken } from '../../kernel/ids.ts';
import { pauseBeforeRetry } from '../../platform/concurrency.ts';
import { callObject } from '../../platform/objects.ts';
import { tooManyViewers } from './failures.ts';

/**
 * Runs `work`, which uses the company's database, when the viewer gets a slot: a single viewer must not use all
 * connections, and all viewers together must not use the company's own.
 */
export async function withSlot<T>(ctx: CompanyContext, work: () => Promise<T>): Promise<T> {
  const { VIEWER_GATE } = ctx.bindings;
  const { companyId } = ctx.actor;
  const slot = { id: newSecretToken(), viewer: getViewer(ctx) };
  // Asking again with the same id does not take a second slot.
  const enter = () => callObject(VIEWER_GATE, companyId, async (gate) => await gate.enter(slot));
  if (!(await enter()) && !(await pauseBeforeRetry().then(enter))) {
    throw tooManyViewers();
  }
  try {
    return await work();
  } finally {
    ctx.defer(callObject(VIEWER_GATE, companyId, async (gate) => await gate.leave(slot.id)));
  }
}

/** The id under which a viewer is counted: each holder of a token counts as one, and so does each person. */
const getViewer = ({ actor }: CompanyContext): string => {
  if (actor.kind === 'viewer') return actor.tokenId;
  return actor.kind === 'system' ? actor.kind : actor.id;
};
