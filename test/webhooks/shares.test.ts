import { env } from 'cloudflare:test';
import { beforeAll, describe, expect, it } from 'vitest';
import { isShareEventType } from '../../src/modules/webhooks/event-types.ts';
import { aContext, CONTEXTS_PATH, dashboardGrant, portalCodeOf, requestCode } from '../share-portal/support.ts';
import { type ApiResponse, call, type RequestOptions } from '../support/api.ts';
import { runScheduled } from '../support/clock.ts';
import { createFailingEnv } from '../support/outage.ts';
import { countRows } from '../support/rival.ts';
import { must } from '../support/signed.ts';
import { aCompany, type Company } from '../support/worlds.ts';
import { aDashboard, aVisualization } from '../visualizations/support.ts';
import { createEndpoint, createReceiver, ENDPOINTS_PATH, type Receiver, waitForArrivals } from './support.ts';
import { ROUTE_EVENTS } from './told.ts';

let company: Company;
let receiver: Receiver;
let dashboard: { _id: string };
let visualization: { _id: string };

beforeAll(async () => {
  company = await aCompany();
  receiver = createReceiver();
  await createEndpoint(company, receiver);
  visualization = await aVisualization(company.as, 'select 1');
  dashboard = await aDashboard(company.as, [visualization]);
});

it('share events from just before a pause are sent after it, those from during the pause never', async () => {
  const paused = createReceiver();
  const { _id } = await createEndpoint(company, paused, ['share.created']);
  const turn = (status: string) => must(company.as.put(`${ENDPOINTS_PATH}/${_id}`, { json: { status } }));
  const before = await createShare();
  await turn('paused');
  await createShare();
  await turn('active');
  const after = await createShare();
  await waitForArrivals(paused, 2);
  const told = (await paused.received()).map(({ event }) => event.data.share_id);
  expect(new Set(told)).toEqual(new Set([before, after]));
});

const OUTSIDER = 'outsider@elsewhere.test';
const SHARED = () => `/api/v1/dashboards/${dashboard._id}/shares`;

const createSharedDashboard = async () => {
  const { _id } = await aDashboard(company.as, [visualization]);
  await must(company.as.post(`/api/v1/dashboards/${_id}/shares`, { json: { share_type: 'link' } }));
  return _id as string;
};
const createShare = async () => (await must(company.as.post(SHARED(), { json: { share_type: 'link' } }))).id as string;
const createMembership = async () => {
  const { id, members } = await aContext(company, [], [`member-${Math.random()}@elsewhere.test`]);
  return `${CONTEXTS_PATH}/${id}/members/${members[0]?.id}`;
};

interface Change {
  type: string;
  /** What the request needs: it is made anew for each. */
  request(): Promise<(sending: RequestOptions) => Promise<ApiResponse>>;
}

const change = (type: string, request: () => Promise<[method: string, path: string, json?: unknown]>): Change => ({
  type,
  async request() {
    const [method, path, json] = await request();
    const headers = { authorization: `Bearer ${company.token}` };
    return (sending) => call(method, path, { headers, ...(json !== undefined && { json }), ...sending });
  },
});

/** Each route that changes something of what is shared, with what it tells. */
const CHANGES: Record<string, Change> = {
  'POST /api/v1/dashboards/{id}/shares': change('share.created', async () => [
    'POST',
    SHARED(),
    { share_type: 'link' },
  ]),
  'PUT /api/v1/dashboard-shares/{shareId}': change('share.updated', async () => [
    'PUT',
    `/api/v1/dashboard-shares/${await createShare()}`,
    { name: 'Renamed' },
  ]),
  'DELETE /api/v1/dashboard-shares/{shareId}': change('share.revoked', async () => [
    'DELETE',
    `/api/v1/dashboard-shares/${await createShare()}`,
  ]),
  'DELETE /v1/dashboards/{id}': change('share.revoked', async () => [
    'DELETE',
    `/v1/dashboards/${await createSharedDashboard()}`,
  ]),
  'POST /api/v1/share-contexts': change('context.created', async () => ['POST', CONTEXTS_PATH, { name: 'Made' }]),
  'PUT /api/v1/share-contexts/{id}': change('context.updated', async () => [
    'PUT',
    `${CONTEXTS_PATH}/${(await aContext(company)).id}`,
    { name: 'Renamed' },
  ]),
  'PUT /api/v1/share-contexts/{id}/grants': change('context.grants_updated', async () => [
    'PUT',
    `${CONTEXTS_PATH}/${(await aContext(company)).id}/grants`,
    { grants: [dashboardGrant(dashboard._id)] },
  ]),
  'DELETE /api/v1/share-contexts/{id}': change('context.deleted', async () => [
    'DELETE',
    `${CONTEXTS_PATH}/${(await aContext(company)).id}`,
  ]),
  'POST /api/v1/share-contexts/{id}/members': change('member.added', async () => [
    'POST',
    `${CONTEXTS_PATH}/${(await aContext(company)).id}/members`,
    { member_type: 'external_email', email: OUTSIDER },
  ]),
  'DELETE /api/v1/share-contexts/{id}/members/{memberId}': change('member.removed', async () => [
    'DELETE',
    await createMembership(),
  ]),
  'POST /api/v1/share-auth/verify': {
    type: 'auth.verified',
    async request() {
      await aContext(company, [], [OUTSIDER]);
      await requestCode(company, OUTSIDER);
      const json = { company_slug: company.slug, email: OUTSIDER, code: portalCodeOf(OUTSIDER) };
      return (sending) => call('POST', '/api/v1/share-auth/verify', { json, ...sending });
    },
  },
  'POST /api/v1/embed/dashboards/{id}': change('embed.generated', async () => [
    'POST',
    `/api/v1/embed/dashboards/${dashboard._id}`,
    {},
  ]),
  'POST /api/v1/embed/visualizations/{id}': change('embed.generated', async () => [
    'POST',
    `/api/v1/embed/visualizations/${visualization._id}`,
    {},
  ]),
  'POST /api/v1/embed/revoke': change('embed.revoked', async () => [
    'POST',
    '/api/v1/embed/revoke',
    { dashboard_id: dashboard._id },
  ]),
  'POST /api/v1/embed/rotate-key': change('embed.key_rotated', async () => ['POST', '/api/v1/embed/rotate-key']),
  'POST /api/v1/embed/signing-keys': change('embed.signing_key_created', async () => {
    const { records } = await must(company.as.get('/api/v1/embed/signing-keys'));
    for (const { id } of records) await company.as.delete(`/api/v1/embed/signing-keys/${id}`);
    return ['POST', '/api/v1/embed/signing-keys'];
  }),
  'DELETE /api/v1/embed/signing-keys/{id}': change('embed.signing_key_deleted', async () => {
    const { records } = await must(company.as.get('/api/v1/embed/signing-keys'));
    const { id } = records[0] ?? (await must(company.as.post('/api/v1/embed/signing-keys')));
    return ['DELETE', `/api/v1/embed/signing-keys/${id}`];
  }),
};

