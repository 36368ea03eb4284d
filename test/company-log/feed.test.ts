import { env, runDurableObjectAlarm } from 'cloudflare:test';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { Bindings } from '../../src/config.ts';
import { newId } from '../../src/kernel/ids.ts';
import type { AuditRecord } from '../../src/logs/audit-record.ts';
import { storeInLog } from '../../src/modules/company-log/service.ts';
import type { ShareEvent } from '../../src/sharing/share-event.ts';
import { callApi } from '../support/api.ts';
import { runScheduled } from '../support/clock.ts';
import { makeAuditRecord, readRecords } from '../support/log.ts';

let company: string;
let createdCount = 0;
beforeEach(() => {
  company = `fed-${++createdCount}`;
  vi.spyOn(console, 'error').mockImplementation(() => undefined);
});

const makeRecord = () => makeAuditRecord({ companyId: company, principalType: 'user', principalId: 'p' });
const makeEvent = (): ShareEvent => ({
  id: newId(Date.now()),
  companyId: company,
  type: 'share.executed',
  occurredAt: Date.now(),
  actorKind: 'viewer',
  actorId: null,
  actorEmail: null,
  targetType: null,
  targetId: null,
  shareId: null,
  shareContextId: null,
  ipCountry: null,
  userAgent: null,
  origin: null,
  correlationId: 'c',
  viewer: 'v',
  details: {},
});
const makeRecords = (count: number) => Array.from({ length: count }, makeRecord);
const storeAll = (records: AuditRecord[], bindings: object = {}) =>
  Promise.all(records.map((record) => storeInLog({ ...env, ...bindings } as Bindings, 'audit', record)));
const listIds = (records: readonly { id: string }[]) => records.map(({ id }) => id).sort();
const listStoredIds = async () => listIds(await readRecords('audit', company));

/** Reads the ids of the stored records, at most 300 times more, until there are `dueCount`. No timer runs between the reads. */
async function waitForStored(dueCount: number): Promise<string[]> {
  let storedIds = await listStoredIds();
  for (let attemptCount = 0; storedIds.length < dueCount && attemptCount < 300; attemptCount += 1)
    storedIds = await listStoredIds();
  return storedIds;
}

const failAsUnavailable = () => Promise.reject(new Error('away'));
const UNAVAILABLE_LOG = { getByName: () => ({ appendAll: failAsUnavailable }) };
const UNAVAILABLE_QUEUE = { send: failAsUnavailable, sendBatch: failAsUnavailable };

/** Creates a log that records the number of records of each call; `isHanging` says which calls never end. */
function createWatchedLog(isHanging: (callNumber: number) => boolean = () => false) {
  const recordCounts: number[] = [];
  const appendAll = (name: string) => (company: string, records: { audit: never[]; share: never[] }) => {
    recordCounts.push(records.audit.length + records.share.length);
    if (isHanging(recordCounts.length)) return new Promise<void>(() => undefined);
    return env.COMPANY_LOG.getByName(name).appendAll(company, records);
  };
  return { calls: recordCounts, COMPANY_LOG: { getByName: (name: string) => ({ appendAll: appendAll(name) }) } };
}

