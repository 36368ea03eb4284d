import { env } from 'cloudflare:test';
import { beforeAll, describe, expect, it } from 'vitest';
import { SIGNING_KEYS_PATH } from '../embeds/support.ts';
import { createItemMaker, insertRows } from '../knowledge/metrics/support.ts';
import { createConcept } from '../knowledge/support.ts';
import { column, createTable } from '../managed-tables/support.ts';
import { aContext, anOutsider, CONTEXTS_PATH, dashboardGrant } from '../share-portal/support.ts';
import { aSalesDashboard, someSales } from '../shares/support.ts';
import { type ApiResponse, type Caller, createCaller } from '../support/api.ts';
import { forgetPrincipals } from '../support/known-principals.ts';
import { sendOvertaken } from '../support/rival.ts';
import {
  aGroup,
  allow,
  aPolicy,
  aServiceAccount,
  aServiceAccountThat,
  bind,
  deny,
  must,
  signed,
  withServiceToken,
} from '../support/signed.ts';
import { aProvisionedCompany, aUser, type Company } from '../support/worlds.ts';
import { aVisualization } from '../visualizations/support.ts';

let company: Company;
let admin: Caller;
let createdCount = 0;
beforeAll(async () => {
  company = await aProvisionedCompany();
  admin = signed(company.apiKey);
  await someSales(company);
});

const makeKey = () => `key-${++createdCount}`;
const makeName = () => `Readers ${++createdCount}`;
const withKey = (key: string, json: unknown = {}) => ({ headers: { 'idempotency-key': key }, json });
const isReplay = ({ headers }: ApiResponse) => headers.get('idempotency-replayed') === 'true';
const readStatusAndCode = ({ status, body }: ApiResponse) => [status, body.error_code ?? body.error];
const ACCESS_CHANGED = [409, 'IDEMPOTENCY_ACCESS_CHANGED'];

/** Takes actions from a principal, by a group with a Deny. */
async function denyActions(type: 'user' | 'service_account', id: string, ...actions: string[]): Promise<void> {
  const group = await aGroup(company, await aPolicy(company, [deny(...(actions as `${string}*`[]))]));
  const json = { principal_type: type, principal_id: id, account_id: company.accountId };
  await must(admin.post(`/groups/${group}/bindings`, { json }));
}

