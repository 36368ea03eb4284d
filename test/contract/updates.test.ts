import { env as bindings } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { SURFACES } from '../../src/app.ts';
import { createDirectory, createDirectoryGroup, createDirectoryUser, makePatch } from '../directory/support.ts';
import { createQuestion } from '../knowledge/questions/support.ts';
import { createConcept, createItem, createNode, createRelation, KNOWLEDGE_PATH } from '../knowledge/support.ts';
import { createTable, makeColumn } from '../managed-tables/support.ts';
import { createSalesDashboard, createShare } from '../shares/support.ts';
import { type ApiResponse, type Caller, createCaller } from '../support/api.ts';
import { createOwnedCompany, createProvisionedCompany } from '../support/companies.ts';
import { createConsoleGroup, createPermission, makePolicyInput } from '../support/console.ts';
import { createRacingEnv } from '../support/race.ts';
import { createGrouplessUser, createSignedCaller, expectSuccess, makeAllow, makeDeny } from '../support/signed.ts';
import { runBeforeNextStatement } from '../support/tunnel.ts';
import { createSalesTable, postVisualization } from '../visualizations/support.ts';
import { createEndpoint, ENDPOINTS_PATH as WEBHOOKS } from '../webhooks/support.ts';

type Json = Record<string, unknown>;

/** Two changes of one record that have no member in common. */
interface UpdateCase {
  as: Caller;
  path: string;
  /** The change that a concurrent change of another member overtakes. */
  change: Json;
  concurrentChange: Json;
  /** Converts a change to the request body, where it is not the change itself. */
  toBody?(change: Json): Json;
  /** The path from which the record is read; `findRecord` finds it in the answer. */
  readPath: string;
  findRecord?(body: ApiResponse['body']): Json;
  /**
   * The write that the concurrent change comes before: an update of a control table, or a statement in the company's Postgres.
   */
  concurrentWrite: { table: string } | { statement: RegExp };
}

const company = await createProvisionedCompany();
await createSalesTable(company);
const dashboardId = (await createSalesDashboard(company)).dashboard._id;

const makeConsoleCase = (path: string, table: string, change: Json, concurrentChange: Json): UpdateCase => ({
  as: company.as,
  path,
  change,
  concurrentChange,
  readPath: path,
  concurrentWrite: { table },
});
const makeOrganizationCase = (path: string, table: string, change: Json, concurrentChange: Json): UpdateCase => ({
  ...makeConsoleCase(path, table, change, concurrentChange),
  as: createSignedCaller(company.apiKey),
});
const readCreatedId = async (creation: Promise<ApiResponse>): Promise<string> => {
  const { id, _id } = await expectSuccess(creation);
  return id ?? _id;
};

const TEXT_CHANGES = [{ name: 'Changed' }, { description: 'The rival was here.' }] as const;
const METADATA_CHANGE = { metadata: { rival: true } };
const KNOWLEDGE_CHANGES = [{ description: 'Changed.' }, { name: 'The rival' }] as const;

