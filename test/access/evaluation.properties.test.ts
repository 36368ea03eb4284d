import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { AccessSources } from '../../src/access/evaluation.ts';
import { compileAccess, decideAccess, listAllowedActions } from '../../src/access/evaluation.ts';
import type { Action } from '../../src/permissions/actions.ts';
import { getActionEntry } from '../../src/permissions/actions.ts';
import {
  addStatement,
  arbitraryAllow,
  arbitraryDeny,
  arbitraryPermission,
  arbitrarySources,
  makeDocument,
  role,
  SOME_ACTIONS,
  SOME_RESOURCES,
} from '../permissions/arbitrary.ts';

/** Returns the kind of decision by a plain reading of the rule: all sources one after the other, without compilation or cache. */
function decideByReference(sources: AccessSources, action: Action, resource: string): string {
  const matchesPattern = (pattern: string, text: string): boolean =>
    new RegExp(
      `^${pattern
        .split('*')
        .map((part) => part.replace(/[/.]/g, '\\$&'))
        .join('.*')}$`,
      's',
    ).test(text);
  const statements = sources.groups.flatMap((g) => g.policies.flatMap((policy) => policy.document.statements));
  const matchingStatements = statements.filter(
    (s) => s.actions.some((p) => matchesPattern(p, action)) && s.resources.some((p) => matchesPattern(p, resource)),
  );
  if (sources.isOwner) return 'owner';
  if (matchingStatements.some((s) => s.effect === 'Deny')) return 'deny';
  if (matchingStatements.some((s) => s.effect === 'Allow')) return 'allow';

  const { service, legacyVerbs: legacy } = getActionEntry(action);
  const grantsVerbs = (grantedVerbs: readonly string[]): boolean =>
    grantedVerbs.includes('*') || Boolean(legacy?.every((verb) => grantedVerbs.includes(verb)));
  const isAllowedByRole = sources.groups.some((g) =>
    g.roles.some((r) => (r.target === '*' || r.target === service) && grantsVerbs(r.actions)),
  );
  const isAllowedByPermission = sources.groups.some((g) =>
    g.permissions.some(({ target: { company_id, service_name, service_id }, actions }) => {
      if (!grantsVerbs(actions) || (company_id !== '*' && company_id !== sources.companyId)) return false;
      if (service_name === undefined) return service_id === undefined;
      if (service_name !== service) return false;
      return (
        service_id === undefined ||
        service_id === '*' ||
        resource === `arn:svc:${service}::${sources.companyId}:${service.slice(0, -1)}/${service_id}`
      );
    }),
  );
  return isAllowedByRole || isAllowedByPermission ? 'legacy' : 'none';
}

const ALL_ACTION_RESOURCES = SOME_ACTIONS.flatMap((action) => SOME_RESOURCES.map((resource) => ({ action, resource })));
const listIsAllowed = (sources: AccessSources): boolean[] => {
  const compiledAccess = compileAccess(sources);
  return ALL_ACTION_RESOURCES.map(({ action, resource }) => decideAccess(compiledAccess, action, resource).allowed);
};
const listDecisionKinds = (sources: AccessSources): string[] => {
  const compiledAccess = compileAccess(sources);
  return ALL_ACTION_RESOURCES.map(
    ({ action, resource }) => decideAccess(compiledAccess, action, resource).decided_by.kind,
  );
};

describe('an access decision for random policies', () => {
  test('has the same kind as a simple reference implementation returns, with an empty and a filled cache', () => {
    fc.assert(
      fc.property(arbitrarySources, fc.boolean(), (sources, isOwner) => {
        const sourcesWithOwner = { ...sources, isOwner };
        const compiledAccess = compileAccess(sourcesWithOwner);
        for (const { action, resource } of [...ALL_ACTION_RESOURCES, ...ALL_ACTION_RESOURCES]) {
          expect(decideAccess(compiledAccess, action, resource).decided_by.kind).toBe(
            decideByReference(sourcesWithOwner, action, resource),
          );
        }
      }),
      { numRuns: 300 },
    );
  });

  test('is a denial wherever a Deny statement matches', () => {
    fc.assert(
      fc.property(arbitrarySources, arbitraryDeny, fc.boolean(), (sources, addedDeny, first) => {
        const kindsByDenyAlone = listDecisionKinds(addStatement({ ...sources, groups: [] }, addedDeny, true));
        const kindsWithDeny = listDecisionKinds(addStatement(sources, addedDeny, first));
        for (const [index, kind] of kindsByDenyAlone.entries())
          if (kind === 'deny') expect(kindsWithDeny[index]).toBe('deny');
      }),
      { numRuns: 300 },
    );
  });

  test('allows no more after another Deny is added, and no less after another Allow or legacy grant is added', () => {
    fc.assert(
      fc.property(
        arbitrarySources,
        arbitraryDeny,
        arbitraryAllow,
        role,
        arbitraryPermission,
        (sources, deniedStatement, allowed, newRole, newPermission) => {
          const allowedBefore = listIsAllowed(sources);
          for (const [index, now] of listIsAllowed(addStatement(sources, deniedStatement, false)).entries())
            expect(!now || allowedBefore[index]).toBe(true);
          for (const [index, now] of listIsAllowed(addStatement(sources, allowed, false)).entries())
            expect(now || !allowedBefore[index]).toBe(true);
          const legacy = {
            ...sources,
            groups: [...sources.groups, { id: 'l', policies: [], roles: [newRole], permissions: [newPermission] }],
          };
          for (const [index, now] of listIsAllowed(legacy).entries()) expect(now || !allowedBefore[index]).toBe(true);
        },
      ),
      { numRuns: 300 },
    );
  });

  test('does not depend on the order of groups, policies and statements', () => {
    fc.assert(
      fc.property(arbitrarySources, (sources) => {
        const reversedGroups = sources.groups.toReversed().map((g) => ({
          ...g,
          policies: g.policies
            .toReversed()
            .map((policy) => ({ ...policy, document: makeDocument(...policy.document.statements.toReversed()) })),
        }));
        expect(listDecisionKinds({ ...sources, groups: reversedGroups })).toEqual(listDecisionKinds(sources));
      }),
      { numRuns: 300 },
    );
  });

  test('allows on the resource * exactly the actions that are listed as allowed', () => {
    fc.assert(
      fc.property(arbitrarySources, (sources) => {
        const listedActions = listAllowedActions(compileAccess(sources));
        for (const action of SOME_ACTIONS) {
          expect(listedActions.includes(action)).toBe(
            ['allow', 'legacy'].includes(decideByReference(sources, action, '*')),
          );
        }
      }),
      { numRuns: 300 },
    );
  });
});
