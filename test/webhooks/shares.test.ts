import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { isShareEventType } from '../../src/modules/webhooks/event-types.ts';
import {
  CONTEXTS_PATH,
  createShareContext,
  makeDashboardGrant,
  readPortalCode,
  requestCode,
} from '../share-portal/support.ts';
import { type ApiResponse, callApi, type RequestOptions } from '../support/api.ts';
import { runScheduled } from '../support/clock.ts';
import { createOwnedCompany } from '../support/companies.ts';
import { createFailingEnv } from '../support/outage.ts';
import { countRows } from '../support/race.ts';
import { expectSuccess } from '../support/signed.ts';
import { postDashboard, postVisualization } from '../visualizations/support.ts';
import { ROUTE_EVENTS } from './route-events.ts';
import { createEndpoint, createReceiver, ENDPOINTS_PATH, waitForArrivals } from './support.ts';

const company = await createOwnedCompany();
const webhookReceiver = createReceiver();
await createEndpoint(company, webhookReceiver);
const visualization: { _id: string } = await postVisualization(company.as, 'select 1');
const dashboard: { _id: string } = await postDashboard(company.as, [visualization]);

it('share events from just before a pause are sent after it, but share events from during the pause never are', async () => {
  const pausedReceiver = createReceiver();
  const { _id } = await createEndpoint(company, pausedReceiver, ['share.created']);
  const setStatus = (status: string) => expectSuccess(company.as.put(`${ENDPOINTS_PATH}/${_id}`, { json: { status } }));
  const shareBefore = await createShare();
  await setStatus('paused');
  await createShare();
  await setStatus('active');
  const shareAfter = await createShare();
  await waitForArrivals(pausedReceiver, 2);
  const deliveredShares = (await pausedReceiver.readReceivedRequests()).map(({ event }) => event.data.share_id);
  expect(new Set(deliveredShares)).toEqual(new Set([shareBefore, shareAfter]));
});

const OUTSIDER_EMAIL = 'outsider@elsewhere.test';
const makeSharesPath = () => `/api/v1/dashboards/${dashboard._id}/shares`;

const createSharedDashboard = async () => {
  const { _id } = await postDashboard(company.as, [visualization]);
  await expectSuccess(company.as.post(`/api/v1/dashboards/${_id}/shares`, { json: { share_type: 'link' } }));
  return _id as string;
};
const createShare = async () =>
  (await expectSuccess(company.as.post(makeSharesPath(), { json: { share_type: 'link' } }))).id as string;
const createMembership = async () => {
  const { id, members } = await createShareContext(company, [], [`member-${Math.random()}@elsewhere.test`]);
  return `${CONTEXTS_PATH}/${id}/members/${members[0]?.id}`;
};

interface ShareChange {
  type: string;
  /** Prepares what the request needs, anew for each request. @returns a function that sends the request */
  prepareRequest(): Promise<(sending: RequestOptions) => Promise<ApiResponse>>;
}

const makeChange = (
  type: string,
  request: () => Promise<[method: string, path: string, json?: unknown]>,
): ShareChange => ({
  type,
  async prepareRequest() {
    const [method, path, json] = await request();
    const headers = { authorization: `Bearer ${company.token}` };
    return (sending) => callApi(method, path, { headers, ...(json !== undefined && { json }), ...sending });
  },
});