/** For every route that changes a record: creates a record, and makes two changes of it. */
const CASES: Record<string, () => Promise<UpdateCase>> = {
  'PUT /scim/v2/Users/{id}': () => makeDirectoryCase('Users', false),
  'PATCH /scim/v2/Users/{id}': () => makeDirectoryCase('Users', true),
  'PUT /scim/v2/Groups/{id}': () => makeDirectoryCase('Groups', false),
  'PATCH /scim/v2/Groups/{id}': () => makeDirectoryCase('Groups', true),
  'PATCH /accounts/{id}': async () => {
    const id = await readCreatedId(
      createSignedCaller(company.apiKey).post('/accounts', { json: { name: 'An account' } }),
    );
    return makeOrganizationCase(`/accounts/${id}`, 'accounts', { name: 'Changed account' }, METADATA_CHANGE);
  },
  'PATCH /admin/organizations/{id}': async () => {
    const { id } = await createOwnedCompany();
    const as = createCaller(bindings.PLATFORM_ADMIN_TOKEN as string);
    const organizationCase = makeOrganizationCase(
      `/admin/organizations/${id}`,
      'companies',
      { name: 'Changed' },
      { status: 'suspended' },
    );
    return { ...organizationCase, as };
  },
  'PATCH /service-accounts/{id}': async () => {
    const json = { name: 'A service account', account_id: company.accountId };
    const id = await readCreatedId(createSignedCaller(company.apiKey).post('/service-accounts', { json }));
    return makeOrganizationCase(`/service-accounts/${id}`, 'service_accounts', { name: 'Changed' }, METADATA_CHANGE);
  },
  'PUT /v1/service-accounts/{id}': async () => {
    const id = await readCreatedId(company.as.post('/v1/service-accounts', { json: { name: 'A machine' } }));
    return makeConsoleCase(`/v1/service-accounts/${id}`, 'service_accounts', { name: 'Changed' }, METADATA_CHANGE);
  },
  'PATCH /users/{id}': async () => {
    const { id } = await createGrouplessUser(company);
    return makeOrganizationCase(`/users/${id}`, 'users', { is_active: false }, METADATA_CHANGE);
  },
  'PATCH /groups/{id}': async () => {
    const id = await readCreatedId(createSignedCaller(company.apiKey).post('/groups', { json: { name: 'A group' } }));
    return makeOrganizationCase(`/groups/${id}`, 'groups', ...TEXT_CHANGES);
  },
  'PUT /v1/users/{id}': async () => {
    const { id } = await createGrouplessUser(company);
    return {
      ...makeConsoleCase(`/v1/users/${id}`, 'users', { name: 'Changed' }, { team_ids: ['by-the-rival'] }),
      findRecord: ({ teams, ...rest }) => ({ ...rest, team_ids: teams }),
    };
  },
  'PUT /v1/groups/{id}': async () => {
    const { _id } = await createConsoleGroup(company);
    return makeConsoleCase(`/v1/groups/${_id}`, 'groups', { name: 'Changed group' }, TEXT_CHANGES[1]);
  },
  'PUT /v1/permissions/{id}': async () => {
    const path = `/v1/permissions/${await createPermission(company)}`;
    return makeConsoleCase(path, 'permissions', { name: 'Changed' }, { actions: ['read', 'create'] });
  },
  'PUT /v1/policies/{id}': async () => {
    const id = await readCreatedId(
      company.as.post('/v1/policies', { json: makePolicyInput([makeAllow('users:list')]) }),
    );
    const { document } = makePolicyInput([makeAllow('users:get'), makeDeny('groups:delete')]);
    return makeConsoleCase(`/v1/policies/${id}`, 'policies', { description: 'Changed.' }, { document });
  },
  'PUT /v1/company/settings': async () =>
    makeConsoleCase('/v1/company/settings', 'companies', { require_2fa: true }, { locale: 'pt-BR' }),
  'PUT /v1/company/branding': async () =>
    makeConsoleCase('/v1/company/branding', 'companies', { radius: 3 }, { font: 'mono' }),
  'PUT /v1/visualizations/{id}': async () => {
    const { _id } = await postVisualization(company.as, 'SELECT 1');
    return makeConsoleCase(`/v1/visualizations/${_id}`, 'visualizations', ...TEXT_CHANGES);
  },
  'PUT /v1/dashboards/{id}': async () => {
    const id = await readCreatedId(company.as.post('/v1/dashboards', { json: { name: 'A dashboard', layout: [] } }));
    return makeConsoleCase(`/v1/dashboards/${id}`, 'dashboards', ...TEXT_CHANGES);
  },
  'PUT /api/v1/dashboard-shares/{shareId}': async () => {
    const { id } = await createShare(company, dashboardId, { name: 'A share' });
    return {
      ...makeConsoleCase(
        `/api/v1/dashboard-shares/${id}`,
        'dashboard_shares',
        { name: 'Changed', embed_options: { hide_header: true } },
        { expires_at: '2100-01-01T00:00:00.000Z', embed_options: { hide_controls: true } },
      ),
      readPath: '/api/v1/dashboard-shares?per_page=100',
      findRecord: ({ records }) => records.find((share: Json) => share.id === id),
    };
  },
  'PUT /api/v1/share-contexts/{id}': async () => {
    const id = await readCreatedId(company.as.post('/api/v1/share-contexts', { json: { name: 'A context' } }));
    return makeConsoleCase(`/api/v1/share-contexts/${id}`, 'share_contexts', ...TEXT_CHANGES);
  },
  [`PATCH ${KNOWLEDGE_PATH}/concepts/{id}`]: async () => {
    const id = await createConcept(company.as);
    return makeConsoleCase(`${KNOWLEDGE_PATH}/concepts/${id}`, 'knowledge_resources', ...KNOWLEDGE_CHANGES);
  },
  [`PATCH ${KNOWLEDGE_PATH}/semantic/{id}`]: async () => {
    const id = await createItem(company.as);
    return makeListedCase('semantic', id, ...KNOWLEDGE_CHANGES);
  },
  [`PATCH ${KNOWLEDGE_PATH}/ontology/nodes/{id}`]: async () => {
    const id = await createNode(company.as);
    return makeListedCase('ontology/nodes', id, ...KNOWLEDGE_CHANGES);
  },
  [`PATCH ${KNOWLEDGE_PATH}/ontology/relations/{id}`]: async () => {
    const [subject, object] = [await createNode(company.as), await createNode(company.as)];
    const id = await createRelation(company.as, subject, 'part_of', object);
    return makeListedCase('ontology/relations', id, { description: 'Changed.' }, { predicate: 'belongs_to' });
  },
  [`PATCH ${KNOWLEDGE_PATH}/verified-questions/{id}`]: async () => {
    const { id, query } = await createQuestion(company.as);
    const [change, concurrentChange] = [{ question: 'Changed?' }, { query: { ...query, limit: 5 } }];
    return makeConsoleCase(
      `${KNOWLEDGE_PATH}/verified-questions/${id}`,
      'knowledge_verified_questions',
      change,
      concurrentChange,
    );
  },
  'PUT /v1/managed-tables/{id}': async () => {
    const id = await createTable(company.as, 'raced', [makeColumn('a')]);
    const path = `/v1/managed-tables/${id}`;
    const columns = [makeColumn('a'), makeColumn('b', 'integer')];
    const change = { display_name: 'raced_and_named' };
    return {
      as: company.as,
      path,
      readPath: path,
      change,
      concurrentChange: { columns },
      concurrentWrite: { statement: /FOR UPDATE/ },
    };
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
    const id = await createTable(company.as, 'raced_rows', [makeColumn('a'), makeColumn('b')]);
    const path = `/v1/managed-tables/${id}/data`;
    await expectSuccess(company.as.post(path, { json: { rows: [{ a: 'one', b: 'two' }] } }));
    const { records } = await expectSuccess(company.as.get(path));
    return {
      as: company.as,
      path: `${path}/${records[0].id}`,
      readPath: path,
      findRecord: (body) => body.records[0],
      change: { a: 'changed' },
      concurrentChange: { b: 'by the rival' },
      concurrentWrite: { statement: /UPDATE "public"/ },
    };
  },
};

