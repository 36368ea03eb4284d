import type { Action } from '../permissions/actions.ts';
import { ALL_ACTIONS } from '../permissions/actions.ts';
import { mayOverlap } from '../permissions/wildcard.ts';
import type { Access, ActionRules, Grants, Rule } from './evaluation.ts';
import { compileAccess, findRules, isUnrestricted } from './evaluation.ts';

/** An action and a resource pattern that a grant gives and its granter lacks. */
export interface ExcessGrant {
  action: Action;
  resource: string;
}

const NO_RULES: ActionRules = { denyRules: [], allowRules: [], legacyRules: [] };

/** Maximum number of pattern comparisons, some tens of milliseconds: two hostile sets of policies could need billions. */
const MAX_COMPARISONS = 1_000_000;

/**
 * Checks whether `grants` allow more than `granter` may do; returns an example if so, else null. Nobody may grant what
 * they do not have; administrators may grant anything, unless they act through an OAuth client with scopes.
 *
 * `grants` hold everything that would take effect, as one or more groups: the document for a new document, the group
 * for joining a group, the rest of the document or group when a Deny is removed (detaching, editing). `replacedGrants`
 * are what `grants` replace: an edit may keep or narrow what its author lacks. The caller checks separately whether a
 * Deny is dropped.
 *
 * The check is sound, not complete: it never accepts a wider grant, but may refuse one that is not. Every allowed
 * resource pattern must lie within a single pattern that the granter is allowed for the same action, by policy or
 * legacy grant, and must not overlap a Deny of the granter, unless the grant carries a Deny at least as wide itself.
 * Action patterns are expanded over the catalogue. If the sets have too many patterns to compare, the grant is refused.
 */
export function findExcessGrant(granter: Access, grants: Grants, replacedGrants?: Grants): ExcessGrant | null {
  if (isUnrestricted(granter)) return null;
  const grantedAccess = compileAccess({ ...grants, isOwner: false });
  const replacedAccess = replacedGrants && compileAccess({ ...replacedGrants, isOwner: false });
  const budget = { remainingCount: MAX_COMPARISONS };
  for (const action of ALL_ACTIONS) {
    const grantedRules = findRules(grantedAccess, action);
    const granterRules = findRules(granter, action);
    const replacedRules = replacedAccess ? findRules(replacedAccess, action) : NO_RULES;
    for (const { resource } of [...grantedRules.allowRules, ...grantedRules.legacyRules]) {
      // A pattern that matches another pattern as text contains it (see wildcard.ts).
      const coversResource = (rule: Rule): boolean => spendComparison(budget) && rule.matchesResource(resource);
      if (
        grantedRules.denyRules.some(coversResource) ||
        replacedRules.allowRules.some(coversResource) ||
        replacedRules.legacyRules.some(coversResource)
      )
        continue;
      if (!granterRules.allowRules.some(coversResource) && !granterRules.legacyRules.some(coversResource))
        return { action, resource };
      const isHarmlessDenial = (denyRule: Rule): boolean =>
        (spendComparison(budget) && !mayOverlap(denyRule.resource, resource)) ||
        grantedRules.denyRules.some((rule) => spendComparison(budget) && rule.matchesResource(denyRule.resource));
      if (!granterRules.denyRules.every(isHarmlessDenial)) return { action, resource };
    }
  }
  return null;
}

/** Counts one comparison; false once the budget is used up, which callers treat as "not proven". */
function spendComparison(budget: { remainingCount: number }): boolean {
  budget.remainingCount -= 1;
  return budget.remainingCount >= 0;
}
