import { env, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { Webhook } from 'standardwebhooks';
import { beforeAll, describe, expect, it } from 'vitest';
import { DAY_MS } from '../../src/kernel/clock.ts';
import { newId } from '../../src/kernel/ids.ts';
import type { CompanyLog } from '../../src/objects/company-log.ts';
import { groupInput } from '../support/console.ts';
import { aCompany, type Company } from '../support/worlds.ts';
import { anEndpoint, aReceiver, arrived, ENDPOINTS, type Receiver } from './support.ts';

interface AuditRecord {
  id: string;
  route: string;
  occurred_at: string;
}

let company: Company;

beforeAll(async () => {
  company = await aCompany();
});

const log = () => env.COMPANY_LOG.getByName(company.id) as unknown as DurableObjectStub<CompanyLog>;

const recordsOf = async (receiver: Receiver) =>
  (await receiver.received()).flatMap(({ event }) => event.data.records as AuditRecord[]);

const recordAt = (occurredAt: number, route = '/late') => ({
  ...{ id: newId(occurredAt), correlationId: 'c', occurredAt, principalType: 'user' as const, principalId: 'p' },
  ...{ credential: null, method: 'GET', route, action: null, resourceId: null, status: 200, ip: null },
  ...{ durationMs: 1, count: 1 },
});

/** Keeps records as a queue does that was late, and has those told who follow. */
async function keep(...records: ReturnType<typeof recordAt>[]) {
  await log().append(company.id, 'audit', records as never);
  await runDurableObjectAlarm(log());
}

describe('the audit stream', () => {
  it('has each record of the company as the list shows it, however late it comes', async () => {
    const receiver = aReceiver();
    const { secret } = await anEndpoint(company, receiver, ['audit.records']);
    await company.as.post('/v1/groups', { json: groupInput() });
    await expect
      .poll(async () => (await recordsOf(receiver)).map(({ route }) => route), { timeout: 60_000 })
      .toContain('/v1/groups');
    const [first] = await receiver.received();
    expect(new Webhook(secret).verify(first?.body ?? '', first?.headers ?? {})).toEqual(first?.event);
    const late = recordAt(Date.now() - 60_000);
    await keep(late);
    await expect.poll(async () => (await recordsOf(receiver)).map(({ id }) => id)).toContain(late.id);
    const told = await recordsOf(receiver);
    const { body } = await company.as.get('/v1/audit-events?per_page=100');
    const listed = new Map<string, object>(
      body.records.map(({ _id, company_id, ...rest }: Record<string, string>) => [_id, rest]),
    );
    for (const { id, organization_id, ...rest } of told as (AuditRecord & { organization_id: string })[]) {
      expect([organization_id, rest]).toEqual([company.id, listed.get(id)]);
    }
    expect(new Set(told.map(({ id }) => id)).size).toBe(told.length);
  });

  it('hands out the same again until it is kept, and then goes on', async () => {
    const own = env.COMPANY_LOG.getByName('of-a-test') as unknown as DurableObjectStub<CompanyLog>;
    await runInDurableObject(own, (object) => {
      object.follow('of-a-test', ['audit']);
    });
    const [one, two] = [recordAt(Date.now() + 1000), recordAt(Date.now() + 2000)];
    const ids = async () => {
      const next = await own.following('audit', 500);
      return { next, ids: [next?.records, next?.lateRecords].map((some) => some?.map(({ id }) => id)) };
    };
    await own.append('of-a-test', 'audit', [one] as never);
    const first = await ids();
    await own.append('of-a-test', 'audit', [two] as never);
    expect([first.ids, (await ids()).ids]).toEqual([
      [[one.id], []],
      [[one.id], []],
    ]);
    const between = recordAt(Date.now() + 500);
    await own.append('of-a-test', 'audit', [between] as never);
    await own.followed('audit', first.next as never);
    expect((await ids()).ids).toEqual([[two.id], [between.id]]);
    await own.unfollow(['audit'], 0);
    expect((await ids()).next).toBeDefined();
    await own.unfollow(['audit'], 1);
    expect((await ids()).next).toBeUndefined();
  });

  it('is followed by nobody once no endpoint wants it', async () => {
    const other = await aCompany();
    const { _id } = await anEndpoint(other, aReceiver(), ['audit.records']);
    const ofOther = env.COMPANY_LOG.getByName(other.id) as unknown as DurableObjectStub<CompanyLog>;
    expect(await ofOther.following('audit', 1)).toBeDefined();
    await other.as.delete(`${ENDPOINTS}/${_id}`);
    await expect
      .poll(
        async () => {
          await ofOther.append(other.id, 'audit', [recordAt(Date.now())] as never);
          await runDurableObjectAlarm(ofOther);
          return (await ofOther.following('audit', 1)) === undefined;
        },
        { interval: 500 },
      )
      .toBe(true);
  });
});

describe('a backfill', () => {
  it('sends what is kept, the newest first', async () => {
    company = await aCompany();
    const before = Date.now() - 3 * DAY_MS;
    await keep(...Array.from({ length: 700 }, (_, n) => recordAt(before + n, '/past')));
    const receiver = aReceiver();
    const { _id } = await anEndpoint(company, receiver, ['audit.records']);
    const [from, to] = [new Date(before).toISOString(), new Date(before + DAY_MS).toISOString()];
    const path = `${ENDPOINTS}/${_id}/backfill`;
    expect((await company.as.post(path, { json: { from: to, to: from } })).status).toBe(422);
    expect(await company.as.post(path, { json: { from, to } })).toMatchObject({ status: 202 });
    const past = async () => (await recordsOf(receiver)).filter(({ route }) => route === '/past');
    await expect.poll(async () => (await past()).length).toBe(700);
    for (const { event } of await receiver.received()) {
      const times = (event.data.records as AuditRecord[]).map(({ occurred_at: at }) => at);
      if ((event.data.records as AuditRecord[])[0]?.route === '/past')
        expect(times).toEqual(times.toSorted().reverse());
    }
    const deliveries = `${ENDPOINTS}/${_id}/deliveries?event_type=audit.records`;
    expect((await company.as.get(deliveries)).body.total).toBeGreaterThanOrEqual(2);
    expect((await arrived(receiver)).some(({ event }) => (event.data.records as object[]).length === 500)).toBe(true);
  });

  it('is only for who gets the stream', async () => {
    const { _id } = await anEndpoint(company, aReceiver(), ['company.updated']);
    const json = { from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z' };
    const { status, body } = await company.as.post(`${ENDPOINTS}/${_id}/backfill`, { json });
    expect([status, body.error]).toEqual([409, 'WEBHOOK_ENDPOINT_WITHOUT_AUDIT']);
  });
});