/** Each route that changes a share, context or embed, with the event type that it causes. */
const ROUTE_CHANGES: Record<string, ShareChange> = {
  'POST /api/v1/dashboards/{id}/shares': makeChange('share.created', async () => [
    'POST',
    makeSharesPath(),
    { share_type: 'link' },
  ]),
  'PUT /api/v1/dashboard-shares/{shareId}': makeChange('share.updated', async () => [
    'PUT',
    `/api/v1/dashboard-shares/${await createShare()}`,
    { name: 'Renamed' },
  ]),
  'DELETE /api/v1/dashboard-shares/{shareId}': makeChange('share.revoked', async () => [
    'DELETE',
    `/api/v1/dashboard-shares/${await createShare()}`,
  ]),
  'DELETE /v1/dashboards/{id}': makeChange('share.revoked', async () => [
    'DELETE',
    `/v1/dashboards/${await createSharedDashboard()}`,
  ]),
  'POST /api/v1/share-contexts': makeChange('context.created', async () => ['POST', CONTEXTS_PATH, { name: 'Made' }]),
  'PUT /api/v1/share-contexts/{id}': makeChange('context.updated', async () => [
    'PUT',
    `${CONTEXTS_PATH}/${(await createShareContext(company)).id}`,
    { name: 'Renamed' },
  ]),
  'PUT /api/v1/share-contexts/{id}/grants': makeChange('context.grants_updated', async () => [
    'PUT',
    `${CONTEXTS_PATH}/${(await createShareContext(company)).id}/grants`,
    { grants: [makeDashboardGrant(dashboard._id)] },
  ]),
  'DELETE /api/v1/share-contexts/{id}': makeChange('context.deleted', async () => [
    'DELETE',
    `${CONTEXTS_PATH}/${(await createShareContext(company)).id}`,
  ]),
  'POST /api/v1/share-contexts/{id}/members': makeChange('member.added', async () => [
    'POST',
    `${CONTEXTS_PATH}/${(await createShareContext(company)).id}/members`,
    { member_type: 'external_email', email: OUTSIDER_EMAIL },
  ]),
  'DELETE /api/v1/share-contexts/{id}/members/{memberId}': makeChange('member.removed', async () => [
    'DELETE',
    await createMembership(),
  ]),
  'POST /api/v1/share-auth/verify': {
    type: 'auth.verified',
    async prepareRequest() {
      await createShareContext(company, [], [OUTSIDER_EMAIL]);
      await requestCode(company, OUTSIDER_EMAIL);
      const json = { company_slug: company.slug, email: OUTSIDER_EMAIL, code: readPortalCode(OUTSIDER_EMAIL) };
      return (sending) => callApi('POST', '/api/v1/share-auth/verify', { json, ...sending });
    },
  },
  'POST /api/v1/embed/dashboards/{id}': makeChange('embed.generated', async () => [
    'POST',
    `/api/v1/embed/dashboards/${dashboard._id}`,
    {},
  ]),
  'POST /api/v1/embed/visualizations/{id}': makeChange('embed.generated', async () => [
    'POST',
    `/api/v1/embed/visualizations/${visualization._id}`,
    {},
  ]),
  'POST /api/v1/embed/revoke': makeChange('embed.revoked', async () => [
    'POST',
    '/api/v1/embed/revoke',
    { dashboard_id: dashboard._id },
  ]),
  'POST /api/v1/embed/rotate-key': makeChange('embed.key_rotated', async () => ['POST', '/api/v1/embed/rotate-key']),
  'POST /api/v1/embed/signing-keys': makeChange('embed.signing_key_created', async () => {
    const { records } = await expectSuccess(company.as.get('/api/v1/embed/signing-keys'));
    for (const { id } of records) await company.as.delete(`/api/v1/embed/signing-keys/${id}`);
    return ['POST', '/api/v1/embed/signing-keys'];
  }),
  'DELETE /api/v1/embed/signing-keys/{id}': makeChange('embed.signing_key_deleted', async () => {
    const { records } = await expectSuccess(company.as.get('/api/v1/embed/signing-keys'));
    const { id } = records[0] ?? (await expectSuccess(company.as.post('/api/v1/embed/signing-keys')));
    return ['DELETE', `/api/v1/embed/signing-keys/${id}`];
  }),
};

/** Routes that change nothing that an event is about: a user only requests a code. */
const ROUTES_WITHOUT_CHANGE = ['POST /api/v1/share-auth/request'];

const failToSend = () => Promise.reject(new Error('It is away.'));

