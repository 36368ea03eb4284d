import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { GroupGrants } from '../../src/access/evaluation.ts';
import { compileAccess, decide, isAdministrator } from '../../src/access/evaluation.ts';
import { findExcess } from '../../src/access/grant-ceiling.ts';
import { managedPolicyNamed } from '../../src/permissions/managed-policies.ts';
import type { PolicyStatement } from '../../src/permissions/policy-document.ts';
import { COMPANY, documentOf, SOME_ACTIONS, SOME_RESOURCES, sources } from '../permissions/arbitrary.ts';

const USERS = `arn:svc:users::${COMPANY}:user/`;
const makeStatement = (effect: 'Allow' | 'Deny', actions: string, resources = '*'): PolicyStatement => ({
  effect,
  actions: actions.split(' '),
  resources: resources.split(' '),
});
const allow = (actions: string, resources?: string) => makeStatement('Allow', actions, resources);
const deny = (actions: string, resources?: string) => makeStatement('Deny', actions, resources);
const makeGroup = (statements: PolicyStatement[], legacy: Partial<GroupGrants> = {}): GroupGrants => ({
  id: 'g',
  policies: [{ id: 'p', document: documentOf(...statements) }],
  roles: [],
  permissions: [],
  ...legacy,
});
const everyRole: Partial<GroupGrants> = { roles: [{ name: 'r', target: '*', actions: ['*'] }] };
const reader: Partial<GroupGrants> = { roles: [{ name: 'r', target: 'users', actions: ['read'] }] };
const oneUser: Partial<GroupGrants> = {
  permissions: [
    { id: 'x', target: { company_id: COMPANY, service_name: 'users', service_id: 'a'.repeat(24) }, actions: ['read'] },
  ],
};

const findCeilingExcess = (granter: GroupGrants, granted: GroupGrants, isOwner = false) =>
  findExcess(compileAccess({ companyId: COMPANY, isOwner, groups: [granter] }), {
    companyId: COMPANY,
    groups: [granted],
  });

describe('a grant that replaces another', () => {
  const replaced = (granter: GroupGrants, held: GroupGrants, granted: GroupGrants) =>
    findExcess(
      compileAccess({ companyId: COMPANY, isOwner: false, groups: [granter] }),
      { companyId: COMPANY, groups: [granted] },
      { companyId: COMPANY, groups: [held] },
    );

  test.each<[string, GroupGrants, GroupGrants, GroupGrants]>([
    ['may stay as it is', makeGroup([]), makeGroup([allow('*')]), makeGroup([allow('*')])],
    ['may be narrowed', makeGroup([]), makeGroup([allow('users:*')]), makeGroup([allow('users:get', `${USERS}*`)])],
    ['may be a policy within a legacy role', makeGroup([]), makeGroup([], reader), makeGroup([allow('users:list')])],
    [
      'may grow by what the granter has',
      makeGroup([allow('groups:list')]),
      makeGroup([allow('users:*')]),
      makeGroup([allow('users:* groups:list')]),
    ],
    [
      'may stay as it is though the granter is denied it',
      makeGroup([allow('groups:list'), deny('users:*')]),
      makeGroup([allow('users:*')]),
      makeGroup([allow('users:*')]),
    ],
  ])('%s', (_what, granter, held, granted) => {
    expect(replaced(granter, held, granted)).toBeNull();
  });

  test.each<[string, GroupGrants, GroupGrants, GroupGrants]>([
    ['by another action', makeGroup([]), makeGroup([allow('users:get')]), makeGroup([allow('users:get users:list')])],
    [
      'by other resources',
      makeGroup([]),
      makeGroup([allow('users:get', `${USERS}1`)]),
      makeGroup([allow('users:get', `${USERS}*`)]),
    ],
    [
      'by a pattern that only the granter and the old grant together cover',
      makeGroup([allow('users:get', `${USERS}a*`)]),
      makeGroup([allow('users:get', `${USERS}b*`)]),
      makeGroup([allow('users:get', `${USERS}*`)]),
    ],
    ['by an action that it only denied', makeGroup([]), makeGroup([deny('users:*')]), makeGroup([allow('users:get')])],
  ])('may not grow %s', (_what, granter, held, granted) => {
    expect(replaced(granter, held, granted)).not.toBeNull();
  });
});

