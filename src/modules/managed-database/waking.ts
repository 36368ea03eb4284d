import type { CompanyContext } from '../../context.ts';
import { logError } from '../../platform/log.ts';
import { callObject } from '../../platform/objects.ts';

/** Notifies the company's gate that its database is waking, or awake again: other isolates ask there. Nothing waits for it. */
export function noteWaking(ctx: CompanyContext, isWaking: boolean): void {
  const { VIEWER_GATE } = ctx.bindings;
  const noted = callObject(VIEWER_GATE, ctx.actor.companyId, async (gate) => await gate.noteWaking(isWaking));
  ctx.defer(noted.catch((error) => logError('waking_not_noted', error)));
}

/** Whether a request waits for the company's database to wake; no where the gate cannot be asked. */
export const isWaking = (ctx: CompanyContext): Promise<boolean> =>
  callObject(ctx.bindings.VIEWER_GATE, ctx.actor.companyId, async (gate) => await gate.isWaking()).catch((error) => {
    logError('waking_unknown', error);
    return false;
  });
