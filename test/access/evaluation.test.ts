import { describe, expect, test } from 'vitest';
import type { AccessSources, GroupGrants } from '../../src/access/evaluation.ts';
import {
  compileAccess,
  decide,
  dependsOnResource,
  isAdministrator,
  listAllowedActions,
} from '../../src/access/evaluation.ts';
import type { Action } from '../../src/permissions/actions.ts';
import { ALL_ACTIONS } from '../../src/permissions/actions.ts';
import type { PolicyStatement } from '../../src/permissions/policy-document.ts';
import { COMPANY, documentOf } from '../permissions/arbitrary.ts';

const allow = (actions: string, resources = '*', sid?: string): PolicyStatement => ({
  effect: 'Allow',
  actions: actions.split(' '),
  resources: resources.split(' '),
  ...(sid ? { sid } : {}),
});
const deny = (actions: string, resources = '*', sid?: string): PolicyStatement => ({
  ...allow(actions, resources, sid),
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
    document: documentOf(...statements),
  })),
  roles: [],
  permissions: [],
  ...legacy,
});
const makeAccess = (...groups: GroupGrants[]) => compileAccess({ companyId: COMPANY, isOwner: false, groups });
const USERS = `arn:svc:users::${COMPANY}:user/`;

describe('an access decision', () => {
  const table: [string, AccessSources['groups'], Action, string, string][] = [
    ['no statement at all', [], 'users:list', '*', 'none - - -'],
    ['an Allow', [makeGroup('g', { p: [allow('users:list', '*', 's')] })], 'users:list', '*', 'allow p s g'],
    ['an Allow without sid', [makeGroup('g', { p: [allow('users:*')] })], 'users:get', `${USERS}1`, 'allow p - g'],
    ['an Allow of another action only', [makeGroup('g', { p: [allow('users:list')] })], 'users:get', '*', 'none - - -'],
    [
      'an Allow of the beginning of the action only',
      [makeGroup('g', { p: [allow('users:list')] })],
      'users:list_integration_users',
      '*',
      'none - - -',
    ],
    [
      'a Deny in the same policy',
      [makeGroup('g', { p: [allow('*'), deny('users:get', '*', 'no')] })],
      'users:get',
      '*',
      'deny p no g',
    ],
    [
      'a Deny in another group',
      [makeGroup('g', { p: [allow('*')] }), makeGroup('h', { q: [deny('users:*')] })],
      'users:get',
      '*',
      'deny q - h',
    ],
    [
      'an Allow, beside a Deny of other actions',
      [makeGroup('g', { p: [allow('*'), deny('groups:*')] })],
      'users:get',
      '*',
      'allow p - g',
    ],
    [
      'an Allow, beside a Deny of another resource',
      [makeGroup('g', { p: [allow('*'), deny('*', `${USERS}2`)] })],
      'users:get',
      `${USERS}1`,
      'allow p - g',
    ],
    [
      'an Allow of all users, beside a Deny of one',
      [makeGroup('g', { p: [allow('*'), deny('*', `${USERS}2`)] })],
      'users:list',
      `${USERS}*`,
      'allow p - g',
    ],
    [
      'an Allow of one user only, asked for all',
      [makeGroup('g', { p: [allow('*', `${USERS}2`)] })],
      'users:list',
      `${USERS}*`,
      'none - - -',
    ],
    [
      'an Allow of all users',
      [makeGroup('g', { p: [allow('*', `${USERS}*`)] })],
      'users:list',
      `${USERS}*`,
      'allow p - g',
    ],
    [
      'an Allow of all users only, asked for everything',
      [makeGroup('g', { p: [allow('*', `${USERS}*`)] })],
      'users:list',
      '*',
      'none - - -',
    ],
    [
      'the first of two Allows',
      [makeGroup('g', { p: [allow('users:*')] }), makeGroup('h', { q: [allow('*')] })],
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
      [makeGroup('g', { p: [allow('*')] }, { roles: [{ name: 'r', target: '*', actions: ['*'] }] })],
      'users:list',
      '*',
      'allow p - g',
    ],
    [
      'a Deny, beside a legacy role',
      [makeGroup('g', { p: [deny('users:*')] }, { roles: [{ name: 'r', target: '*', actions: ['*'] }] })],
      'users:list',
      '*',
      'deny p - g',
    ],
  ];
  test.each(table)('names the statement or role that made it: %s', (_, groups, action, resource, expected) => {
    const { allowed, decided_by } = decide(makeAccess(...groups), action, resource);
    const told = [decided_by.kind, decided_by.policy_id ?? '-', decided_by.sid ?? '-', decided_by.group_id ?? '-'];
    expect(told.join(' ')).toBe(expected);
    expect(allowed).toBe(['allow', 'legacy'].includes(decided_by.kind));
  });

  test('allows the owner even what is denied', () => {
    const owner = compileAccess({ companyId: COMPANY, isOwner: true, groups: [makeGroup('g', { p: [deny('*')] })] });
    expect(decide(owner, 'users:list', '*')).toEqual({
      allowed: true,
      decided_by: { kind: 'owner', policy_id: null, sid: null, group_id: null },
    });
    expect(listAllowedActions(owner)).toEqual(ALL_ACTIONS);
  });
});

