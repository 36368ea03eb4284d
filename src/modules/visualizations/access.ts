import { decide } from '../../access/evaluation.ts';
import { accessDenied } from '../../access/failures.ts';
import { isMet, requireAction } from '../../access/requirements.ts';
import type { CompanyContext, PrincipalContext } from '../../context.ts';
import type { Action } from '../../kernel/actions.ts';
import { resourceArn } from '../../kernel/arn.ts';
import type { Failure } from '../../kernel/failure.ts';

/** Why visualizations are not shown, by id. */
export type Refusals = ReadonlyMap<string, Failure>;

/**
 * The visualizations that the caller is denied. Who may see a dashboard needs no Allow for its visualizations, but a Deny
 * holds wherever they are shown.
 */
export function denials(
  { actor }: CompanyContext,
  ids: readonly string[],
  actions: readonly Action[] = ['visualizations:execute'],
): Refusals {
  if (actor.kind !== 'user' && actor.kind !== 'service_account') return new Map();
  const isDenied = (action: Action, id: string) =>
    decide(actor.access, action, resourceArn(action, actor.companyId, id)).decided_by.kind === 'deny';
  return new Map(
    ids.flatMap((id) => actions.filter((action) => isDenied(action, id)).map((each) => [id, accessDenied(each)])),
  );
}

/** Who shares a dashboard shares its visualizations, and nobody shows others what they are denied themselves. */
export function requireSharingAll(ctx: PrincipalContext, ids: readonly string[]): void {
  for (const id of ids) requireAction(ctx.actor, 'visualizations:share', id);
  requireNotDenied(ctx, ids);
}

/** Whether the caller may do so. */
export const mayShareAll = (ctx: PrincipalContext, ids: readonly string[]): boolean =>
  isMet(() => requireSharingAll(ctx, ids));

/** @param actions unless others are named, those that sharing with more people takes */
export function requireNotDenied(
  ctx: PrincipalContext,
  ids: readonly string[],
  actions: readonly Action[] = ['visualizations:share', 'visualizations:execute'],
): void {
  const [first] = denials(ctx, ids, actions).values();
  if (first) throw first;
}
