import { makePolicyArn } from './arn.ts';
import { POLICY_VERSION, type PolicyDocument } from './policy-document.ts';

/** A policy that every company has and nobody can change. */
export interface ManagedPolicy {
  /** The id, stable for ever and stored wherever the policy is attached: a zero time, then the policy's number. */
  id: string;
  arn: string;
  name: string;
  description: string;
  document: PolicyDocument;
}

/** Makes the action strings of a service. @param names the names of its actions, separated by spaces */
const toActionStrings = (service: string, names: string): string[] =>
  names.split(' ').map((name) => `${service}:${name}`);

const DATA_SOURCE_ACTIONS = ['connections:*', 'vpn_profiles:*', 'managed-tables:*', 'metadata:read'];
const DATA_API_ACTIONS = toActionStrings('data_api', 'execute get_job');

/** The number, name, description, and allowed actions of each managed policy. Numbers are never reused. */
const POLICY_TABLE: readonly [number: number, name: string, description: string, actions: readonly string[]][] = [
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
    toActionStrings('users', 'list get invite update activate deactivate assign_groups remove_groups'),
  ],
  [4, 'GroupManager', 'Manages groups, sees policies.', ['groups:*', ...toActionStrings('policies', 'list get')]],
  [
    5,
    'ApiKeyManager',
    'Manages integration users and API keys.',
    [
      ...toActionStrings('users', 'list_integration_users create_integration_user delete_integration_user'),
      'api_keys:*',
    ],
  ],
  [6, 'ConnectionManager', 'Manages connections, VPN profiles and managed tables.', DATA_SOURCE_ACTIONS],
  [7, 'DataEngineer', 'Builds data sources: connections, VPN profiles and managed tables.', DATA_SOURCE_ACTIONS],
  [
    8,
    'VisualizationViewer',
    'Sees, runs and schedules dashboards and visualizations.',
    [
      ...toActionStrings('dashboards', 'list get schedule'),
      ...toActionStrings('visualizations', 'list get execute schedule'),
      ...DATA_API_ACTIONS,
    ],
  ],
  [
    9,
    'VisualizationManager',
    'Manages visualizations and their folders, shares dashboards.',
    ['visualizations:*', 'dashboards:share', 'dashboards:schedule', 'analysis-folders:*', ...DATA_API_ACTIONS],
  ],
  [
    10,
    'AnalyticsAuthor',
    'Makes and publishes dashboards and visualizations.',
    [
      'visualizations:*',
      'dashboards:*',
      'analysis-folders:*',
      'share_tags:*',
      'viz_api_endpoints:*',
      ...DATA_API_ACTIONS,
    ],
  ],
  [
    11,
    'KnowledgeManager',
    'Manages domain knowledge and reviews suggestions.',
    ['concepts:*', 'semantic:*', 'ontology:*', 'knowledge_reviews:*', 'metadata:read'],
  ],
  [12, 'PolicyManager', 'Manages policies.', ['policies:*']],
  [13, 'CompanyAdmin', 'Manages the company and its sign-in.', ['company:*']],
  [14, 'DataAPIConsumer', 'Calls the data API.', DATA_API_ACTIONS],
];

/** The managed policies, in the order of `POLICY_TABLE`. */
export const MANAGED_POLICIES: readonly ManagedPolicy[] = POLICY_TABLE.map(([number, name, description, actions]) => ({
  id: number.toString(16).padStart(24, '0'),
  arn: makePolicyArn(null, 'managed', name),
  name,
  description,
  document: { version: POLICY_VERSION, statements: [{ effect: 'Allow', actions: [...actions], resources: ['*'] }] },
}));

const POLICIES_BY_ID = new Map(MANAGED_POLICIES.map((policy) => [policy.id, policy]));
const POLICIES_BY_NAME = new Map(MANAGED_POLICIES.map((policy) => [policy.name, policy]));

/** Finds the managed policy of an id; undefined if there is none. */
export const findManagedPolicyById = (id: string): ManagedPolicy | undefined => POLICIES_BY_ID.get(id);

/** Returns the managed policy of a name, for policies that the system itself attaches (`FullAdmin`, `ReadOnly`). */
export function getManagedPolicyByName(name: string): ManagedPolicy {
  const policy = POLICIES_BY_NAME.get(name);
  if (!policy) throw new TypeError(`${name} is not a managed policy`);
  return policy;
}
