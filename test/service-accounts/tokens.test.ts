import { describe, expect, it, vi } from 'vitest';
import { SURFACES } from '../../src/app.ts';
import type { Contract } from '../../src/http/endpoint.ts';
import { createConcept, KNOWLEDGE_PATH } from '../knowledge/support.ts';
import { createTable, makeColumn } from '../managed-tables/support.ts';
import { createShare } from '../shares/support.ts';
import { createCaller } from '../support/api.ts';
import { advanceClock } from '../support/clock.ts';
import { createOwnedCompany, createProvisionedCompany } from '../support/companies.ts';
import { createCountingD1 } from '../support/counting-d1.ts';
import { forgetPrincipals } from '../support/known-principals.ts';
import { readNewestMail } from '../support/mail.ts';
import {
  createAllowedAccount,
  createKeyedAccount,
  createPolicyGroup,
  createSignedCaller,
  createTokenCaller,
  expectSuccess,
  makeAllow,
  storePolicy,
} from '../support/signed.ts';
import { loadFiles, makeFile } from '../uploads/support.ts';
import { postDashboard, postVisualization } from '../visualizations/support.ts';

const company = await createOwnedCompany();
const admin = createSignedCaller(company.apiKey);

const LISTED_PATH = '/v1/visualizations';

describe('POST /tokens', () => {
  it('gives any service account a token for as long as expires_in says', async () => {
    const serviceAccount = await createKeyedAccount(company);
    const { status, body } = await serviceAccount.as.post('/tokens', { json: { expires_in: 60 } });
    expect([status, body]).toEqual([201, { token: expect.any(String), token_type: 'Bearer', expires_in: 60 }]);
    const as = createCaller(body.token);
    advanceClock(58_000);
    expect((await as.get('/v1/auth/me')).status).toBe(200);
    advanceClock(61_000);
    expect((await as.get('/v1/auth/me')).status).toBe(401);
  });

  it('requires no body, and refuses an expiry out of bounds', async () => {
    const { as } = await createKeyedAccount(company);
    expect((await as.post('/tokens')).body.expires_in).toBe(600);
    for (const json of [{ expires_in: 59 }, { expires_in: 601 }, { expires_in: '60' }, { expires_in: 90.5 }]) {
      const { status, body } = await as.post('/tokens', { json });
      expect([status, body.details]).toEqual([422, [expect.objectContaining({ field: 'expires_in' })]]);
    }
  });

  it('requires a signed request, and refuses a session token or a service token', async () => {
    const token = await createTokenCaller(await createKeyedAccount(company));
    for (const as of [company.as, token]) expect((await as.post('/tokens')).status).toBe(401);
  });
});

describe('a service token', () => {
  it('gets the service account and the company from /v1/auth/me', async () => {
    const serviceAccount = await createKeyedAccount(company);
    const { status, body } = await (await createTokenCaller(serviceAccount)).get('/v1/auth/me');
    expect([status, body]).toEqual([
      200,
      {
        user: null,
        service_account: { id: serviceAccount.id, name: 'Robot', account_id: company.accountId },
        context: {
          company_id: company.id,
          company: {
            id: company.id,
            name: expect.any(String),
            slug: company.slug,
            locale: expect.any(String),
            branding: {},
          },
        },
      },
    ]);
  });

  it('has the permissions of its service account, by the groups of that account', async () => {
    const serviceAccount = await createAllowedAccount(company, makeAllow('visualizations:list'));
    const as = await createTokenCaller(serviceAccount);
    expect((await as.get(LISTED_PATH)).status).toBe(200);
    expect((await as.get('/v1/dashboards')).status).toBe(403);
    const { actions, policies, is_owner, user_id } = (await as.get('/v1/auth/permissions')).body;
    expect([actions, policies.length, is_owner, user_id]).toEqual([
      ['visualizations:list'],
      1,
      false,
      serviceAccount.id,
    ]);
  });

  it('cannot grant permissions that it does not have', async () => {
    const as = await createTokenCaller(await createAllowedAccount(company, makeAllow('policies:create')));
    const document = { version: '2024-01-01', statements: [makeAllow('users:list')] };
    const { status, body } = await as.post('/v1/policies', { json: { name: 'Wider', document } });
    expect([status, body.details?.action]).toEqual([403, 'users:list']);
  });

  it('is cached in the isolate after one request, and then needs no query to the control database', async () => {
    const serviceAccount = await createAllowedAccount(company, makeAllow('users:list'));
    const as = await createTokenCaller(serviceAccount);
    const countQueries = async () => {
      const { env, countCalls } = createCountingD1();
      return [(await as.get(LISTED_PATH, { env })).status, countCalls()];
    };
    forgetPrincipals();
    expect([await countQueries(), await countQueries(), await countQueries()]).toEqual([
      [403, 1],
      [403, 0],
      [403, 0],
    ]);
    const { env, countCalls } = createCountingD1();
    expect((await serviceAccount.as.get('/accounts', { env })).status).toBe(403);
    expect(countCalls()).toBe(0);
  });

  it('is recorded in the audit trail with its service account and key', async () => {
    const serviceAccount = await createKeyedAccount(company);
    const { headers } = await (await createTokenCaller(serviceAccount)).get('/v1/auth/me');
    const query = `correlation_id=${headers.get('x-correlation-id')}`;
    const record = await vi.waitFor(
      async () => {
        const { results } = await expectSuccess(admin.get(`/admin/audit-events?${query}`));
        expect(results).toHaveLength(1);
        return results[0];
      },
      { timeout: 15_000, interval: 100 },
    );
    expect(record).toMatchObject({
      principal_type: 'service_account',
      principal_id: serviceAccount.id,
      credential: serviceAccount.keyId,
      organization_id: company.id,
    });
  });

  it('cannot be refreshed, and is refused when changed or forged', async () => {
    const { token } = await expectSuccess((await createKeyedAccount(company)).as.post('/tokens'));
    const refreshAnswer = await createCaller(token).post('/v1/auth/refresh', { json: { refresh_token: token } });
    expect(refreshAnswer.status).toBe(401);
    expect((await createCaller(`${token.slice(0, -4)}AAAA`).get('/v1/auth/me')).status).toBe(401);
    const [head, , signature] = token.split('.');
    const forgedPayload = btoa(JSON.stringify({ aud: 'machine', sub: 'x', exp: 9e9 })).replaceAll('=', '');
    expect((await createCaller(`${head}.${forgedPayload}.${signature}`).get('/v1/auth/me')).status).toBe(401);
  });
});

