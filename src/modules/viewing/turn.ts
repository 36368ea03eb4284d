import type { CompanyContext } from '../../context.ts';
import { newSecretToken } from '../../kernel/ids.ts';
import { callObject } from '../../platform/objects.ts';
import { tooManyViewers } from './failures.ts';

/** How long who was sent away waits before asking once more: not all of them at the same moment. Milliseconds. */
const PAUSE = { least: 250, spread: 1_000 };

/**
 * Runs `work`, which asks the company's database, when it is the viewer's turn: one viewer of something slow must not
 * take all connections, and all of them together must not take the company's own.
 */
export async function inTurn<T>(ctx: CompanyContext, work: () => Promise<T>): Promise<T> {
  const { VIEWER_GATE } = ctx.bindings;
  const { companyId } = ctx.actor;
  const turn = { id: newSecretToken(), viewer: viewerOf(ctx) };
  // However often it is asked for, it is the same turn.
  const enter = () => callObject(VIEWER_GATE, companyId, async (gate) => await gate.enter(turn));
  if (!(await enter()) && !(await pause().then(enter))) {
    throw tooManyViewers();
  }
  try {
    return await work();
  } finally {
    ctx.defer(callObject(VIEWER_GATE, companyId, async (gate) => await gate.leave(turn.id)));
  }
}

/** Whoever holds a token is one viewer, and so is each person. */
const viewerOf = ({ actor }: CompanyContext): string => {
  if (actor.kind === 'viewer') return actor.tokenId;
  return actor.kind === 'system' ? actor.kind : actor.id;
};

const pause = (): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, PAUSE.least + Math.random() * PAUSE.spread));