describe('legacy grants', () => {
  const legacy = (grants: Partial<GroupGrants>) => makeAccess(makeGroup('g', {}, grants));
  const verbs = (...actions: string[]) => actions as GroupGrants['roles'][number]['actions'];
  const can = (grants: Partial<GroupGrants>, action: Action, resource = '*') =>
    decide(legacy(grants), action, resource).allowed;
  const roleOn = (target: string, ...actions: string[]) => ({
    roles: [{ name: 'r', target, actions: verbs(...actions) }],
  });
  const permissionOn = (target: GroupGrants['permissions'][number]['target'], ...actions: string[]) => ({
    permissions: [{ id: 'x', target, actions: verbs(...actions) }],
  });

  test.each<[string, Partial<GroupGrants>, Action, string, boolean]>([
    ['let a reader list', roleOn('users', 'read'), 'users:list', '*', true],
    ['let a reader get', roleOn('users', 'read'), 'users:get', `${USERS}1`, true],
    ['let a reader list on the other API', roleOn('users', 'read'), 'users:ListUsers', '*', true],
    ['do not let a reader invite', roleOn('users', 'read'), 'users:invite', '*', false],
    ['do not let a reader of users list groups', roleOn('users', 'read'), 'groups:list', '*', false],
    ['let an updater invite', roleOn('users', 'update'), 'users:invite', '*', true],
    ['do not let an updater get', roleOn('users', 'update'), 'users:get', '*', false],
    ['let an updater attach policies', roleOn('groups', 'update'), 'groups:AttachPolicy', '*', true],
    ['reach every service by the target *', roleOn('*', 'delete'), 'permissions:delete', '*', true],
    ['do not let a creator upload', roleOn('managed-tables', 'create'), 'managed-tables:upload', '*', false],
    [
      'let a creator who may update upload',
      roleOn('managed-tables', 'create', 'update'),
      'managed-tables:upload',
      '*',
      true,
    ],
    [
      'do not let anybody share by the four verbs',
      roleOn('*', 'read', 'create', 'update', 'delete'),
      'dashboards:share',
      '*',
      false,
    ],
    ['let somebody share by the verb *', roleOn('dashboards', '*'), 'dashboards:share', '*', true],
    ['reach nothing by an unknown target', roleOn('content', '*'), 'users:list', '*', false],
    ['reach nothing by a target in the singular', roleOn('user', '*'), 'users:list', '*', false],
    ['reach the own company', permissionOn({ company_id: COMPANY }, 'read'), 'groups:list', '*', true],
    [
      'do not reach from another company to this one',
      permissionOn({ company_id: 'f'.repeat(24) }, '*'),
      'groups:list',
      '*',
      false,
    ],
    ['reach the own company by the id *', permissionOn({ company_id: '*' }, '*'), 'company:update_sso', '*', true],
    [
      'reach the service they name',
      permissionOn({ company_id: COMPANY, service_name: 'groups' }, 'read'),
      'groups:list',
      '*',
      true,
    ],
    [
      'do not reach another service',
      permissionOn({ company_id: COMPANY, service_name: 'groups' }, '*'),
      'users:list',
      '*',
      false,
    ],
    [
      'reach each resource by *',
      permissionOn({ company_id: COMPANY, service_name: 'users', service_id: '*' }, 'read'),
      'users:get',
      `${USERS}1`,
      true,
    ],
    [
      'reach the resource they name',
      permissionOn({ company_id: COMPANY, service_name: 'users', service_id: 'a'.repeat(24) }, 'read'),
      'users:get',
      USERS + 'a'.repeat(24),
      true,
    ],
    [
      'do not reach another resource',
      permissionOn({ company_id: COMPANY, service_name: 'users', service_id: 'a'.repeat(24) }, 'read'),
      'users:get',
      USERS + 'b'.repeat(24),
      false,
    ],
    [
      'do not let somebody list by one resource',
      permissionOn({ company_id: COMPANY, service_name: 'users', service_id: 'a'.repeat(24) }, 'read'),
      'users:list',
      `${USERS}*`,
      false,
    ],
    [
      'reach a relation by its id',
      permissionOn({ company_id: COMPANY, service_name: 'ontology', service_id: 'a'.repeat(24) }, 'update'),
      'ontology:update',
      `arn:svc:ontology::${COMPANY}:relation/${'a'.repeat(24)}`,
      true,
    ],
    [
      'reach nothing by an id without a service',
      permissionOn({ company_id: COMPANY, service_id: 'a'.repeat(24) }, '*'),
      'users:get',
      USERS + 'a'.repeat(24),
      false,
    ],
    [
      'reach nothing by an id that is a pattern',
      permissionOn({ company_id: COMPANY, service_name: 'users', service_id: 'a*' }, '*'),
      'users:get',
      USERS + 'a'.repeat(24),
      false,
    ],
    [
      'take null for a service as left out',
      permissionOn({ company_id: COMPANY, service_name: null, service_id: null }, 'read'),
      'users:list',
      '*',
      true,
    ],
  ])('%s', (_, grants, action, resource, expected) => {
    expect(can(grants, action, resource)).toBe(expected);
  });
});

