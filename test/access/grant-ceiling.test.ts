import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compileAccess, decideAccess, type GroupGrants, isAdministrator } from '../../src/access/evaluation.ts';
import { findExcessGrant } from '../../src/access/grants.ts';
import { getManagedPolicyByName } from '../../src/permissions/managed-policies.ts';
import type { PolicyStatement } from '../../src/permissions/policy-document.ts';
import { arbitrarySources, COMPANY_ID, makeDocument, SOME_ACTIONS, SOME_RESOURCES } from '../permissions/arbitrary.ts';

const USERS_ARN = `arn:svc:users::${COMPANY_ID}:user/`;
const makeStatement = (effect: 'Allow' | 'Deny', actions: string, resources = '*'): PolicyStatement => ({
  effect,
  actions: actions.split(' '),
  resources: resources.split(' '),
});
const makeAllow = (actions: string, resources?: string) => makeStatement('Allow', actions, resources);
const makeDeny = (actions: string, resources?: string) => makeStatement('Deny', actions, resources);
const makeGroup = (statements: PolicyStatement[], legacy: Partial<GroupGrants> = {}): GroupGrants => ({
  id: 'g',
  policies: [{ id: 'p', document: makeDocument(...statements) }],
  roles: [],
  permissions: [],
  ...legacy,
});
const FULL_ROLE: Partial<GroupGrants> = { roles: [{ name: 'r', target: '*', actions: ['*'] }] };
const reader: Partial<GroupGrants> = { roles: [{ name: 'r', target: 'users', actions: ['read'] }] };
const ONE_USER_PERMISSION: Partial<GroupGrants> = {
  permissions: [
    {
      id: 'x',
      target: { company_id: COMPANY_ID, service_name: 'users', service_id: 'a'.repeat(24) },
      actions: ['read'],
    },
  ],
};

const findCeilingExcess = (granter: GroupGrants, newGrant: GroupGrants, isOwner = false) =>
  findExcessGrant(compileAccess({ companyId: COMPANY_ID, isOwner, groups: [granter] }), {
    companyId: COMPANY_ID,
    groups: [newGrant],
  });

describe('a grant that replaces another', () => {
  const findReplacementExcess = (granter: GroupGrants, replacedGrant: GroupGrants, newGrant: GroupGrants) =>
    findExcessGrant(
      compileAccess({ companyId: COMPANY_ID, isOwner: false, groups: [granter] }),
      { companyId: COMPANY_ID, groups: [newGrant] },
      { companyId: COMPANY_ID, groups: [replacedGrant] },
    );

  test.each<[string, GroupGrants, GroupGrants, GroupGrants]>([
    ['may stay as it is', makeGroup([]), makeGroup([makeAllow('*')]), makeGroup([makeAllow('*')])],
    [
      'may be narrowed',
      makeGroup([]),
      makeGroup([makeAllow('users:*')]),
      makeGroup([makeAllow('users:get', `${USERS_ARN}*`)]),
    ],
    [
      'may be a policy within a legacy role',
      makeGroup([]),
      makeGroup([], reader),
      makeGroup([makeAllow('users:list')]),
    ],
    [
      'may grow by what the granter has',
      makeGroup([makeAllow('groups:list')]),
      makeGroup([makeAllow('users:*')]),
      makeGroup([makeAllow('users:* groups:list')]),
    ],
    [
      'may stay as it is though the granter is denied it',
      makeGroup([makeAllow('groups:list'), makeDeny('users:*')]),
      makeGroup([makeAllow('users:*')]),
      makeGroup([makeAllow('users:*')]),
    ],
  ])('%s', (_what, granter, replacedGrant, newGrant) => {
    expect(findReplacementExcess(granter, replacedGrant, newGrant)).toBeNull();
  });

  test.each<[string, GroupGrants, GroupGrants, GroupGrants]>([
    [
      'by another action',
      makeGroup([]),
      makeGroup([makeAllow('users:get')]),
      makeGroup([makeAllow('users:get users:list')]),
    ],
    [
      'by other resources',
      makeGroup([]),
      makeGroup([makeAllow('users:get', `${USERS_ARN}1`)]),
      makeGroup([makeAllow('users:get', `${USERS_ARN}*`)]),
    ],
    [
      'by a pattern that only the granter and the old grant together cover',
      makeGroup([makeAllow('users:get', `${USERS_ARN}a*`)]),
      makeGroup([makeAllow('users:get', `${USERS_ARN}b*`)]),
      makeGroup([makeAllow('users:get', `${USERS_ARN}*`)]),
    ],
    [
      'by an action that it only denied',
      makeGroup([]),
      makeGroup([makeDeny('users:*')]),
      makeGroup([makeAllow('users:get')]),
    ],
  ])('may not grow %s', (_what, granter, replacedGrant, newGrant) => {
    expect(findReplacementExcess(granter, replacedGrant, newGrant)).not.toBeNull();
  });
});