describe('a grant', () => {
  test.each<[string, GroupGrants, GroupGrants]>([
    ['nothing, from somebody without access', makeGroup([]), makeGroup([])],
    ['anything, from an administrator', makeGroup([allow('*')]), makeGroup([allow('*')], everyRole)],
    ['the same as the granter has', makeGroup([allow('users:*')]), makeGroup([allow('users:*')])],
    ['fewer actions', makeGroup([allow('users:*')]), makeGroup([allow('users:list users:get')])],
    ['a pattern over the same actions', makeGroup([allow('metadata:read')]), makeGroup([allow('metadata:*')])],
    ['fewer resources', makeGroup([allow('users:get', `${USERS}*`)]), makeGroup([allow('users:get', `${USERS}1`)])],
    [
      'a narrower pattern',
      makeGroup([allow('users:get', `${USERS}*`)]),
      makeGroup([allow('users:get', `${USERS}a*b`)]),
    ],
    [
      'what several statements allow together',
      makeGroup([allow('users:get'), allow('groups:get')]),
      makeGroup([allow('users:get groups:get')]),
    ],
    [
      'what stands apart from the denied actions',
      makeGroup([allow('*'), deny('groups:*')]),
      makeGroup([allow('users:*')]),
    ],
    [
      'what stands apart from the denied resource',
      makeGroup([allow('*'), deny('*', `${USERS}1`)]),
      makeGroup([allow('users:get', `${USERS}2`)]),
    ],
    [
      'everything with the same Deny',
      makeGroup([allow('*'), deny('users:*', `${USERS}1`)]),
      makeGroup([allow('*'), deny('users:*', `${USERS}1`)]),
    ],
    [
      'something with a wider Deny',
      makeGroup([allow('*'), deny('users:get', `${USERS}1`)]),
      makeGroup([allow('users:get'), deny('*', `${USERS}*`)]),
    ],
    [
      'an Allow that a Deny cancels',
      makeGroup([]),
      makeGroup([allow('users:get', `${USERS}1`), deny('users:*', `${USERS}*`)]),
    ],
    ['a mere Deny', makeGroup([]), makeGroup([deny('*')])],
    ['a role that policies cover', makeGroup([allow('users:*')]), makeGroup([], reader)],
    ['a policy that a role covers', makeGroup([], reader), makeGroup([allow('users:list users:get users:ListUsers')])],
    ['a role that a role covers', makeGroup([], everyRole), makeGroup([], reader)],
    ['a legacy permission on one resource', makeGroup([allow('users:*', `${USERS}*`)]), makeGroup([], oneUser)],
    [
      'ReadOnly, from a role of everything',
      makeGroup([], everyRole),
      makeGroup(managedPolicyNamed('ReadOnly').document.statements),
    ],
  ])('may be %s', (_, granter, granted) => {
    expect(findCeilingExcess(granter, granted)).toBeNull();
  });
});

