import { type ControlDb, readTogether, recordReads, runDependentWrite } from '../db/client.ts';
import { type Action, ALL_ACTIONS } from '../permissions/actions.ts';
import type { PolicyDocument, PolicyStatement } from '../permissions/policy-document.ts';
import { mayOverlap } from '../permissions/wildcard.ts';
import type { Principal } from './actors.ts';
import {
  type Access,
  type ActionRules,
  compileAccess,
  findRules,
  type Grants,
  isUnrestricted,
  type Rule,
} from './evaluation.ts';
import { grantExceeds } from './failures.ts';
import { type AccessSubject, selectAccess, toAccessSources } from './sources.ts';

/** Refuses a grant wider than the granter's own access; what `replacedGrants` allow may be granted again. */
export function requireMayGrant(granter: Principal, grants: Grants, replacedGrants?: Grants): void {
  const excessGrant = findExcessGrant(granter.access, grants, replacedGrants);
  if (excessGrant === null) return;
  throw grantExceeds(excessGrant);
}

/**
 * Runs a write that would let the caller act as another principal; refused if that principal has more permissions than the
 * caller. The write is applied only if the principal's permissions are still those that were checked.
 */
export async function writeWithoutEscalation<T>(
  { db, actor }: { db: ControlDb; actor: Principal },
  accessSubject: Omit<AccessSubject, 'companyId'>,
  write: () => Promise<T>,
): Promise<T> {
  const { companyId } = actor;
  const checkAccessSources = async () => {
    const { result, reads } = await recordReads(db, () =>
      readTogether(db, selectAccess(db, { ...accessSubject, companyId })),
    );
    requireMayGrant(actor, toAccessSources(companyId, false, result));
    return reads;
  };
  return runDependentWrite(db, { reads: await checkAccessSources(), readAgain: checkAccessSources }, write);
}

/**
 * Returns the most access that anyone can gain when the groups of `grants` no longer deny anything: the actions and resources of
 * their Deny statements. It does not depend on the members and their other groups.
 */
export function toDenialGrants(grants: Grants): Grants {
  return {
    companyId: grants.companyId,
    groups: grants.groups.map(({ id, policies }) => ({
      id,
      roles: [],
      permissions: [],
      policies: policies.map((policy) => ({
        id: policy.id,
        document: { ...policy.document, statements: invertDenials(policy.document) },
      })),
    })),
  };
}

/**
 * Refuses a document that is wider than its author's own access. If it replaces `previousDocument`, it may keep and
 * narrow what `previousDocument` allows, but neither widen it nor deny less, unless the author may do all that becomes
 * allowed. Whether the policy is attached does not matter: it may be attached at any time.
 */
export function requireMayWritePolicy(
  granter: Principal,
  document: PolicyDocument,
  previousDocument?: PolicyDocument,
): void {
  const makeGrants = (statements: PolicyStatement[]): Grants => ({
    companyId: granter.companyId,
    groups: [
      { id: 'new', roles: [], permissions: [], policies: [{ id: 'new', document: { ...document, statements } }] },
    ],
  });
  requireMayGrant(
    granter,
    makeGrants(document.statements),
    previousDocument && makeGrants(previousDocument.statements),
  );
  if (!previousDocument) return;
  const denyStatements = document.statements.filter(({ effect }) => effect === 'Deny');
  requireMayGrant(granter, makeGrants([...invertDenials(previousDocument), ...denyStatements]));
}

/** Turns a document's Deny statements into Allow statements: the access gained by removing the Denies. */
const invertDenials = ({ statements }: PolicyDocument): PolicyStatement[] =>
  statements.filter(({ effect }) => effect === 'Deny').map((statement) => ({ ...statement, effect: 'Allow' as const }));

/** An action and a resource pattern that a grant gives and its granter lacks. */
interface ExcessGrant {
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
