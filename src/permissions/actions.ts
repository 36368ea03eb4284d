/** The four verbs of legacy permissions and of roles inside groups. */
export type LegacyVerb = 'read' | 'create' | 'update' | 'delete';

/**
 * A service: the resource types it guards, and its actions, grouped by the legacy verb that also grants them. `read` lists, gets
 * and reads · `update` changes an existing resource, its attachments and members included · `create_and_update` may do either, so
 * it takes both verbs · `unlisted` no verb grants it, only the legacy `*`: it runs user SQL, reaches outsiders, or decides who
 * may sign in · `unless_denied` is allowed unless a Deny applies: nobody needs an Allow.
 */
interface ServiceRow {
  /** Resource types of the service's ARNs; the first is the default when none is named. */
  types: readonly [string, ...string[]];
  /** The service segment of the ARNs, where it differs from the service's name. */
  arnService?: string;
  read?: readonly string[];
  create?: readonly string[];
  update?: readonly string[];
  delete?: readonly string[];
  create_and_update?: readonly string[];
  unlisted?: readonly string[];
  unless_denied?: readonly string[];
}

const RECORD_ACTIONS = { read: ['list', 'get'], create: ['create'], update: ['update'], delete: ['delete'] } as const;
const RECORD_ACTIONS_WITHOUT_GET = { ...RECORD_ACTIONS, read: ['list'] } as const;

const SERVICES = {
  accounts: {
    types: ['account'],
    read: ['ListAccounts', 'GetAccount'],
    create: ['CreateAccount'],
    update: ['UpdateAccount'],
    delete: ['DeleteAccount'],
  },
  'service-accounts': {
    types: ['service-account'],
    read: ['ListServiceAccounts', 'GetServiceAccount', 'ListKeys'],
    create: ['CreateServiceAccount'],
    update: ['UpdateServiceAccount', 'IssueKey', 'RevokeKey'],
    delete: ['DeleteServiceAccount'],
  },
  users: {
    types: ['user'],
    read: ['list', 'get', 'list_integration_users', 'ListUsers', 'GetUser'],
    create: ['create_integration_user', 'CreateUser'],
    // Document 2 asks `user:update` for an invitation.
    update: ['invite', 'update', 'activate', 'deactivate', 'assign_groups', 'remove_groups', 'UpdateUser'],
    delete: ['delete', 'delete_integration_user', 'DeleteUser'],
  },
  groups: {
    types: ['group'],
    read: ['list', 'get', 'ListGroups', 'GetGroup'],
    create: ['create', 'CreateGroup'],
    update: [
      'update',
      'attach_policy',
      'detach_policy',
      'UpdateGroup',
      'AddMember',
      'RemoveMember',
      'AttachPolicy',
      'DetachPolicy',
    ],
    delete: ['delete', 'DeleteGroup'],
  },
  permissions: { types: ['permission'], ...RECORD_ACTIONS },
  policies: { types: ['policy'], arnService: 'iam', ...RECORD_ACTIONS },
  company: { types: ['company'], read: ['get'], update: ['update'], unlisted: ['update_sso'] },
  api_keys: { types: ['api-key'], read: ['list', 'get'], create: ['create'], delete: ['delete'] },
  connections: { types: ['connection'], ...RECORD_ACTIONS },
  vpn_profiles: { types: ['vpn-profile'], ...RECORD_ACTIONS },
  metadata: { types: ['asset'], read: ['read'] },
  'managed-tables': {
    types: ['table'],
    read: ['list', 'data-read'],
    create: ['create'],
    update: ['update', 'data-write'],
    delete: ['delete'],
    create_and_update: ['upload'],
  },
  visualizations: { types: ['visualization'], ...RECORD_ACTIONS, unlisted: ['execute', 'schedule', 'share'] },
  dashboards: { types: ['dashboard'], ...RECORD_ACTIONS, unlisted: ['schedule', 'share'] },
  'analysis-folders': { types: ['folder'], ...RECORD_ACTIONS },
  share_tags: { types: ['tag'], ...RECORD_ACTIONS },
  viz_api_endpoints: { types: ['endpoint'], ...RECORD_ACTIONS },
  data_api: { types: ['endpoint'], read: ['get_job'], unlisted: ['execute'] },
  concepts: { types: ['concept'], ...RECORD_ACTIONS },
  semantic: { types: ['item'], ...RECORD_ACTIONS_WITHOUT_GET },
  ontology: { types: ['node', 'relation'], ...RECORD_ACTIONS_WITHOUT_GET },
  webhooks: { types: ['webhook-endpoint'], ...RECORD_ACTIONS },
  mcp: { types: ['server'], unless_denied: ['connect'] },
  knowledge_reviews: { types: ['suggestion'], read: ['list'], create: ['generate'], update: ['review'] },
} as const satisfies Record<string, ServiceRow>;

