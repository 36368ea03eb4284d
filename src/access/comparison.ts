import { type Action, ALL_ACTIONS, getActionEntry } from '../permissions/actions.ts';
import { type Access, copyForRequest, findRules } from './evaluation.ts';
import {
  type ComparisonBudget,
  findShortestDifference,
  makeComparisonBudget,
  type ResourceLanguage,
  spendBudget,
} from './resource-languages.ts';

/** An action, and a shortest resource on which one access allows it and another does not. */
export interface AccessWitness {
  action: Action;
  resource: string;
}

/** The difference between two accesses: a witness for each action that only the later one allows, or only the earlier one. */
export interface AccessChange {
  gains: AccessWitness[];
  losses: AccessWitness[];
}

/** Returns the resources on which an access allows an action, exactly as `decideAccess` would for each resource. */
export function findResources(access: Access, action: Action): ResourceLanguage {
  if (access.isOwner) return { allowPatterns: ['*'], denyPatterns: [] };
  const { denyRules, allowRules, legacyRules } = findRules(access, action);
  const listPatterns = (rules: readonly { resource: string }[]) => rules.map(({ resource }) => resource);
  return {
    allowPatterns: getActionEntry(action).isAllowedUnlessDenied ? ['*'] : listPatterns([...allowRules, ...legacyRules]),
    denyPatterns: listPatterns(denyRules),
  };
}

/** Compares two accesses over the whole catalogue, exactly. @throws accessTooComplex where that takes too long */
export function compareAccess(
  accessBefore: Access,
  accessAfter: Access,
  budget: ComparisonBudget = makeComparisonBudget(),
): AccessChange {
  const change: AccessChange = { gains: [], losses: [] };
  if (accessBefore.isOwner && accessAfter.isOwner) return change;
  // What both have of the same decides nothing where all else says nothing of an action.
  const [only, others] = [removeSharedGroups(accessBefore, accessAfter), removeSharedGroups(accessAfter, accessBefore)];
  /** Differences by the compared patterns: many actions have the same patterns. */
  const differencesByPatterns = new Map<string, { gain: string | null; loss: string | null }>();
  for (const action of ALL_ACTIONS) {
    if (accessBefore.isOwner === accessAfter.isOwner && !hasRules(only, action) && !hasRules(others, action)) continue;
    const [was, is] = [findResources(accessBefore, action), findResources(accessAfter, action)];
    spendBudget(
      budget,
      was.allowPatterns.length + was.denyPatterns.length + is.allowPatterns.length + is.denyPatterns.length,
    );
    const key = JSON.stringify([was, is]);
    const foundDifference = differencesByPatterns.get(key) ?? {
      gain: findShortestDifference(is, was, budget),
      loss: findShortestDifference(was, is, budget),
    };
    differencesByPatterns.set(key, foundDifference);
    if (foundDifference.gain !== null) change.gains.push({ action, resource: foundDifference.gain });
    if (foundDifference.loss !== null) change.losses.push({ action, resource: foundDifference.loss });
  }
  return change;
}

/** Returns `access` without the groups that are identical in `otherAccess`. */
function removeSharedGroups(access: Access, otherAccess: Access): Access {
  const otherSources = new Set(otherAccess.groups.map(({ sourceText }) => sourceText));
  const groups = access.groups.filter(({ sourceText }) => !otherSources.has(sourceText));
  return copyForRequest({ ...access, groups });
}

function hasRules(access: Access, action: Action): boolean {
  const { denyRules, allowRules, legacyRules } = findRules(access, action);
  return denyRules.length + allowRules.length + legacyRules.length > 0;
}
