import type { CompanyContext } from '../../context.ts';
import { newSecretToken } from '../../kernel/ids.ts';
import { pauseBeforeRetry } from '../../platform/concurrency.ts';
import { callObject } from '../../platform/objects.ts';
import { tooManyViewers } from './failures.ts';

/**
 * Runs `work`, which uses the company's database, once the viewer gets a slot: a single viewer must not occupy all connections,
 * and all viewers together must not occupy those reserved for the company's own users.
 */
export async function runWithSlot<T>(ctx: CompanyContext, work: () => Promise<T>): Promise<T> {
  const { VIEWER_GATE } = ctx.bindings;
  const { companyId } = ctx.actor;
  const slot = { id: newSecretToken(), viewer: getViewerId(ctx) };
  // Asking again with the same id does not take a second slot.
  const enterGate = () => callObject(VIEWER_GATE, companyId, async (gate) => await gate.enter(slot));
  if (!(await enterGate()) && !(await pauseBeforeRetry().then(enterGate))) {
    throw tooManyViewers();
  }
  try {
    return await work();
  } finally {
    ctx.defer(callObject(VIEWER_GATE, companyId, async (gate) => await gate.leave(slot.id)));
  }
}

/** Returns the id by which a viewer's slots are counted: all holders of one token count as one viewer, and so does each user. */
const getViewerId = ({ actor }: CompanyContext): string => {
  if (actor.kind === 'viewer') return actor.tokenId;
  return actor.kind === 'system' ? actor.kind : actor.id;
};
