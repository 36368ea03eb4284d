import { describe, expect, test } from 'vitest';
import type { AccessSources, GroupGrants } from '../../src/access/evaluation.ts';
import {
  compileAccess,
  decideAccess,
  dependsOnResource,
  isAdministrator,
  listAllowedActions,
} from '../../src/access/evaluation.ts';
import type { Action } from '../../src/permissions/actions.ts';
import { ALL_ACTIONS } from '../../src/permissions/actions.ts';
import type { PolicyStatement } from '../../src/permissions/policy-document.ts';
import { COMPANY_ID, makeDocument } from '../permissions/arbitrary.ts';

const makeAllow = (actions: string, resources = '*', sid?: string): PolicyStatement => ({
  effect: 'Allow',
  actions: actions.split(' '),
  resources: resources.split(' '),
  ...(sid ? { sid } : {}),
});
const makeDeny = (actions: string, resources = '*', sid?: string): PolicyStatement => ({
  ...makeAllow(actions, resources, sid),
  effect: 'Deny',
});
const makeGroup = (
  id: string,
  policies: Record<string, PolicyStatement[]>,
  legacy: Partial<GroupGrants> = {},
): GroupGrants => ({
  id,
  policies: Object.entries(policies).map(([policyId, statements]) => ({
    id: policyId,
    document: makeDocument(...statements),
  })),
  roles: [],
  permissions: [],
  ...legacy,
});
const makeAccess = (...groups: GroupGrants[]) => compileAccess({ companyId: COMPANY_ID, isOwner: false, groups });
const USERS_ARN = `arn:svc:users::${COMPANY_ID}:user/`;

describe('an access decision', () => {
  const table: [string, AccessSources['groups'], Action, string, string][] = [
    ['no statement at all', [], 'users:list', '*', 'none - - -'],
    ['an Allow', [makeGroup('g', { p: [makeAllow('users:list', '*', 's')] })], 'users:list', '*', 'allow p s g'],
    [
      'an Allow without sid',
      [makeGroup('g', { p: [makeAllow('users:*')] })],
      'users:get',
      `${USERS_ARN}1`,
      'allow p - g',
    ],
    [
      'an Allow of another action only',
      [makeGroup('g', { p: [makeAllow('users:list')] })],
      'users:get',
      '*',
      'none - - -',
    ],
    [
      'an Allow of the beginning of the action only',
      [makeGroup('g', { p: [makeAllow('users:list')] })],
      'users:list_integration_users',
      '*',
      'none - - -',
    ],
    [
      'a Deny in the same policy',
      [makeGroup('g', { p: [makeAllow('*'), makeDeny('users:get', '*', 'no')] })],
      'users:get',
      '*',
      'deny p no g',
    ],
    [
      'a Deny in another group',
      [makeGroup('g', { p: [makeAllow('*')] }), makeGroup('h', { q: [makeDeny('users:*')] })],
      'users:get',
      '*',
      'deny q - h',
    ],
    [
      'an Allow, beside a Deny of other actions',
      [makeGroup('g', { p: [makeAllow('*'), makeDeny('groups:*')] })],
      'users:get',
      '*',
      'allow p - g',
    ],
    [
      'an Allow, beside a Deny of another resource',
      [makeGroup('g', { p: [makeAllow('*'), makeDeny('*', `${USERS_ARN}2`)] })],
      'users:get',
      `${USERS_ARN}1`,
      'allow p - g',
    ],
    [
      'an Allow of all users, beside a Deny of one',
      [makeGroup('g', { p: [makeAllow('*'), makeDeny('*', `${USERS_ARN}2`)] })],
      'users:list',
      `${USERS_ARN}*`,
      'allow p - g',
    ],
    [
      'an Allow of one user only, asked for all',
      [makeGroup('g', { p: [makeAllow('*', `${USERS_ARN}2`)] })],
      'users:list',
      `${USERS_ARN}*`,
      'none - - -',
    ],
    [
      'an Allow of all users',
      [makeGroup('g', { p: [makeAllow('*', `${USERS_ARN}*`)] })],
      'users:list',
      `${USERS_ARN}*`,
      'allow p - g',
    ],
    [
      'an Allow of all users only, asked for everything',
      [makeGroup('g', { p: [makeAllow('*', `${USERS_ARN}*`)] })],
      'users:list',
      '*',
      'none - - -',
    ],
    [
      'the first of two Allows',
      [makeGroup('g', { p: [makeAllow('users:*')] }), makeGroup('h', { q: [makeAllow('*')] })],
      'users:list',
      '*',
      'allow p - g',
    ],
    [
      'a legacy role',
      [makeGroup('g', {}, { roles: [{ name: 'r', target: 'users', actions: ['read'] }] })],
      'users:list',
      '*',
      'legacy - - g',
    ],
    [
      'an Allow, beside a legacy role',
      [makeGroup('g', { p: [makeAllow('*')] }, { roles: [{ name: 'r', target: '*', actions: ['*'] }] })],
      'users:list',
      '*',
      'allow p - g',
    ],
    [
      'a Deny, beside a legacy role',
      [makeGroup('g', { p: [makeDeny('users:*')] }, { roles: [{ name: 'r', target: '*', actions: ['*'] }] })],
      'users:list',
      '*',
      'deny p - g',
    ],
  ];
  test.each(table)('names the statement or role that made it: %s', (_, groups, action, resource, expected) => {
    const { allowed, decided_by } = decideAccess(makeAccess(...groups), action, resource);
    const decisionParts = [
      decided_by.kind,
      decided_by.policy_id ?? '-',
      decided_by.sid ?? '-',
      decided_by.group_id ?? '-',
    ];
    expect(decisionParts.join(' ')).toBe(expected);
    expect(allowed).toBe(['allow', 'legacy'].includes(decided_by.kind));
  });

  test('allows the owner even an action that a policy denies', () => {
    const owner = compileAccess({
      companyId: COMPANY_ID,
      isOwner: true,
      groups: [makeGroup('g', { p: [makeDeny('*')] })],
    });
    expect(decideAccess(owner, 'users:list', '*')).toEqual({
      allowed: true,
      decided_by: { kind: 'owner', policy_id: null, sid: null, group_id: null },
    });
    expect(listAllowedActions(owner)).toEqual(ALL_ACTIONS);
  });
});