describe('a grant', () => {
  test.each<[string, GroupGrants, GroupGrants]>([
    ['nothing, from somebody without access', makeGroup([]), makeGroup([])],
    ['anything, from an administrator', makeGroup([makeAllow('*')]), makeGroup([makeAllow('*')], FULL_ROLE)],
    ['the same as the granter has', makeGroup([makeAllow('users:*')]), makeGroup([makeAllow('users:*')])],
    ['fewer actions', makeGroup([makeAllow('users:*')]), makeGroup([makeAllow('users:list users:get')])],
    ['a pattern over the same actions', makeGroup([makeAllow('metadata:read')]), makeGroup([makeAllow('metadata:*')])],
    [
      'fewer resources',
      makeGroup([makeAllow('users:get', `${USERS_ARN}*`)]),
      makeGroup([makeAllow('users:get', `${USERS_ARN}1`)]),
    ],
    [
      'a narrower pattern',
      makeGroup([makeAllow('users:get', `${USERS_ARN}*`)]),
      makeGroup([makeAllow('users:get', `${USERS_ARN}a*b`)]),
    ],
    [
      'what several statements allow together',
      makeGroup([makeAllow('users:get'), makeAllow('groups:get')]),
      makeGroup([makeAllow('users:get groups:get')]),
    ],
    [
      'what stands apart from the denied actions',
      makeGroup([makeAllow('*'), makeDeny('groups:*')]),
      makeGroup([makeAllow('users:*')]),
    ],
    [
      'what stands apart from the denied resource',
      makeGroup([makeAllow('*'), makeDeny('*', `${USERS_ARN}1`)]),
      makeGroup([makeAllow('users:get', `${USERS_ARN}2`)]),
    ],
    [
      'everything with the same Deny',
      makeGroup([makeAllow('*'), makeDeny('users:*', `${USERS_ARN}1`)]),
      makeGroup([makeAllow('*'), makeDeny('users:*', `${USERS_ARN}1`)]),
    ],
    [
      'something with a wider Deny',
      makeGroup([makeAllow('*'), makeDeny('users:get', `${USERS_ARN}1`)]),
      makeGroup([makeAllow('users:get'), makeDeny('*', `${USERS_ARN}*`)]),
    ],
    [
      'an Allow that a Deny cancels',
      makeGroup([]),
      makeGroup([makeAllow('users:get', `${USERS_ARN}1`), makeDeny('users:*', `${USERS_ARN}*`)]),
    ],
    ['a mere Deny', makeGroup([]), makeGroup([makeDeny('*')])],
    ['a role that policies cover', makeGroup([makeAllow('users:*')]), makeGroup([], reader)],
    [
      'a policy that a role covers',
      makeGroup([], reader),
      makeGroup([makeAllow('users:list users:get users:ListUsers')]),
    ],
    ['a role that a role covers', makeGroup([], FULL_ROLE), makeGroup([], reader)],
    [
      'a legacy permission on one resource',
      makeGroup([makeAllow('users:*', `${USERS_ARN}*`)]),
      makeGroup([], ONE_USER_PERMISSION),
    ],
    [
      'ReadOnly, from a role of everything',
      makeGroup([], FULL_ROLE),
      makeGroup(getManagedPolicyByName('ReadOnly').document.statements),
    ],
  ])('may be %s', (_, granter, newGrant) => {
    expect(findCeilingExcess(granter, newGrant)).toBeNull();
  });
});