/** A person who may do everything but manage access. */
const createPerson = () =>
  aUser(company, {
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
    const { dashboard } = await aSalesDashboard(company);
    const { id, members } = await aContext(company, [dashboardGrant(dashboard._id)], ['left@partner.test']);
    await aContext(company, [], ['left@partner.test']);
    const { as } = await anOutsider(company, 'left@partner.test');
    const sending = withKey(makeKey(), { context_id: id });
    const path = `/api/v1/share-portal/dashboards/${dashboard._id}/execute`;
    const first = await must(as.post(path, sending));
    await must(company.as.delete(`${CONTEXTS_PATH}/${id}/members/${members[0]?.id}`));
    const again = await as.post(path, sending);
    expect(first.results[0].rows.length).toBeGreaterThan(0);
    expect([again.status, isReplay(again), 'results' in again.body]).toEqual([400, false, false]);
  });

  it('shows no rows of a visualization that was denied to the caller after the first execution', async () => {
    const { dashboard } = await aSalesDashboard(company);
    const { id, as } = await createPerson();
    const execute = (key: string) => as.post(`/v1/dashboards/${dashboard._id}/execute`, withKey(key));
    const key = makeKey();
    const first = await must(execute(key));
    await denyActions('user', id, 'visualizations:execute');
    const again = await execute(key);
    expect(JSON.stringify(first.results)).toContain('"rows"');
    expect([isReplay(again), JSON.stringify(again.body).includes('"rows":[[')]).toEqual([false, false]);
  });

  it('shows no metric of a table whose rows were denied to the caller after the first request', async () => {
    const concept = await createConcept(company.as);
    const table = await createTable(company.as, 'takings', [column('total', 'decimal')]);
    await insertRows(company.as, table, [{ total: 5 }]);
    const { metric } = createItemMaker(
      () => company.as,
      () => concept,
    );
    const takings = await metric('Takings', { formula: 'sum(takings.total)', mapped_tables: ['takings'] });
    const { id, token } = await createPerson();
    const robot = await aServiceAccountThat(company, allow('semantic:*', 'managed-tables:*'));
    const program = await withServiceToken(robot);
    const [query, mcp] = [makeKey(), makeKey()];
    const tool = { jsonrpc: '2.0', id: 1, method: 'tools/call' };
    const call = { ...tool, params: { name: 'query_metrics', arguments: { metrics: [takings] } } };
    const accept = { accept: 'application/json, text/event-stream' };
    const asked = async (as: Caller) => {
      const message = withKey(mcp, call);
      return [
        await as.post('/api/v1/domain-knowledge/semantic/query', withKey(query, { metrics: [takings] })),
        await as.post('/mcp', { ...message, headers: { ...message.headers, ...accept } }),
      ];
    };
    const askedBoth = async () => [...(await asked(createCaller(token))), ...(await asked(program))];
    const shows = (answers: ApiResponse[]) =>
      answers.map(({ body }) => /\brows\\?":\s*\[\[/.test(JSON.stringify(body)));
    expect(shows(await askedBoth())).toEqual([true, true, true, true]);
    await denyActions('user', id, 'managed-tables:data-read');
    await denyActions('service_account', robot.id, 'managed-tables:data-read');
    const again = await askedBoth();
    expect([shows(again), again.map(isReplay)]).toEqual([Array(4).fill(false), Array(4).fill(false)]);
  });

  it('ignores an invalid idempotency key', async () => {
    const sending = withKey('not a key', { metrics: [] });
    const { body } = await company.as.post('/api/v1/domain-knowledge/semantic/query', sending);
    expect(JSON.stringify(body)).not.toContain('Idempotency-Key');
  });
});

describe('a refusal kept for an idempotency key', () => {
  const NOBODY = '0'.repeat(24);

  it.each<[string, string, object, number?]>([
    ['a share', `/api/v1/dashboards/${NOBODY}/shares`, { share_type: 'link' }],
    ['a share of a wrong form', `/api/v1/dashboards/${NOBODY}/shares`, { share_type: 'x' }, 422],
    ['a member', `${CONTEXTS_PATH}/${NOBODY}/members`, { member_type: 'external_email', email: 'a@partner.test' }],
    ['an embed token', `/api/v1/embed/dashboards/${NOBODY}`, {}],
    ['an accepted suggestion', `/api/v1/domain-knowledge/suggestions/${NOBODY}/accept`, {}],
  ])('is replayed where there is nothing to make it of: %s', async (_what, path, json, status = 404) => {
    const sending = withKey(makeKey(), json);
    const [first, again] = [await company.as.post(path, sending), await company.as.post(path, sending)];
    expect([first.status, isReplay(first), again.status, isReplay(again)]).toEqual([status, false, status, true]);
    expect(again.body).toEqual(first.body);
  });
});