type ServiceRows = typeof SERVICES;
type ActionColumn = Exclude<keyof ServiceRow, 'types' | 'arnService'>;
type ActionNames<Row> = {
  [C in keyof Row & ActionColumn]: Row[C] extends readonly (infer Name)[] ? Name & string : never;
}[keyof Row & ActionColumn];

/** The name of a service of the catalogue. A role's `target` and a legacy permission's `service_name` are such names, too. */
export type Service = keyof ServiceRows;

/** An action of the catalogue, `service:name`. Any other text does not compile. */
export type Action = { [S in Service]: `${S}:${ActionNames<ServiceRows[S]>}` }[Service];

/** The resource types that an action may be about. */
export type ResourceType<A extends Action = Action> = A extends `${infer S extends Service}:${string}`
  ? ServiceRows[S]['types'][number]
  : never;

/** The entry of an action in the catalogue. */
export interface ActionEntry {
  action: Action;
  service: Service;
  /** The service segment of the ARNs on which the action is checked. */
  arnService: string;
  /** The resource types of these ARNs; the first is the default. */
  types: readonly [string, ...string[]];
  /** Legacy verbs that together grant the action; null when only the legacy `*` does. */
  legacyVerbs: readonly LegacyVerb[] | null;
  /** Whether the action is allowed unless a Deny applies. */
  isAllowedUnlessDenied: boolean;
}

const LEGACY_VERBS: Record<ActionColumn, readonly LegacyVerb[] | null> = {
  read: ['read'],
  create: ['create'],
  update: ['update'],
  delete: ['delete'],
  create_and_update: ['create', 'update'],
  unlisted: null,
  unless_denied: null,
};

function listActionEntries(service: Service): ActionEntry[] {
  const row: ServiceRow = SERVICES[service];
  const arnParts = { service, ...getServiceArnParts(service) };
  return (Object.keys(LEGACY_VERBS) as ActionColumn[]).flatMap((column) =>
    (row[column] ?? []).map((name) => ({
      ...arnParts,
      action: `${service}:${name}` as Action,
      legacyVerbs: LEGACY_VERBS[column],
      isAllowedUnlessDenied: column === 'unless_denied',
    })),
  );
}

/** All services of the catalogue. */
export const ALL_SERVICES: readonly Service[] = Object.keys(SERVICES) as Service[];

const ENTRIES_BY_ACTION: ReadonlyMap<string, ActionEntry> = new Map(
  ALL_SERVICES.flatMap(listActionEntries).map((entry) => [entry.action, entry]),
);

/** All actions of the catalogue: of every route, every managed policy, and of the organization API. */
export const ALL_ACTIONS: readonly Action[] = [...ENTRIES_BY_ACTION.values()].map((entry) => entry.action);

/** Tells whether `text` is an action of the catalogue. */
export const isAction = (text: string): text is Action => ENTRIES_BY_ACTION.has(text);

/** Tells whether `text` is a service of the catalogue. */
export const isService = (text: string): text is Service => Object.hasOwn(SERVICES, text);

/** Returns the catalogue's entry of `action`. */
export function getActionEntry(action: Action): ActionEntry {
  const entry = ENTRIES_BY_ACTION.get(action);
  if (!entry) throw new TypeError(`${action} is not an action of the catalogue`);
  return entry;
}

/** Returns the parts of a service's ARNs: their service segment and resource types. */
export function getServiceArnParts(service: Service): Pick<ActionEntry, 'arnService' | 'types'> {
  const row: ServiceRow = SERVICES[service];
  return { arnService: row.arnService ?? service, types: row.types };
}

/** Lists the whole action strings of the catalogue, by service and all together. */
export function listCatalogue(): { services: Record<Service, Action[]>; all: Action[] } {
  const services = Object.groupBy(ALL_ACTIONS, (action) => getActionEntry(action).service);
  return { services: services as Record<Service, Action[]>, all: [...ALL_ACTIONS] };
}
