import { env, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import { HOUR_MS } from '../../src/kernel/clock.ts';
import { deliverEvents } from '../../src/modules/webhooks/jobs.ts';
import { resetSizes, setSizes } from '../company-log/support.ts';
import { advanceClock, resetClock, runScheduled } from '../support/clock.ts';
import { createOwnedCompany } from '../support/companies.ts';
import { makeGroupInput } from '../support/console.ts';
import { runInContext } from '../support/context.ts';
import { readNewestMail } from '../support/mail.ts';
import { countRows, runSql, selectRow } from '../support/race.ts';
import { expectSuccess } from '../support/signed.ts';
import { createEndpoint, createReceiver, ENDPOINTS_PATH, waitForArrivals } from './support.ts';

const company = await createOwnedCompany();

const DISABLED_REASON_SQL = 'select disabled_reason as reason from webhook_endpoints where id = ?';

const createGroup = async () => (await company.as.post('/v1/groups', { json: makeGroupInput() })).body;

const listDeliveries = async (id: string, query = '') =>
  (await company.as.get(`${ENDPOINTS_PATH}/${id}/deliveries${query}`)).body.records;

const waitForDeliveryEnd = async (id: string) => {
  await expect
    .poll(async () => (await listDeliveries(id)).map(({ status }: { status: string }) => status))
    .toSatisfy((statuses: string[]) => statuses.length > 0 && !statuses.includes('pending'));
  return listDeliveries(id);
};

const sendTestEvent = (id: string, event_type = 'user.invited') =>
  company.as.post(`${ENDPOINTS_PATH}/${id}/test`, { json: { event_type } });

describe('a webhook delivery', () => {
  it('is retried under the same id until it succeeds', async () => {
    const receiver = createReceiver('once.503');
    const { _id, secret } = await createEndpoint(company, receiver, ['group.created']);
    const { _id: groupId } = await createGroup();
    const arrivals = await waitForArrivals(receiver, 2);
    expect(new Set(arrivals.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    for (const { body, headers } of arrivals) expect(new Webhook(secret).verify(body, headers)).toBeTruthy();
    const [delivery] = await waitForDeliveryEnd(_id);
    expect(delivery).toEqual({
      _id: expect.any(String),
      event_id: arrivals[0]?.headers['webhook-id'],
      event_type: 'group.created',
      status: 'delivered',
      attempts: [503, 204].map((status) => ({
        at: expect.any(String),
        status,
        duration_ms: expect.any(Number),
        error: null,
      })),
      next_attempt_at: null,
    });
    const { body } = await company.as.get(`${ENDPOINTS_PATH}/${_id}/deliveries/${delivery._id}`);
    expect(JSON.parse(body.body).data._id).toBe(groupId);
  });

  it.each([
    ['status.500', 500, null],
    ['redirect', 301, 'redirect'],
    ['hangup', null, 'connection_failed'],
    ['interim.100', null, 'interim_answer'],
    ['interim.102', null, 'interim_answer'],
    ['interim.103', null, 'interim_answer'],
  ])('to a receiver that answers by %s fails after the last attempt', async (behaviour, status, error) => {
    const receiver = createReceiver(behaviour);
    const { _id } = await createEndpoint(company, receiver, ['company.updated']);
    expect((await sendTestEvent(_id)).status).toBe(202);
    const [delivery] = await waitForDeliveryEnd(_id);
    expect([delivery.status, delivery.attempts.length]).toEqual(['failed', 3]);
    expect(delivery.attempts[0]).toMatchObject({ status, error });
    expect(await receiver.readReceivedRequests()).toHaveLength(3);
  });

  it('succeeds as soon as a status arrives, however long the response is', async () => {
    const receiver = createReceiver('huge');
    const { _id } = await createEndpoint(company, receiver, ['company.updated']);
    await sendTestEvent(_id);
    const [delivery] = await waitForDeliveryEnd(_id);
    expect([delivery.status, delivery.attempts[0].status]).toEqual(['delivered', 200]);
  });

  it('waits for the Retry-After of the receiver, but not more than a day', async () => {
    const receiver = createReceiver(`after.429.${365 * 86_400}`);
    const { _id } = await createEndpoint(company, receiver, ['company.updated']);
    await sendTestEvent(_id);
    await waitForArrivals(receiver);
    await expect.poll(async () => (await listDeliveries(_id))[0].attempts.length).toBe(1);
    const [{ next_attempt_at: nextAttemptAt, status }] = await listDeliveries(_id);
    const hours = (Date.parse(nextAttemptAt) - Date.now()) / HOUR_MS;
    expect([status, hours > 23.9, hours <= 24]).toEqual(['pending', true, true]);
  });

  it('can be sent again on request, alone or with all failed deliveries', async () => {
    const receiver = createReceiver('status.500');
    const { _id } = await createEndpoint(company, receiver, ['company.updated']);
    await sendTestEvent(_id);
    const [{ _id: delivery, event_id: eventId }] = await waitForDeliveryEnd(_id);
    await receiver.setBehaviour('ok');
    const path = `${ENDPOINTS_PATH}/${_id}`;
    expect((await company.as.post(`${path}/deliveries/${delivery}/resend`)).body).toEqual({ delivery_id: delivery });
    const arrivals = await waitForArrivals(receiver, 4);
    expect(arrivals.at(-1)?.headers['webhook-id']).toBe(eventId);
    await receiver.setBehaviour('status.500');
    await sendTestEvent(_id);
    await expect.poll(async () => (await listDeliveries(_id, '?status=failed')).length).toBe(1);
    await receiver.setBehaviour('ok');
    const sinceTime = new Date(Date.now() - HOUR_MS).toISOString();
    const { status, body } = await company.as.post(`${path}/resend-failed`, { json: { since: sinceTime } });
    expect([status, body]).toEqual([202, { count: 1 }]);
    await expect.poll(async () => (await listDeliveries(_id, '?status=delivered')).length).toBe(2);
    expect((await listDeliveries(_id, '?event_type=group.created')).length).toBe(0);
  });
});

describe('a webhook endpoint', () => {
  it('that answers 410 is disabled, and the administrators are mailed', async () => {
    const receiver = createReceiver('status.410');
    const { _id } = await createEndpoint(company, receiver, ['company.updated']);
    await sendTestEvent(_id);
    const path = `${ENDPOINTS_PATH}/${_id}`;
    await expect.poll(async () => (await company.as.get(path)).body.status).toBe('disabled');
    expect((await company.as.get(path)).body.disabled_reason).toBe('gone');
    await runScheduled();
    const mailRequestsQuery = "mail_requests where kind = 'webhook_disabled' and about = ?";
    await expect.poll(() => countRows(mailRequestsQuery, _id)).toBe(1);
    // The mails of queue messages are not seen here: this one is sent again.
    await runSql(`update ${mailRequestsQuery.replace(' where', ' set due_at = 0 where')}`, _id);
    await runScheduled();
    const mail = readNewestMail(company.owner.email);
    expect(mail.subject).toMatch(/^A webhook endpoint of .+ is disabled$/);
    expect(mail.text).toContain(new URL(receiver.url).host);
    expect((await sendTestEvent(_id)).body.error).toBe('WEBHOOK_ENDPOINT_NOT_ACTIVE');
    const refusedChange = await company.as.put(path, { json: { status: 'disabled', description: 'Same' } });
    expect([refusedChange.status, refusedChange.body.description]).toEqual([200, 'Same']);
    await receiver.setBehaviour('ok');
    const { body } = await company.as.put(path, { json: { status: 'active' } });
    expect([body.status, body.disabled_reason]).toEqual(['active', null]);
    await sendTestEvent(_id);
    await waitForArrivals(receiver, 2);
  });

  it('that fails for days is disabled', async () => {
    const receiver = createReceiver('status.500');
    const { _id } = await createEndpoint(company, receiver, ['company.updated']);
    await sendTestEvent(_id);
    await expect.poll(async () => (await listDeliveries(_id))[0]?.attempts.length).toBeGreaterThan(0);
    advanceClock(2 * HOUR_MS);
    const sender = env.WEBHOOK_SENDER.getByName(_id);
    await expect
      .poll(async () => {
        await runDurableObjectAlarm(sender);
        const row = await selectRow<{ reason: string }>(DISABLED_REASON_SQL, _id);
        return row?.reason;
      })
      .toBe('failing');
    resetClock();
    expect((await listDeliveries(_id))[0].status).toBe('failed');
  });

  it('that was failing in an earlier version, which stored the time alone, is disabled', async () => {
    const { _id } = await createEndpoint(company, createReceiver('status.500'), ['company.updated']);
    await runInDurableObject(env.WEBHOOK_SENDER.getByName(_id), (_, { storage }) =>
      storage.kv.put('failing_since', Date.now() - 100 * 24 * HOUR_MS),
    );
    await sendTestEvent(_id);
    await expect
      .poll(async () => (await selectRow<{ reason: string }>(DISABLED_REASON_SQL, _id))?.reason)
      .toBe('failing');
  });

  it('also signs with the former secret for a day', async () => {
    const receiver = createReceiver();
    const { _id, secret } = await createEndpoint(company, receiver, ['company.updated']);
    const { status, body } = await company.as.post(`${ENDPOINTS_PATH}/${_id}/rotate-secret`);
    expect(status).toBe(200);
    expect(Date.parse(body.former_until) - Date.now()).toBeGreaterThan(23 * HOUR_MS);
    await sendTestEvent(_id);
    const [received] = await waitForArrivals(receiver);
    for (const candidateSecret of [secret, body.secret]) {
      expect(new Webhook(candidateSecret).verify(received?.body ?? '', received?.headers ?? {})).toBeTruthy();
    }
  });

  it('of one endpoint that cannot be stored keeps no events from the others', async () => {
    const other = await createOwnedCompany();
    const { _id: broken } = await createEndpoint(other, createReceiver(), ['group.deleted']);
    const { _id: good } = await createEndpoint(other, createReceiver(), ['group.deleted']);
    await runSql(
      `INSERT INTO events SELECT 'i' || value || ?1, ?1, 'group.deleted', '{"id":"g"}', 9e12 + value FROM json_each(?2)`,
      other.id,
      JSON.stringify(Array.from({ length: 150 }, (_, n) => n)),
    );
    const takenIds: string[] = [];
    const triedIds: string[] = [];
    const getByName = (id: string) => ({
      async take(_owner: object, deliveries: { id: string }[]) {
        triedIds.push(id);
        if (id === broken) throw new Error('database or disk is full');
        takenIds.push(...deliveries.map((delivery) => delivery.id));
      },
    });
    const deliver = () =>
      runInContext({ kind: 'system', companyId: other.id }, (ctx) =>
        deliverEvents({ ...ctx, bindings: { ...ctx.bindings, WEBHOOK_SENDER: { getByName } } } as never),
      );
    await expect(deliver()).rejects.toThrow('full');
    expect(new Set(takenIds).size).toBe(150);
    expect(await countRows('events where company_id = ?', other.id)).toBe(150);
    // Where no endpoint takes any, the events after them are not read in vain.
    await expectSuccess(other.as.delete(`${ENDPOINTS_PATH}/${good}`).then((answer) => ({ ...answer, status: 200 })));
    triedIds.length = 0;
    await expect(deliver()).rejects.toThrow('full');
    expect(triedIds).toEqual([broken]);
    await runSql('DELETE FROM events WHERE company_id = ?', other.id);
  });

  it('that is over makes room for others where the storage is almost full', async () => {
    const receiver = createReceiver();
    const { _id } = await createEndpoint(company, receiver, ['user.invited']);
    await sendTestEvent(_id);
    const [first] = await waitForDeliveryEnd(_id);
    await sendTestEvent(_id);
    await waitForArrivals(receiver, 2);
    expect((await waitForDeliveryEnd(_id)).length).toBe(2);
    setSizes({ fullBytes: 0 });
    await sendTestEvent(_id);
    resetSizes();
    await waitForArrivals(receiver, 3);
    const deliveries = await waitForDeliveryEnd(_id);
    expect(deliveries.map((delivery: { _id: string }) => delivery._id)).not.toContain(first._id);
    expect(deliveries.length).toBe(1);
  });

  it('is not stored where those that wait to be sent almost fill the storage: their attempts need the rest', async () => {
    const { _id } = await createEndpoint(company, createReceiver('status.500'), ['user.invited']);
    await sendTestEvent(_id);
    setSizes({ fullBytes: 0 });
    const refusedAnswer = await sendTestEvent(_id);
    resetSizes();
    expect(refusedAnswer.status).toBeGreaterThanOrEqual(500);
    expect((await listDeliveries(_id)).length).toBe(1);
  });

  it('that is slow does not delay other endpoints', async () => {
    const [mute, good] = [createReceiver('mute'), createReceiver()];
    await createEndpoint(company, mute, ['group.created']);
    await createEndpoint(company, good, ['group.created']);
    const startedAt = Date.now();
    for (let n = 0; n < 8; n += 1) await createGroup();
    await waitForArrivals(good, 8);
    expect(Date.now() - startedAt).toBeLessThan(12_000);
  });

  it('gets no events from the time while it is paused, not even later', async () => {
    const receiver = createReceiver();
    const { _id } = await createEndpoint(company, receiver, ['group.created', 'group.deleted']);
    const path = `${ENDPOINTS_PATH}/${_id}`;
    await company.as.put(path, { json: { status: 'paused' } });
    const { _id: id } = await createGroup();
    const otherReceiver = createReceiver();
    await createEndpoint(company, otherReceiver, ['group.deleted']);
    await company.as.put(path, { json: { status: 'active' } });
    await company.as.delete(`/v1/groups/${id}`);
    await waitForArrivals(otherReceiver);
    const [first] = await waitForArrivals(receiver);
    expect(first?.event.type).toBe('group.deleted');
  });
});

describe('the address of a webhook endpoint', () => {
  it.each([
    'http://example.com/hook',
    'https://10.0.0.1/hook',
    'https://0x0a000001/hook',
    'https://[::ffff:10.0.0.1]/hook',
    `https://user:${'x'.repeat(6)}@example.com/hook`,
    'https://metadata.internal/hook',
    'nonsense',
  ])('must be public HTTPS: %s', async (url) => {
    const { status, body } = await company.as.post(ENDPOINTS_PATH, { json: { url } });
    expect([status, body.details?.[0]?.field]).toEqual([422, 'url']);
  });

  it('has at most 2,000 characters', async () => {
    const { status, body } = await company.as.post(ENDPOINTS_PATH, {
      json: { url: `https://example.com/${'a'.repeat(2000)}` },
    });
    expect([status, body.details]).toEqual([422, [expect.objectContaining({ field: 'url', reason: 'too_long' })]]);
  });
});
