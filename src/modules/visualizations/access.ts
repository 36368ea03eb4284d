import { isDeniedOn } from '../../access/denials.ts';
import { accessDenied } from '../../access/failures.ts';
import { isRequirementMet, requireAction } from '../../access/requirements.ts';
import type { CompanyContext, PrincipalContext } from '../../context.ts';
import type { Failure } from '../../kernel/failure.ts';
import type { Action } from '../../permissions/actions.ts';
import { makeResourceArn } from '../../permissions/arn.ts';
import { selectIsSeenByOthers, type Target } from './queries.ts';

/** The failures for visualizations that the caller is not shown, by id. */
export type AccessFailures = ReadonlyMap<string, Failure>;

/** The actions that show a visualization: a Deny of either applies wherever the visualization is shown. */
const VIEW_ACTIONS: readonly Action[] = ['visualizations:get', 'visualizations:execute'];

/**
 * Finds the visualizations that the caller is denied. Seeing a dashboard needs no Allow for its visualizations, but a Deny
 * applies wherever they are shown.
 */
export function findAccessFailures(
  { actor }: CompanyContext,
  ids: readonly string[],
  actions: readonly Action[] = VIEW_ACTIONS,
): AccessFailures {
  if (actor.kind !== 'user' && actor.kind !== 'service_account') return new Map();
  const { access, companyId } = actor;
  const findDenial = (id: string) =>
    actions.filter((action) => isDeniedOn(access, action, makeResourceArn(action, companyId, id)));
  return new Map(ids.flatMap((id) => findDenial(id).map((action) => [id, accessDenied(action)])));
}

/**
 * Throws unless the caller has the permission to share all these visualizations, which sharing a dashboard requires,
 * and is denied none of them.
 */
export function requireMayShareAll(ctx: PrincipalContext, ids: readonly string[]): void {
  for (const id of ids) requireAction(ctx.actor, 'visualizations:share', id);
  requireNotDenied(ctx, ids);
}

/**
 * Throws if the caller is denied one of these visualizations or dashboards.
 * @param actions by default those that show a visualization
 */
export function requireNotDenied(
  ctx: CompanyContext,
  ids: readonly string[],
  actions: readonly Action[] = VIEW_ACTIONS,
): void {
  const [first] = findAccessFailures(ctx, ids, actions).values();
  if (first) throw first;
}

/**
 * Requires the permission to share for a change of a target that others can see; changing a target that nobody else sees needs
 * only the permission to change it. @param requireMayShare throws if the caller may not share the change @returns undefined if
 * the caller may share the change; else the time (ms) at which the write must require that nobody else sees the target
 */
export async function requireMayShareIfSeen(
  ctx: PrincipalContext,
  target: Target,
  requireMayShare: () => void,
): Promise<number | undefined> {
  if (isRequirementMet(requireMayShare)) return undefined;
  const now = ctx.now();
  const [found] = await selectIsSeenByOthers(ctx.db, ctx.actor.companyId, target, now);
  if (found?.seen) requireMayShare();
  return now;
}
