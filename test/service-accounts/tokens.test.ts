import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { SURFACES } from '../../src/app.ts';
import type { Contract } from '../../src/http/endpoint.ts';
import { createConcept, KNOWLEDGE_PATH } from '../knowledge/support.ts';
import { column, createTable } from '../managed-tables/support.ts';
import { aShare } from '../shares/support.ts';
import { type Caller, createCaller } from '../support/api.ts';
import { advanceClock, resetClock } from '../support/clock.ts';
import { createCountingD1 } from '../support/counted.ts';
import { forgetPrincipals } from '../support/known-principals.ts';
import { readNewestMail } from '../support/mail.ts';
import {
  aGroup,
  allow,
  aPolicy,
  aServiceAccount,
  aServiceAccountThat,
  must,
  signed,
  withServiceToken,
} from '../support/signed.ts';
import { aCompany, aProvisionedCompany, type Company } from '../support/worlds.ts';
import { loadFiles, makeFile } from '../uploads/support.ts';
import { aDashboard, aVisualization } from '../visualizations/support.ts';

let company: Company;
let admin: Caller;
beforeAll(async () => {
  company = await aCompany();
  admin = signed(company.apiKey);
});
afterEach(resetClock);

const LISTED_PATH = '/v1/visualizations';

describe('POST /tokens', () => {
  it('gives any service account a token for as long as expires_in says', async () => {
    const robot = await aServiceAccount(company);
    const { status, body } = await robot.as.post('/tokens', { json: { expires_in: 60 } });
    expect([status, body]).toEqual([201, { token: expect.any(String), token_type: 'Bearer', expires_in: 60 }]);
    const as = createCaller(body.token);
    advanceClock(58_000);
    expect((await as.get('/v1/auth/me')).status).toBe(200);
    advanceClock(61_000);
    expect((await as.get('/v1/auth/me')).status).toBe(401);
  });

  it('needs no body, and refuses an expiry out of bounds', async () => {
    const { as } = await aServiceAccount(company);
    expect((await as.post('/tokens')).body.expires_in).toBe(600);
    for (const json of [{ expires_in: 59 }, { expires_in: 601 }, { expires_in: '60' }, { expires_in: 90.5 }]) {
      const { status, body } = await as.post('/tokens', { json });
      expect([status, body.details]).toEqual([422, [expect.objectContaining({ field: 'expires_in' })]]);
    }
  });

  it('needs a signed request, and refuses a session or another token', async () => {
    const token = await withServiceToken(await aServiceAccount(company));
    for (const as of [company.as, token]) expect((await as.post('/tokens')).status).toBe(401);
  });
});

