import { env, runInDurableObject } from 'cloudflare:test';
import { Webhook } from 'standardwebhooks';
import { expect, it } from 'vitest';
import { DAY_MS } from '../../src/kernel/clock.ts';
import { createOwnedCompany } from '../support/companies.ts';
import { sendDuringRace } from '../support/race.ts';
import { expectSuccess } from '../support/signed.ts';
import { createEndpoint, createReceiver, ENDPOINTS_PATH, waitForArrivals } from './support.ts';

const TEST_EVENT_REQUEST = { json: { event_type: 'user.invited' } };

it('two concurrent rotations of a webhook secret keep all secrets', async () => {
  const company = await createOwnedCompany();
  const receiver = createReceiver();
  const { _id, secret } = await createEndpoint(company, receiver, ['company.updated']);
  const path = `${ENDPOINTS_PATH}/${_id}/rotate-secret`;
  let concurrentRotation = { secret: '' };
  const { body } = await sendDuringRace(
    /^update "webhook_endpoints"/,
    async () => {
      concurrentRotation = await expectSuccess(company.as.post(path));
    },
    (env) => company.as.post(path, { env }),
  );
  await company.as.post(`${ENDPOINTS_PATH}/${_id}/test`, TEST_EVENT_REQUEST);
  const [received] = await waitForArrivals(receiver);
  for (const candidateSecret of [secret, concurrentRotation.secret, body.secret]) {
    expect(new Webhook(candidateSecret).verify(received?.body ?? '', received?.headers ?? {})).toBeTruthy();
  }
});

it('a webhook endpoint with a new address is not disabled by a late answer from its former address', async () => {
  const company = await createOwnedCompany();
  const [former, next] = [createReceiver('late.410'), createReceiver()];
  const { _id } = await createEndpoint(company, former, ['company.updated']);
  const path = `${ENDPOINTS_PATH}/${_id}`;
  await company.as.post(`${path}/test`, TEST_EVENT_REQUEST);
  await waitForArrivals(former);
  await expectSuccess(company.as.put(path, { json: { url: next.url } }));
  await expect.poll(async () => (await company.as.get(`${path}/deliveries`)).body.records[0].status).toBe('failed');
  await company.as.post(`${path}/test`, TEST_EVENT_REQUEST);
  await waitForArrivals(next);
  expect((await company.as.get(path)).body.status).toBe('active');
});

it('a webhook endpoint that was paused meanwhile is not disabled by a late answer', async () => {
  const company = await createOwnedCompany();
  const receiver = createReceiver('late.410');
  const { _id } = await createEndpoint(company, receiver, ['company.updated']);
  const path = `${ENDPOINTS_PATH}/${_id}`;
  await company.as.post(`${path}/test`, TEST_EVENT_REQUEST);
  await waitForArrivals(receiver);
  await expectSuccess(company.as.put(path, { json: { status: 'paused' } }));
  await expect.poll(async () => (await company.as.get(`${path}/deliveries`)).body.records[0].status).toBe('failed');
  expect((await company.as.get(path)).body.status).toBe('paused');
});

it('a webhook endpoint that is disabled just before it is set to active is not disabled again by the next failure', async () => {
  const company = await createOwnedCompany();
  const { _id } = await createEndpoint(company, createReceiver('status.500'), ['company.updated']);
  const path = `${ENDPOINTS_PATH}/${_id}`;
  const failForDays = async () => {
    await runInDurableObject(env.WEBHOOK_SENDER.getByName(_id), (_, { storage }) =>
      storage.kv.put('failing_since', Date.now() - 100 * DAY_MS),
    );
    await company.as.post(`${path}/test`, TEST_EVENT_REQUEST);
    await expect.poll(async () => (await company.as.get(path)).body.status).toBe('disabled');
  };
  const { body } = await sendDuringRace(/^update "webhook_endpoints"/, failForDays, (racingEnv) =>
    company.as.put(path, { env: racingEnv, json: { status: 'active' } }),
  );
  expect([body.status, body.disabled_reason]).toEqual(['active', null]);
  await company.as.post(`${path}/test`, TEST_EVENT_REQUEST);
  // A second attempt follows only while the endpoint is active.
  await expect
    .poll(async () => (await company.as.get(`${path}/deliveries`)).body.records[0].attempts.length)
    .toBeGreaterThan(1);
});

it('a company has at most twenty webhook endpoints', async () => {
  const company = await createOwnedCompany();
  const receiver = createReceiver();
  for (let n = 0; n < 20; n += 1) await createEndpoint(company, receiver);
  const { status, body } = await company.as.post(ENDPOINTS_PATH, { json: { url: receiver.url } });
  expect([status, body.error]).toEqual([409, 'WEBHOOK_ENDPOINT_LIMIT']);
});
