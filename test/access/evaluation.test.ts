import { describe, expect, test } from 'vitest';
import type { AccessSources, GroupGrants } from '../../src/access/evaluation.ts';
import {
  allowedActions,
  compileAccess,
  decide,
  dependsOnResource,
  isAdministrator,
} from '../../src/access/evaluation.ts';
import type { Action } from '../../src/kernel/actions.ts';
import { ALL_ACTIONS } from '../../src/kernel/actions.ts';
import type { PolicyStatement } from '../../src/kernel/policy-document.ts';
import { COMPANY, documentOf } from '../kernel/arbitrary.ts';

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
const group = (
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
const access = (...groups: GroupGrants[]) => compileAccess({ companyId: COMPANY, isOwner: false, groups });
const USERS = `arn:svc:users::${COMPANY}:user/`;

describe('a decision names what made it', () => {
  const table: [string, AccessSources['groups'], Action, string, string][] = [
    ['nothing', [], 'users:list', '*', 'none - - -'],
    ['an allow', [group('g', { p: [allow('users:list', '*', 's')] })], 'users:list', '*', 'allow p s g'],
    ['an allow without sid', [group('g', { p: [allow('users:*')] })], 'users:get', `${USERS}1`, 'allow p - g'],
    ['another action', [group('g', { p: [allow('users:list')] })], 'users:get', '*', 'none - - -'],
    ['a longer action', [group('g', { p: [allow('users:list')] })], 'users:list_integration_users', '*', 'none - - -'],
    [
      'a deny in the same policy',
      [group('g', { p: [allow('*'), deny('users:get', '*', 'no')] })],
      'users:get',
      '*',
      'deny p no g',
    ],
    [
      'a deny elsewhere',
      [group('g', { p: [allow('*')] }), group('h', { q: [deny('users:*')] })],
      'users:get',
      '*',
      'deny q - h',
    ],
    ['a deny of other actions', [group('g', { p: [allow('*'), deny('groups:*')] })], 'users:get', '*', 'allow p - g'],
    [
      'a deny of other resources',
      [group('g', { p: [allow('*'), deny('*', `${USERS}2`)] })],
      'users:get',
      `${USERS}1`,
      'allow p - g',
    ],
    [
      'a deny of one, asked for all',
      [group('g', { p: [allow('*'), deny('*', `${USERS}2`)] })],
      'users:list',
      `${USERS}*`,
      'allow p - g',
    ],
    [
      'an allow of one, asked for all',
      [group('g', { p: [allow('*', `${USERS}2`)] })],
      'users:list',
      `${USERS}*`,
      'none - - -',
    ],
    [
      'an allow of all of a type, asked for it',
      [group('g', { p: [allow('*', `${USERS}*`)] })],
      'users:list',
      `${USERS}*`,
      'allow p - g',
    ],
    [
      'an allow of a type, asked for everything',
      [group('g', { p: [allow('*', `${USERS}*`)] })],
      'users:list',
      '*',
      'none - - -',
    ],
    [
      'two allows: the first',
      [group('g', { p: [allow('users:*')] }), group('h', { q: [allow('*')] })],
      'users:list',
      '*',
      'allow p - g',
    ],
    [
      'a legacy role',
      [group('g', {}, { roles: [{ name: 'r', target: 'users', actions: ['read'] }] })],
      'users:list',
      '*',
      'legacy - - g',
    ],
    [
      'an allow before a legacy role',
      [group('g', { p: [allow('*')] }, { roles: [{ name: 'r', target: '*', actions: ['*'] }] })],
      'users:list',
      '*',
      'allow p - g',
    ],
    [
      'a deny before a legacy role',
      [group('g', { p: [deny('users:*')] }, { roles: [{ name: 'r', target: '*', actions: ['*'] }] })],
      'users:list',
      '*',
      'deny p - g',
    ],
  ];
  test.each(table)('%s', (_, groups, action, resource, expected) => {
    const { allowed, decided_by } = decide(access(...groups), action, resource);
    const told = [decided_by.kind, decided_by.policy_id ?? '-', decided_by.sid ?? '-', decided_by.group_id ?? '-'];
    expect(told.join(' ')).toBe(expected);
    expect(allowed).toBe(['allow', 'legacy'].includes(decided_by.kind));
  });

  test('the owner is allowed whatever is denied', () => {
    const owner = compileAccess({ companyId: COMPANY, isOwner: true, groups: [group('g', { p: [deny('*')] })] });
    expect(decide(owner, 'users:list', '*')).toEqual({
      allowed: true,
      decided_by: { kind: 'owner', policy_id: null, sid: null, group_id: null },
    });
    expect(allowedActions(owner)).toEqual(ALL_ACTIONS);
  });
});

describe('legacy grants', () => {
  const legacy = (grants: Partial<GroupGrants>) => access(group('g', {}, grants));
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
    ['read lists', roleOn('users', 'read'), 'users:list', '*', true],
    ['read gets', roleOn('users', 'read'), 'users:get', `${USERS}1`, true],
    ['read on the other surface', roleOn('users', 'read'), 'users:ListUsers', '*', true],
    ['read does not invite', roleOn('users', 'read'), 'users:invite', '*', false],
    ['read of users does not list groups', roleOn('users', 'read'), 'groups:list', '*', false],
    ['update invites', roleOn('users', 'update'), 'users:invite', '*', true],
    ['update does not read', roleOn('users', 'update'), 'users:get', '*', false],
    ['update attaches policies', roleOn('groups', 'update'), 'groups:AttachPolicy', '*', true],
    ['a target * is every service', roleOn('*', 'delete'), 'permissions:delete', '*', true],
    ['upload takes create and update', roleOn('managed-tables', 'create'), 'managed-tables:upload', '*', false],
    ['upload with both', roleOn('managed-tables', 'create', 'update'), 'managed-tables:upload', '*', true],
    ['no verb shares', roleOn('*', 'read', 'create', 'update', 'delete'), 'dashboards:share', '*', false],
    ['* shares', roleOn('dashboards', '*'), 'dashboards:share', '*', true],
    ['an unknown target is nothing', roleOn('content', '*'), 'users:list', '*', false],
    ['the singular is no target', roleOn('user', '*'), 'users:list', '*', false],
    ['own company', permissionOn({ company_id: COMPANY }, 'read'), 'groups:list', '*', true],
    ['another company', permissionOn({ company_id: 'f'.repeat(24) }, '*'), 'groups:list', '*', false],
    ['all companies', permissionOn({ company_id: '*' }, '*'), 'company:update_sso', '*', true],
    ['one service', permissionOn({ company_id: COMPANY, service_name: 'groups' }, 'read'), 'groups:list', '*', true],
    ['another service', permissionOn({ company_id: COMPANY, service_name: 'groups' }, '*'), 'users:list', '*', false],
    [
      'every resource',
      permissionOn({ company_id: COMPANY, service_name: 'users', service_id: '*' }, 'read'),
      'users:get',
      `${USERS}1`,
      true,
    ],
    [
      'one resource',
      permissionOn({ company_id: COMPANY, service_name: 'users', service_id: 'a'.repeat(24) }, 'read'),
      'users:get',
      USERS + 'a'.repeat(24),
      true,
    ],
    [
      'another resource',
      permissionOn({ company_id: COMPANY, service_name: 'users', service_id: 'a'.repeat(24) }, 'read'),
      'users:get',
      USERS + 'b'.repeat(24),
      false,
    ],
    [
      'one resource is no list',
      permissionOn({ company_id: COMPANY, service_name: 'users', service_id: 'a'.repeat(24) }, 'read'),
      'users:list',
      `${USERS}*`,
      false,
    ],
    [
      'a relation by id',
      permissionOn({ company_id: COMPANY, service_name: 'ontology', service_id: 'a'.repeat(24) }, 'update'),
      'ontology:update',
      `arn:svc:ontology::${COMPANY}:relation/${'a'.repeat(24)}`,
      true,
    ],
    [
      'an id without a service',
      permissionOn({ company_id: COMPANY, service_id: 'a'.repeat(24) }, '*'),
      'users:get',
      USERS + 'a'.repeat(24),
      false,
    ],
    [
      'an id that is a pattern',
      permissionOn({ company_id: COMPANY, service_name: 'users', service_id: 'a*' }, '*'),
      'users:get',
      USERS + 'a'.repeat(24),
      false,
    ],
    [
      'nulls as left out',
      permissionOn({ company_id: COMPANY, service_name: null, service_id: null }, 'read'),
      'users:list',
      '*',
      true,
    ],
  ])('%s', (_, grants, action, resource, expected) => {
    expect(can(grants, action, resource)).toBe(expected);
  });
});

