import { describe, expect, test } from 'vitest';
import { compileAccess, isAdministrator, listAllowedActions } from '../../src/access/evaluation.ts';
import { ID_PATTERN } from '../../src/kernel/ids.ts';
import type { Action } from '../../src/permissions/actions.ts';
import { ALL_ACTIONS } from '../../src/permissions/actions.ts';
import { MANAGED_POLICIES, managedPolicyById, managedPolicyNamed } from '../../src/permissions/managed-policies.ts';
import { validateDocument } from '../../src/permissions/policy-document.ts';

const accessOf = (name: string) =>
  compileAccess({
    companyId: 'c',
    isOwner: false,
    groups: [{ id: 'g', policies: [managedPolicyNamed(name)], roles: [], permissions: [] }],
  });
const allowed = (name: string): Action[] => listAllowedActions(accessOf(name));
const ofService = (...services: string[]): Action[] =>
  ALL_ACTIONS.filter((action) => services.includes(action.slice(0, action.indexOf(':'))));

const DATA_API = ['data_api:execute', 'data_api:get_job'];
const SOURCES = [...ofService('connections', 'vpn_profiles', 'managed-tables'), 'metadata:read'];
const EXPECTED: Record<string, string[]> = {
  FullAdmin: [...ALL_ACTIONS],
  UserManager: ['list', 'get', 'invite', 'update', 'activate', 'deactivate', 'assign_groups', 'remove_groups'].map(
    (name) => `users:${name}`,
  ),
  GroupManager: [...ofService('groups'), 'policies:list', 'policies:get'],
  ApiKeyManager: [
    'users:list_integration_users',
    'users:create_integration_user',
    'users:delete_integration_user',
    ...ofService('api_keys'),
  ],
  ConnectionManager: SOURCES,
  DataEngineer: SOURCES,
  VisualizationViewer: [
    ...['list', 'get', 'schedule'].map((name) => `dashboards:${name}`),
    ...['list', 'get', 'execute', 'schedule'].map((name) => `visualizations:${name}`),
    ...DATA_API,
  ],
  VisualizationManager: [
    ...ofService('visualizations', 'analysis-folders'),
    'dashboards:share',
    'dashboards:schedule',
    ...DATA_API,
  ],
  AnalyticsAuthor: [
    ...ofService('visualizations', 'dashboards', 'analysis-folders', 'share_tags', 'viz_api_endpoints'),
    ...DATA_API,
  ],
  KnowledgeManager: [...ofService('concepts', 'semantic', 'ontology', 'knowledge_reviews'), 'metadata:read'],
  PolicyManager: ofService('policies'),
  CompanyAdmin: ofService('company'),
  DataAPIConsumer: DATA_API,
};

describe('the managed policies', () => {
  test.each(Object.entries(EXPECTED))(
    'include %s, which allows exactly the actions of the specification',
    (name, actions) => {
      expect(allowed(name).toSorted()).toEqual([...actions].sort());
    },
  );

  test('include ReadOnly, which reads on both APIs and changes nothing', () => {
    const actions = allowed('ReadOnly');
    for (const read of [
      'users:list',
      'users:ListUsers',
      'accounts:GetAccount',
      'service-accounts:ListKeys',
      'managed-tables:list',
      'managed-tables:data-read',
      'metadata:read',
      'data_api:get_job',
      'policies:get',
    ]) {
      expect(actions).toContain(read);
    }
    const changing =
      /create|update|delete|write|upload|invite|share|execute|attach|detach|Issue|Revoke|Add|Remove|activate/;
    for (const action of actions) expect(action.slice(action.indexOf(':'))).not.toMatch(changing);
  });

  test('are exactly the specified ones, each with a valid document, a stable id and an ARN without a company', () => {
    expect(MANAGED_POLICIES.map((policy) => policy.name).sort()).toEqual([...Object.keys(EXPECTED), 'ReadOnly'].sort());
    for (const { id, arn, name, document } of MANAGED_POLICIES) {
      expect(id).toMatch(ID_PATTERN);
      expect(arn).toBe(`arn:svc:iam:::policy/managed/${name}`);
      expect(validateDocument(document)).toEqual([]);
      expect(managedPolicyById(id)?.name).toBe(name);
    }
    expect(new Set(MANAGED_POLICIES.map((policy) => policy.id)).size).toBe(MANAGED_POLICIES.length);
    expect(managedPolicyNamed('FullAdmin').id).toBe('000000000000000000000001');
    expect(managedPolicyById('000000000000000000000000')).toBeUndefined();
  });

  test('make somebody an administrator only by FullAdmin', () => {
    const administrators = MANAGED_POLICIES.filter(({ name }) => isAdministrator(accessOf(name)));
    expect(administrators.map((policy) => policy.name)).toEqual(['FullAdmin']);
  });
});
