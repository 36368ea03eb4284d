import { env, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import { DAY_MS } from '../../src/kernel/clock.ts';
import { newId } from '../../src/kernel/ids.ts';
import type { FollowedRecords } from '../../src/logs/followed-records.ts';
import type { LogKind } from '../../src/logs/log.ts';
import { mergeLateRecords, moveOldestRecords } from '../../src/logs/move-to-files.ts';
import { backfillAudit, streamLog } from '../../src/modules/webhooks/stream.ts';
import type { CompanyLog } from '../../src/objects/company-log.ts';
import { settleLog } from '../company-log/support.ts';
import { makePath, operator } from '../organizations/support.ts';
import { advanceClock, runScheduled } from '../support/clock.ts';
import { type Company, createOwnedCompany } from '../support/companies.ts';
import { makeGroupInput } from '../support/console.ts';
import { runInContext } from '../support/context.ts';
import { expectSuccess } from '../support/signed.ts';
import { createEndpoint, createReceiver, ENDPOINTS_PATH, type WebhookReceiver, waitForArrivals } from './support.ts';

interface AuditRecord {
  id: string;
  route: string;
  occurred_at: string;
}

let company: Company;

company = await createOwnedCompany();

const getLog = () => env.COMPANY_LOG.getByName(company.id) as unknown as DurableObjectStub<CompanyLog>;

const listReceivedRecords = async (receiver: WebhookReceiver) =>
  (await receiver.readReceivedRequests()).flatMap(({ event }) => event.data.records as AuditRecord[]);

const makeRecordAt = (occurredAt: number, route = '/late') => ({
  ...{ id: newId(occurredAt), correlationId: 'c', occurredAt, principalType: 'user' as const, principalId: 'p' },
  ...{ credential: null, method: 'GET', route, action: null, resourceId: null, status: 200, ip: null },
  ...{ durationMs: 1, count: 1 },
});

/** Stores audit records as a late queue does, and notifies the subscribers of the log. */
async function storeRecords(...records: ReturnType<typeof makeRecordAt>[]) {
  await getLog().append(company.id, 'audit', records as never);
  await runDurableObjectAlarm(getLog());
}

describe('the audit stream of a webhook endpoint', () => {
  it.each(['active', 'paused'])('includes no records from before the endpoint was created, %s', async (status) => {
    const receiver = createReceiver();
    const json = { url: receiver.url, event_types: ['audit.records'], status };
    const { _id, created_at } = await expectSuccess(company.as.post(ENDPOINTS_PATH, { json }));
    await expectSuccess(company.as.put(`${ENDPOINTS_PATH}/${_id}`, { json: { status: 'active' } }));
    await storeRecords(makeRecordAt(Date.parse(created_at) - 1, '/before'), makeRecordAt(Date.now(), '/after'));
    await expect.poll(async () => (await listReceivedRecords(receiver)).map(({ route }) => route)).toContain('/after');
    const deliveredTimes = (await listReceivedRecords(receiver)).map(({ occurred_at }) => occurred_at as string);
    expect(deliveredTimes.filter((time) => time < created_at)).toEqual([]);
  });

  it('includes all records from before a pause and none from during it, whenever they are delivered', async () => {
    const receiver = createReceiver();
    const { _id } = await createEndpoint(company, receiver, ['audit.records']);
    const waitBriefly = () => new Promise((go) => setTimeout(go, 5));
    const at: number[] = [];
    const recordTime = async () => {
      await waitBriefly();
      at.push(Date.now());
      await waitBriefly();
    };
    await recordTime();
    for (const status of ['paused', 'active', 'paused']) {
      await expectSuccess(company.as.put(`${ENDPOINTS_PATH}/${_id}`, { json: { status } }));
      await recordTime();
    }
    const routes = ['/before', '/paused', '/active', '/paused-again'];
    await storeRecords(...routes.map((route, index) => makeRecordAt(at[index] as number, route)));
    await expectSuccess(company.as.put(`${ENDPOINTS_PATH}/${_id}`, { json: { status: 'active' } }));
    await storeRecords(makeRecordAt(Date.now() + 5, '/marker'));
    await expect.poll(async () => (await listReceivedRecords(receiver)).map(({ route }) => route)).toContain('/marker');
    const deliveredRoutes = (await listReceivedRecords(receiver)).map(({ route }) => route);
    expect(routes.filter((route) => deliveredRoutes.includes(route))).toEqual(['/before', '/active']);
  });

  it('includes each record of the company as the list shows it, however late the record arrives', async () => {
    const receiver = createReceiver();
    const { secret } = await createEndpoint(company, receiver, ['audit.records']);
    const createdAt = Date.now();
    await company.as.post('/v1/groups', { json: makeGroupInput() });
    await expect
      .poll(async () => (await listReceivedRecords(receiver)).map(({ route }) => route), { timeout: 60_000 })
      .toContain('/v1/groups');
    const [first] = await receiver.readReceivedRequests();
    expect(new Webhook(secret).verify(first?.body ?? '', first?.headers ?? {})).toEqual(first?.event);
    const lateRecord = makeRecordAt(createdAt);
    await storeRecords(lateRecord);
    await expect.poll(async () => (await listReceivedRecords(receiver)).map(({ id }) => id)).toContain(lateRecord.id);
    const deliveredRecords = await listReceivedRecords(receiver);
    const { body } = await company.as.get('/v1/audit-events?per_page=100');
    const listedRecords = new Map<string, object>(
      body.records.map(({ _id, company_id, ...rest }: Record<string, string>) => [_id, rest]),
    );
    for (const { id, organization_id, ...rest } of deliveredRecords as (AuditRecord & { organization_id: string })[]) {
      expect([organization_id, rest]).toEqual([company.id, listedRecords.get(id)]);
    }
    expect(new Set(deliveredRecords.map(({ id }) => id)).size).toBe(deliveredRecords.length);
  });

  it('delivers the same records until they are acknowledged, and then continues with the next', async () => {
    const ownLog = env.COMPANY_LOG.getByName('of-a-test') as unknown as DurableObjectStub<CompanyLog>;
    await runInDurableObject(ownLog, (object) => {
      object.follow('of-a-test', ['audit']);
    });
    const [one, two] = [makeRecordAt(Date.now() + 1000), makeRecordAt(Date.now() + 2000)];
    const listIds = async () => {
      const next = await ownLog.following('audit', 500);
      return { next, ids: [next?.records, next?.lateRecords].map((someRecords) => someRecords?.map(({ id }) => id)) };
    };
    await ownLog.append('of-a-test', 'audit', [one] as never);
    const first = await listIds();
    await ownLog.append('of-a-test', 'audit', [two] as never);
    expect([first.ids, (await listIds()).ids]).toEqual([
      [[one.id], []],
      [[one.id], []],
    ]);
    const betweenRecord = makeRecordAt(Date.now() + 500);
    await ownLog.append('of-a-test', 'audit', [betweenRecord] as never);
    await ownLog.followed('audit', first.next as never);
    expect((await listIds()).ids).toEqual([[two.id], [betweenRecord.id]]);
    await ownLog.unfollow(['audit'], 0);
    expect((await listIds()).next).toBeDefined();
    await ownLog.unfollow(['audit'], 1);
    expect((await listIds()).next).toBeUndefined();
  });

  it('delivers a late record that arrives between those of a batch whose delivery was interrupted', async () => {
    const other = await createOwnedCompany();
    const receiver = createReceiver();
    await createEndpoint(other, receiver, ['audit.records']);
    const [first, between, last] = [1, 2, 3].map((ms) => makeRecordAt(Date.now() + ms)) as [
      ReturnType<typeof makeRecordAt>,
      ReturnType<typeof makeRecordAt>,
      ReturnType<typeof makeRecordAt>,
    ];
    const handOut = (lateRecords: object[], confirm: () => Promise<boolean>) => {
      const following = async (kind: LogKind) =>
        kind === 'audit'
          ? { follows: 1, records: [], upTo: {}, late: lateRecords, lateRecords, redactions: 0 }
          : undefined;
      const COMPANY_LOG = { getByName: () => ({ following, followed: confirm }) };
      return runInContext({ kind: 'system', companyId: other.id }, (ctx) =>
        streamLog({ ...ctx, bindings: { ...ctx.bindings, COMPANY_LOG } } as never),
      );
    };
    const interrupt = () => Promise.reject(new Error('interrupted'));
    const listReceivedIds = async () => (await listReceivedRecords(receiver)).map(({ id }) => id);
    await expect(handOut([first, last], interrupt)).rejects.toThrow('interrupted');
    await expect.poll(listReceivedIds).toContain(last.id);
    await handOut([first, between, last], async () => true);
    await expect.poll(listReceivedIds).toContain(between.id);
  });

  it('delivers a batch to the endpoints after one that cannot store it', async () => {
    const other = await createOwnedCompany();
    for (let n = 0; n < 3; n += 1) await createEndpoint(other, createReceiver(), ['audit.records']);
    const record = makeRecordAt(Date.now());
    const takers = new Set<string>();
    const following = async (kind: LogKind) =>
      kind === 'audit'
        ? { follows: 1, records: [record], upTo: {}, late: [], lateRecords: [], redactions: 0 }
        : undefined;
    const COMPANY_LOG = { getByName: () => ({ following }) };
    const WEBHOOK_SENDER = {
      getByName: (id: string) => ({
        async take() {
          takers.add(id);
          if (takers.size === 1) throw new Error('full');
        },
      }),
    };
    const stream = runInContext({ kind: 'system', companyId: other.id }, (ctx) =>
      streamLog({ ...ctx, bindings: { ...ctx.bindings, COMPANY_LOG, WEBHOOK_SENDER } } as never),
    );
    await expect(stream).rejects.toThrow('full');
    expect(takers.size).toBe(3);
  });

  it('ends once no endpoint subscribes to it', async () => {
    const other = await createOwnedCompany();
    const { _id } = await createEndpoint(other, createReceiver(), ['audit.records']);
    const otherLog = env.COMPANY_LOG.getByName(other.id) as unknown as DurableObjectStub<CompanyLog>;
    expect(await otherLog.following('audit', 1)).toBeDefined();
    await other.as.delete(`${ENDPOINTS_PATH}/${_id}`);
    await expect
      .poll(
        async () => {
          await otherLog.append(other.id, 'audit', [makeRecordAt(Date.now())] as never);
          await runDurableObjectAlarm(otherLog);
          return (await otherLog.following('audit', 1)) === undefined;
        },
        { interval: 500 },
      )
      .toBe(true);
  });
});

/** Moves a log's ended days to R2, as the log itself does after it has kept them long enough. */
async function moveRecords(object: DurableObjectStub<CompanyLog>, name: string, kind: LogKind = 'audit') {
  await runInDurableObject(object, async (_, { storage }) => {
    const recordMover = { storage, files: env.FILES, name, reportChange: () => undefined };
    while (await moveOldestRecords(recordMover, kind, Number.POSITIVE_INFINITY));
  });
}

describe('the audit stream, of days that were moved to R2 before they were delivered,', () => {
  const LOG_NAME = 'of-a-moved-test';
  const getOwnLog = () => env.COMPANY_LOG.getByName(LOG_NAME) as unknown as DurableObjectStub<CompanyLog>;
  const day = Math.ceil(Date.now() / DAY_MS) * DAY_MS;
  const readNext = async (limit = 3) => (await getOwnLog().following('audit', limit)) as FollowedRecords;
  const listIds = (records: FollowedRecords['records']) => records.map(({ id }) => id);

  it('includes each record in the order of the log, and repeats the records until they are acknowledged', async () => {
    await getOwnLog().follow(LOG_NAME, ['audit']);
    const records = Array.from({ length: 8 }, (_, n) => makeRecordAt(day + n * (DAY_MS / 3)));
    await getOwnLog().append(LOG_NAME, 'audit', records as never);
    // In the midst of what was handed out, and not kept.
    expect(listIds((await readNext()).records)).toEqual(records.slice(0, 3).map(({ id }) => id));
    await moveRecords(getOwnLog(), LOG_NAME);
    const laterRecord = makeRecordAt(day + 3 * DAY_MS);
    await getOwnLog().append(LOG_NAME, 'audit', [laterRecord] as never);
    const allIds: string[] = [];
    for (
      let followedRecords = await readNext();
      followedRecords.records.length > 0;
      followedRecords = await readNext()
    ) {
      expect(listIds((await readNext()).records)).toEqual(listIds(followedRecords.records));
      allIds.push(...listIds(followedRecords.records));
      expect(await getOwnLog().followed('audit', followedRecords)).toBe(true);
    }
    expect(allIds).toEqual([...records, laterRecord].map(({ id }) => id));
  });

  it('includes records that arrive late for a moved day, before and after their merge into its file', async () => {
    const lateRecord = makeRecordAt(day + 1000);
    await getOwnLog().append(LOG_NAME, 'audit', [lateRecord] as never);
    expect(listIds((await readNext()).lateRecords)).toEqual([lateRecord.id]);
    await runInDurableObject(getOwnLog(), async (_, { storage }) => {
      await mergeLateRecords({ storage, files: env.FILES, name: LOG_NAME, reportChange: () => undefined }, 'audit');
    });
    const followedRecords = await readNext();
    expect(listIds(followedRecords.lateRecords)).toEqual([lateRecord.id]);
    await getOwnLog().followed('audit', followedRecords);
    expect((await readNext()).late).toEqual([]);
  });

  it('includes late records of a moved day that it has not reached yet', async () => {
    const logName = 'of-a-test-behind';
    const object = env.COMPANY_LOG.getByName(logName) as unknown as DurableObjectStub<CompanyLog>;
    await object.follow(logName, ['audit']);
    const [one, two] = [makeRecordAt(day), makeRecordAt(day + 2000)];
    await object.append(logName, 'audit', [one, two] as never);
    await moveRecords(object, logName);
    const lateRecord = makeRecordAt(day + 1000);
    await object.append(logName, 'audit', [lateRecord] as never);
    const followedRecords = (await object.following('audit', 500)) as FollowedRecords;
    expect([listIds(followedRecords.records), listIds(followedRecords.lateRecords)]).toEqual([
      [one.id, two.id],
      [lateRecord.id],
    ]);
  });

  it('delivers records again that were redacted after their first delivery', async () => {
    const logName = 'of-a-test-of-a-person';
    const object = env.COMPANY_LOG.getByName(logName) as unknown as DurableObjectStub<CompanyLog>;
    await object.follow(logName, ['audit']);
    const record = { ...makeRecordAt(day), principalId: 'a'.repeat(24) };
    await object.append(logName, 'audit', [record] as never);
    const followedRecords = (await object.following('audit', 500)) as FollowedRecords;
    const person = { ids: [record.principalId], email: 'nobody@x.test', pseudonym: 'b'.repeat(24), ips: [] };
    await object.redact(person, null);
    expect(await object.followed('audit', followedRecords)).toBe(false);
    const laterFollowedRecords = (await object.following('audit', 500)) as FollowedRecords;
    expect(laterFollowedRecords.records).toMatchObject([{ id: record.id, principalId: person.pseudonym }]);
  });

  it('continues once the company is active again after 100 days of suspension', async () => {
    const other = await createOwnedCompany();
    const receiver = createReceiver();
    const { _id } = await createEndpoint(other, receiver, ['audit.records']);
    const companyLog = env.COMPANY_LOG.getByName(other.id) as unknown as DurableObjectStub<CompanyLog>;
    await expectSuccess(operator.patch(makePath(other), { json: { status: 'suspended' } }));
    const records = Array.from({ length: 5 }, (_, n) => makeRecordAt(Date.now() + n, '/while-suspended'));
    await companyLog.append(other.id, 'audit', records as never);
    advanceClock(100 * DAY_MS);
    await settleLog(other.id);
    const { objects } = await env.FILES.list({ prefix: `log/${other.id}/audit-events/` });
    expect(objects.length).toBeGreaterThan(0);
    await expectSuccess(operator.patch(makePath(other), { json: { status: 'active' } }));
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
  });
});

describe('a backfill of the audit stream', () => {
  it('includes days that were moved to R2, the newest first, after the newest records of the stream', async () => {
    const ownCompany = await createOwnedCompany();
    const companyLog = env.COMPANY_LOG.getByName(ownCompany.id) as unknown as DurableObjectStub<CompanyLog>;
    const rangeStart = Math.floor(Date.now() / DAY_MS) * DAY_MS - 5 * DAY_MS;
    const records = Array.from({ length: 6 }, (_, n) => makeRecordAt(rangeStart + n * (DAY_MS / 2), '/moved'));
    await companyLog.append(ownCompany.id, 'audit', records as never);
    await moveRecords(companyLog, ownCompany.id);
    const receiver = createReceiver();
    const { _id } = await createEndpoint(ownCompany, receiver, ['audit.records']);
    const range = { from: new Date(rangeStart).toISOString(), to: new Date(rangeStart + 4 * DAY_MS).toISOString() };
    expect((await ownCompany.as.post(`${ENDPOINTS_PATH}/${_id}/backfill`, { json: range })).status).toBe(202);
    const listMovedRecordIds = async () =>
      (await listReceivedRecords(receiver)).filter(({ route }) => route === '/moved').map(({ id }) => id);
    await expect.poll(listMovedRecordIds).toEqual(records.map(({ id }) => id).toReversed());
  });

  it('pauses while a hundred of its batches wait to be sent', async () => {
    const ownCompany = await createOwnedCompany();
    const { _id } = await createEndpoint(ownCompany, createReceiver(), ['audit.records']);
    await runInDurableObject(env.WEBHOOK_SENDER.getByName(_id), (_, { storage }) => {
      for (let n = 0; n < 100; n += 1)
        storage.sql.exec(
          "INSERT INTO deliveries VALUES (?1, ?1, 'audit.records', '{}', 'pending', '[]', 0, ?2, 1, ?3)",
          ...[`waiting-${n}`, Date.now() + DAY_MS, Date.now()],
        );
    });
    const range = { from: Date.now() - DAY_MS, to: Date.now() };
    const message = { type: 'webhooks.backfill', companyId: ownCompany.id, endpointId: _id, backfillId: 'b', ...range };
    const sentMessages: unknown[] = [];
    const jobs = { send: async (...sent: unknown[]) => void sentMessages.push(sent) };
    await runInContext({ kind: 'system', companyId: ownCompany.id }, (ctx) =>
      backfillAudit({ ...ctx, jobs } as never, message as never),
    );
    expect(sentMessages).toEqual([[message, 60]]);
  });

  it('sends the stored records, the newest first', async () => {
    company = await createOwnedCompany();
    const pastTime = Date.now() - 3 * DAY_MS;
    await storeRecords(...Array.from({ length: 700 }, (_, n) => makeRecordAt(pastTime + n, '/past')));
    const receiver = createReceiver();
    const { _id } = await createEndpoint(company, receiver, ['audit.records']);
    const [from, to] = [new Date(pastTime).toISOString(), new Date(pastTime + DAY_MS).toISOString()];
    const path = `${ENDPOINTS_PATH}/${_id}/backfill`;
    expect((await company.as.post(path, { json: { from: to, to: from } })).status).toBe(422);
    expect(await company.as.post(path, { json: { from, to } })).toMatchObject({ status: 202 });
    const listPastRecords = async () => (await listReceivedRecords(receiver)).filter(({ route }) => route === '/past');
    await expect.poll(async () => (await listPastRecords()).length).toBe(700);
    for (const { event } of await receiver.readReceivedRequests()) {
      const occurrenceTimes = (event.data.records as AuditRecord[]).map(({ occurred_at: at }) => at);
      if ((event.data.records as AuditRecord[])[0]?.route === '/past')
        expect(occurrenceTimes).toEqual(occurrenceTimes.toSorted().reverse());
    }
    const deliveriesPath = `${ENDPOINTS_PATH}/${_id}/deliveries?event_type=audit.records`;
    expect((await company.as.get(deliveriesPath)).body.total).toBeGreaterThanOrEqual(2);
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
