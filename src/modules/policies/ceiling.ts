import type { Principal } from '../../context.ts';
import { Failure } from '../../kernel/failure.ts';
import { exceeds } from '../../kernel/grant-ceiling.ts';
import type { Grants } from '../../kernel/policy.ts';

/**
 * Nobody gives what they lack.
 * @throws Failure `access.grant_exceeds` naming an action and resource that `granted` gives and `granter` has not
 */
export function requireWithinReach(granter: Principal, granted: Grants): void {
  const excess = exceeds(granter.access, granted);
  if (excess === null) return;
  throw new Failure('forbidden', 'access.grant_exceeds', {
    message: `This would give ${excess.action} on ${excess.resource}, which is more than you have yourself.`,
    ...excess,
  });
}

/**
 * The most that anyone can gain when the groups of `grants` no longer deny what they deny: exactly what the Deny
 * statements name. It does not depend on who the members are or what other groups give them.
 */
export function gainOfLifting(grants: Grants): Grants {
  return {
    companyId: grants.companyId,
    groups: grants.groups.map(({ id, policies }) => ({
      id,
      roles: [],
      permissions: [],
      policies: policies.map((policy) => ({
        id: policy.id,
        document: {
          ...policy.document,
          statements: policy.document.statements
            .filter(({ effect }) => effect === 'Deny')
            .map((statement) => ({ ...statement, effect: 'Allow' as const })),
        },
      })),
    })),
  };
}