describe('an answer kept for an idempotency key', () => {
  it.each<[what: string, path: (dashboard: string) => string]>([
    ['the token of an embed', (id) => `/api/v1/embed/dashboards/${id}`],
    ['the secret of a signing key', () => SIGNING_KEYS_PATH],
  ])('with %s is not replayed once its sender is denied sharing a visualization', async (_what, path) => {
    const { dashboard } = await aSalesDashboard(company);
    const { id, as } = await createPerson();
    const key = makeKey();
    const send = (used = key) => as.post(path(dashboard._id), withKey(used));
    const first = await send();
    expect([first.status, isReplay(await send())]).toEqual([201, true]);
    await denyActions('user', id, 'visualizations:share');
    const again = await send();
    expect([readStatusAndCode(again), isReplay(again)]).toEqual([ACCESS_CHANGED, false]);
    expect((await send(makeKey())).status).toBe(403);
  });

  it('with the secret of an API key is not replayed once the key’s account may do more than its sender', async () => {
    const maker = await aServiceAccountThat(company, allow('service-accounts:*', 'groups:*'));
    const robot = await aServiceAccount(company);
    const send = (key: string) => maker.as.post(`/service-accounts/${robot.id}/keys`, withKey(key));
    const key = makeKey();
    const first = await must(send(key));
    const replayed = await send(key);
    expect([replayed.body, isReplay(replayed)]).toEqual([first, true]);
    const group = await aGroup(company, await aPolicy(company, [allow('*')]));
    const json = { principal_type: 'service_account', principal_id: robot.id, account_id: company.accountId };
    await must(admin.post(`/groups/${group}/bindings`, { json }));
    const again = await send(key);
    expect([again.status, isReplay(again)]).toEqual([403, false]);
    expect(JSON.stringify(again.body)).not.toContain(first.secret_key);
    expect(again.body).toEqual((await send(makeKey())).body);
  });

  it.each<[what: string, path: (dashboard: string, context: string) => string, json: object]>([
    ['an embed', (dashboard) => `/api/v1/embed/dashboards/${dashboard}`, {}],
    ['a share', (dashboard) => `/api/v1/dashboards/${dashboard}/shares`, { share_type: 'link' }],
    [
      'a context membership',
      (_, context) => `${CONTEXTS_PATH}/${context}/members`,
      { member_type: 'external_email', email: 'new@partner.test' },
    ],
  ])('of %s is not replayed once the dashboard shows more than its sender may share', async (_what, path, json) => {
    const { dashboard } = await aSalesDashboard(company);
    const context = await aContext(company, [dashboardGrant(dashboard._id)]);
    const secret = await aVisualization(company.as, 'SELECT 1');
    const { as } = await aUser(company, {
      can: ['dashboards:*', 'visualizations:*'],
      denied: ['visualizations:*'],
      deniedOn: [`arn:svc:visualizations::${company.id}:visualization/${secret._id}`],
    });
    const send = (key: string) => as.post(path(dashboard._id, context.id), withKey(key, json));
    const key = makeKey();
    expect([(await send(key)).status, isReplay(await send(key))]).toEqual([201, true]);
    const layout = [{ visualization_id: secret._id, x: 0, y: 0, w: 4, h: 3 }];
    await must(company.as.put(`/v1/dashboards/${dashboard._id}`, { json: { layout, filters: [] } }));
    const again = await send(key);
    expect([again.status, isReplay(again)]).toEqual([403, false]);
  });

  it('is not replayed after any change of its sender’s permissions, also if it is a refusal', async () => {
    const { id, as } = await createPerson();
    const [taken, name] = [makeKey(), makeName()];
    const create = () => as.post('/v1/visualizations', withKey(taken, { name, sql: 'SELECT 1' }));
    expect((await create()).status).toBe(201);
    const invalid = makeKey();
    expect((await as.post('/v1/visualizations', withKey(invalid))).status).toBe(422);
    // What is given besides leads to nothing that this shows; whether it does is not looked into.
    await bind(company, await aGroup(company, await aPolicy(company, [allow('groups:ListGroups')])), id);
    expect(readStatusAndCode(await create())).toEqual(ACCESS_CHANGED);
    expect(readStatusAndCode(await as.post('/v1/visualizations', withKey(invalid)))).toEqual(ACCESS_CHANGED);
  });

  it('is replayed after the permissions of others have changed', async () => {
    const { as } = await createPerson();
    const other = await createPerson();
    const key = makeKey();
    const name = makeName();
    const create = () => as.post('/v1/visualizations', withKey(key, { name, sql: 'SELECT 1' }));
    const first = await must(create());
    await bind(company, await aGroup(company), other.id);
    const again = await create();
    expect([again.body, isReplay(again)]).toEqual([first, true]);
  });

  it('is replayed where its own request changed its sender’s permissions, until others change them', async () => {
    const robot = await aServiceAccountThat(company, allow('groups:*'));
    const group = await aGroup(company, await aPolicy(company, [allow('groups:GetGroup')]));
    const policy = await aPolicy(company, [allow('groups:ListGroups')]);
    const json = { principal_type: 'service_account', principal_id: robot.id, account_id: company.accountId };
    const [joining, attaching] = [makeKey(), makeKey()];
    const join = () => robot.as.post(`/groups/${group}/bindings`, withKey(joining, json));
    const attach = () => robot.as.post(`/groups/${group}/policies/${policy}`, withKey(attaching));
    for (const send of [join, attach]) {
      const first = await send();
      const again = await send();
      expect([first.status < 300, again.status, isReplay(again), again.body]).toEqual([
        true,
        first.status,
        true,
        first.body,
      ]);
    }
    await denyActions('service_account', robot.id, 'policies:*');
    expect(readStatusAndCode(await attach())).toEqual([409, 'IdempotencyAccessChanged']);
  });

  it('is replayed while a change of its sender’s permissions is announced, but not made', async () => {
    const { id, as } = await createPerson();
    const [key, name] = [makeKey(), makeName()];
    const create = () => as.post('/v1/visualizations', withKey(key, { name, sql: 'SELECT 1' }));
    const first = await must(create());
    const gate = env.ORGANIZATION_GATE.getByName(company.id);
    await gate.beginChange({ id: 'under way', affected: [id] });
    const again = await create();
    expect([again.body, isReplay(again)]).toEqual([first, true]);
    await gate.endChange({ id: 'under way', affected: [id] });
  });

  it('is not replayed if its sender’s permissions were changed while the request ran', async () => {
    const { id, as } = await createPerson();
    const [key, name] = [makeKey(), makeName()];
    const json = { name, sql: 'SELECT 1' };
    const first = await sendOvertaken(
      /insert into "visualizations"/,
      () => denyActions('user', id, 'dashboards:share'),
      (watched) => as.post('/v1/visualizations', { ...withKey(key, json), env: watched }),
    );
    expect(first.status).toBe(201);
    expect(readStatusAndCode(await as.post('/v1/visualizations', withKey(key, json)))).toEqual(ACCESS_CHANGED);
  });

  it('is not replayed if its sender’s permissions changed after an uncached access key was read', async () => {
    const robot = await aServiceAccountThat(company, allow('groups:*'));
    const gate = env.ORGANIZATION_GATE.getByName(company.id);
    // A key that is not known is read before the gate is asked: what was read is older than what the gate knows.
    const admit = async (admission: Parameters<typeof gate.admit>[0]) => {
      await denyActions('service_account', robot.id, 'policies:*');
      return gate.admit(admission);
    };
    const endKey = (...given: Parameters<typeof gate.endKey>) => gate.endKey(...given);
    const late = { ORGANIZATION_GATE: { getByName: () => ({ admit, endKey }) } };
    const sending = withKey(makeKey(), { name: makeName() });
    forgetPrincipals();
    const first = await robot.as.post('/groups', { ...sending, env: late as unknown as Record<string, string> });
    expect(first.status).toBe(201);
    expect(readStatusAndCode(await robot.as.post('/groups', sending))).toEqual([409, 'IdempotencyAccessChanged']);
  });

  it('is never replayed to external people: changes of their permissions are not tracked', async () => {
    await aContext(company, [], ['two@partner.test']);
    const sessions = [await anOutsider(company, 'two@partner.test'), await anOutsider(company, 'two@partner.test')];
    const key = makeKey();
    const answers = [];
    for (const { as } of sessions) answers.push(await as.post('/api/v1/share-auth/logout', withKey(key)));
    expect(answers.map(({ status }) => status)).toEqual([200, 409]);
    expect(readStatusAndCode(answers[1] as ApiResponse)).toEqual(ACCESS_CHANGED);
  });
});
