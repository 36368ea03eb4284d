import { isDeniedOn } from '../../access/denials.ts';
import { accessDenied } from '../../access/failures.ts';
import { isMet, requireAction } from '../../access/requirements.ts';
import type { CompanyContext, PrincipalContext } from '../../context.ts';
import type { Failure } from '../../kernel/failure.ts';
import type { Action } from '../../permissions/actions.ts';
import { resourceArn } from '../../permissions/arn.ts';
import { selectIsSeenByOthers, type Target } from './queries.ts';

/** The failures for visualizations that are not shown, by id. */
export type AccessFailures = ReadonlyMap<string, Failure>;

/** The actions that show a visualization: a Deny of either holds wherever it is shown. */
const SEEING_ACTIONS: readonly Action[] = ['visualizations:get', 'visualizations:execute'];

/**
 * The visualizations that the caller is denied. Who may see a dashboard needs no Allow for its visualizations, but a Deny
 * holds wherever they are shown.
 */
export function findAccessFailures(
  { actor }: CompanyContext,
  ids: readonly string[],
  actions: readonly Action[] = SEEING_ACTIONS,
): AccessFailures {
  if (actor.kind !== 'user' && actor.kind !== 'service_account') return new Map();
  const { access, companyId } = actor;
  const deniedOn = (id: string) =>
    actions.filter((action) => isDeniedOn(access, action, resourceArn(action, companyId, id)));
  return new Map(ids.flatMap((id) => deniedOn(id).map((action) => [id, accessDenied(action)])));
}

/** Throws unless the caller may share all these visualizations, as sharing a dashboard does, and is denied none of them. */
export function requireSharingAll(ctx: PrincipalContext, ids: readonly string[]): void {
  for (const id of ids) requireAction(ctx.actor, 'visualizations:share', id);
  requireNotDenied(ctx, ids);
}

/** @param actions unless others are named, those that show a visualization */
export function requireNotDenied(
  ctx: CompanyContext,
  ids: readonly string[],
  actions: readonly Action[] = SEEING_ACTIONS,
): void {
  const [first] = findAccessFailures(ctx, ids, actions).values();
  if (first) throw first;
}

/**
 * Asks `requireSharing` where others see the target: only those who may share it change what others see. Whoever may change the
 * target changes what nobody else sees.
 * @param requireSharing throws where the caller may not share the change
 * @returns the time at which nobody else must see the target for the change to be made; undefined where the caller may share it
 */
export async function requireSharingIfSeen(
  ctx: PrincipalContext,
  target: Target,
  requireSharing: () => void,
): Promise<number | undefined> {
  if (isMet(requireSharing)) return undefined;
  const now = ctx.now();
  const [found] = await selectIsSeenByOthers(ctx.db, ctx.actor.companyId, target, now);
  if (found?.seen) requireSharing();
  return now;
}
