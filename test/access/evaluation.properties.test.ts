import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { AccessSources } from '../../src/access/evaluation.ts';
import { compileAccess, decide, listAllowedActions } from '../../src/access/evaluation.ts';
import type { Action } from '../../src/permissions/actions.ts';
import { actionEntry } from '../../src/permissions/actions.ts';
import {
  allowStatement,
  denyStatement,
  documentOf,
  permission,
  role,
  SOME_ACTIONS,
  SOME_RESOURCES,
  sources,
  withStatement,
} from '../permissions/arbitrary.ts';

/** The decision rule, read aloud: all sources, one after the other, nothing prepared, nothing remembered. */
function decideByReference(of: AccessSources, action: Action, resource: string): string {
  const fits = (pattern: string, text: string): boolean =>
    new RegExp(
      `^${pattern
        .split('*')
        .map((part) => part.replace(/[/.]/g, '\\$&'))
        .join('.*')}$`,
      's',
    ).test(text);
  const statements = of.groups.flatMap((g) => g.policies.flatMap((policy) => policy.document.statements));
  const reached = statements.filter(
    (s) => s.actions.some((p) => fits(p, action)) && s.resources.some((p) => fits(p, resource)),
  );
  if (of.isOwner) return 'owner';
  if (reached.some((s) => s.effect === 'Deny')) return 'deny';
  if (reached.some((s) => s.effect === 'Allow')) return 'allow';

  const { service, legacy } = actionEntry(action);
  const verbs = (held: readonly string[]): boolean =>
    held.includes('*') || Boolean(legacy?.every((verb) => held.includes(verb)));
  const byRole = of.groups.some((g) =>
    g.roles.some((r) => (r.target === '*' || r.target === service) && verbs(r.actions)),
  );
  const byPermission = of.groups.some((g) =>
    g.permissions.some(({ target: { company_id, service_name, service_id }, actions }) => {
      if (!verbs(actions) || (company_id !== '*' && company_id !== of.companyId)) return false;
      if (service_name === undefined) return service_id === undefined;
      if (service_name !== service) return false;
      return (
        service_id === undefined ||
        service_id === '*' ||
        resource === `arn:svc:${service}::${of.companyId}:${service.slice(0, -1)}/${service_id}`
      );
    }),
  );
  return byRole || byPermission ? 'legacy' : 'none';
}

const EVERY_QUESTION = SOME_ACTIONS.flatMap((action) => SOME_RESOURCES.map((resource) => ({ action, resource })));
const isAnythingAllowed = (of: AccessSources): boolean[] => {
  const compiled = compileAccess(of);
  return EVERY_QUESTION.map(({ action, resource }) => decide(compiled, action, resource).allowed);
};
const listKinds = (of: AccessSources): string[] => {
  const compiled = compileAccess(of);
  return EVERY_QUESTION.map(({ action, resource }) => decide(compiled, action, resource).decided_by.kind);
};

describe('an access decision for random policies', () => {
  test('equals that of a simple reference implementation, asked once or twice', () => {
    fc.assert(
      fc.property(sources, fc.boolean(), (of, isOwner) => {
        const asked = { ...of, isOwner };
        const compiled = compileAccess(asked);
        for (const { action, resource } of [...EVERY_QUESTION, ...EVERY_QUESTION]) {
          expect(decide(compiled, action, resource).decided_by.kind).toBe(decideByReference(asked, action, resource));
        }
      }),
      { numRuns: 300 },
    );
  });

  test('is a refusal wherever a Deny matches', () => {
    fc.assert(
      fc.property(sources, denyStatement, fc.boolean(), (of, added, first) => {
        const alone = listKinds(withStatement({ ...of, groups: [] }, added, true));
        const all = listKinds(withStatement(of, added, first));
        for (const [index, kind] of alone.entries()) if (kind === 'deny') expect(all[index]).toBe('deny');
      }),
      { numRuns: 300 },
    );
  });

  test('allows no more after another Deny, and no less after another Allow or legacy grant', () => {
    fc.assert(
      fc.property(
        sources,
        denyStatement,
        allowStatement,
        role,
        permission,
        (of, denied, allowed, newRole, newPermission) => {
          const before = isAnythingAllowed(of);
          for (const [index, now] of isAnythingAllowed(withStatement(of, denied, false)).entries())
            expect(!now || before[index]).toBe(true);
          for (const [index, now] of isAnythingAllowed(withStatement(of, allowed, false)).entries())
            expect(now || !before[index]).toBe(true);
          const legacy = {
            ...of,
            groups: [...of.groups, { id: 'l', policies: [], roles: [newRole], permissions: [newPermission] }],
          };
          for (const [index, now] of isAnythingAllowed(legacy).entries()) expect(now || !before[index]).toBe(true);
        },
      ),
      { numRuns: 300 },
    );
  });

  test('does not depend on the order of groups, policies and statements', () => {
    fc.assert(
      fc.property(sources, (of) => {
        const reversed = of.groups.toReversed().map((g) => ({
          ...g,
          policies: g.policies
            .toReversed()
            .map((policy) => ({ ...policy, document: documentOf(...policy.document.statements.toReversed()) })),
        }));
        expect(listKinds({ ...of, groups: reversed })).toEqual(listKinds(of));
      }),
      { numRuns: 300 },
    );
  });

  test('allows on the resource * exactly the actions that are listed as allowed', () => {
    fc.assert(
      fc.property(sources, (of) => {
        const listed = listAllowedActions(compileAccess(of));
        for (const action of SOME_ACTIONS) {
          expect(listed.includes(action)).toBe(['allow', 'legacy'].includes(decideByReference(of, action, '*')));
        }
      }),
      { numRuns: 300 },
    );
  });
});
