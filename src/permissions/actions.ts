/** The four verbs of legacy permissions and of roles inside groups (document 2). */
export type LegacyVerb = 'read' | 'create' | 'update' | 'delete';

/**
 * A service: the resource types it guards, and its actions under the legacy verb that also grants them.
 * `read` lists, gets and reads · `update` changes an existing thing, its attachments and members included · `create_and_update`
 * may do either, so it takes both verbs · `unlisted` no verb grants it, only the legacy `*`: it runs user SQL, reaches outsiders,
 * or decides who may sign in · `unless_denied` is allowed where no Deny reaches it: nobody needs an Allow.
 */
interface ServiceRow {
  /** Resource types of the service's ARNs; the first is the one meant when none is named. */
  types: readonly [string, ...string[]];
  /** Service segment of the ARNs, where it differs from the service's name. */
  arnService?: string;
  read?: readonly string[];
  create?: readonly string[];
  update?: readonly string[];
  delete?: readonly string[];
  create_and_update?: readonly string[];
  unlisted?: readonly string[];
  unless_denied?: readonly string[];
}

const RECORD = { read: ['list', 'get'], create: ['create'], update: ['update'], delete: ['delete'] } as const;
const WITHOUT_GET = { ...RECORD, read: ['list'] } as const;

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
  permissions: { types: ['permission'], ...RECORD },
  policies: { types: ['policy'], arnService: 'iam', ...RECORD },
  company: { types: ['company'], read: ['get'], update: ['update'], unlisted: ['update_sso'] },
  api_keys: { types: ['api-key'], read: ['list', 'get'], create: ['create'], delete: ['delete'] },
  connections: { types: ['connection'], ...RECORD },
  vpn_profiles: { types: ['vpn-profile'], ...RECORD },
  metadata: { types: ['asset'], read: ['read'] },
  'managed-tables': {
    types: ['table'],
    read: ['list', 'data-read'],
    create: ['create'],
    update: ['update', 'data-write'],
    delete: ['delete'],
    create_and_update: ['upload'],
  },
  visualizations: { types: ['visualization'], ...RECORD, unlisted: ['execute', 'schedule', 'share'] },
  dashboards: { types: ['dashboard'], ...RECORD, unlisted: ['schedule', 'share'] },
  'analysis-folders': { types: ['folder'], ...RECORD },
  share_tags: { types: ['tag'], ...RECORD },
  viz_api_endpoints: { types: ['endpoint'], ...RECORD },
  data_api: { types: ['endpoint'], read: ['get_job'], unlisted: ['execute'] },
  concepts: { types: ['concept'], ...RECORD },
  semantic: { types: ['item'], ...WITHOUT_GET },
  ontology: { types: ['node', 'relation'], ...WITHOUT_GET },
  webhooks: { types: ['webhook-endpoint'], ...RECORD },
  mcp: { types: ['server'], unless_denied: ['connect'] },
  knowledge_reviews: { types: ['suggestion'], read: ['list'], create: ['generate'], update: ['review'] },
} as const satisfies Record<string, ServiceRow>;

type Rows = typeof SERVICES;
type Column = Exclude<keyof ServiceRow, 'types' | 'arnService'>;
type NamesOf<Row> = {
  [C in keyof Row & Column]: Row[C] extends readonly (infer Name)[] ? Name & string : never;
}[keyof Row & Column];

/** A service of the catalogue. A role's `target` and a legacy permission's `service_name` name one, too. */
export type Service = keyof Rows;

/** An action of the catalogue, `service:name`. Anything else does not compile. */
export type Action = { [S in Service]: `${S}:${NamesOf<Rows[S]>}` }[Service];

/** The resource types that an action may be about. */
export type ResourceType<A extends Action = Action> = A extends `${infer S extends Service}:${string}`
  ? Rows[S]['types'][number]
  : never;

/** The catalogue's entry of an action. */
export interface ActionEntry {
  action: Action;
  service: Service;
  /** Service segment of the ARNs this action is checked on. */
  arnService: string;
  /** Resource types of those ARNs; the first is the default. */
  types: readonly [string, ...string[]];
  /** Legacy verbs that together grant the action; null when only the legacy `*` does. */
  legacy: readonly LegacyVerb[] | null;
  /** Whether it is allowed where no Deny reaches it. */
  unlessDenied: boolean;
}

const VERBS: Record<Column, readonly LegacyVerb[] | null> = {
  read: ['read'],
  create: ['create'],
  update: ['update'],
  delete: ['delete'],
  create_and_update: ['create', 'update'],
  unlisted: null,
  unless_denied: null,
};

function listEntries(service: Service): ActionEntry[] {
  const row: ServiceRow = SERVICES[service];
  const place = { service, arnService: row.arnService ?? service, types: row.types };
  return (Object.keys(VERBS) as Column[]).flatMap((column) =>
    (row[column] ?? []).map((name) => ({
      ...place,
      action: `${service}:${name}` as Action,
      legacy: VERBS[column],
      unlessDenied: column === 'unless_denied',
    })),
  );
}

/** Every service of the catalogue. */
export const ALL_SERVICES: readonly Service[] = Object.keys(SERVICES) as Service[];

const ENTRIES: ReadonlyMap<string, ActionEntry> = new Map(
  ALL_SERVICES.flatMap(listEntries).map((entry) => [entry.action, entry]),
);

/** Every action of the catalogue: of every route, every managed policy, and of the organization API. */
export const ALL_ACTIONS: readonly Action[] = [...ENTRIES.values()].map((entry) => entry.action);

/** Whether `text` is an action of the catalogue. */
export const isAction = (text: string): text is Action => ENTRIES.has(text);

/** Whether `text` is a service of the catalogue. */
export const isService = (text: string): text is Service => Object.hasOwn(SERVICES, text);

/** Returns the catalogue's entry of `action`. */
export function actionEntry(action: Action): ActionEntry {
  const entry = ENTRIES.get(action);
  if (!entry) throw new TypeError(`${action} is not an action of the catalogue`);
  return entry;
}

/** The ARN place of a service: its ARN segment and resource types. */
export function servicePlace(service: Service): Pick<ActionEntry, 'arnService' | 'types'> {
  const row: ServiceRow = SERVICES[service];
  return { arnService: row.arnService ?? service, types: row.types };
}

/** The catalogue as people read it: whole action strings by service, and all of them. */
export function catalogue(): { services: Record<Service, Action[]>; all: Action[] } {
  const services = Object.groupBy(ALL_ACTIONS, (action) => actionEntry(action).service);
  return { services: services as Record<Service, Action[]>, all: [...ALL_ACTIONS] };
}