describe('a service token is refused on the next request after', () => {
  /** Creates a service account in an account of its own, and uses its token until the isolate has cached it. */
  async function createCachedAccount() {
    const { id: accountId } = await expectSuccess(
      admin.post('/accounts', { json: { name: `Of a robot ${Math.random()}` } }),
    );
    const keyedAccount = await createKeyedAccount(company, [], accountId);
    const as = await createTokenCaller(keyedAccount);
    for (let requestIndex = 0; requestIndex < 2; requestIndex += 1)
      expect((await as.get(LISTED_PATH)).status).toBe(403);
    return { robot: keyedAccount, accountId, as };
  }
  type CachedAccount = Awaited<ReturnType<typeof createCachedAccount>>;
  const makeAccountPath = ({ robot }: CachedAccount) => `/service-accounts/${robot.id}`;
  const TOKEN_ENDINGS: [name: string, end: (cachedAccount: CachedAccount) => Promise<unknown>][] = [
    ['its key is revoked', (of) => expectSuccess(admin.delete(`${makeAccountPath(of)}/keys/${of.robot.keyId}`))],
    [
      'its service account is deactivated',
      (of) => expectSuccess(admin.patch(makeAccountPath(of), { json: { is_active: false } })),
    ],
    ['its service account is deleted', (of) => expectSuccess(admin.delete(makeAccountPath(of)))],
    [
      'its account is deactivated',
      ({ accountId }) => expectSuccess(admin.patch(`/accounts/${accountId}`, { json: { is_active: false } })),
    ],
  ];

  it.each(TOKEN_ENDINGS)('%s, cached in the isolate or not', async (_name, end) => {
    for (const forgetCache of [() => {}, forgetPrincipals]) {
      const of = await createCachedAccount();
      await end(of);
      forgetCache();
      const { status, body } = await of.as.get(LISTED_PATH);
      expect([status, body.error]).toEqual([401, 'UNAUTHORIZED']);
    }
  });

  it('its key has expired', async () => {
    const serviceAccount = await createKeyedAccount(company);
    const json = { expires_at: new Date(Date.now() + 30_000).toISOString() };
    const key = await expectSuccess(admin.post(`/service-accounts/${serviceAccount.id}/keys`, { json }));
    const as = await createTokenCaller({ as: createSignedCaller(key) });
    expect((await as.get(LISTED_PATH)).status).toBe(403);
    advanceClock(31_000);
    expect((await as.get(LISTED_PATH)).status).toBe(401);
  });

  it('a revocation of its own key, but not of another key of its service account', async () => {
    const { robot, as } = await createCachedAccount();
    const otherKey = await expectSuccess(admin.post(`/service-accounts/${robot.id}/keys`, { json: {} }));
    await expectSuccess(admin.delete(`/service-accounts/${robot.id}/keys/${otherKey.id}`));
    expect((await as.get(LISTED_PATH)).status).toBe(403);
  });
});