describe('an administrator', () => {
  test.each<[string, boolean, PolicyStatement[]]>([
    ['everything', true, [allow('*')]],
    ['everything, among other things', true, [allow('users:list'), allow('groups:* *', 'arn:svc:* *')]],
    ['everything but one thing', false, [allow('*'), deny('users:get', `${USERS}1`)]],
    ['every action on some resources', false, [allow('*', 'arn:svc:*')]],
    ['some actions', false, [allow('*:*')]],
    ['the two halves apart', false, [allow('*', `${USERS}*`), allow('users:*')]],
    ['nothing', false, []],
  ])('is somebody whose policies allow %s: %j', (_, expected, statements) => {
    expect(isAdministrator(makeAccess(makeGroup('g', { p: statements })))).toBe(expected);
  });

  test('is the owner, and nobody by legacy grants', () => {
    const legacy = makeGroup('g', {}, { roles: [{ name: 'r', target: '*', actions: ['*'] }] });
    expect(isAdministrator(makeAccess(legacy))).toBe(false);
    expect(isAdministrator(compileAccess({ companyId: COMPANY, isOwner: true, groups: [] }))).toBe(true);
  });
});

describe('the check whether a decision depends on the resource', () => {
  test.each<[string, GroupGrants[], boolean]>([
    ['is false without any statement', [], false],
    [
      'is false where all statements are about all resources',
      [makeGroup('g', { p: [allow('users:*'), deny('users:get')] })],
      false,
    ],
    [
      'is false where only statements of other actions name a resource',
      [makeGroup('g', { p: [allow('users:list', `${USERS}1`)] })],
      false,
    ],
    ['is true where an Allow names resources', [makeGroup('g', { p: [allow('users:*', `${USERS}*`)] })], true],
    ['is true where a Deny names resources', [makeGroup('g', { p: [allow('*'), deny('*', `${USERS}1`)] })], true],
  ])('%s', (_when, groups, depends) => {
    expect(dependsOnResource(makeAccess(...groups), 'users:get')).toBe(depends);
  });

  test('is false for the owner', () => {
    const groups = [makeGroup('g', { p: [deny('*', `${USERS}1`)] })];
    expect(dependsOnResource(compileAccess({ companyId: COMPANY, isOwner: true, groups }), 'users:get')).toBe(false);
  });
});
