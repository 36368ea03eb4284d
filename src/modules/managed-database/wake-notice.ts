import type { CompanyContext } from '../../context.ts';
import { logError } from '../../platform/log.ts';
import { callObject } from '../../platform/objects.ts';

/**
 * Notifies the company's `ViewerGate` object that its database is waking, or awake again, for other isolates to read. The caller
 * does not wait for it.
 */
export function notifyWaking(ctx: CompanyContext, isWaking: boolean): void {
  const { VIEWER_GATE } = ctx.bindings;
  const notification = callObject(VIEWER_GATE, ctx.actor.companyId, async (gate) => await gate.noteWaking(isWaking));
  ctx.defer(notification.catch((error) => logError('waking_not_noted', error)));
}

/** Tells whether a request waits for the company's database to wake; false if the gate is unavailable. */
export const isWaking = (ctx: CompanyContext): Promise<boolean> =>
  callObject(ctx.bindings.VIEWER_GATE, ctx.actor.companyId, async (gate) => await gate.isWaking()).catch((error) => {
    logError('waking_unknown', error);
    return false;
  });
