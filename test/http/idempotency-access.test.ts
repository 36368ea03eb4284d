import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { SIGNING_KEYS_PATH } from '../embeds/support.ts';
import { createItemMaker, insertRows } from '../knowledge/metrics/support.ts';
import { createConcept } from '../knowledge/support.ts';
import { createTable, makeColumn } from '../managed-tables/support.ts';
import { CONTEXTS_PATH, createShareContext, makeDashboardGrant, signInOutsider } from '../share-portal/support.ts';
import { createSalesDashboard, createSalesTable } from '../shares/support.ts';
import { type ApiResponse, type Caller, createCaller } from '../support/api.ts';
import { createAllowedUser, createProvisionedCompany } from '../support/companies.ts';
import { forgetPrincipals } from '../support/known-principals.ts';
import { sendDuringRace } from '../support/race.ts';
import {
  bindUser,
  createAllowedAccount,
  createKeyedAccount,
  createPolicyGroup,
  createSignedCaller,
  createTokenCaller,
  expectSuccess,
  makeAllow,
  makeDeny,
  storePolicy,
} from '../support/signed.ts';
import { postVisualization } from '../visualizations/support.ts';

let createdCount = 0;
const company = await createProvisionedCompany();
const admin = createSignedCaller(company.apiKey);
await createSalesTable(company);

const makeKey = () => `key-${++createdCount}`;
const makeName = () => `Readers ${++createdCount}`;
const makeKeyedRequest = (key: string, json: unknown = {}) => ({ headers: { 'idempotency-key': key }, json });
const isReplay = ({ headers }: ApiResponse) => headers.get('idempotency-replayed') === 'true';
const readStatusAndCode = ({ status, body }: ApiResponse) => [status, body.error_code ?? body.error];
const ACCESS_CHANGED_ERROR = [409, 'IDEMPOTENCY_ACCESS_CHANGED'];

/** Denies actions to a principal, through a group with a Deny. */
async function denyActions(type: 'user' | 'service_account', id: string, ...actions: string[]): Promise<void> {
  const group = await createPolicyGroup(
    company,
    await storePolicy(company, [makeDeny(...(actions as `${string}*`[]))]),
  );
  const json = { principal_type: type, principal_id: id, account_id: company.accountId };
  await expectSuccess(admin.post(`/groups/${group}/bindings`, { json }));
}

/** Creates a user who may do everything except manage access. */
const createPerson = () =>
  createAllowedUser(company, {
    can: [
      'dashboards:*',
      'visualizations:*',
      'semantic:*',
      'managed-tables:*',
      'managed_tables:*',
      'data_api:*',
      'concepts:*',
    ],
  });

