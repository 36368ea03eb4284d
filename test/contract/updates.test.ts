import { env as bindings } from 'cloudflare:test';
import { beforeAll, describe, expect, it } from 'vitest';
import { SURFACES } from '../../src/app.ts';
import { createDirectory, createDirectoryGroup, createDirectoryUser, makePatch } from '../directory/support.ts';
import { createQuestion } from '../knowledge/questions/support.ts';
import { createConcept, createItem, createNode, createRelation, KNOWLEDGE_PATH } from '../knowledge/support.ts';
import { column, createTable } from '../managed-tables/support.ts';
import { aSalesDashboard, aShare } from '../shares/support.ts';
import { type ApiResponse, type Caller, createCaller } from '../support/api.ts';
import { createConsoleGroup, createPermission, makePolicyInput } from '../support/console.ts';
import { createRivalEnv } from '../support/rival.ts';
import { allow, aUser, deny, must, signed } from '../support/signed.ts';
import { rivalBeforeStatement } from '../support/tunnel.ts';
import { aCompany, aProvisionedCompany, type Company } from '../support/worlds.ts';
import { aVisualization, someSales } from '../visualizations/support.ts';
import { createEndpoint, ENDPOINTS_PATH as WEBHOOKS } from '../webhooks/support.ts';

type Json = Record<string, unknown>;

/** Two changes of one record that have no member in common. */
interface Case {
  as: Caller;
  path: string;
  /** What is changed, while a rival changes something else. */
  change: Json;
  rival: Json;
  /** How a change is sent, where that is not as it is shown. */
  sent?(change: Json): Json;
  /** Where the record is read, and where in the answer it stands. */
  read: string;
  record?(body: ApiResponse['body']): Json;
  /** What the rival comes before: the update of a table of the control database, or a statement of the company's Postgres. */
  before: { table: string } | { statement: RegExp };
}

let company: Company;
let dashboardId: string;
beforeAll(async () => {
  company = await aProvisionedCompany();
  await someSales(company);
  dashboardId = (await aSalesDashboard(company)).dashboard._id;
});

const makeConsoleCase = (path: string, table: string, change: Json, rival: Json): Case => ({
  as: company.as,
  path,
  change,
  rival,
  read: path,
  before: { table },
});
const makeOrganizationCase = (path: string, table: string, change: Json, rival: Json): Case => ({
  ...makeConsoleCase(path, table, change, rival),
  as: signed(company.apiKey),
});
const readCreatedId = async (made: Promise<ApiResponse>): Promise<string> => {
  const { id, _id } = await must(made);
  return id ?? _id;
};

const TEXTS = [{ name: 'Changed' }, { description: 'The rival was here.' }] as const;
const METADATA = { metadata: { rival: true } };
const KNOWLEDGE_CHANGES = [{ description: 'Changed.' }, { name: 'The rival' }] as const;