/** Makes the case of a SCIM user or group. */
async function makeDirectoryCase(kind: 'Users' | 'Groups', isPatch: boolean): Promise<UpdateCase> {
  const as = await createDirectory(company);
  const { id, userName } = await (kind === 'Users' ? createDirectoryUser(as) : createDirectoryGroup(as));
  const displayName = `Changed ${id}`;
  const requiredFields: Json = isPatch ? {} : kind === 'Users' ? { userName } : {};
  const concurrentChange: Json = {
    ...requiredFields,
    externalId: `rival-${id}`,
    ...(!isPatch && kind === 'Groups' && { displayName }),
  };
  return {
    ...makeConsoleCase(
      `/scim/v2/${kind}/${id}`,
      kind.toLowerCase(),
      { ...requiredFields, displayName },
      concurrentChange,
    ),
    as,
    ...(isPatch && { toBody: (value) => makePatch({ op: 'replace', value }).json }),
  };
}

/** Makes the case of a knowledge resource that is read from its list. */
const makeListedCase = (kind: string, id: string, change: Json, concurrentChange: Json): UpdateCase => ({
  ...makeConsoleCase(`${KNOWLEDGE_PATH}/${kind}/${id}`, 'knowledge_resources', change, concurrentChange),
  readPath: `${KNOWLEDGE_PATH}/${kind}?per_page=100`,
  findRecord: ({ records }) => records.find((item: Json) => item._id === id),
});