describe("the delivery of records to a company's log", () => {
  it('sends records that arrive at the same time or during a call in one call', async () => {
    const { calls, COMPANY_LOG } = createWatchedLog();
    const records = makeRecords(250);
    await storeAll(records, { COMPANY_LOG });
    expect(calls).toEqual([100, 100, 50]);
    expect(await listStoredIds()).toEqual(listIds(records));
  });

  it('sends the event of a request with its audit record', async () => {
    const { calls, COMPANY_LOG } = createWatchedLog();
    const bindings = { ...env, COMPANY_LOG } as unknown as Bindings;
    const [record] = makeRecords(1) as [AuditRecord];
    const event = makeEvent();
    await Promise.all([storeInLog(bindings, 'share', event), storeInLog(bindings, 'audit', record)]);
    expect(calls).toEqual([2]);
    expect([await listStoredIds(), listIds(await readRecords('share', company))]).toEqual([[record.id], [event.id]]);
  });

  it('sends a record by itself if the request that carried it was aborted', async () => {
    vi.useFakeTimers();
    try {
      const records = makeRecords(3);
      const { calls, COMPANY_LOG } = createWatchedLog((callNumber) => callNumber <= 2);
      // A request that is cut off brings its records neither to the log nor to a queue.
      const hangingQueue = { sendBatch: () => new Promise(() => undefined) };
      const [first, ...others] = records as [AuditRecord, ...AuditRecord[]];
      const pendingWrites = [storeAll([first], { COMPANY_LOG, AUDIT: hangingQueue })];
      await vi.advanceTimersByTimeAsync(10);
      pendingWrites.push(storeAll(others, { COMPANY_LOG, AUDIT: hangingQueue }));
      // The first request waits for sixteen seconds, the others for eight more. The log answers in real time: none of these
      // timers may pass meanwhile.
      await vi.advanceTimersByTimeAsync(16_000);
      expect(await waitForStored(1)).toEqual([first.id]);
      await vi.advanceTimersByTimeAsync(8_000);
      expect(await waitForStored(3)).toEqual(listIds(records));
      expect(calls).toEqual([1, 2, 1, 1, 1]);
      vi.useRealTimers();
      await Promise.all(pendingWrites);
    } finally {
      vi.useRealTimers();
    }
  });

  it('uses the queue while the log is down, which delivers the records later', async () => {
    const records = makeRecords(30);
    await storeAll(records, { COMPANY_LOG: UNAVAILABLE_LOG });
    await vi.waitFor(async () => expect(await listStoredIds()).toEqual(listIds(records)), {
      timeout: 15_000,
      interval: 100,
    });
  });

  it('uses a file while the queue is down, too, which the cron trigger delivers later', async () => {
    const records = makeRecords(30);
    await storeAll(records, { COMPANY_LOG: UNAVAILABLE_LOG, AUDIT: UNAVAILABLE_QUEUE });
    expect(await listStoredIds()).toEqual([]);
    // For as long as the log is away, the file stays.
    await runScheduled({ COMPANY_LOG: UNAVAILABLE_LOG });
    expect((await env.FILES.list({ prefix: 'undelivered/' })).objects).toHaveLength(1);
    await runScheduled();
    expect(await listStoredIds()).toEqual(listIds(records));
    expect((await env.FILES.list({ prefix: 'undelivered/' })).objects).toEqual([]);
  });

  it('delivers files that follow some unreadable files, and keeps the unreadable ones', async () => {
    const prefixes = ['undelivered/audit/', 'undelivered/share/', 'archive/share-views/'];
    const unreadableFiles = prefixes.flatMap((prefix) =>
      Array.from({ length: 21 }, (_, at) => `${prefix}0-${at}.ndjson`),
    );
    for (const key of unreadableFiles) await env.FILES.put(key, 'no JSON\n');
    const [record, event] = [makeRecord(), makeEvent()];
    await env.FILES.put('undelivered/audit/1.ndjson', `${JSON.stringify(record)}\n`);
    await env.FILES.put('undelivered/share/1.ndjson', `${JSON.stringify(event)}\n`);
    const viewCountRow = { share_id: 's1', company_id: company, view_count: 7, last_accessed_at: 1 };
    await env.FILES.put('archive/share-views/1.ndjson', `${JSON.stringify(viewCountRow)}\n`);
    await runScheduled();
    expect(await listStoredIds()).toEqual([record.id]);
    expect((await readRecords('share', company)).map(({ id }) => id)).toEqual([event.id]);
    expect(await env.COMPANY_LOG.getByName(company).views(['s1'])).toEqual([expect.objectContaining({ viewCount: 7 })]);
    const remainingObjects = await Promise.all(
      prefixes.map(async (prefix) => (await env.FILES.list({ prefix })).objects),
    );
    expect(
      remainingObjects
        .flat()
        .map(({ key }) => key)
        .toSorted(),
    ).toEqual(unreadableFiles.toSorted());
    await env.FILES.delete(unreadableFiles);
  });

  it('fails if nothing accepts a record, which is then written to the Worker’s own log', async () => {
    const FILES = { put: failAsUnavailable };
    await expect(
      storeAll(makeRecords(1), { COMPANY_LOG: UNAVAILABLE_LOG, AUDIT: UNAVAILABLE_QUEUE, FILES }),
    ).rejects.toThrow('away');
    const consoleLog = vi.spyOn(console, 'log').mockImplementation(() => undefined);
    const bindings = { COMPANY_LOG: UNAVAILABLE_LOG, AUDIT: UNAVAILABLE_QUEUE, FILES } as unknown as Record<
      string,
      string
    >;
    const headers = { authorization: `Bearer ${env.PLATFORM_ADMIN_TOKEN}` };
    const answer = await callApi('POST', '/admin/organizations', { headers, json: {}, env: bindings });
    const lines = consoleLog.mock.calls.map(([line]) => JSON.parse(line as string));
    expect(lines).toContainEqual(
      expect.objectContaining({ event: 'audit_record', correlationId: answer.headers.get('x-correlation-id') }),
    );
  });

  it('keeps the count of an anonymous client until the queue accepts it', async () => {
    const headers = { 'cf-connecting-ip': '203.0.113.99' };
    await callApi('GET', '/health', { headers });
    const limiter = env.IP_LIMITER.getByName('203.0.113.99');
    const sendSpy = vi.spyOn(env.AUDIT, 'send').mockImplementation(failAsUnavailable);
    for (let tryCount = 0; tryCount < 10; tryCount += 1) expect(await runDurableObjectAlarm(limiter)).toBe(true);
    expect(sendSpy).toHaveBeenCalledTimes(10);
    sendSpy.mockRestore();
    await callApi('GET', '/health', { headers });
    expect(await runDurableObjectAlarm(limiter)).toBe(true);
    await vi.waitFor(
      async () => {
        const clientRecords = (await readRecords('audit')).filter(({ ip }) => ip === '203.0.113.99');
        expect(clientRecords.map(({ count }) => count)).toEqual([2]);
      },
      { timeout: 15_000, interval: 100 },
    );
  });

  it('stores the archive, the database rows and the view counts of an earlier version', async () => {
    const at = Date.now() - 200 * 24 * 60 * 60 * 1000;
    const makeRow = (id: string) => ({
      id,
      correlation_id: `c-${id}`,
      occurred_at: at,
      company_id: company,
      principal_type: 'user',
      principal_id: 'p',
      credential: null,
      method: 'GET',
      route: '/x',
      action: null,
      resource_id: null,
      status: 200,
      ip: null,
      duration_ms: 2,
    });
    const formatLines = (rows: object[]) => rows.map((listedRow) => `${JSON.stringify(listedRow)}\n`).join('');
    const [one, two, stranger] = ['1', '2', '3'].map((last) => last.padStart(24, '0')) as [string, string, string];
    const event = {
      id: one,
      company_id: company,
      type: 'share.executed',
      occurred_at: at,
      actor_kind: 'viewer',
      viewer: 'v',
    };
    await env.FILES.put(
      'archive/audit-events/2026-01-01/x.ndjson',
      formatLines([makeRow(one), { ...makeRow(stranger), company_id: null }]),
    );
    await env.FILES.put('archive/audit-events/former/000000000001.ndjson', formatLines([makeRow(one), makeRow(two)]));
    await env.FILES.put(
      'archive/share-events/former/1.ndjson',
      formatLines([{ ...event, correlation_id: 'c', details: '{"reason":"x"}' }]),
    );
    const viewCountRow = { share_id: 's1', company_id: company, view_count: 7, last_accessed_at: at };
    for (let deliveryCount = 0; deliveryCount < 2; deliveryCount += 1) {
      await env.FILES.put('archive/share-views/former/s1.ndjson', formatLines([viewCountRow]));
      await runScheduled();
    }
    const records = await readRecords('audit', company);
    expect(records.map(({ id }) => id)).toEqual([two, one]);
    expect(records[1]).toEqual({
      ...makeRecord(),
      id: one,
      correlationId: `c-${one}`,
      occurredAt: at,
      route: '/x',
      durationMs: 2,
    });
    expect((await readRecords('audit')).map(({ id }) => id)).toContain(stranger);
    expect(await readRecords('share', company)).toMatchObject([{ id: one, viewer: 'v', details: { reason: 'x' } }]);
    const log = env.COMPANY_LOG.getByName(company);
    await log.addViews({ shareId: 's1', viewCount: 2, lastAccessedAt: at + 5 });
    expect(await log.views(['s1', 's2'])).toEqual([{ shareId: 's1', viewCount: 9, lastAccessedAt: at + 5 }]);
    expect((await env.FILES.list({ prefix: 'archive/' })).objects).toEqual([]);
  });
});