/** An environment in which every store but the control database fails, as if the request had broken off after its commit. */
const failingAfterCommit = {
  COMPANY_LOG: {
    getByName: (name: string) =>
      new Proxy(env.COMPANY_LOG.getByName(name), {
        get: (log, method) => {
          if (method === 'appendAll') return failToSend;
          const logMethods = log as unknown as Record<string | symbol, (...callArguments: unknown[]) => unknown>;
          return (...callArguments: unknown[]) => logMethods[method]?.(...callArguments);
        },
      }),
  },
  SHARE_EVENTS: { send: failToSend, sendBatch: failToSend },
  FILES: new Proxy(env.FILES, {
    get: (bucket, method) => {
      if (method === 'put') return failToSend;
      const bucketMethod = Reflect.get(bucket, method) as (...callArguments: unknown[]) => unknown;
      return typeof bucketMethod === 'function' ? bucketMethod.bind(bucket) : bucketMethod;
    },
  }),
} as unknown as Record<string, string>;

const readFromLog = async (type: string): Promise<number> =>
  (await expectSuccess(company.as.get(`/api/v1/share-events?type=${type}`))).total;

const OUTBOX_QUERY = "outbox where company_id = ? and message ->> '$.event.type' = ?";

describe('a change of a share, context or embed', () => {
  it('is tested in this file for every route that writes an event about it', () => {
    const eventRoutes = Object.entries(ROUTE_EVENTS).flatMap(([route, types]) =>
      typeof types !== 'string' && types.some(isShareEventType) ? route : [],
    );
    expect(eventRoutes.toSorted()).toEqual([...Object.keys(ROUTE_CHANGES), ...ROUTES_WITHOUT_CHANGE].toSorted());
  });

  it.each(Object.entries(ROUTE_CHANGES))(
    'by %s writes no event when its transaction fails',
    async (_, { type, prepareRequest }) => {
      const sendRequest = await prepareRequest();
      await expect.poll(() => countRows(OUTBOX_QUERY, company.id, type)).toBe(0);
      const loggedCountBefore = await readFromLog(type);
      expect((await sendRequest({ env: createFailingEnv(/insert into "outbox"/) })).status).toBeGreaterThanOrEqual(500);
      expect([await countRows(OUTBOX_QUERY, company.id, type), await readFromLog(type)]).toEqual([
        0,
        loggedCountBefore,
      ]);
    },
  );

  it.each(Object.entries(ROUTE_CHANGES))('by %s has its event sent later if the queue is down', async (_, change) => {
    const { type } = change;
    const sendRequest = await change.prepareRequest();
    await expect.poll(() => countRows(OUTBOX_QUERY, company.id, type)).toBe(0);
    const loggedCountBefore = await readFromLog(type);
    expect((await sendRequest({ env: failingAfterCommit })).status).toBeLessThan(300);
    expect([await countRows(OUTBOX_QUERY, company.id, type), await readFromLog(type)]).toEqual([1, loggedCountBefore]);
    await runScheduled();
    await expect.poll(() => readFromLog(type)).toBe(loggedCountBefore + 1);
    await expect.poll(() => countRows(OUTBOX_QUERY, company.id, type)).toBe(0);
  });

  it('is sent to endpoints once, under the id of its event', async () => {
    const types = [...new Set(Object.values(ROUTE_CHANGES).map(({ type }) => type))];
    const countDelivered = async () => {
      const ids = new Map(
        (await webhookReceiver.readReceivedRequests()).map(({ event, headers }) => [headers['webhook-id'], event.type]),
      );
      return types.map((type) => [type, [...ids.values()].filter((receivedType) => receivedType === type).length]);
    };
    const loggedCounts = await Promise.all(types.map(async (type) => [type, await readFromLog(type)]));
    await expect.poll(countDelivered, { timeout: 60_000, interval: 1000 }).toEqual(loggedCounts);
  });
});