describe('legacy grants', () => {
  const makeLegacyAccess = (grants: Partial<GroupGrants>) => makeAccess(makeGroup('g', {}, grants));
  const makeVerbs = (...actions: string[]) => actions as GroupGrants['roles'][number]['actions'];
  const isAllowed = (grants: Partial<GroupGrants>, action: Action, resource = '*') =>
    decideAccess(makeLegacyAccess(grants), action, resource).allowed;
  const makeRole = (target: string, ...actions: string[]) => ({
    roles: [{ name: 'r', target, actions: makeVerbs(...actions) }],
  });
  const makePermission = (target: GroupGrants['permissions'][number]['target'], ...actions: string[]) => ({
    permissions: [{ id: 'x', target, actions: makeVerbs(...actions) }],
  });

  test.each<[string, Partial<GroupGrants>, Action, string, boolean]>([
    ['let a reader list', makeRole('users', 'read'), 'users:list', '*', true],
    ['let a reader get', makeRole('users', 'read'), 'users:get', `${USERS_ARN}1`, true],
    ['let a reader list on the other API', makeRole('users', 'read'), 'users:ListUsers', '*', true],
    ['do not let a reader invite', makeRole('users', 'read'), 'users:invite', '*', false],
    ['do not let a reader of users list groups', makeRole('users', 'read'), 'groups:list', '*', false],
    ['let an updater invite', makeRole('users', 'update'), 'users:invite', '*', true],
    ['do not let an updater get', makeRole('users', 'update'), 'users:get', '*', false],
    ['let an updater attach policies', makeRole('groups', 'update'), 'groups:AttachPolicy', '*', true],
    ['reach every service by the target *', makeRole('*', 'delete'), 'permissions:delete', '*', true],
    ['do not let a creator upload', makeRole('managed-tables', 'create'), 'managed-tables:upload', '*', false],
    [
      'let a creator who may update upload',
      makeRole('managed-tables', 'create', 'update'),
      'managed-tables:upload',
      '*',
      true,
    ],
    [
      'do not let anybody share by the four verbs',
      makeRole('*', 'read', 'create', 'update', 'delete'),
      'dashboards:share',
      '*',
      false,
    ],
    ['let somebody share by the verb *', makeRole('dashboards', '*'), 'dashboards:share', '*', true],
    ['reach nothing by an unknown target', makeRole('content', '*'), 'users:list', '*', false],
    ['reach nothing by a target in the singular', makeRole('user', '*'), 'users:list', '*', false],
    ['reach the own company', makePermission({ company_id: COMPANY_ID }, 'read'), 'groups:list', '*', true],
    [
      'do not reach from another company to this one',
      makePermission({ company_id: 'f'.repeat(24) }, '*'),
      'groups:list',
      '*',
      false,
    ],
    ['reach the own company by the id *', makePermission({ company_id: '*' }, '*'), 'company:update_sso', '*', true],
    [
      'reach the service they name',
      makePermission({ company_id: COMPANY_ID, service_name: 'groups' }, 'read'),
      'groups:list',
      '*',
      true,
    ],
    [
      'do not reach another service',
      makePermission({ company_id: COMPANY_ID, service_name: 'groups' }, '*'),
      'users:list',
      '*',
      false,
    ],
    [
      'reach each resource by *',
      makePermission({ company_id: COMPANY_ID, service_name: 'users', service_id: '*' }, 'read'),
      'users:get',
      `${USERS_ARN}1`,
      true,
    ],
    [
      'reach the resource they name',
      makePermission({ company_id: COMPANY_ID, service_name: 'users', service_id: 'a'.repeat(24) }, 'read'),
      'users:get',
      USERS_ARN + 'a'.repeat(24),
      true,
    ],
    [
      'do not reach another resource',
      makePermission({ company_id: COMPANY_ID, service_name: 'users', service_id: 'a'.repeat(24) }, 'read'),
      'users:get',
      USERS_ARN + 'b'.repeat(24),
      false,
    ],
    [
      'do not let somebody list by one resource',
      makePermission({ company_id: COMPANY_ID, service_name: 'users', service_id: 'a'.repeat(24) }, 'read'),
      'users:list',
      `${USERS_ARN}*`,
      false,
    ],
    [
      'reach a relation by its id',
      makePermission({ company_id: COMPANY_ID, service_name: 'ontology', service_id: 'a'.repeat(24) }, 'update'),
      'ontology:update',
      `arn:svc:ontology::${COMPANY_ID}:relation/${'a'.repeat(24)}`,
      true,
    ],
    [
      'reach nothing by an id without a service',
      makePermission({ company_id: COMPANY_ID, service_id: 'a'.repeat(24) }, '*'),
      'users:get',
      USERS_ARN + 'a'.repeat(24),
      false,
    ],
    [
      'reach nothing by an id that is a pattern',
      makePermission({ company_id: COMPANY_ID, service_name: 'users', service_id: 'a*' }, '*'),
      'users:get',
      USERS_ARN + 'a'.repeat(24),
      false,
    ],
    [
      'take null for a service as left out',
      makePermission({ company_id: COMPANY_ID, service_name: null, service_id: null }, 'read'),
      'users:list',
      '*',
      true,
    ],
  ])('%s', (_, grants, action, resource, expected) => {
    expect(isAllowed(grants, action, resource)).toBe(expected);
  });
});

