import type { PolicyDocument, PolicyStatement } from '../kernel/policy-document.ts';
import type { Principal } from './actors.ts';
import type { Grants } from './evaluation.ts';
import { grantExceeds } from './failures.ts';
import { exceeds } from './grant-ceiling.ts';

/**
 * Nobody gives what they lack.
 * @param held what `granted` takes the place of: what that gave already is not given anew
 */
export function requireMayGrant(granter: Principal, granted: Grants, held?: Grants): void {
  const excess = exceeds(granter.access, granted, held);
  if (excess === null) return;
  throw grantExceeds(excess);
}

/**
 * The most that anyone can gain when the groups of `grants` no longer deny what they deny: exactly what the Deny
 * statements name. It does not depend on who the members are or what other groups give them.
 */
export function accessFreedByRemoving(grants: Grants): Grants {
  return {
    companyId: grants.companyId,
    groups: grants.groups.map(({ id, policies }) => ({
      id,
      roles: [],
      permissions: [],
      policies: policies.map((policy) => ({
        id: policy.id,
        document: { ...policy.document, statements: lifted(policy.document) },
      })),
    })),
  };
}

/**
 * Refuses a document that is wider than its writer's own access. In the place of `before` it may keep and narrow what that
 * allows, but neither widen it nor deny less, unless the writer may do all that this frees. Whether the policy is attached
 * does not matter: it may be at any moment.
 */
export function requireWritable(granter: Principal, document: PolicyDocument, before?: PolicyDocument): void {
  const policy = (statements: PolicyStatement[]): Grants => ({
    companyId: granter.companyId,
    groups: [
      { id: 'new', roles: [], permissions: [], policies: [{ id: 'new', document: { ...document, statements } }] },
    ],
  });
  requireMayGrant(granter, policy(document.statements), before && policy(before.statements));
  if (!before) return;
  const stillDenied = document.statements.filter(({ effect }) => effect === 'Deny');
  requireMayGrant(granter, policy([...lifted(before), ...stillDenied]));
}

/** The Deny statements of a document as the Allow statements that lifting them amounts to. */
const lifted = ({ statements }: PolicyDocument): PolicyStatement[] =>
  statements.filter(({ effect }) => effect === 'Deny').map((statement) => ({ ...statement, effect: 'Allow' as const }));