/** Every route that changes a record: how to make one, and two changes of it. */
const CASES: Record<string, () => Promise<Case>> = {
  'PUT /scim/v2/Users/{id}': () => makeDirectoryCase('Users', false),
  'PATCH /scim/v2/Users/{id}': () => makeDirectoryCase('Users', true),
  'PUT /scim/v2/Groups/{id}': () => makeDirectoryCase('Groups', false),
  'PATCH /scim/v2/Groups/{id}': () => makeDirectoryCase('Groups', true),
  'PATCH /accounts/{id}': async () => {
    const id = await readCreatedId(signed(company.apiKey).post('/accounts', { json: { name: 'An account' } }));
    return makeOrganizationCase(`/accounts/${id}`, 'accounts', { name: 'Changed account' }, METADATA);
  },
  'PATCH /admin/organizations/{id}': async () => {
    const { id } = await aCompany();
    const as = createCaller(bindings.PLATFORM_ADMIN_TOKEN as string);
    const one = makeOrganizationCase(
      `/admin/organizations/${id}`,
      'companies',
      { name: 'Changed' },
      { status: 'suspended' },
    );
    return { ...one, as };
  },
  'PATCH /service-accounts/{id}': async () => {
    const json = { name: 'A service account', account_id: company.accountId };
    const id = await readCreatedId(signed(company.apiKey).post('/service-accounts', { json }));
    return makeOrganizationCase(`/service-accounts/${id}`, 'service_accounts', { name: 'Changed' }, METADATA);
  },
  'PUT /v1/service-accounts/{id}': async () => {
    const id = await readCreatedId(company.as.post('/v1/service-accounts', { json: { name: 'A machine' } }));
    return makeConsoleCase(`/v1/service-accounts/${id}`, 'service_accounts', { name: 'Changed' }, METADATA);
  },
  'PATCH /users/{id}': async () => {
    const { id } = await aUser(company);
    return makeOrganizationCase(`/users/${id}`, 'users', { is_active: false }, METADATA);
  },
  'PATCH /groups/{id}': async () => {
    const id = await readCreatedId(signed(company.apiKey).post('/groups', { json: { name: 'A group' } }));
    return makeOrganizationCase(`/groups/${id}`, 'groups', ...TEXTS);
  },
  'PUT /v1/users/{id}': async () => {
    const { id } = await aUser(company);
    return {
      ...makeConsoleCase(`/v1/users/${id}`, 'users', { name: 'Changed' }, { team_ids: ['by-the-rival'] }),
      record: ({ teams, ...rest }) => ({ ...rest, team_ids: teams }),
    };
  },
  'PUT /v1/groups/{id}': async () => {
    const { _id } = await createConsoleGroup(company);
    return makeConsoleCase(`/v1/groups/${_id}`, 'groups', { name: 'Changed group' }, TEXTS[1]);
  },
  'PUT /v1/permissions/{id}': async () => {
    const path = `/v1/permissions/${await createPermission(company)}`;
    return makeConsoleCase(path, 'permissions', { name: 'Changed' }, { actions: ['read', 'create'] });
  },
  'PUT /v1/policies/{id}': async () => {
    const id = await readCreatedId(company.as.post('/v1/policies', { json: makePolicyInput([allow('users:list')]) }));
    const { document } = makePolicyInput([allow('users:get'), deny('groups:delete')]);
    return makeConsoleCase(`/v1/policies/${id}`, 'policies', { description: 'Changed.' }, { document });
  },
  'PUT /v1/company/settings': async () =>
    makeConsoleCase('/v1/company/settings', 'companies', { require_2fa: true }, { locale: 'pt-BR' }),
  'PUT /v1/company/branding': async () =>
    makeConsoleCase('/v1/company/branding', 'companies', { radius: 3 }, { font: 'mono' }),
  'PUT /v1/visualizations/{id}': async () => {
    const { _id } = await aVisualization(company.as, 'SELECT 1');
    return makeConsoleCase(`/v1/visualizations/${_id}`, 'visualizations', ...TEXTS);
  },
  'PUT /v1/dashboards/{id}': async () => {
    const id = await readCreatedId(company.as.post('/v1/dashboards', { json: { name: 'A dashboard', layout: [] } }));
    return makeConsoleCase(`/v1/dashboards/${id}`, 'dashboards', ...TEXTS);
  },
  'PUT /api/v1/dashboard-shares/{shareId}': async () => {
    const { id } = await aShare(company, dashboardId, { name: 'A share' });
    return {
      ...makeConsoleCase(
        `/api/v1/dashboard-shares/${id}`,
        'dashboard_shares',
        { name: 'Changed', embed_options: { hide_header: true } },
        { expires_at: '2100-01-01T00:00:00.000Z', embed_options: { hide_controls: true } },
      ),
      read: '/api/v1/dashboard-shares?per_page=100',
      record: ({ records }) => records.find((share: Json) => share.id === id),
    };
  },
  'PUT /api/v1/share-contexts/{id}': async () => {
    const id = await readCreatedId(company.as.post('/api/v1/share-contexts', { json: { name: 'A context' } }));
    return makeConsoleCase(`/api/v1/share-contexts/${id}`, 'share_contexts', ...TEXTS);
  },
  [`PATCH ${KNOWLEDGE_PATH}/concepts/{id}`]: async () => {
    const id = await createConcept(company.as);
    return makeConsoleCase(`${KNOWLEDGE_PATH}/concepts/${id}`, 'knowledge_resources', ...KNOWLEDGE_CHANGES);
  },
  [`PATCH ${KNOWLEDGE_PATH}/semantic/{id}`]: async () => {
    const id = await createItem(company.as);
    return readFromList('semantic', id, ...KNOWLEDGE_CHANGES);
  },
  [`PATCH ${KNOWLEDGE_PATH}/ontology/nodes/{id}`]: async () => {
    const id = await createNode(company.as);
    return readFromList('ontology/nodes', id, ...KNOWLEDGE_CHANGES);
  },
  [`PATCH ${KNOWLEDGE_PATH}/ontology/relations/{id}`]: async () => {
    const [subject, object] = [await createNode(company.as), await createNode(company.as)];
    const id = await createRelation(company.as, subject, 'part_of', object);
    return readFromList('ontology/relations', id, { description: 'Changed.' }, { predicate: 'belongs_to' });
  },
  [`PATCH ${KNOWLEDGE_PATH}/verified-questions/{id}`]: async () => {
    const { id, query } = await createQuestion(company.as);
    const [change, rival] = [{ question: 'Changed?' }, { query: { ...query, limit: 5 } }];
    return makeConsoleCase(`${KNOWLEDGE_PATH}/verified-questions/${id}`, 'knowledge_verified_questions', change, rival);
  },
  'PUT /v1/managed-tables/{id}': async () => {
    const id = await createTable(company.as, 'raced', [column('a')]);
    const path = `/v1/managed-tables/${id}`;
    const columns = [column('a'), column('b', 'integer')];
    const change = { display_name: 'raced_and_named' };
    return { as: company.as, path, read: path, change, rival: { columns }, before: { statement: /FOR UPDATE/ } };
  },
  'PUT /v1/schedules/{id}': async () => {
    const recipients = [{ user_id: company.owner.id }];
    const json = { name: 'Daily', target_type: 'dashboard', target_id: dashboardId, cron: '0 8 * * *', recipients };
    const id = await readCreatedId(company.as.post('/v1/schedules', { json }));
    return makeConsoleCase(`/v1/schedules/${id}`, 'schedules', { name: 'Changed' }, { cron: '0 9 * * *' });
  },
  'PUT /v1/webhook-endpoints/{id}': async () => {
    const { _id: id } = await createEndpoint(company, { url: 'http://127.0.0.1:9/hooks' });
    return makeConsoleCase(
      `${WEBHOOKS}/${id}`,
      'webhook_endpoints',
      { description: 'Changed' },
      { event_types: ['user.invited'] },
    );
  },
  'PUT /v1/managed-tables/{id}/data/{rowId}': async () => {
    const id = await createTable(company.as, 'raced_rows', [column('a'), column('b')]);
    const path = `/v1/managed-tables/${id}/data`;
    await must(company.as.post(path, { json: { rows: [{ a: 'one', b: 'two' }] } }));
    const { records } = await must(company.as.get(path));
    return {
      as: company.as,
      path: `${path}/${records[0].id}`,
      read: path,
      record: (body) => body.records[0],
      change: { a: 'changed' },
      rival: { b: 'by the rival' },
      before: { statement: /UPDATE "public"/ },
    };
  },
};

