import type { CompanyContext } from '../../context.ts';
import { Failure } from '../../kernel/failure.ts';
import { newSecretToken } from '../../kernel/ids.ts';
import { askObject } from '../../platform/objects.ts';

/**
 * Runs `work`, which asks the company's database, when it is the viewer's turn: one viewer of something slow must not
 * take all connections, and all of them together must not take the company's own.
 * @throws Failure `viewing.busy` when the turn does not come
 */
export async function inTurn<T>(ctx: CompanyContext, work: () => Promise<T>): Promise<T> {
  const { VIEWER_GATE } = ctx.bindings;
  const { companyId } = ctx.actor;
  const turn = { id: newSecretToken(), viewer: viewerOf(ctx) };
  // Asked twice, it is the same turn.
  const admitted = await askObject(VIEWER_GATE, companyId, async (gate) => await gate.enter(turn));
  if (!admitted) {
    throw new Failure('too_many', 'viewing.busy', {
      message: 'Too many people look at this at the moment.',
      retryAfter: 5,
    });
  }
  try {
    return await work();
  } finally {
    ctx.defer(askObject(VIEWER_GATE, companyId, async (gate) => await gate.leave(turn.id)));
  }
}

/** Whoever holds a token is one viewer, and so is each person. */
const viewerOf = ({ actor }: CompanyContext): string => {
  if (actor.kind === 'viewer') return actor.tokenId;
  return actor.kind === 'system' ? actor.kind : actor.id;
};