describe('a grant beyond what the granter has', () => {
  test.each<[string, GroupGrants, GroupGrants, string, string]>([
    ['anything, from somebody without access', makeGroup([]), makeGroup([allow('users:list')]), 'users:list', '*'],
    [
      'everything, from somebody who is denied one thing',
      makeGroup([allow('*'), deny('metadata:read')]),
      makeGroup([allow('*')]),
      'metadata:read',
      '*',
    ],
    ['more actions', makeGroup([allow('users:list')]), makeGroup([allow('users:list users:get')]), 'users:get', '*'],
    [
      'more resources',
      makeGroup([allow('users:get', `${USERS}1`)]),
      makeGroup([allow('users:get', `${USERS}*`)]),
      'users:get',
      `${USERS}*`,
    ],
    [
      'all resources, from somebody with all of this service',
      makeGroup([allow('users:get', 'arn:svc:*')]),
      makeGroup([allow('users:get')]),
      'users:get',
      '*',
    ],
    [
      'resources of which one is denied',
      makeGroup([allow('users:get'), deny('users:get', `${USERS}1`)]),
      makeGroup([allow('users:get', `${USERS}*`)]),
      'users:get',
      `${USERS}*`,
    ],
    [
      'something with a narrower Deny',
      makeGroup([allow('users:get'), deny('users:get', `${USERS}*`)]),
      makeGroup([allow('users:get'), deny('users:get', `${USERS}1`)]),
      'users:get',
      '*',
    ],
    [
      'something with a Deny of another action',
      makeGroup([allow('users:*'), deny('users:*', `${USERS}1`)]),
      makeGroup([allow('users:get'), deny('users:list', `${USERS}1`)]),
      'users:get',
      '*',
    ],
    [
      'a role beyond the policies',
      makeGroup([allow('users:list users:get')]),
      makeGroup([], reader),
      'users:list_integration_users',
      '*',
    ],
    [
      'a role over a Deny',
      makeGroup([deny('users:ListUsers')], everyRole),
      makeGroup([], reader),
      'users:ListUsers',
      '*',
    ],
    [
      'a legacy permission on another resource',
      makeGroup([allow('users:*', `${USERS}1`)]),
      makeGroup([], oneUser),
      'users:list',
      USERS + 'a'.repeat(24),
    ],
    [
      'FullAdmin, from a role of everything with a Deny',
      makeGroup([deny('company:update_sso')], everyRole),
      makeGroup(managedPolicyNamed('FullAdmin').document.statements),
      'company:update_sso',
      '*',
    ],
  ])('may not be %s', (_, granter, granted, action, resource) => {
    expect(findCeilingExcess(granter, granted)).toEqual({ action, resource });
  });

  test('may be anything from the owner', () => {
    expect(findCeilingExcess(makeGroup([deny('*')]), makeGroup([allow('*')]), true)).toBeNull();
  });

  // It holds nothing that the granter has not: it is refused for the number of comparisons that would show this.
  test('may not be too large to compare', () => {
    const many = (prefix: string): PolicyStatement[] =>
      Array.from({ length: 20 }, (_, block) =>
        allow('*', Array.from({ length: 100 }, (_, i) => `arn:svc:users::${prefix}${block}x${i}*`).join(' ')),
      );
    expect(findCeilingExcess(makeGroup([allow('*', 'arn:*')]), makeGroup(many('b')))).toBeNull();
    expect(findCeilingExcess(makeGroup([...many('a'), allow('*', 'arn:*')]), makeGroup(many('b')))).not.toBeNull();
  });
});

test('a grant that is accepted allows nothing that its granter may not do', () => {
  let passed = 0;
  fc.assert(
    fc.property(sources, sources, fc.boolean(), (of, granted, alsoOwn) => {
      // Half of the grants hold the granter's own groups too, so that enough of them pass.
      const gift = alsoOwn ? { ...granted, groups: [...of.groups, ...granted.groups.slice(0, 1)] } : granted;
      const granter = compileAccess(of);
      if (isAdministrator(granter) || findExcess(granter, gift) !== null) return;
      const receiver = compileAccess(gift);
      let given = 0;
      for (const action of SOME_ACTIONS) {
        for (const resource of SOME_RESOURCES) {
          if (!decide(receiver, action, resource).allowed) continue;
          given += 1;
          expect(decide(granter, action, resource).allowed).toBe(true);
        }
      }
      if (given > 0) passed += 1;
    }),
    { numRuns: 1500 },
  );
  expect(passed).toBeGreaterThan(20);
});

test('somebody who is no administrator may grant all of their own groups', () => {
  fc.assert(
    fc.property(sources, (of) => {
      expect(findExcess(compileAccess(of), of)).toBeNull();
    }),
    { numRuns: 300 },
  );
});