describe('a grant beyond what the granter has', () => {
  test.each<[string, GroupGrants, GroupGrants, string, string]>([
    ['anything, from somebody without access', makeGroup([]), makeGroup([makeAllow('users:list')]), 'users:list', '*'],
    [
      'everything, from somebody who is denied one thing',
      makeGroup([makeAllow('*'), makeDeny('metadata:read')]),
      makeGroup([makeAllow('*')]),
      'metadata:read',
      '*',
    ],
    [
      'more actions',
      makeGroup([makeAllow('users:list')]),
      makeGroup([makeAllow('users:list users:get')]),
      'users:get',
      '*',
    ],
    [
      'more resources',
      makeGroup([makeAllow('users:get', `${USERS_ARN}1`)]),
      makeGroup([makeAllow('users:get', `${USERS_ARN}*`)]),
      'users:get',
      `${USERS_ARN}*`,
    ],
    [
      'all resources, from somebody with all of this service',
      makeGroup([makeAllow('users:get', 'arn:svc:*')]),
      makeGroup([makeAllow('users:get')]),
      'users:get',
      '*',
    ],
    [
      'resources of which one is denied',
      makeGroup([makeAllow('users:get'), makeDeny('users:get', `${USERS_ARN}1`)]),
      makeGroup([makeAllow('users:get', `${USERS_ARN}*`)]),
      'users:get',
      `${USERS_ARN}*`,
    ],
    [
      'something with a narrower Deny',
      makeGroup([makeAllow('users:get'), makeDeny('users:get', `${USERS_ARN}*`)]),
      makeGroup([makeAllow('users:get'), makeDeny('users:get', `${USERS_ARN}1`)]),
      'users:get',
      '*',
    ],
    [
      'something with a Deny of another action',
      makeGroup([makeAllow('users:*'), makeDeny('users:*', `${USERS_ARN}1`)]),
      makeGroup([makeAllow('users:get'), makeDeny('users:list', `${USERS_ARN}1`)]),
      'users:get',
      '*',
    ],
    [
      'a role beyond the policies',
      makeGroup([makeAllow('users:list users:get')]),
      makeGroup([], reader),
      'users:list_integration_users',
      '*',
    ],
    [
      'a role over a Deny',
      makeGroup([makeDeny('users:ListUsers')], FULL_ROLE),
      makeGroup([], reader),
      'users:ListUsers',
      '*',
    ],
    [
      'a legacy permission on another resource',
      makeGroup([makeAllow('users:*', `${USERS_ARN}1`)]),
      makeGroup([], ONE_USER_PERMISSION),
      'users:list',
      USERS_ARN + 'a'.repeat(24),
    ],
    [
      'FullAdmin, from a role of everything with a Deny',
      makeGroup([makeDeny('company:update_sso')], FULL_ROLE),
      makeGroup(getManagedPolicyByName('FullAdmin').document.statements),
      'company:update_sso',
      '*',
    ],
  ])('may not be %s', (_, granter, newGrant, action, resource) => {
    expect(findCeilingExcess(granter, newGrant)).toEqual({ action, resource });
  });

  test('may be any grant if the granter is the owner', () => {
    expect(findCeilingExcess(makeGroup([makeDeny('*')]), makeGroup([makeAllow('*')]), true)).toBeNull();
  });

  // It holds nothing that the granter has not: it is refused for the number of comparisons that would show this.
  test('is refused if the statements are too large to compare', () => {
    const makeStatements = (prefix: string): PolicyStatement[] =>
      Array.from({ length: 20 }, (_, block) =>
        makeAllow('*', Array.from({ length: 100 }, (_, i) => `arn:svc:users::${prefix}${block}x${i}*`).join(' ')),
      );
    expect(findCeilingExcess(makeGroup([makeAllow('*', 'arn:*')]), makeGroup(makeStatements('b')))).toBeNull();
    expect(
      findCeilingExcess(makeGroup([...makeStatements('a'), makeAllow('*', 'arn:*')]), makeGroup(makeStatements('b'))),
    ).not.toBeNull();
  });
});

test('a grant that is accepted allows nothing that its granter may not do', () => {
  let checkedGrantCount = 0;
  fc.assert(
    fc.property(arbitrarySources, arbitrarySources, fc.boolean(), (sources, newSources, includesOwnGroups) => {
      // Half of the grants hold the granter's own groups too, so that enough of them pass.
      const grantedSources = includesOwnGroups
        ? { ...newSources, groups: [...sources.groups, ...newSources.groups.slice(0, 1)] }
        : newSources;
      const granter = compileAccess(sources);
      if (isAdministrator(granter) || findExcessGrant(granter, grantedSources) !== null) return;
      const receiver = compileAccess(grantedSources);
      let allowedCount = 0;
      for (const action of SOME_ACTIONS) {
        for (const resource of SOME_RESOURCES) {
          if (!decideAccess(receiver, action, resource).allowed) continue;
          allowedCount += 1;
          expect(decideAccess(granter, action, resource).allowed).toBe(true);
        }
      }
      if (allowedCount > 0) checkedGrantCount += 1;
    }),
    { numRuns: 1500 },
  );
  expect(checkedGrantCount).toBeGreaterThan(20);
});

test('a user who is not an administrator may grant all of their own groups', () => {
  fc.assert(
    fc.property(arbitrarySources, (sources) => {
      expect(findExcessGrant(compileAccess(sources), sources)).toBeNull();
    }),
    { numRuns: 300 },
  );
});
