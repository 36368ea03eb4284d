import { type Action, ALL_ACTIONS, actionEntry } from '../permissions/actions.ts';
import { type Access, findRules } from './evaluation.ts';
import {
  type Budget,
  findShortestDifference,
  makeComparisonBudget,
  type ResourceLanguage,
  spendBudget,
} from './resource-languages.ts';

/** An action, and a shortest resource on which one access allows it and another does not. */
export interface Witness {
  action: Action;
  resource: string;
}

/** The difference between two accesses: a witness for each action that only the later one allows, or only the earlier one. */
export interface AccessChange {
  gains: Witness[];
  losses: Witness[];
}

/** The resources on which an access allows an action: as `decide` says of each of them. */
export function findResources(access: Access, action: Action): ResourceLanguage {
  if (access.isOwner) return { allow: ['*'], deny: [] };
  const { deny, allow, legacy } = findRules(access, action);
  const patterns = (rules: readonly { resource: string }[]) => rules.map(({ resource }) => resource);
  return { allow: actionEntry(action).unlessDenied ? ['*'] : patterns([...allow, ...legacy]), deny: patterns(deny) };
}

/** Compares two accesses over the whole catalogue, exactly. @throws accessTooComplex where that takes too long */
export function compareAccess(before: Access, after: Access, budget: Budget = makeComparisonBudget()): AccessChange {
  const change: AccessChange = { gains: [], losses: [] };
  if (before.isOwner && after.isOwner) return change;
  // What both have of the same decides nothing where all else says nothing of an action.
  const [only, others] = [removeSharedGroups(before, after), removeSharedGroups(after, before)];
  /** Results by patterns: most actions have the same patterns as others. */
  const known = new Map<string, { gain: string | null; loss: string | null }>();
  for (const action of ALL_ACTIONS) {
    if (before.isOwner === after.isOwner && !hasRules(only, action) && !hasRules(others, action)) continue;
    const [was, is] = [findResources(before, action), findResources(after, action)];
    spendBudget(budget, was.allow.length + was.deny.length + is.allow.length + is.deny.length);
    const key = JSON.stringify([was, is]);
    const found = known.get(key) ?? {
      gain: findShortestDifference(is, was, budget),
      loss: findShortestDifference(was, is, budget),
    };
    known.set(key, found);
    if (found.gain !== null) change.gains.push({ action, resource: found.gain });
    if (found.loss !== null) change.losses.push({ action, resource: found.loss });
  }
  return change;
}

/** Returns `access` without the groups that are identical in `other`. */
function removeSharedGroups(access: Access, other: Access): Access {
  const known = new Set(other.groups.map(({ source }) => source));
  return { ...access, groups: access.groups.filter(({ source }) => !known.has(source)), index: null, recent: null };
}

function hasRules(access: Access, action: Action): boolean {
  const { deny, allow, legacy } = findRules(access, action);
  return deny.length + allow.length + legacy.length > 0;
}
