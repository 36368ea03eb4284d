import type { Action } from '../permissions/actions.ts';
import { ALL_ACTIONS } from '../permissions/actions.ts';
import { mayOverlap } from '../permissions/wildcard.ts';
import type { Access, ActionRules, Grants, Rule } from './evaluation.ts';
import { compileAccess, findRules, isUnrestricted } from './evaluation.ts';

/** An action and a resource pattern that a grant gives and its granter lacks. */
export interface Excess {
  action: Action;
  resource: string;
}

const NO_RULES: ActionRules = { deny: [], allow: [], legacy: [] };

/** The maximum number of comparisons of patterns, some tens of milliseconds: two hostile sets of policies could need billions. */
const MAX_COMPARISONS = 1_000_000;

/**
 * Checks whether `granted` is wider than `granter`'s own access; returns an example if so, else null. Nobody may grant
 * what they do not have; administrators may grant anything, unless they act by a program with scopes.
 *
 * `granted` holds everything that would take effect, as one or more groups: the document for a new document, the
 * group for joining a group, the rest of the document or group when a Deny is removed (detaching, editing). `held` is
 * what `granted` replaces: an edit may keep or narrow what its author lacks. The caller checks separately whether a
 * Deny is dropped.
 *
 * The check is sound, not complete: it never accepts a wider grant, but may refuse one that is not. Every allowed
 * resource pattern must lie within a single pattern that the granter is allowed for the same action, by policy or
 * legacy grant, and must not overlap a Deny of the granter, unless the grant carries a Deny at least as wide itself.
 * Action patterns are expanded over the catalogue. If the sets have too many patterns to compare, the grant is refused.
 */
export function findExcess(granter: Access, granted: Grants, held?: Grants): Excess | null {
  if (isUnrestricted(granter)) return null;
  const gift = compileAccess({ ...granted, isOwner: false });
  const before = held && compileAccess({ ...held, isOwner: false });
  const budget = { left: MAX_COMPARISONS };
  for (const action of ALL_ACTIONS) {
    const given = findRules(gift, action);
    const own = findRules(granter, action);
    const had = before ? findRules(before, action) : NO_RULES;
    for (const { resource } of [...given.allow, ...given.legacy]) {
      // A pattern that matches another pattern as text contains it (see wildcard.ts).
      const contains = (rule: Rule): boolean => spendComparison(budget) && rule.fits(resource);
      if (given.deny.some(contains) || had.allow.some(contains) || had.legacy.some(contains)) continue;
      if (!own.allow.some(contains) && !own.legacy.some(contains)) return { action, resource };
      const apart = (denied: Rule): boolean =>
        (spendComparison(budget) && !mayOverlap(denied.resource, resource)) ||
        given.deny.some((rule) => spendComparison(budget) && rule.fits(denied.resource));
      if (!own.deny.every(apart)) return { action, resource };
    }
  }
  return null;
}

/** Counts one comparison; false once the budget is used up, which callers treat as "not proven". */
function spendComparison(budget: { left: number }): boolean {
  budget.left -= 1;
  return budget.left >= 0;
}
