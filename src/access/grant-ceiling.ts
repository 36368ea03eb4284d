import type { Action } from '../kernel/actions.ts';
import { ALL_ACTIONS } from '../kernel/actions.ts';
import { mayOverlap } from '../kernel/wildcard.ts';
import type { Access, ActionRules, Grants, Rule } from './evaluation.ts';
import { compileAccess, isAdministrator, rulesFor } from './evaluation.ts';

/** What a grant gives that its giver does not have: an action and a resource pattern. */
export interface Excess {
  action: Action;
  resource: string;
}

const NOTHING: ActionRules = { deny: [], allow: [], legacy: [] };

/** Comparisons of patterns before giving up, some tens of milliseconds: two hostile sets of policies could ask for billions. */
const COMPARISONS = 1_000_000;

/**
 * Whether `granted` gives anyone access wider than `granter`'s own, and if so an example; null if not. Nobody may grant
 * what they do not have; administrators may grant anything.
 *
 * Hand over all that would take effect, as one or more groups: for a new document the document, for joining a group
 * all of the group, for taking something away that holds a Deny (detaching, editing) what is left. `held` is what it takes
 * the place of: an edit may keep or narrow what its writer has not. A Deny that it drops is for the caller to check apart.
 *
 * Sound, not complete: what passes is never wider, but a grant may be refused that is not wider in truth. Every allowed
 * resource pattern must lie within a single pattern that the granter is allowed for the same action, by policy or legacy
 * grant, and must not touch a Deny of the granter, unless the grant carries a Deny at least as wide itself. Action patterns are
 * expanded over the catalogue. Where the two sets are too many patterns to compare, the answer is a refusal.
 */
export function exceeds(granter: Access, granted: Grants, held?: Grants): Excess | null {
  if (isAdministrator(granter)) return null;
  const gift = compileAccess({ ...granted, isOwner: false });
  const before = held && compileAccess({ ...held, isOwner: false });
  const budget = { left: COMPARISONS };
  for (const action of ALL_ACTIONS) {
    const given = rulesFor(gift, action);
    const own = rulesFor(granter, action);
    const had = before ? rulesFor(before, action) : NOTHING;
    for (const { resource } of [...given.allow, ...given.legacy]) {
      // A pattern that fits as text is contained (see wildcard.ts).
      const contains = (rule: Rule): boolean => spend(budget) && rule.fits(resource);
      if (given.deny.some(contains) || had.allow.some(contains) || had.legacy.some(contains)) continue;
      if (!own.allow.some(contains) && !own.legacy.some(contains)) return { action, resource };
      const apart = (denied: Rule): boolean =>
        (spend(budget) && !mayOverlap(denied.resource, resource)) ||
        given.deny.some((rule) => spend(budget) && rule.fits(denied.resource));
      if (!own.deny.every(apart)) return { action, resource };
    }
  }
  return null;
}

/** Counts one comparison; false once there were too many, which every caller takes for "not proven". */
function spend(budget: { left: number }): boolean {
  budget.left -= 1;
  return budget.left >= 0;
}