describe('a POST that only reads, repeated under an idempotency key', () => {
  it('shows nothing to an external person who was removed from the share context', async () => {
    const { dashboard } = await createSalesDashboard(company);
    const { id, members } = await createShareContext(
      company,
      [makeDashboardGrant(dashboard._id)],
      ['left@partner.test'],
    );
    await createShareContext(company, [], ['left@partner.test']);
    const { as } = await signInOutsider(company, 'left@partner.test');
    const requestOptions = makeKeyedRequest(makeKey(), { context_id: id });
    const path = `/api/v1/share-portal/dashboards/${dashboard._id}/execute`;
    const first = await expectSuccess(as.post(path, requestOptions));
    await expectSuccess(company.as.delete(`${CONTEXTS_PATH}/${id}/members/${members[0]?.id}`));
    const repeatedAnswer = await as.post(path, requestOptions);
    expect(first.results[0].rows.length).toBeGreaterThan(0);
    expect([repeatedAnswer.status, isReplay(repeatedAnswer), 'results' in repeatedAnswer.body]).toEqual([
      400,
      false,
      false,
    ]);
  });

  it('shows no rows of a visualization that was denied to the caller after the first execution', async () => {
    const { dashboard } = await createSalesDashboard(company);
    const { id, as } = await createPerson();
    const executeDashboard = (key: string) => as.post(`/v1/dashboards/${dashboard._id}/execute`, makeKeyedRequest(key));
    const key = makeKey();
    const first = await expectSuccess(executeDashboard(key));
    await denyActions('user', id, 'visualizations:execute');
    const repeatedAnswer = await executeDashboard(key);
    expect(JSON.stringify(first.results)).toContain('"rows"');
    expect([isReplay(repeatedAnswer), JSON.stringify(repeatedAnswer.body).includes('"rows":[[')]).toEqual([
      false,
      false,
    ]);
  });

  it('shows no metric of a table whose rows were denied to the caller after the first request', async () => {
    const concept = await createConcept(company.as);
    const table = await createTable(company.as, 'takings', [makeColumn('total', 'decimal')]);
    await insertRows(company.as, table, [{ total: 5 }]);
    const { metric } = createItemMaker(
      () => company.as,
      () => concept,
    );
    const takingsMetric = await metric('Takings', { formula: 'sum(takings.total)', mapped_tables: ['takings'] });
    const { id, token } = await createPerson();
    const serviceAccount = await createAllowedAccount(company, makeAllow('semantic:*', 'managed-tables:*'));
    const tokenCaller = await createTokenCaller(serviceAccount);
    const [query, mcp] = [makeKey(), makeKey()];
    const toolMessage = { jsonrpc: '2.0', id: 1, method: 'tools/call' };
    const toolCall = { ...toolMessage, params: { name: 'query_metrics', arguments: { metrics: [takingsMetric] } } };
    const acceptHeaders = { accept: 'application/json, text/event-stream' };
    const queryByBothApis = async (as: Caller) => {
      const message = makeKeyedRequest(mcp, toolCall);
      return [
        await as.post('/api/v1/domain-knowledge/semantic/query', makeKeyedRequest(query, { metrics: [takingsMetric] })),
        await as.post('/mcp', { ...message, headers: { ...message.headers, ...acceptHeaders } }),
      ];
    };
    const queryByBothCallers = async () => [
      ...(await queryByBothApis(createCaller(token))),
      ...(await queryByBothApis(tokenCaller)),
    ];
    const haveRows = (answers: ApiResponse[]) =>
      answers.map(({ body }) => /\brows\\?":\s*\[\[/.test(JSON.stringify(body)));
    expect(haveRows(await queryByBothCallers())).toEqual([true, true, true, true]);
    await denyActions('user', id, 'managed-tables:data-read');
    await denyActions('service_account', serviceAccount.id, 'managed-tables:data-read');
    const repeatedAnswers = await queryByBothCallers();
    expect([haveRows(repeatedAnswers), repeatedAnswers.map(isReplay)]).toEqual([
      Array(4).fill(false),
      Array(4).fill(false),
    ]);
  });

  it('ignores an invalid idempotency key', async () => {
    const requestOptions = makeKeyedRequest('not a key', { metrics: [] });
    const { body } = await company.as.post('/api/v1/domain-knowledge/semantic/query', requestOptions);
    expect(JSON.stringify(body)).not.toContain('Idempotency-Key');
  });
});

describe('a refusal kept for an idempotency key', () => {
  const UNKNOWN_ID = '0'.repeat(24);

  it.each<[string, string, object, number?]>([
    ['a share', `/api/v1/dashboards/${UNKNOWN_ID}/shares`, { share_type: 'link' }],
    ['a share of a wrong form', `/api/v1/dashboards/${UNKNOWN_ID}/shares`, { share_type: 'x' }, 422],
    ['a member', `${CONTEXTS_PATH}/${UNKNOWN_ID}/members`, { member_type: 'external_email', email: 'a@partner.test' }],
    ['an embed token', `/api/v1/embed/dashboards/${UNKNOWN_ID}`, {}],
    ['an accepted suggestion', `/api/v1/domain-knowledge/suggestions/${UNKNOWN_ID}/accept`, {}],
  ])("is replayed if the path's record does not exist: %s", async (_what, path, json, status = 404) => {
    const requestOptions = makeKeyedRequest(makeKey(), json);
    const [first, again] = [await company.as.post(path, requestOptions), await company.as.post(path, requestOptions)];
    expect([first.status, isReplay(first), again.status, isReplay(again)]).toEqual([status, false, status, true]);
    expect(again.body).toEqual(first.body);
  });
});

describe('an answer kept for an idempotency key', () => {
  it.each<[title: string, path: (dashboard: string) => string]>([
    ['the token of an embed', (id) => `/api/v1/embed/dashboards/${id}`],
    ['the secret of a signing key', () => SIGNING_KEYS_PATH],
  ])('with %s is not replayed once its sender is denied sharing a visualization', async (_what, makePath) => {
    const { dashboard } = await createSalesDashboard(company);
    const { id, as } = await createPerson();
    const key = makeKey();
    const sendRequest = (usedKey = key) => as.post(makePath(dashboard._id), makeKeyedRequest(usedKey));
    const first = await sendRequest();
    expect([first.status, isReplay(await sendRequest())]).toEqual([201, true]);
    await denyActions('user', id, 'visualizations:share');
    const repeatedAnswer = await sendRequest();
    expect([readStatusAndCode(repeatedAnswer), isReplay(repeatedAnswer)]).toEqual([ACCESS_CHANGED_ERROR, false]);
    expect((await sendRequest(makeKey())).status).toBe(403);
  });

  it('with the secret of an API key is not replayed once the key’s account may do more than its sender', async () => {
    const keyCreator = await createAllowedAccount(company, makeAllow('service-accounts:*', 'groups:*'));
    const serviceAccount = await createKeyedAccount(company);
    const createKey = (key: string) =>
      keyCreator.as.post(`/service-accounts/${serviceAccount.id}/keys`, makeKeyedRequest(key));
    const key = makeKey();
    const first = await expectSuccess(createKey(key));
    const replayedAnswer = await createKey(key);
    expect([replayedAnswer.body, isReplay(replayedAnswer)]).toEqual([first, true]);
    const group = await createPolicyGroup(company, await storePolicy(company, [makeAllow('*')]));
    const json = { principal_type: 'service_account', principal_id: serviceAccount.id, account_id: company.accountId };
    await expectSuccess(admin.post(`/groups/${group}/bindings`, { json }));
    const repeatedAnswer = await createKey(key);
    expect([repeatedAnswer.status, isReplay(repeatedAnswer)]).toEqual([403, false]);
    expect(JSON.stringify(repeatedAnswer.body)).not.toContain(first.secret_key);
    expect(repeatedAnswer.body).toEqual((await createKey(makeKey())).body);
  });

  it.each<[title: string, path: (dashboard: string, context: string) => string, json: object]>([
    ['an embed', (dashboard) => `/api/v1/embed/dashboards/${dashboard}`, {}],
    ['a share', (dashboard) => `/api/v1/dashboards/${dashboard}/shares`, { share_type: 'link' }],
    [
      'a context membership',
      (_, context) => `${CONTEXTS_PATH}/${context}/members`,
      { member_type: 'external_email', email: 'new@partner.test' },
    ],
  ])('of %s is not replayed once the dashboard shows more than its sender may share', async (_what, makePath, json) => {
    const { dashboard } = await createSalesDashboard(company);
    const context = await createShareContext(company, [makeDashboardGrant(dashboard._id)]);
    const secretVisualization = await postVisualization(company.as, 'SELECT 1');
    const { as } = await createAllowedUser(company, {
      can: ['dashboards:*', 'visualizations:*'],
      denied: ['visualizations:*'],
      deniedArns: [`arn:svc:visualizations::${company.id}:visualization/${secretVisualization._id}`],
    });
    const sendRequest = (key: string) => as.post(makePath(dashboard._id, context.id), makeKeyedRequest(key, json));
    const key = makeKey();
    expect([(await sendRequest(key)).status, isReplay(await sendRequest(key))]).toEqual([201, true]);
    const layout = [{ visualization_id: secretVisualization._id, x: 0, y: 0, w: 4, h: 3 }];
    await expectSuccess(company.as.put(`/v1/dashboards/${dashboard._id}`, { json: { layout, filters: [] } }));
    const repeatedAnswer = await sendRequest(key);
    expect([repeatedAnswer.status, isReplay(repeatedAnswer)]).toEqual([403, false]);
  });

  it('is not replayed after any change of its sender’s permissions, even if the answer is a refusal', async () => {
    const { id, as } = await createPerson();
    const [taken, name] = [makeKey(), makeName()];
    const repeatCreation = () => as.post('/v1/visualizations', makeKeyedRequest(taken, { name, sql: 'SELECT 1' }));
    expect((await repeatCreation()).status).toBe(201);
    const invalidKey = makeKey();
    expect((await as.post('/v1/visualizations', makeKeyedRequest(invalidKey))).status).toBe(422);
    // What is given besides leads to nothing that this shows; whether it does is not looked into.
    await bindUser(
      company,
      await createPolicyGroup(company, await storePolicy(company, [makeAllow('groups:ListGroups')])),
      id,
    );
    expect(readStatusAndCode(await repeatCreation())).toEqual(ACCESS_CHANGED_ERROR);
    expect(readStatusAndCode(await as.post('/v1/visualizations', makeKeyedRequest(invalidKey)))).toEqual(
      ACCESS_CHANGED_ERROR,
    );
  });

  it('is replayed after the permissions of other callers have changed', async () => {
    const { as } = await createPerson();
    const other = await createPerson();
    const key = makeKey();
    const name = makeName();
    const createVisualization = () => as.post('/v1/visualizations', makeKeyedRequest(key, { name, sql: 'SELECT 1' }));
    const first = await expectSuccess(createVisualization());
    await bindUser(company, await createPolicyGroup(company), other.id);
    const repeatedAnswer = await createVisualization();
    expect([repeatedAnswer.body, isReplay(repeatedAnswer)]).toEqual([first, true]);
  });

  it('is replayed if its own request changed its sender’s permissions, until another request changes them', async () => {
    const serviceAccount = await createAllowedAccount(company, makeAllow('groups:*'));
    const group = await createPolicyGroup(company, await storePolicy(company, [makeAllow('groups:GetGroup')]));
    const policy = await storePolicy(company, [makeAllow('groups:ListGroups')]);
    const json = { principal_type: 'service_account', principal_id: serviceAccount.id, account_id: company.accountId };
    const [joining, attaching] = [makeKey(), makeKey()];
    const joinGroup = () => serviceAccount.as.post(`/groups/${group}/bindings`, makeKeyedRequest(joining, json));
    const attachPolicy = () =>
      serviceAccount.as.post(`/groups/${group}/policies/${policy}`, makeKeyedRequest(attaching));
    for (const sendRequest of [joinGroup, attachPolicy]) {
      const first = await sendRequest();
      const repeatedAnswer = await sendRequest();
      expect([first.status < 300, repeatedAnswer.status, isReplay(repeatedAnswer), repeatedAnswer.body]).toEqual([
        true,
        first.status,
        true,
        first.body,
      ]);
    }
    await denyActions('service_account', serviceAccount.id, 'policies:*');
    expect(readStatusAndCode(await attachPolicy())).toEqual([409, 'IdempotencyAccessChanged']);
  });

  it('is replayed while a change of its sender’s permissions has begun, but is not committed', async () => {
    const { id, as } = await createPerson();
    const [key, name] = [makeKey(), makeName()];
    const createVisualization = () => as.post('/v1/visualizations', makeKeyedRequest(key, { name, sql: 'SELECT 1' }));
    const first = await expectSuccess(createVisualization());
    const gate = env.ORGANIZATION_GATE.getByName(company.id);
    await gate.beginChange({ id: 'under way', affected: [id] });
    const repeatedAnswer = await createVisualization();
    expect([repeatedAnswer.body, isReplay(repeatedAnswer)]).toEqual([first, true]);
    await gate.endChange({ id: 'under way', affected: [id] });
  });

  it('is not replayed if its sender’s permissions were changed while the request ran', async () => {
    const { id, as } = await createPerson();
    const [key, name] = [makeKey(), makeName()];
    const json = { name, sql: 'SELECT 1' };
    const first = await sendDuringRace(
      /insert into "visualizations"/,
      () => denyActions('user', id, 'dashboards:share'),
      (racingEnv) => as.post('/v1/visualizations', { ...makeKeyedRequest(key, json), env: racingEnv }),
    );
    expect(first.status).toBe(201);
    expect(readStatusAndCode(await as.post('/v1/visualizations', makeKeyedRequest(key, json)))).toEqual(
      ACCESS_CHANGED_ERROR,
    );
  });

  it('is not replayed if its sender’s permissions changed after an uncached access key was read', async () => {
    const serviceAccount = await createAllowedAccount(company, makeAllow('groups:*'));
    const gate = env.ORGANIZATION_GATE.getByName(company.id);
    // A key that is not known is read before the gate is asked: what was read is older than what the gate knows.
    const admit = async (admission: Parameters<typeof gate.admit>[0]) => {
      await denyActions('service_account', serviceAccount.id, 'policies:*');
      return gate.admit(admission);
    };
    const endKey = (...callArguments: Parameters<typeof gate.endKey>) => gate.endKey(...callArguments);
    const lateEnv = { ORGANIZATION_GATE: { getByName: () => ({ admit, endKey }) } };
    const requestOptions = makeKeyedRequest(makeKey(), { name: makeName() });
    forgetPrincipals();
    const first = await serviceAccount.as.post('/groups', {
      ...requestOptions,
      env: lateEnv as unknown as Record<string, string>,
    });
    expect(first.status).toBe(201);
    expect(readStatusAndCode(await serviceAccount.as.post('/groups', requestOptions))).toEqual([
      409,
      'IdempotencyAccessChanged',
    ]);
  });

  it('is never replayed to external people: changes of their permissions are not tracked', async () => {
    await createShareContext(company, [], ['two@partner.test']);
    const sessions = [
      await signInOutsider(company, 'two@partner.test'),
      await signInOutsider(company, 'two@partner.test'),
    ];
    const key = makeKey();
    const answers = [];
    for (const { as } of sessions) answers.push(await as.post('/api/v1/share-auth/logout', makeKeyedRequest(key)));
    expect(answers.map(({ status }) => status)).toEqual([200, 409]);
    expect(readStatusAndCode(answers[1] as ApiResponse)).toEqual(ACCESS_CHANGED_ERROR);
  });
});
