import { type ControlDb, readTogether, recordReads, runDependentWrite } from '../db/client.ts';
import type { PolicyDocument, PolicyStatement } from '../permissions/policy-document.ts';
import type { Principal } from './actors.ts';
import type { Grants } from './evaluation.ts';
import { grantExceeds } from './failures.ts';
import { findExcessGrant } from './grant-ceiling.ts';
import { type AccessSubject, selectAccess, toAccessSources } from './sources.ts';

/**
 * Refuses a grant that is wider than the granter's own access; what `replacedGrants` allow already may be granted
 * again.
 */
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