/** A record that a directory keeps. */
async function makeDirectoryCase(kind: 'Users' | 'Groups', isPatch: boolean): Promise<Case> {
  const as = await createDirectory(company);
  const { id, userName } = await (kind === 'Users' ? createDirectoryUser(as) : createDirectoryGroup(as));
  const displayName = `Changed ${id}`;
  const needed: Json = isPatch ? {} : kind === 'Users' ? { userName } : {};
  const rival: Json = { ...needed, externalId: `rival-${id}`, ...(!isPatch && kind === 'Groups' && { displayName }) };
  return {
    ...makeConsoleCase(`/scim/v2/${kind}/${id}`, kind.toLowerCase(), { ...needed, displayName }, rival),
    as,
    ...(isPatch && { sent: (value) => makePatch({ op: 'replace', value }).json }),
  };
}

/** A resource of the knowledge, as its list answers it. */
const readFromList = (kind: string, id: string, change: Json, rival: Json): Case => ({
  ...makeConsoleCase(`${KNOWLEDGE_PATH}/${kind}/${id}`, 'knowledge_resources', change, rival),
  read: `${KNOWLEDGE_PATH}/${kind}?per_page=100`,
  record: ({ records }) => records.find((item: Json) => item._id === id),
});

/** Routes that put one thing, sent whole, in the place of another: there is no other member that could be lost. */
const WHOLE_REPLACEMENT_ROUTES = new Set([
  'PUT /v1/auth/me',
  'PATCH /v1/auth/passkeys/{id}',
  'PUT /v1/users/{id}/groups',
  'PUT /v1/groups/{id}/permissions',
  'PUT /api/v1/share-contexts/{id}/grants',
  'PUT /v1/auth/social/config',
  'PUT /v1/viz-api-endpoints/{id}',
  'PUT /v1/auth/sso/config',
  'PUT /v1/company/branding/logo',
  'PUT /admin/organizations/{id}/quotas',
  // Bytes, which are held against the offset.
  'PATCH /v1/managed-tables/uploads/{uploadId}',
  `PUT ${KNOWLEDGE_PATH}/business-domains`,
]);