/** Routes that replace a value as a whole: it has no other member that a concurrent change could lose. */
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
  { as, path, toBody }: UpdateCase,
  route: string,
  change: Json,
  env?: Record<string, string>,
): Promise<ApiResponse> =>
  (route.startsWith('PATCH') ? as.patch : as.put)(path, { json: toBody?.(change) ?? change, env });

const readRecord = async ({ as, readPath, findRecord = (body) => body }: UpdateCase): Promise<Json> =>
  findRecord(await expectSuccess(as.get(readPath)));

/** Requires that the record has every change that was answered with success. */
function expectKept(record: Json, ...changes: [ApiResponse, Json][]): void {
  for (const [{ status }, change] of changes) {
    expect([200, 409]).toContain(status);
    if (status === 200) expect(record).toMatchObject(change);
  }
}

async function raceInControlDb(
  updateCase: UpdateCase,
  route: string,
  table: string,
): Promise<[ApiResponse, ApiResponse]> {
  let concurrentAnswer: ApiResponse | undefined;
  const { env, hasRun } = createRacingEnv(new RegExp(`^update "${table}"`, 'i'), async () => {
    concurrentAnswer = await sendChange(updateCase, route, updateCase.concurrentChange);
  });
  const changeAnswer = await sendChange(updateCase, route, updateCase.change, env);
  expect(hasRun()).toBe(true);
  return [changeAnswer, concurrentAnswer as ApiResponse];
}

async function raceInPostgres(
  updateCase: UpdateCase,
  route: string,
  statement: RegExp,
): Promise<[ApiResponse, ApiResponse]> {
  const { outcome } = await runBeforeNextStatement(company.id, statement, () =>
    sendChange(updateCase, route, updateCase.concurrentChange),
  );
  const changeAnswer = await sendChange(updateCase, route, updateCase.change);
  return [changeAnswer, await outcome];
}

describe('a change of one member of a record', () => {
  it.each(ROUTES.filter((route) => !WHOLE_REPLACEMENT_ROUTES.has(route)))(
    'keeps concurrent changes of another member: %s',
    async (route) => {
      const createCase = CASES[route];
      if (!createCase)
        throw new Error(
          `Add ${route} to CASES in test/contract/updates.test.ts, or to WHOLE_REPLACEMENT_ROUTES where its body replaces all.`,
        );
      const updateCase = await createCase();
      const [changed, concurrentAnswer] = await ('table' in updateCase.concurrentWrite
        ? raceInControlDb(updateCase, route, updateCase.concurrentWrite.table)
        : raceInPostgres(updateCase, route, updateCase.concurrentWrite.statement));
      expect(concurrentAnswer.status).toBe(200);
      expectKept(
        await readRecord(updateCase),
        [changed, updateCase.change],
        [concurrentAnswer, updateCase.concurrentChange],
      );
    },
  );
});

it('a configuration that is saved without a client secret keeps the secret that a concurrent request has set', async () => {
  const path = '/v1/auth/sso/config';
  const provider = {
    type: 'oidc',
    issuer: 'https://issuer.example.com',
    client_id: 'console',
    jit_provisioning: false,
  };
  const json = { ...provider, redirect_uris: ['https://console.test/sso'] };
  await expectSuccess(company.as.put(path, { json: { ...json, client_secret: 'the first secret' } }));
  const readStoredSecret = () =>
    bindings.CONTROL_DB.prepare('select client_secret from sso_configurations where company_id = ?')
      .bind(company.id)
      .first('client_secret');
  let concurrentSecret: unknown;
  const { env, hasRun } = createRacingEnv(/^insert into "sso_configurations"/, async () => {
    await expectSuccess(company.as.put(path, { json: { ...json, client_secret: 'the rival’s secret' } }));
    concurrentSecret = await readStoredSecret();
  });
  const redirect_uris = ['https://console.test/another'];
  const { status } = await company.as.put(path, { json: { ...json, redirect_uris }, env });
  expect([hasRun(), status]).toEqual([true, 200]);
  expect(await readStoredSecret()).toBe(concurrentSecret);
  expect((await expectSuccess(company.as.get(path))).redirect_uris).toEqual(redirect_uris);
});
