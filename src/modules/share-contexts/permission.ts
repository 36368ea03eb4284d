import { isAllowed, requireAction } from '../../access/requirements.ts';
import type { PrincipalContext } from '../../context.ts';
import { TARGET_TYPES, type TargetType } from '../../sharing/share-event.ts';
import { requireNotDenied } from '../visualizations/service.ts';
import type { Grant } from './store.ts';

export function requireMayShareTargets(
  ctx: PrincipalContext,
  grants: readonly Pick<Grant, 'target_type' | 'target_id'>[],
): void {
  if (grants.length === 0) requireMayShareSomeType(ctx);
  for (const { target_type, target_id } of grants) requireAction(ctx.actor, `${target_type}s:share`, target_id);
}

/** Throws for callers who are denied something that a context shows. */
export function requireMaySeeTargets(
  ctx: PrincipalContext,
  grants: readonly Pick<Grant, 'target_type' | 'target_id'>[],
): void {
  for (const { target_type, target_id } of grants) requireNotDenied(ctx, [target_id], [`${target_type}s:get`]);
}

/** Lists the types of targets that the caller may not share. */
export function listUnshareableTypes(ctx: PrincipalContext): TargetType[] {
  requireMayShareSomeType(ctx);
  return TARGET_TYPES.filter((type) => !mayShareType(ctx, type));
}

export function requireMayShareSomeType(ctx: PrincipalContext): void {
  if (!TARGET_TYPES.some((type) => mayShareType(ctx, type))) requireAction(ctx.actor, 'dashboards:share', '*');
}

const mayShareType = ({ actor }: PrincipalContext, type: TargetType): boolean =>
  isAllowed(actor, `${type}s:share`, '*');