describe('a service token', () => {
  it('gets the service account and the company from /v1/auth/me', async () => {
    const robot = await aServiceAccount(company);
    const { status, body } = await (await withServiceToken(robot)).get('/v1/auth/me');
    expect([status, body]).toEqual([
      200,
      {
        user: null,
        service_account: { id: robot.id, name: 'Robot', account_id: company.accountId },
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
    const robot = await aServiceAccountThat(company, allow('visualizations:list'));
    const as = await withServiceToken(robot);
    expect((await as.get(LISTED_PATH)).status).toBe(200);
    expect((await as.get('/v1/dashboards')).status).toBe(403);
    const { actions, policies, is_owner, user_id } = (await as.get('/v1/auth/permissions')).body;
    expect([actions, policies.length, is_owner, user_id]).toEqual([['visualizations:list'], 1, false, robot.id]);
  });

  it('cannot grant more than it may do', async () => {
    const as = await withServiceToken(await aServiceAccountThat(company, allow('policies:create')));
    const document = { version: '2024-01-01', statements: [allow('users:list')] };
    const { status, body } = await as.post('/v1/policies', { json: { name: 'Wider', document } });
    expect([status, body.details?.action]).toEqual([403, 'users:list']);
  });

  it('is cached in the isolate after one request, and then needs no query to the control database', async () => {
    const robot = await aServiceAccountThat(company, allow('users:list'));
    const as = await withServiceToken(robot);
    const counted = async () => {
      const { env, calls } = createCountingD1();
      return [(await as.get(LISTED_PATH, { env })).status, calls()];
    };
    forgetPrincipals();
    expect([await counted(), await counted(), await counted()]).toEqual([
      [403, 1],
      [403, 0],
      [403, 0],
    ]);
    const { env, calls } = createCountingD1();
    expect((await robot.as.get('/accounts', { env })).status).toBe(403);
    expect(calls()).toBe(0);
  });

  it('is recorded in the audit trail with its service account and key', async () => {
    const robot = await aServiceAccount(company);
    const { headers } = await (await withServiceToken(robot)).get('/v1/auth/me');
    const query = `correlation_id=${headers.get('x-correlation-id')}`;
    const record = await vi.waitFor(
      async () => {
        const { results } = await must(admin.get(`/admin/audit-events?${query}`));
        expect(results).toHaveLength(1);
        return results[0];
      },
      { timeout: 15_000, interval: 100 },
    );
    expect(record).toMatchObject({
      principal_type: 'service_account',
      principal_id: robot.id,
      credential: robot.keyId,
      organization_id: company.id,
    });
  });

  it('cannot be refreshed, and is refused when changed or forged', async () => {
    const { token } = await must((await aServiceAccount(company)).as.post('/tokens'));
    const refreshed = await createCaller(token).post('/v1/auth/refresh', { json: { refresh_token: token } });
    expect(refreshed.status).toBe(401);
    expect((await createCaller(`${token.slice(0, -4)}AAAA`).get('/v1/auth/me')).status).toBe(401);
    const [head, , signature] = token.split('.');
    const forged = btoa(JSON.stringify({ aud: 'machine', sub: 'x', exp: 9e9 })).replaceAll('=', '');
    expect((await createCaller(`${head}.${forged}.${signature}`).get('/v1/auth/me')).status).toBe(401);
  });
});

describe('a service token is refused on the next request after', () => {
  /** A service account in an account of its own, whose token the isolate knows. */
  async function known() {
    const { id: accountId } = await must(admin.post('/accounts', { json: { name: `Of a robot ${Math.random()}` } }));
    const robot = await aServiceAccount(company, [], accountId);
    const as = await withServiceToken(robot);
    for (let times = 0; times < 2; times += 1) expect((await as.get(LISTED_PATH)).status).toBe(403);
    return { robot, accountId, as };
  }
  type Known = Awaited<ReturnType<typeof known>>;
  const robotPath = ({ robot }: Known) => `/service-accounts/${robot.id}`;
  const ENDS: [name: string, end: (known: Known) => Promise<unknown>][] = [
    ['its key is revoked', (of) => must(admin.delete(`${robotPath(of)}/keys/${of.robot.keyId}`))],
    ['its service account is deactivated', (of) => must(admin.patch(robotPath(of), { json: { is_active: false } }))],
    ['its service account is deleted', (of) => must(admin.delete(robotPath(of)))],
    [
      'its account is deactivated',
      ({ accountId }) => must(admin.patch(`/accounts/${accountId}`, { json: { is_active: false } })),
    ],
  ];

  it.each(ENDS)('%s, cached in the isolate or not', async (_name, end) => {
    for (const forget of [() => {}, forgetPrincipals]) {
      const of = await known();
      await end(of);
      forget();
      const { status, body } = await of.as.get(LISTED_PATH);
      expect([status, body.error]).toEqual([401, 'UNAUTHORIZED']);
    }
  });

  it('its key has expired', async () => {
    const robot = await aServiceAccount(company);
    const json = { expires_at: new Date(Date.now() + 30_000).toISOString() };
    const key = await must(admin.post(`/service-accounts/${robot.id}/keys`, { json }));
    const as = await withServiceToken({ as: signed(key) });
    expect((await as.get(LISTED_PATH)).status).toBe(403);
    advanceClock(31_000);
    expect((await as.get(LISTED_PATH)).status).toBe(401);
  });

  it('a revocation of its own key, and not of another key of its service account', async () => {
    const { robot, as } = await known();
    const other = await must(admin.post(`/service-accounts/${robot.id}/keys`, { json: {} }));
    await must(admin.delete(`/service-accounts/${robot.id}/keys/${other.id}`));
    expect((await as.get(LISTED_PATH)).status).toBe(403);
  });
});

describe('a service token', () => {
  it('is accepted by two routes of /v1/auth only, since the others are about a user', () => {
    const contracts = SURFACES.flatMap(({ endpoints }) => endpoints.map(({ contract }) => contract));
    const takesToken = ({ path, access }: Contract) =>
      /^\/v1\/auth\/(?!(sso|social)\/)/.test(path) && access !== 'public';
    const others = contracts.filter((contract) => takesToken(contract) && contract.only !== 'people');
    expect(others.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'get /v1/auth/me',
      'get /v1/auth/permissions',
    ]);
  });
});

describe('a resource made with a service token', () => {
  let made: Company;
  let id: string;
  beforeAll(async () => {
    const provisioned = await aProvisionedCompany();
    const robot = await aServiceAccountThat(provisioned, allow('*'));
    made = { ...provisioned, as: await withServiceToken(robot) };
    id = robot.id;
  });

  it('names its service account as its creator', async () => {
    const { as } = made;
    const tableId = await createTable(as, 'orders', [column('total', 'decimal')]);
    expect((await as.get(`/v1/managed-tables/${tableId}`)).body.created_by_user_id).toBe(id);
    const visualization = await aVisualization(as, 'SELECT 1 AS one');
    const dashboard = await aDashboard(as, [visualization]);
    const share = await aShare(made, dashboard._id);
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
    const { status, user_table_id } = await loadFiles(made, [makeFile('cities.csv', 'city\nLisboa\n')]);
    expect(status).toBe('done');
    expect((await made.as.get(`/v1/managed-tables/${user_table_id}`)).body.created_by_user_id).toBe(id);
  });

  it('can be embedded and shared with groups in the portal', async () => {
    const { as } = made;
    const dashboard = await aDashboard(as, [await aVisualization(as, 'SELECT 1 AS one')]);
    const embed = await as.post(`/api/v1/embed/dashboards/${dashboard._id}`, { json: {} });
    expect(embed.status).toBe(201);
    const { groupId, token } = await aMember();
    const grants = [{ target_type: 'dashboard', target_id: dashboard._id, filter_policies: [] }];
    const context = await must(as.post('/api/v1/share-contexts', { json: { name: 'Partners', grants } }));
    const seen = async () => (await token.get('/api/v1/share-portal/contexts')).body.total;
    expect(await seen()).toBe(0);
    const member = { member_type: 'group', member_id: groupId };
    await must(as.post(`/api/v1/share-contexts/${context._id ?? context.id}/members`, { json: member }));
    expect(await seen()).toBe(1);
  });

  async function aMember() {
    const groupId = await aGroup(made, await aPolicy(made, [allow('users:list')]));
    return { groupId, token: await withServiceToken(await aServiceAccount(made, [groupId])) };
  }

  it('is announced by mail with the name of the service account, in which a URL is not linked', async () => {
    const json = { name: 'Robot of https://evil.test/now' };
    await must(signed(made.apiKey).patch(`/service-accounts/${id}`, { json }));
    const invited = 'invited@robot.test';
    await must(made.as.post('/v1/users/invite', { json: { email: invited } }));
    expect(readNewestMail(invited).text).toContain('Robot of');
    expect(readNewestMail(invited).text).not.toContain('evil.test');
    const providers = [
      { issuer: 'https://id.example.com', audience: 'console', jwks_uri: 'https://id.example.com/jwks' },
    ];
    await must(made.as.put('/v1/auth/social/config', { json: { providers } }));
    expect(readNewestMail(made.owner.email).text).toContain('Robot of has set the providers');
  });
});
