import { describe, expect, test } from 'vitest';
import { compileAccess, isAdministrator, listAllowedActions } from '../../src/access/evaluation.ts';
import { ID_PATTERN } from '../../src/kernel/ids.ts';
import type { Action } from '../../src/permissions/actions.ts';
import { ALL_ACTIONS } from '../../src/permissions/actions.ts';
import {
  findManagedPolicyById,
  getManagedPolicyByName,
  MANAGED_POLICIES,
} from '../../src/permissions/managed-policies.ts';
import { findDocumentProblems } from '../../src/permissions/policy-document.ts';

const getAccess = (name: string) =>
  compileAccess({
    companyId: 'c',
    isOwner: false,
    groups: [{ id: 'g', policies: [getManagedPolicyByName(name)], roles: [], permissions: [] }],
  });
const listAllowed = (name: string): Action[] => listAllowedActions(getAccess(name));
const listServiceActions = (...services: string[]): Action[] =>
  ALL_ACTIONS.filter((action) => services.includes(action.slice(0, action.indexOf(':'))));

const DATA_API_ACTIONS = ['data_api:execute', 'data_api:get_job'];
const SOURCE_ACTIONS = [...listServiceActions('connections', 'vpn_profiles', 'managed-tables'), 'metadata:read'];
const EXPECTED_ACTIONS: Record<string, string[]> = {
  FullAdmin: [...ALL_ACTIONS],
  UserManager: ['list', 'get', 'invite', 'update', 'activate', 'deactivate', 'assign_groups', 'remove_groups'].map(
    (name) => `users:${name}`,
  ),
  GroupManager: [...listServiceActions('groups'), 'policies:list', 'policies:get'],
  ApiKeyManager: [
    'users:list_integration_users',
    'users:create_integration_user',
    'users:delete_integration_user',
    ...listServiceActions('api_keys'),
  ],
  ConnectionManager: SOURCE_ACTIONS,
  DataEngineer: SOURCE_ACTIONS,
  VisualizationViewer: [
    ...['list', 'get', 'schedule'].map((name) => `dashboards:${name}`),
    ...['list', 'get', 'execute', 'schedule'].map((name) => `visualizations:${name}`),
    ...DATA_API_ACTIONS,
  ],
  VisualizationManager: [
    ...listServiceActions('visualizations', 'analysis-folders'),
    'dashboards:share',
    'dashboards:schedule',
    ...DATA_API_ACTIONS,
  ],
  AnalyticsAuthor: [
    ...listServiceActions('visualizations', 'dashboards', 'analysis-folders', 'share_tags', 'viz_api_endpoints'),
    ...DATA_API_ACTIONS,
  ],
  KnowledgeManager: [...listServiceActions('concepts', 'semantic', 'ontology', 'knowledge_reviews'), 'metadata:read'],
  PolicyManager: listServiceActions('policies'),
  CompanyAdmin: listServiceActions('company'),
  DataAPIConsumer: DATA_API_ACTIONS,
};

describe('the managed policies', () => {
  test.each(Object.entries(EXPECTED_ACTIONS))(
    'include %s, which allows exactly the actions of the specification',
    (name, actions) => {
      expect(listAllowed(name).toSorted()).toEqual([...actions].sort());
    },
  );

  test('include ReadOnly, which allows reading on both APIs and allows no change', () => {
    const actions = listAllowed('ReadOnly');
    for (const readingAction of [
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
      expect(actions).toContain(readingAction);
    }
    const changingActionsPattern =
      /create|update|delete|write|upload|invite|share|execute|attach|detach|Issue|Revoke|Add|Remove|activate/;
    for (const action of actions) expect(action.slice(action.indexOf(':'))).not.toMatch(changingActionsPattern);
  });

  test('are exactly the specified ones, each with a valid document, a stable id and an ARN without a company', () => {
    expect(MANAGED_POLICIES.map((policy) => policy.name).sort()).toEqual(
      [...Object.keys(EXPECTED_ACTIONS), 'ReadOnly'].sort(),
    );
    for (const { id, arn, name, document } of MANAGED_POLICIES) {
      expect(id).toMatch(ID_PATTERN);
      expect(arn).toBe(`arn:svc:iam:::policy/managed/${name}`);
      expect(findDocumentProblems(document)).toEqual([]);
      expect(findManagedPolicyById(id)?.name).toBe(name);
    }
    expect(new Set(MANAGED_POLICIES.map((policy) => policy.id)).size).toBe(MANAGED_POLICIES.length);
    expect(getManagedPolicyByName('FullAdmin').id).toBe('000000000000000000000001');
    expect(findManagedPolicyById('000000000000000000000000')).toBeUndefined();
  });

  test('make a user an administrator only by FullAdmin', () => {
    const administrators = MANAGED_POLICIES.filter(({ name }) => isAdministrator(getAccess(name)));
    expect(administrators.map((policy) => policy.name)).toEqual(['FullAdmin']);
  });
});