it('a service token is accepted by only two routes of /v1/auth, since all others are about a user', () => {
  const contracts = SURFACES.flatMap(({ endpoints }) => endpoints.map(({ contract }) => contract));
  const acceptsToken = ({ path, access }: Contract) =>
    /^\/v1\/auth\/(?!(sso|social)\/)/.test(path) && access !== 'public';
  const otherContracts = contracts.filter((contract) => acceptsToken(contract) && contract.only !== 'people');
  expect(otherContracts.map(({ method, path }) => `${method} ${path}`)).toEqual([
    'get /v1/auth/me',
    'get /v1/auth/permissions',
  ]);
});

const provisionedCompany = await createProvisionedCompany();
const serviceAccount = await createAllowedAccount(provisionedCompany, makeAllow('*'));
const testCompany = { ...provisionedCompany, as: await createTokenCaller(serviceAccount) };
const id = serviceAccount.id;

describe('a resource made with a service token', () => {
  it('names its service account as its creator', async () => {
    const { as } = testCompany;
    const tableId = await createTable(as, 'orders', [makeColumn('total', 'decimal')]);
    expect((await as.get(`/v1/managed-tables/${tableId}`)).body.created_by_user_id).toBe(id);
    const visualization = await postVisualization(as, 'SELECT 1 AS one');
    const dashboard = await postDashboard(as, [visualization]);
    const share = await createShare(testCompany, dashboard._id);
    const conceptId = await createConcept(as);
    const { versions, records = versions } = (await as.get(`${KNOWLEDGE_PATH}/concepts/${conceptId}/versions`)).body;
    expect([visualization.created_by_user_id, dashboard.created_by_user_id, share.created_by]).toEqual([id, id, id]);
    expect(records[0].changed_by_user_id).toBe(id);
    const event = await vi.waitFor(
      async () => {
        const { records } = (await as.get('/api/v1/share-events?type=share.created')).body;
        expect(records).toHaveLength(1);
        return records[0];
      },
      { timeout: 15_000, interval: 100 },
    );
    expect(event.actor).toEqual({ kind: 'service_account', id, email: null });
  });

  it('can be a table that is loaded from a file', async () => {
    const { status, user_table_id } = await loadFiles(testCompany, [makeFile('cities.csv', 'city\nLisboa\n')]);
    expect(status).toBe('done');
    expect((await testCompany.as.get(`/v1/managed-tables/${user_table_id}`)).body.created_by_user_id).toBe(id);
  });

  it('can be embedded and shared with groups in the portal', async () => {
    const { as } = testCompany;
    const dashboard = await postDashboard(as, [await postVisualization(as, 'SELECT 1 AS one')]);
    const embed = await as.post(`/api/v1/embed/dashboards/${dashboard._id}`, { json: {} });
    expect(embed.status).toBe(201);
    const { groupId, token } = await createMember();
    const grants = [{ target_type: 'dashboard', target_id: dashboard._id, filter_policies: [] }];
    const context = await expectSuccess(as.post('/api/v1/share-contexts', { json: { name: 'Partners', grants } }));
    const countContexts = async () => (await token.get('/api/v1/share-portal/contexts')).body.total;
    expect(await countContexts()).toBe(0);
    const member = { member_type: 'group', member_id: groupId };
    await expectSuccess(as.post(`/api/v1/share-contexts/${context._id ?? context.id}/members`, { json: member }));
    expect(await countContexts()).toBe(1);
  });

  async function createMember() {
    const groupId = await createPolicyGroup(testCompany, await storePolicy(testCompany, [makeAllow('users:list')]));
    return { groupId, token: await createTokenCaller(await createKeyedAccount(testCompany, [groupId])) };
  }

  it('is announced by mail with the name of the service account, in which a URL is not linked', async () => {
    const json = { name: 'Robot of https://evil.test/now' };
    await expectSuccess(createSignedCaller(testCompany.apiKey).patch(`/service-accounts/${id}`, { json }));
    const invitedEmail = 'invited@robot.test';
    await expectSuccess(testCompany.as.post('/v1/users/invite', { json: { email: invitedEmail } }));
    expect(readNewestMail(invitedEmail).text).toContain('Robot of');
    expect(readNewestMail(invitedEmail).text).not.toContain('evil.test');
    const providers = [
      { issuer: 'https://id.example.com', audience: 'console', jwks_uri: 'https://id.example.com/jwks' },
    ];
    await expectSuccess(testCompany.as.put('/v1/auth/social/config', { json: { providers } }));
    expect(readNewestMail(testCompany.owner.email).text).toContain('Robot of has set the providers');
  });
});
