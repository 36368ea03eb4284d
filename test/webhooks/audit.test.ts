import { env, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { Webhook } from 'standardwebhooks';
import { beforeAll, describe, expect, it } from 'vitest';
import { DAY_MS } from '../../src/kernel/clock.ts';
import { newId } from '../../src/kernel/ids.ts';
import type { FollowedRecords } from '../../src/logs/following.ts';
import type { LogKind } from '../../src/logs/log.ts';
import { mergeLate, moveOldest } from '../../src/logs/mover.ts';
import type { CompanyLog } from '../../src/objects/company-log.ts';
import { settleLog } from '../company-log/support.ts';
import { makePath, operator } from '../organizations/looking.ts';
import { advanceClock, resetClock, runScheduled } from '../support/clock.ts';
import { makeGroupInput } from '../support/console.ts';
import { must } from '../support/signed.ts';
import { aCompany, type Company } from '../support/worlds.ts';
import { createEndpoint, createReceiver, ENDPOINTS_PATH, type Receiver, waitForArrivals } from './support.ts';

interface AuditRecord {
  id: string;
  route: string;
  occurred_at: string;
}

let company: Company;

beforeAll(async () => {
  company = await aCompany();
});

const getLog = () => env.COMPANY_LOG.getByName(company.id) as unknown as DurableObjectStub<CompanyLog>;

const listReceivedRecords = async (receiver: Receiver) =>
  (await receiver.received()).flatMap(({ event }) => event.data.records as AuditRecord[]);

const makeRecordAt = (occurredAt: number, route = '/late') => ({
  ...{ id: newId(occurredAt), correlationId: 'c', occurredAt, principalType: 'user' as const, principalId: 'p' },
  ...{ credential: null, method: 'GET', route, action: null, resourceId: null, status: 200, ip: null },
  ...{ durationMs: 1, count: 1 },
});

/** Keeps records as a queue does that was late, and has those told who follow. */
async function storeRecords(...records: ReturnType<typeof makeRecordAt>[]) {
  await getLog().append(company.id, 'audit', records as never);
  await runDurableObjectAlarm(getLog());
}

describe('the audit stream of a webhook endpoint', () => {
  it('has all records from before a pause and none from during it, whenever they are delivered', async () => {
    const receiver = createReceiver();
    const { _id } = await createEndpoint(company, receiver, ['audit.records']);
    const wait = () => new Promise((go) => setTimeout(go, 5));
    const at: number[] = [];
    const note = async () => {
      await wait();
      at.push(Date.now());
      await wait();
    };
    await note();
    for (const status of ['paused', 'active', 'paused']) {
      await must(company.as.put(`${ENDPOINTS_PATH}/${_id}`, { json: { status } }));
      await note();
    }
    const routes = ['/before', '/paused', '/active', '/paused-again'];
    await storeRecords(...routes.map((route, place) => makeRecordAt(at[place] as number, route)));
    await must(company.as.put(`${ENDPOINTS_PATH}/${_id}`, { json: { status: 'active' } }));
    await storeRecords(makeRecordAt(Date.now() + 5, '/marker'));
    await expect.poll(async () => (await listReceivedRecords(receiver)).map(({ route }) => route)).toContain('/marker');
    const told = (await listReceivedRecords(receiver)).map(({ route }) => route);
    expect(routes.filter((route) => told.includes(route))).toEqual(['/before', '/active']);
  });

  it('has each record of the company as the list shows it, however late it arrives', async () => {
    const receiver = createReceiver();
    const { secret } = await createEndpoint(company, receiver, ['audit.records']);
    await company.as.post('/v1/groups', { json: makeGroupInput() });
    await expect
      .poll(async () => (await listReceivedRecords(receiver)).map(({ route }) => route), { timeout: 60_000 })
      .toContain('/v1/groups');
    const [first] = await receiver.received();
    expect(new Webhook(secret).verify(first?.body ?? '', first?.headers ?? {})).toEqual(first?.event);
    const late = makeRecordAt(Date.now() - 60_000);
    await storeRecords(late);
    await expect.poll(async () => (await listReceivedRecords(receiver)).map(({ id }) => id)).toContain(late.id);
    const told = await listReceivedRecords(receiver);
    const { body } = await company.as.get('/v1/audit-events?per_page=100');
    const listed = new Map<string, object>(
      body.records.map(({ _id, company_id, ...rest }: Record<string, string>) => [_id, rest]),
    );
    for (const { id, organization_id, ...rest } of told as (AuditRecord & { organization_id: string })[]) {
      expect([organization_id, rest]).toEqual([company.id, listed.get(id)]);
    }
    expect(new Set(told.map(({ id }) => id)).size).toBe(told.length);
  });

  it('hands out the same records until they are acknowledged, and then goes on', async () => {
    const own = env.COMPANY_LOG.getByName('of-a-test') as unknown as DurableObjectStub<CompanyLog>;
    await runInDurableObject(own, (object) => {
      object.follow('of-a-test', ['audit']);
    });
    const [one, two] = [makeRecordAt(Date.now() + 1000), makeRecordAt(Date.now() + 2000)];
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
    const between = makeRecordAt(Date.now() + 500);
    await own.append('of-a-test', 'audit', [between] as never);
    await own.followed('audit', first.next as never);
    expect((await ids()).ids).toEqual([[two.id], [between.id]]);
    await own.unfollow(['audit'], 0);
    expect((await ids()).next).toBeDefined();
    await own.unfollow(['audit'], 1);
    expect((await ids()).next).toBeUndefined();
  });

  it('ends once no endpoint subscribes to it', async () => {
    const other = await aCompany();
    const { _id } = await createEndpoint(other, createReceiver(), ['audit.records']);
    const ofOther = env.COMPANY_LOG.getByName(other.id) as unknown as DurableObjectStub<CompanyLog>;
    expect(await ofOther.following('audit', 1)).toBeDefined();
    await other.as.delete(`${ENDPOINTS_PATH}/${_id}`);
    await expect
      .poll(
        async () => {
          await ofOther.append(other.id, 'audit', [makeRecordAt(Date.now())] as never);
          await runDurableObjectAlarm(ofOther);
          return (await ofOther.following('audit', 1)) === undefined;
        },
        { interval: 500 },
      )
      .toBe(true);
  });
});

/** Moves what a log has of days that have ended to R2, as it does once they have been kept for long enough. */
async function moveRecords(object: DurableObjectStub<CompanyLog>, name: string, kind: LogKind = 'audit') {
  await runInDurableObject(object, async (_, { storage }) => {
    const mover = { storage, files: env.FILES, name, changed: () => undefined };
    while (await moveOldest(mover, kind, Number.POSITIVE_INFINITY));
  });
}

describe('the audit stream, of days that were moved to R2 before they were delivered,', () => {
  const NAME = 'of-a-moved-test';
  const own = () => env.COMPANY_LOG.getByName(NAME) as unknown as DurableObjectStub<CompanyLog>;
  const day = Math.ceil(Date.now() / DAY_MS) * DAY_MS;
  const next = async (limit = 3) => (await own().following('audit', limit)) as FollowedRecords;
  const idsOf = (records: FollowedRecords['records']) => records.map(({ id }) => id);

  it('has each record in the order of the log, and repeats them until they are acknowledged', async () => {
    await own().follow(NAME, ['audit']);
    const records = Array.from({ length: 8 }, (_, n) => makeRecordAt(day + n * (DAY_MS / 3)));
    await own().append(NAME, 'audit', records as never);
    // In the midst of what was handed out, and not kept.
    expect(idsOf((await next()).records)).toEqual(records.slice(0, 3).map(({ id }) => id));
    await moveRecords(own(), NAME);
    const more = makeRecordAt(day + 3 * DAY_MS);
    await own().append(NAME, 'audit', [more] as never);
    const all: string[] = [];
    for (let found = await next(); found.records.length > 0; found = await next()) {
      expect(idsOf((await next()).records)).toEqual(idsOf(found.records));
      all.push(...idsOf(found.records));
      expect(await own().followed('audit', found)).toBe(true);
    }
    expect(all).toEqual([...records, more].map(({ id }) => id));
  });

  it('has records that arrive late for a moved day, before and after their merge into its file', async () => {
    const late = makeRecordAt(day + 1000);
    await own().append(NAME, 'audit', [late] as never);
    expect(idsOf((await next()).lateRecords)).toEqual([late.id]);
    await runInDurableObject(own(), async (_, { storage }) => {
      await mergeLate({ storage, files: env.FILES, name: NAME, changed: () => undefined }, 'audit');
    });
    const found = await next();
    expect(idsOf(found.lateRecords)).toEqual([late.id]);
    await own().followed('audit', found);
    expect((await next()).late).toEqual([]);
  });

  it('has late records of a moved day that it has not reached yet', async () => {
    const behind = 'of-a-test-behind';
    const object = env.COMPANY_LOG.getByName(behind) as unknown as DurableObjectStub<CompanyLog>;
    await object.follow(behind, ['audit']);
    const [one, two] = [makeRecordAt(day), makeRecordAt(day + 2000)];
    await object.append(behind, 'audit', [one, two] as never);
    await moveRecords(object, behind);
    const late = makeRecordAt(day + 1000);
    await object.append(behind, 'audit', [late] as never);
    const found = (await object.following('audit', 500)) as FollowedRecords;
    expect([idsOf(found.records), idsOf(found.lateRecords)]).toEqual([[one.id, two.id], [late.id]]);
  });

  it('hands out records anew that were redacted meanwhile', async () => {
    const named = 'of-a-test-of-a-person';
    const object = env.COMPANY_LOG.getByName(named) as unknown as DurableObjectStub<CompanyLog>;
    await object.follow(named, ['audit']);
    const record = { ...makeRecordAt(day), principalId: 'a'.repeat(24) };
    await object.append(named, 'audit', [record] as never);
    const found = (await object.following('audit', 500)) as FollowedRecords;
    const person = { ids: [record.principalId], email: 'nobody@x.test', pseudonym: 'b'.repeat(24), ips: [] };
    await object.redact(person, null);
    expect(await object.followed('audit', found)).toBe(false);
    const again = (await object.following('audit', 500)) as FollowedRecords;
    expect(again.records).toMatchObject([{ id: record.id, principalId: person.pseudonym }]);
  });

  it('goes on once the company is active again after 100 days of suspension', async () => {
    const other = await aCompany();
    const receiver = createReceiver();
    const { _id } = await createEndpoint(other, receiver, ['audit.records']);
    const log = env.COMPANY_LOG.getByName(other.id) as unknown as DurableObjectStub<CompanyLog>;
    await must(operator.patch(makePath(other), { json: { status: 'suspended' } }));
    const records = Array.from({ length: 5 }, (_, n) => makeRecordAt(Date.now() + n, '/while-suspended'));
    await log.append(other.id, 'audit', records as never);
    advanceClock(100 * DAY_MS);
    try {
      await settleLog(other.id);
      const { objects } = await env.FILES.list({ prefix: `log/${other.id}/audit-events/` });
      expect(objects.length).toBeGreaterThan(0);
      await must(operator.patch(makePath(other), { json: { status: 'active' } }));
      await expect
        .poll(
          async () => {
            await runScheduled();
            await runDurableObjectAlarm(env.WEBHOOK_SENDER.getByName(_id));
            return (await listReceivedRecords(receiver))
              .filter(({ route }) => route === '/while-suspended')
              .map(({ id }) => id);
          },
          { timeout: 60_000, interval: 1000 },
        )
        .toEqual(expect.arrayContaining(records.map(({ id }) => id)));
    } finally {
      resetClock();
    }
  });
});

describe('a backfill of the audit stream', () => {
  it('has days that were moved to R2, the newest first, after the newest of the stream', async () => {
    const own = await aCompany();
    const log = env.COMPANY_LOG.getByName(own.id) as unknown as DurableObjectStub<CompanyLog>;
    const before = Math.floor(Date.now() / DAY_MS) * DAY_MS - 5 * DAY_MS;
    const records = Array.from({ length: 6 }, (_, n) => makeRecordAt(before + n * (DAY_MS / 2), '/moved'));
    await log.append(own.id, 'audit', records as never);
    await moveRecords(log, own.id);
    const receiver = createReceiver();
    const { _id } = await createEndpoint(own, receiver, ['audit.records']);
    const range = { from: new Date(before).toISOString(), to: new Date(before + 4 * DAY_MS).toISOString() };
    expect((await own.as.post(`${ENDPOINTS_PATH}/${_id}/backfill`, { json: range })).status).toBe(202);
    const moved = async () =>
      (await listReceivedRecords(receiver)).filter(({ route }) => route === '/moved').map(({ id }) => id);
    await expect.poll(moved).toEqual(records.map(({ id }) => id).toReversed());
  });

  it('sends the stored records, the newest first', async () => {
    company = await aCompany();
    const before = Date.now() - 3 * DAY_MS;
    await storeRecords(...Array.from({ length: 700 }, (_, n) => makeRecordAt(before + n, '/past')));
    const receiver = createReceiver();
    const { _id } = await createEndpoint(company, receiver, ['audit.records']);
    const [from, to] = [new Date(before).toISOString(), new Date(before + DAY_MS).toISOString()];
    const path = `${ENDPOINTS_PATH}/${_id}/backfill`;
    expect((await company.as.post(path, { json: { from: to, to: from } })).status).toBe(422);
    expect(await company.as.post(path, { json: { from, to } })).toMatchObject({ status: 202 });
    const past = async () => (await listReceivedRecords(receiver)).filter(({ route }) => route === '/past');
    await expect.poll(async () => (await past()).length).toBe(700);
    for (const { event } of await receiver.received()) {
      const times = (event.data.records as AuditRecord[]).map(({ occurred_at: at }) => at);
      if ((event.data.records as AuditRecord[])[0]?.route === '/past')
        expect(times).toEqual(times.toSorted().reverse());
    }
    const deliveries = `${ENDPOINTS_PATH}/${_id}/deliveries?event_type=audit.records`;
    expect((await company.as.get(deliveries)).body.total).toBeGreaterThanOrEqual(2);
    expect((await waitForArrivals(receiver)).some(({ event }) => (event.data.records as object[]).length === 500)).toBe(
      true,
    );
  });

  it('is refused for an endpoint that does not get the stream', async () => {
    const { _id } = await createEndpoint(company, createReceiver(), ['company.updated']);
    const json = { from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z' };
    const { status, body } = await company.as.post(`${ENDPOINTS_PATH}/${_id}/backfill`, { json });
    expect([status, body.error]).toEqual([409, 'WEBHOOK_ENDPOINT_WITHOUT_AUDIT']);
  });
});
