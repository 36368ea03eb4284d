import { env, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { Webhook } from 'standardwebhooks';
import { describe, expect, inject, it } from 'vitest';
import { COMPANIES_WITH_EVENTS } from '../../src/db/event-session.ts';
import { HOUR_MS } from '../../src/kernel/clock.ts';
import { selectCompaniesWithPendingEvents } from '../../src/modules/webhooks/store.ts';
import type { WebhookSender } from '../../src/objects/webhook-sender.ts';
import { postWebhook } from '../../src/platform/webhooks.ts';
import { makePath, operator } from '../organizations/support.ts';
import { advanceClock, resetClock } from '../support/clock.ts';
import { createOwnedCompany } from '../support/companies.ts';
import { makeGroupInput } from '../support/console.ts';
import { runInContext } from '../support/context.ts';
import { countRows, runSql } from '../support/race.ts';
import { expectSuccess } from '../support/signed.ts';
import { deliverMessage } from '../uploads/support.ts';
import { createEndpoint, createReceiver, ENDPOINTS_PATH, type WebhookReceiver, waitForArrivals } from './support.ts';

const company = await createOwnedCompany();

const getSender = (id: string) => env.WEBHOOK_SENDER.getByName(id) as unknown as DurableObjectStub<WebhookSender>;

const sendTestEvent = (id: string, inCompany = company) =>
  expectSuccess(inCompany.as.post(`${ENDPOINTS_PATH}/${id}/test`, { json: { event_type: 'user.invited' } }));

const readFirstDelivery = async (id: string, inCompany = company) =>
  (await expectSuccess(inCompany.as.get(`${ENDPOINTS_PATH}/${id}/deliveries`))).records[0] ?? { attempts: [] };

/** Creates an endpoint whose receiver has refused a delivery once. @returns the endpoint, and its receiver */
async function createRefusedDelivery(inCompany = company) {
  const receiver = createReceiver('status.500');
  const { _id, secret } = await createEndpoint(inCompany, receiver, ['company.updated']);
  await sendTestEvent(_id, inCompany);
  await expect.poll(async () => (await readFirstDelivery(_id, inCompany)).attempts.length).toBeGreaterThan(0);
  return { receiver, id: _id, secret };
}

const countReceived = async (receiver: WebhookReceiver) => (await receiver.readReceivedRequests()).length;

/** Makes an endpoint send the deliveries that are due after the given milliseconds, as far as it is allowed. */
async function sendDueDeliveriesAfter(id: string, milliseconds: number): Promise<void> {
  // What it has read of the endpoint is old by then.
  await getSender(id).changed({ resumed: false });
  advanceClock(milliseconds);
  await runDurableObjectAlarm(getSender(id));
}

describe('an attempt to deliver a webhook', () => {
  it('fails at a certificate of an unknown authority', async () => {
    const receiver = createReceiver('ok', inject('untrustedReceiverUrl'));
    const { _id } = await createEndpoint(company, receiver, ['company.updated']);
    await sendTestEvent(_id);
    await expect
      .poll(async () => (await readFirstDelivery(_id)).attempts[0])
      .toMatchObject({
        status: null,
        error: 'connection_failed',
      });
    expect(await countReceived(receiver)).toBe(0);
  });

  it.concurrent.each(['mute', 'drip'])('times out in fifteen seconds if the receiver is %s', async (behaviour) => {
    const { _id } = await createEndpoint(company, createReceiver(behaviour), ['company.updated']);
    await sendTestEvent(_id);
    await expect
      .poll(async () => (await readFirstDelivery(_id)).attempts.length, { timeout: 60_000 })
      .toBeGreaterThan(0);
    const [attempt] = (await readFirstDelivery(_id)).attempts;
    expect([attempt.status, attempt.error, Math.floor(attempt.duration_ms / 5000)]).toEqual([null, 'timeout', 3]);
  });

  it.each([
    'http://example.com/hook',
    'https://127.0.0.1/hook',
    'https://2130706433/hook',
    'https://0x7f.1/hook',
    'https://[::1]/hook',
    'https://[::ffff:a00:1]/hook',
    'https://169.254.169.254/latest/meta-data',
    'https://localhost/hook',
    'https://127.0.0.1.nip.io/hook',
    'https://10-0-0-1.sslip.io/hook',
    'https://metadata.internal/hook',
  ])('is refused at an address that is not public HTTPS: %s', async (url) => {
    const result = await postWebhook(url, {}, '{}', { allowPrivateHosts: false, now: Date.now() });
    expect(result).toEqual({ status: null, error: 'address_refused', retryAfter: 0 });
  });
});

describe('a webhook endpoint with a failed delivery', () => {
  it('that is deleted gets no further attempt, and no data of it remains stored', async () => {
    const { receiver, id } = await createRefusedDelivery();
    await expectSuccess(company.as.delete(`${ENDPOINTS_PATH}/${id}`).then((answer) => ({ ...answer, status: 200 })));
    const countBefore = await countReceived(receiver);
    const remainingRows = await runInDurableObject(getSender(id), async (_, { storage }) => ({
      deliveries: storage.sql.exec('select id from deliveries').toArray(),
      alarm: await storage.getAlarm(),
    }));
    expect(remainingRows).toEqual({ deliveries: [], alarm: null });
    advanceClock(HOUR_MS);
    expect(await runDurableObjectAlarm(getSender(id))).toBe(false);
    expect(await countReceived(receiver)).toBe(countBefore);
  });

  it('that is paused gets no further attempt until it is active again', async () => {
    const { receiver, id } = await createRefusedDelivery();
    const path = `${ENDPOINTS_PATH}/${id}`;
    await expectSuccess(company.as.put(path, { json: { status: 'paused' } }));
    await receiver.setBehaviour('ok');
    const countBefore = await countReceived(receiver);
    await sendDueDeliveriesAfter(id, HOUR_MS);
    resetClock();
    expect([(await readFirstDelivery(id)).status, await countReceived(receiver)]).toEqual(['pending', countBefore]);
    await expectSuccess(company.as.put(path, { json: { status: 'active' } }));
    await expect.poll(async () => (await readFirstDelivery(id)).status).toBe('delivered');
    expect(await countReceived(receiver)).toBe(countBefore + 1);
  });

  it('whose secret is rotated signs the next attempt with both secrets', async () => {
    const { receiver, id, secret } = await createRefusedDelivery();
    const { secret: nextSecret } = await expectSuccess(company.as.post(`${ENDPOINTS_PATH}/${id}/rotate-secret`));
    await receiver.setBehaviour('ok');
    await expectSuccess(
      company.as.post(`${ENDPOINTS_PATH}/${id}/resend-failed`, { json: { since: '2026-01-01T00:00:00Z' } }),
    );
    await expect.poll(async () => (await readFirstDelivery(id)).status).toBe('delivered');
    const [first] = await receiver.readReceivedRequests();
    const last = (await receiver.readReceivedRequests()).at(-1);
    expect(last?.headers['webhook-id']).toBe(first?.headers['webhook-id']);
    for (const candidateSecret of [secret, nextSecret]) {
      expect(new Webhook(candidateSecret).verify(last?.body ?? '', last?.headers ?? {})).toBeTruthy();
    }
    expect(() => new Webhook(nextSecret).verify(first?.body ?? '', first?.headers ?? {})).toThrow();
  });

  it('signs with a replaced secret for a day, and no longer', async () => {
    const { receiver, id, secret } = await createRefusedDelivery();
    const { secret: nextSecret } = await expectSuccess(company.as.post(`${ENDPOINTS_PATH}/${id}/rotate-secret`));
    await receiver.setBehaviour('ok');
    const countBefore = await countReceived(receiver);
    advanceClock(25 * HOUR_MS);
    await getSender(id).take({ companyId: company.id, endpointId: id }, [{ id: 'late', type: 'x', body: '{}' }]);
    await sendDueDeliveriesAfter(id, 25 * HOUR_MS);
    await waitForArrivals(receiver, countBefore + 1);
    const last = (await receiver.readReceivedRequests()).find(({ headers }) => headers['webhook-id'] === 'late');
    expect(last?.headers['webhook-signature']?.split(' ')).toHaveLength(1);
    const { body = '', headers = {} } = last ?? {};
    const [signature] = (headers['webhook-signature'] as string).split(' ');
    const at = new Date(Number(headers['webhook-timestamp']) * 1000);
    expect(signature).toBe(new Webhook(nextSecret).sign('late', at, body));
    expect(signature).not.toBe(new Webhook(secret).sign('late', at, body));
  });

  it.each([
    ['first', 'late.204', 1],
    ['last', 'late.500', 3],
  ])('gets a delivery again that is requested again during its %s attempt', async (_, behaviour, attempts) => {
    const receiver = createReceiver(behaviour);
    const { _id } = await createEndpoint(company, receiver, ['company.updated']);
    await sendTestEvent(_id);
    await expect.poll(() => countReceived(receiver), { timeout: 30_000 }).toBe(attempts);
    const { _id: delivery } = await readFirstDelivery(_id);
    await expectSuccess(company.as.post(`${ENDPOINTS_PATH}/${_id}/deliveries/${delivery}/resend`));
    await receiver.setBehaviour('ok');
    await expect.poll(() => countReceived(receiver), { timeout: 30_000 }).toBe(attempts + 1);
    await expect.poll(async () => (await readFirstDelivery(_id)).attempts.length).toBe(attempts + 1);
    expect((await readFirstDelivery(_id)).status).toBe('delivered');
  });

  it('is not disabled by the first failure at a new address', async () => {
    const { id } = await createRefusedDelivery();
    await expect.poll(async () => (await readFirstDelivery(id)).status, { timeout: 30_000 }).toBe('failed');
    const { _id: delivery } = await readFirstDelivery(id);
    const next = createReceiver('status.500');
    await expectSuccess(company.as.put(`${ENDPOINTS_PATH}/${id}`, { json: { url: next.url } }));
    advanceClock(2 * HOUR_MS);
    await getSender(id).resend(delivery);
    await sendDueDeliveriesAfter(id, 2 * HOUR_MS);
    await waitForArrivals(next);
    resetClock();
    await expect.poll(async () => (await readFirstDelivery(id)).attempts.length).toBeGreaterThan(3);
    expect((await expectSuccess(company.as.get(`${ENDPOINTS_PATH}/${id}`))).status).toBe('active');
  });

  it('of a suspended company gets no further attempt until the company is active again', async () => {
    const ownCompany = await createOwnedCompany();
    const { receiver, id } = await createRefusedDelivery(ownCompany);
    await receiver.setBehaviour('ok');
    await expectSuccess(operator.patch(makePath(ownCompany), { json: { status: 'suspended' } }));
    const countBefore = await countReceived(receiver);
    await sendDueDeliveriesAfter(id, HOUR_MS);
    expect(await countReceived(receiver)).toBe(countBefore);
    resetClock();
    await expectSuccess(operator.patch(makePath(ownCompany), { json: { status: 'active' } }));
    expect((await readFirstDelivery(id, ownCompany)).status).toBe('pending');
    await sendDueDeliveriesAfter(id, HOUR_MS + 120_000);
    expect(await countReceived(receiver)).toBe(countBefore + 1);
  });

  it('of a suspended company is not disabled by the first failure after a long suspension', async () => {
    const ownCompany = await createOwnedCompany();
    const { receiver, id } = await createRefusedDelivery(ownCompany);
    await expectSuccess(operator.patch(makePath(ownCompany), { json: { status: 'suspended' } }));
    await sendDueDeliveriesAfter(id, 2 * HOUR_MS);
    resetClock();
    await expectSuccess(operator.patch(makePath(ownCompany), { json: { status: 'active' } }));
    const countBefore = await countReceived(receiver);
    await sendDueDeliveriesAfter(id, 2 * HOUR_MS + 120_000);
    resetClock();
    expect(await countReceived(receiver)).toBe(countBefore + 1);
    expect((await expectSuccess(ownCompany.as.get(`${ENDPOINTS_PATH}/${id}`))).status).toBe('active');
  });
});

describe('the failures of an endpoint with nothing left to send', () => {
  it.each([
    [
      'a suspension',
      (path: string) => operator.patch(path, { json: { status: 'suspended' } }),
      (path: string) => operator.patch(path, { json: { status: 'active' } }),
    ],
    [
      'the second try of an interrupted end of a suspension',
      (path: string) => operator.patch(path, { json: { status: 'suspended' } }),
      async (path: string) => {
        await runSql('UPDATE companies SET suspended_at = NULL WHERE id = ?', path.split('/').at(-1));
        return operator.patch(path, { json: { status: 'active' } });
      },
    ],
    [
      'a deletion that is taken back',
      (path: string) => operator.delete(path),
      (path: string) => operator.post(`${path}/restore`),
    ],
  ])('count from zero after %s', async (_what, begin, end) => {
    const ownCompany = await createOwnedCompany();
    const { receiver, id } = await createRefusedDelivery(ownCompany);
    await expect.poll(async () => (await readFirstDelivery(id, ownCompany)).status, { timeout: 30_000 }).toBe('failed');
    const { _id: delivery } = await readFirstDelivery(id, ownCompany);
    await expectSuccess(begin(makePath(ownCompany)));
    await expectSuccess(end(makePath(ownCompany)));
    const countBefore = await countReceived(receiver);
    advanceClock(2 * HOUR_MS);
    await getSender(id).resend(delivery);
    await sendDueDeliveriesAfter(id, 2 * HOUR_MS);
    await waitForArrivals(receiver, countBefore + 1);
    resetClock();
    await expect.poll(async () => (await readFirstDelivery(id, ownCompany)).attempts.length).toBeGreaterThan(3);
    expect((await expectSuccess(ownCompany.as.get(`${ENDPOINTS_PATH}/${id}`))).status).toBe('active');
  });
});

describe('a webhook event', () => {
  it('of a suspended company waits, and makes the queries of other companies no slower', async () => {
    const [own, other] = [await createOwnedCompany(), await createOwnedCompany()];
    const [receiver, theirs] = [createReceiver(), createReceiver()];
    await createEndpoint(own, receiver);
    await createEndpoint(other, theirs);
    await expectSuccess(operator.patch(makePath(own), { json: { status: 'suspended' } }));
    await runSql(
      "INSERT INTO events SELECT 'e' || value, ?, 'group.deleted', '{}', 0 FROM json_each(?)",
      own.id,
      JSON.stringify(Array.from({ length: 500 }, (_, n) => n)),
    );
    for (let n = 0; n < 3; n += 1) await expectSuccess(other.as.post('/v1/groups', { json: makeGroupInput() }));
    await waitForArrivals(theirs, 3);
    const { meta, results } = await env.CONTROL_DB.prepare(COMPANIES_WITH_EVENTS).run();
    expect(meta.rows_read).toBeLessThan(50);
    expect(results).not.toContainEqual({ company_id: own.id });
    const waitingCount = await countRows('events where company_id = ?', own.id);
    expect(waitingCount).toBeGreaterThanOrEqual(500);
    await deliverMessage({ type: 'webhooks.tell', companyId: own.id });
    expect(await countRows('outbox where company_id = ?', own.id)).toBe(0);
    expect(await countRows('events where company_id = ?', own.id)).toBe(waitingCount);
  });

  it('is sent although those of more than twenty suspended companies wait', async () => {
    const [ownCompany, receiver] = [await createOwnedCompany(), createReceiver()];
    await createEndpoint(ownCompany, receiver);
    const numbers = JSON.stringify(Array.from({ length: 25 }, (_, n) => n));
    await runSql(
      `INSERT INTO companies (id, slug, name, created_at, updated_at, suspended_at)
       SELECT '0-suspended-' || value, 'suspended-' || value, 'Suspended', 0, 0, 1 FROM json_each(?)`,
      numbers,
    );
    await runSql(
      "INSERT INTO events SELECT 's' || value, '0-suspended-' || value, 'group.deleted', '{}', 0 FROM json_each(?)",
      numbers,
    );
    await expectSuccess(ownCompany.as.post('/v1/groups', { json: makeGroupInput() }));
    await waitForArrivals(receiver);
    expect(await countRows("events where company_id like '0-suspended-%'")).toBe(25);
    await runSql("DELETE FROM events WHERE company_id LIKE '0-suspended-%'");
    await runSql("DELETE FROM companies WHERE id LIKE '0-suspended-%'");
  });

  it('is sent although those of many other companies wait', async () => {
    const [ownCompany, receiver] = [await createOwnedCompany(), createReceiver()];
    await createEndpoint(ownCompany, receiver);
    const numbers = JSON.stringify(Array.from({ length: 25 }, (_, n) => n));
    await runSql(
      `INSERT INTO companies (id, slug, name, created_at, updated_at)
       SELECT '0-waiting-' || value, 'waiting-' || value, 'Waiting', 0, 0 FROM json_each(?)`,
      numbers,
    );
    await runSql(
      "INSERT INTO events SELECT 'w' || value, '0-waiting-' || value, 'group.deleted', '{}', 0 FROM json_each(?)",
      numbers,
    );
    const listDueCompanies = () =>
      runInContext({ kind: 'anonymous' }, async ({ db }) => {
        const found = await Promise.all(
          Array.from({ length: 10 }, () => selectCompaniesWithPendingEvents(db, Date.now(), 5)),
        );
        return new Set(found.flat().map(({ companyId }) => companyId)).size;
      });
    expect(await listDueCompanies()).toBeGreaterThan(5);
    await expectSuccess(ownCompany.as.post('/v1/groups', { json: makeGroupInput() }));
    await waitForArrivals(receiver);
    await runSql("DELETE FROM events WHERE company_id LIKE '0-waiting-%'");
    await runSql("DELETE FROM companies WHERE id LIKE '0-waiting-%'");
  });

  it('is sent once to each of twenty endpoints that subscribe to all types', async () => {
    const ownCompany = await createOwnedCompany();
    const receivers = Array.from({ length: 20 }, () => createReceiver());
    for (const receiver of receivers) await createEndpoint(ownCompany, receiver);
    const { _id } = await expectSuccess(ownCompany.as.post('/v1/groups', { json: makeGroupInput() }));
    for (const receiver of receivers) await waitForArrivals(receiver);
    await expect
      .poll(async () => {
        const receivedEvents = await Promise.all(receivers.map((receiver) => receiver.readReceivedRequests()));
        return receivedEvents.map((events) => events.map(({ event }) => `${event.type} ${event.data._id}`));
      })
      .toEqual(receivers.map(() => [`group.created ${_id}`]));
  });

  it('cannot contain half an emoji, which is refused in a name, and contains whole emojis unchanged', async () => {
    const ownCompany = await createOwnedCompany();
    const receiver = createReceiver();
    const { secret } = await createEndpoint(ownCompany, receiver);
    const sendGroup = (name: string) => {
      const body = JSON.stringify({ ...makeGroupInput(), name: 'NAME' }).replace('NAME', name);
      return ownCompany.as.post('/v1/groups', { body, headers: { 'content-type': 'application/json' } });
    };
    const refusedNameAnswer = await sendGroup('An owl \\ud83e');
    expect([refusedNameAnswer.status, refusedNameAnswer.body.details[0].field]).toEqual([422, 'name']);
    const createdGroup = await expectSuccess(sendGroup('An owl \\ud83e\\udd89'));
    const [first, ...others] = await waitForArrivals(receiver);
    expect([first?.event.data.name, others]).toEqual(['An owl 🦉', []]);
    expect(first?.event.data).toEqual(await expectSuccess(ownCompany.as.get(`/v1/groups/${createdGroup._id}`)));
    expect(new Webhook(secret).verify(first?.body ?? '', first?.headers ?? {})).toEqual(first?.event);
  });
});