describe('administrators', () => {
  test.each<[string, boolean, PolicyStatement[]]>([
    ['everything', true, [allow('*')]],
    ['everything among others', true, [allow('users:list'), allow('groups:* *', 'arn:svc:* *')]],
    ['everything but one thing', false, [allow('*'), deny('users:get', `${USERS}1`)]],
    ['every action on some resources', false, [allow('*', 'arn:svc:*')]],
    ['some actions', false, [allow('*:*')]],
    ['the two halves apart', false, [allow('*', `${USERS}*`), allow('users:*')]],
    ['nothing', false, []],
  ])('%s: %j', (_, expected, statements) => {
    expect(isAdministrator(access(group('g', { p: statements })))).toBe(expected);
  });

  test('the owner is one; legacy grants make none', () => {
    const legacy = group('g', {}, { roles: [{ name: 'r', target: '*', actions: ['*'] }] });
    expect(isAdministrator(access(legacy))).toBe(false);
    expect(isAdministrator(compileAccess({ companyId: COMPANY, isOwner: true, groups: [] }))).toBe(true);
  });
});

describe('a decision depends on the resource', () => {
  test.each<[string, GroupGrants[], boolean]>([
    ['never where nothing is said', [], false],
    ['not where all is said about everything', [group('g', { p: [allow('users:*'), deny('users:get')] })], false],
    ['not for what is said about other actions', [group('g', { p: [allow('users:list', `${USERS}1`)] })], false],
    ['where it is allowed on some', [group('g', { p: [allow('users:*', `${USERS}*`)] })], true],
    ['where it is denied on some', [group('g', { p: [allow('*'), deny('*', `${USERS}1`)] })], true],
  ])('%s', (_when, groups, depends) => {
    expect(dependsOnResource(access(...groups), 'users:get')).toBe(depends);
  });

  test('not for the owner', () => {
    const groups = [group('g', { p: [deny('*', `${USERS}1`)] })];
    expect(dependsOnResource(compileAccess({ companyId: COMPANY, isOwner: true, groups }), 'users:get')).toBe(false);
  });
});
