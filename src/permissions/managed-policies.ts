import { policyArn } from './arn.ts';
import type { PolicyDocument } from './policy-document.ts';
import { POLICY_VERSION } from './policy-document.ts';

/** A policy that every company has and nobody can change. */
export interface ManagedPolicy {
  /** Stable for ever, stored wherever the policy is attached: a zero time, then its number. */
  id: string;
  arn: string;
  name: string;
  description: string;
  document: PolicyDocument;
}

const listActions = (service: string, ...names: string[]): string[] => names.map((name) => `${service}:${name}`);

const DATA_SOURCES = ['connections:*', 'vpn_profiles:*', 'managed-tables:*', 'metadata:read'];
const DATA_API = listActions('data_api', 'execute', 'get_job');

/** Number, name, description, and allowed actions, as document 2 lists them. Numbers are never reused. */
const TABLE: readonly [number: number, name: string, description: string, actions: readonly string[]][] = [
  [1, 'FullAdmin', 'Everything on every resource.', ['*']],
  [
    2,
    'ReadOnly',
    'Reads everything, changes nothing.',
    ['*:list', '*:get', '*:read', '*:data-read', '*:get_job', '*:List*', '*:Get*'],
  ],
  [
    3,
    'UserManager',
    'Invites and manages users and their groups.',
    listActions('users', 'list', 'get', 'invite', 'update', 'activate', 'deactivate', 'assign_groups', 'remove_groups'),
  ],
  [4, 'GroupManager', 'Manages groups, sees policies.', ['groups:*', ...listActions('policies', 'list', 'get')]],
  [
    5,
    'ApiKeyManager',
    'Manages integration users and API keys.',
    [
      ...listActions('users', 'list_integration_users', 'create_integration_user', 'delete_integration_user'),
      'api_keys:*',
    ],
  ],
  [6, 'ConnectionManager', 'Manages connections, VPN profiles and managed tables.', DATA_SOURCES],
  [7, 'DataEngineer', 'Builds data sources: connections, VPN profiles and managed tables.', DATA_SOURCES],
  [
    8,
    'VisualizationViewer',
    'Sees, runs and schedules dashboards and visualizations.',
    [
      ...listActions('dashboards', 'list', 'get', 'schedule'),
      ...listActions('visualizations', 'list', 'get', 'execute', 'schedule'),
      ...DATA_API,
    ],
  ],
  [
    9,
    'VisualizationManager',
    'Manages visualizations and their folders, shares dashboards.',
    ['visualizations:*', ...listActions('dashboards', 'share', 'schedule'), 'analysis-folders:*', ...DATA_API],
  ],
  [
    10,
    'AnalyticsAuthor',
    'Makes and publishes dashboards and visualizations.',
    ['visualizations:*', 'dashboards:*', 'analysis-folders:*', 'share_tags:*', 'viz_api_endpoints:*', ...DATA_API],
  ],
  [
    11,
    'KnowledgeManager',
    'Manages domain knowledge and reviews suggestions.',
    ['concepts:*', 'semantic:*', 'ontology:*', 'knowledge_reviews:*', 'metadata:read'],
  ],
  [12, 'PolicyManager', 'Manages policies.', ['policies:*']],
  [13, 'CompanyAdmin', 'Manages the company and its sign-in.', ['company:*']],
  [14, 'DataAPIConsumer', 'Calls the data API.', DATA_API],
];

/** The managed policies, in the order of document 2. */
export const MANAGED_POLICIES: readonly ManagedPolicy[] = TABLE.map(([number, name, description, actions]) => ({
  id: number.toString(16).padStart(24, '0'),
  arn: policyArn(null, 'managed', name),
  name,
  description,
  document: { version: POLICY_VERSION, statements: [{ effect: 'Allow', actions: [...actions], resources: ['*'] }] },
}));

const BY_ID = new Map(MANAGED_POLICIES.map((policy) => [policy.id, policy]));
const BY_NAME = new Map(MANAGED_POLICIES.map((policy) => [policy.name, policy]));

/** The managed policy of this id, or undefined. */
export const managedPolicyById = (id: string): ManagedPolicy | undefined => BY_ID.get(id);

/** The managed policy of this name, for those that the system itself attaches (`FullAdmin`, `ReadOnly`). */
export function managedPolicyNamed(name: string): ManagedPolicy {
  const policy = BY_NAME.get(name);
  if (!policy) throw new TypeError(`${name} is not a managed policy`);
  return policy;
}