const ROUTES = SURFACES.flatMap(({ endpoints }) => endpoints)
  .filter(({ contract: { method } }) => method === 'put' || method === 'patch')
  .map(({ contract: { method, path } }) => `${method.toUpperCase()} ${path}`);

const sendChange = (
  { as, path, sent }: Case,
  route: string,
  change: Json,
  env?: Record<string, string>,
): Promise<ApiResponse> =>
  (route.startsWith('PATCH') ? as.patch : as.put)(path, { json: sent?.(change) ?? change, ...(env && { env }) });

const readRecord = async ({ as, read, record = (body) => body }: Case): Promise<Json> =>
  record(await must(as.get(read)));

/** What was changed and answered with success is there. */
function expectKept(record: Json, ...changes: [ApiResponse, Json][]): void {
  for (const [{ status }, change] of changes) {
    expect([200, 409]).toContain(status);
    if (status === 200) expect(record).toMatchObject(change);
  }
}

async function raceInControlDb(one: Case, route: string, table: string): Promise<[ApiResponse, ApiResponse]> {
  let rival: ApiResponse | undefined;
  const { env, hasRun } = createRivalEnv(new RegExp(`^update "${table}"`, 'i'), async () => {
    rival = await sendChange(one, route, one.rival);
  });
  const changed = await sendChange(one, route, one.change, env);
  expect(hasRun()).toBe(true);
  return [changed, rival as ApiResponse];
}

async function raceInPostgres(one: Case, route: string, statement: RegExp): Promise<[ApiResponse, ApiResponse]> {
  const { outcome } = await rivalBeforeStatement(company.id, statement, () => sendChange(one, route, one.rival));
  const changed = await sendChange(one, route, one.change);
  return [changed, await outcome];
}

describe('a change of one member of a record', () => {
  it.each(ROUTES.filter((route) => !WHOLE_REPLACEMENT_ROUTES.has(route)))(
    'keeps concurrent changes of another: %s',
    async (route) => {
      const make = CASES[route];
      if (!make)
        throw new Error(
          `Add ${route} to CASES in test/contract/updates.test.ts, or to WHOLE where its body replaces all.`,
        );
      const one = await make();
      const [changed, rival] = await ('table' in one.before
        ? raceInControlDb(one, route, one.before.table)
        : raceInPostgres(one, route, one.before.statement));
      expect(rival.status).toBe(200);
      expectKept(await readRecord(one), [changed, one.change], [rival, one.rival]);
    },
  );
});

it('a configuration that is saved without a client secret keeps the secret of a concurrent request', async () => {
  const path = '/v1/auth/sso/config';
  const provider = {
    type: 'oidc',
    issuer: 'https://issuer.example.com',
    client_id: 'console',
    jit_provisioning: false,
  };
  const json = { ...provider, redirect_uris: ['https://console.test/sso'] };
  await must(company.as.put(path, { json: { ...json, client_secret: 'the first secret' } }));
  const kept = () =>
    bindings.CONTROL_DB.prepare('select client_secret from sso_configurations where company_id = ?')
      .bind(company.id)
      .first('client_secret');
  let ofRival: unknown;
  const { env, hasRun } = createRivalEnv(/^insert into "sso_configurations"/, async () => {
    await must(company.as.put(path, { json: { ...json, client_secret: 'the rival’s secret' } }));
    ofRival = await kept();
  });
  const redirect_uris = ['https://console.test/another'];
  const { status } = await company.as.put(path, { json: { ...json, redirect_uris }, env });
  expect([hasRun(), status]).toEqual([true, 200]);
  expect(await kept()).toBe(ofRival);
  expect((await must(company.as.get(path))).redirect_uris).toEqual(redirect_uris);
});
