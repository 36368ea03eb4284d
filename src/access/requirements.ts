import { Failure } from '../kernel/failure.ts';
import type { Action, ResourceType } from '../permissions/actions.ts';
import { makeResourceArn } from '../permissions/arn.ts';
import type { Principal } from './actors.ts';
import { decideAccess, dependsOnResource, findRules, isAdministrator } from './evaluation.ts';
import { accessDenied, administratorsOnly, ownerOnly, peopleOnly } from './failures.ts';

export function requireAdministrator(actor: Principal): void {
  if (isAdministrator(actor.access)) return;
  throw administratorsOnly();
}

/** Throws unless the caller is the owner: for routes that export or change all data of the company. */
export function requireOwner(actor: Principal): void {
  if (!actor.access.isOwner) throw ownerOnly();
}

/** Throws unless the caller is a user without an OAuth client: for their own session, password or second factor. */
export function requireUserWithoutClient(actor: Principal): void {
  if (actor.kind !== 'user') throw peopleOnly();
}

/**
 * Throws unless the caller is allowed the action on the resource: for services whose requirement depends on the data.
 * @param resourceId id of the resource, or `*` for listing and creating
 * @param type the type of the resource, for services with several types; the first one when left out
 */
export function requireAction(actor: Principal, action: Action, resourceId: string, type?: ResourceType): void {
  requireActionOn(actor, action, makeResourceArn(action, actor.companyId, resourceId, type));
}

/** Throws unless the caller is allowed the action on a resource whose ARN is known. */
export function requireActionOn(actor: Principal, action: Action, resource: string): void {
  if (decideAccess(actor.access, action, resource).allowed) return;
  throw accessDenied(action, resource);
}

/** Throws if a Deny applies to the caller, for an action that needs no Allow. */
export function requireNotDenied(actor: Principal, action: Action): void {
  const resource = makeResourceArn(action, actor.companyId);
  if (decideAccess(actor.access, action, resource).decided_by.kind === 'deny') throw accessDenied(action, resource);
}

/** Returns true if an action is allowed on a resource; unlike `requireAction` it does not throw. */
export const isAllowed = (actor: Principal, action: Action, resourceId: string): boolean =>
  decideAccess(actor.access, action, makeResourceArn(action, actor.companyId, resourceId)).allowed;

/** Returns true if an action is allowed on all resources, and denied on none. */
export const isAllowedOnAll = (actor: Principal, action: Action): boolean =>
  isAllowed(actor, action, '*') && !dependsOnResource(actor.access, action);

/** Returns true if `requirement` does not throw, for a request that a refusal does not end. */
export function isRequirementMet(requirement: () => void): boolean {
  try {
    requirement();
    return true;
  } catch (error) {
    if (error instanceof Failure) return false;
    throw error;
  }
}

/** Throws unless the caller is allowed one of the actions on some resource, before the request's content is examined. */
export function requireAnyAction(actor: Principal, actions: readonly Action[]): void {
  if (actor.access.isOwner && actor.access.scopes === null) return;
  const [first] = actions;
  const rules = actions.map((action) => findRules(actor.access, action));
  if (first && rules.every(({ allowRules, legacyRules }) => allowRules.length + legacyRules.length === 0))
    requireAction(actor, first, '*');
}