/** Routes that change nothing of what is told: somebody asked for a code. */
const CHANGES_NOTHING = ['POST /api/v1/share-auth/request'];

const failToSend = () => Promise.reject(new Error('It is away.'));

/** Every place but the control database is away: what a request would do after its commit is as if it had broken off there. */
const afterwardsAway = {
  COMPANY_LOG: {
    getByName: (name: string) =>
      new Proxy(env.COMPANY_LOG.getByName(name), {
        get: (log, method) => {
          if (method === 'appendAll') return failToSend;
          const calls = log as unknown as Record<string | symbol, (...given: unknown[]) => unknown>;
          return (...given: unknown[]) => calls[method]?.(...given);
        },
      }),
  },
  SHARE_EVENTS: { send: failToSend, sendBatch: failToSend },
  FILES: new Proxy(env.FILES, {
    get: (bucket, method) => {
      if (method === 'put') return failToSend;
      const call = Reflect.get(bucket, method) as (...given: unknown[]) => unknown;
      return typeof call === 'function' ? call.bind(bucket) : call;
    },
  }),
} as unknown as Record<string, string>;

const readFromLog = async (type: string): Promise<number> =>
  (await must(company.as.get(`/api/v1/share-events?type=${type}`))).total;

const WAITING = "outbox where company_id = ? and message ->> '$.event.type' = ?";

describe('a change of a share, context or embed', () => {
  it('is tested in this file for every route that writes an event about it', () => {
    const told = Object.entries(ROUTE_EVENTS).flatMap(([route, types]) =>
      typeof types !== 'string' && types.some(isShareEventType) ? route : [],
    );
    expect(told.toSorted()).toEqual([...Object.keys(CHANGES), ...CHANGES_NOTHING].toSorted());
  });

  it.each(Object.entries(CHANGES))('by %s writes no event when its transaction fails', async (_, { type, request }) => {
    const send = await request();
    await expect.poll(() => countRows(WAITING, company.id, type)).toBe(0);
    const before = await readFromLog(type);
    expect((await send({ env: createFailingEnv(/insert into "outbox"/) })).status).toBeGreaterThanOrEqual(500);
    expect([await countRows(WAITING, company.id, type), await readFromLog(type)]).toEqual([0, before]);
  });

  it.each(Object.entries(CHANGES))('by %s has its event sent later if the queue is down', async (_, change) => {
    const { type } = change;
    const send = await change.request();
    await expect.poll(() => countRows(WAITING, company.id, type)).toBe(0);
    const before = await readFromLog(type);
    expect((await send({ env: afterwardsAway })).status).toBeLessThan(300);
    expect([await countRows(WAITING, company.id, type), await readFromLog(type)]).toEqual([1, before]);
    await runScheduled();
    await expect.poll(() => readFromLog(type)).toBe(before + 1);
    await expect.poll(() => countRows(WAITING, company.id, type)).toBe(0);
  });

  it('is sent to endpoints once, under the id of its event', async () => {
    const types = [...new Set(Object.values(CHANGES).map(({ type }) => type))];
    const told = async () => {
      const ids = new Map((await receiver.received()).map(({ event, headers }) => [headers['webhook-id'], event.type]));
      return types.map((type) => [type, [...ids.values()].filter((each) => each === type).length]);
    };
    const kept = await Promise.all(types.map(async (type) => [type, await readFromLog(type)]));
    await expect.poll(told, { timeout: 60_000, interval: 1000 }).toEqual(kept);
  });
});