describe('an administrator', () => {
  test.each<[string, boolean, PolicyStatement[]]>([
    ['everything', true, [makeAllow('*')]],
    ['everything, among other things', true, [makeAllow('users:list'), makeAllow('groups:* *', 'arn:svc:* *')]],
    ['everything but one thing', false, [makeAllow('*'), makeDeny('users:get', `${USERS_ARN}1`)]],
    ['every action on some resources', false, [makeAllow('*', 'arn:svc:*')]],
    ['some actions', false, [makeAllow('*:*')]],
    ['the two halves apart', false, [makeAllow('*', `${USERS_ARN}*`), makeAllow('users:*')]],
    ['nothing', false, []],
  ])('is a user whose policies allow %s: %j', (_, expectedResult, statements) => {
    expect(isAdministrator(makeAccess(makeGroup('g', { p: statements })))).toBe(expectedResult);
  });

  test('is the owner, and no user with legacy grants alone', () => {
    const legacy = makeGroup('g', {}, { roles: [{ name: 'r', target: '*', actions: ['*'] }] });
    expect(isAdministrator(makeAccess(legacy))).toBe(false);
    expect(isAdministrator(compileAccess({ companyId: COMPANY_ID, isOwner: true, groups: [] }))).toBe(true);
  });
});

describe('the check whether a decision depends on the resource', () => {
  test.each<[string, GroupGrants[], boolean]>([
    ['is false without any statement', [], false],
    [
      'is false where all statements are about all resources',
      [makeGroup('g', { p: [makeAllow('users:*'), makeDeny('users:get')] })],
      false,
    ],
    [
      'is false where only statements of other actions name a resource',
      [makeGroup('g', { p: [makeAllow('users:list', `${USERS_ARN}1`)] })],
      false,
    ],
    ['is true where an Allow names resources', [makeGroup('g', { p: [makeAllow('users:*', `${USERS_ARN}*`)] })], true],
    [
      'is true where a Deny names resources',
      [makeGroup('g', { p: [makeAllow('*'), makeDeny('*', `${USERS_ARN}1`)] })],
      true,
    ],
  ])('%s', (_when, groups, isDependent) => {
    expect(dependsOnResource(makeAccess(...groups), 'users:get')).toBe(isDependent);
  });

  test('is false for the owner', () => {
    const groups = [makeGroup('g', { p: [makeDeny('*', `${USERS_ARN}1`)] })];
    expect(dependsOnResource(compileAccess({ companyId: COMPANY_ID, isOwner: true, groups }), 'users:get')).toBe(false);
  });
});
