import { env, evictDurableObject, runInDurableObject } from 'cloudflare:test';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { DAY_MS } from '../../src/kernel/clock.ts';
import { newId } from '../../src/kernel/ids.ts';
import type { LogRecord } from '../../src/logs/log.ts';
import { advanceClock, stopClockAt } from '../support/clock.ts';
import { appendRecords, getLog, listFiles, makeRecord, queryLog, resetSizes, setSizes, settleLog } from './support.ts';

/** The time (ms) at which the log is created. */
const NOON_MS = Math.floor(Date.now() / DAY_MS) * DAY_MS + DAY_MS / 2;

let company: string;
let createdCount = 0;
beforeEach(async () => {
  company = `views-${++createdCount}`;
  stopClockAt(NOON_MS);
  await getLog(company).views([]);
});
afterEach(resetSizes);

const makeEvent = (
  occurredAt: number,
  type: LogRecord<'share'>['type'] = 'share.executed',
  shareId: string | null = 's1',
): LogRecord<'share'> => ({
  id: newId(occurredAt),
  type,
  occurredAt,
  actorKind: 'viewer',
  actorId: null,
  actorEmail: null,
  targetType: 'dashboard',
  targetId: 'd1',
  shareId,
  shareContextId: null,
  ipCountry: null,
  userAgent: null,
  origin: null,
  correlationId: crypto.randomUUID(),
  viewer: 'v1',
  details: {},
});
const storeEvents = (...events: LogRecord<'share'>[]) => getLog(company).append(company, 'share', events);
const readShareViews = async (id = 's1') => (await getLog(company).views([id]))[0];
const getViewCount = async () => (await readShareViews())?.viewCount;

describe('the view count of a share', () => {
  it('counts each event once, when it is read', async () => {
    await storeEvents(
      makeEvent(NOON_MS + 1),
      makeEvent(NOON_MS + 2, 'share.resolved'),
      makeEvent(NOON_MS + 3),
      makeEvent(NOON_MS + 4, 'share.denied'),
    );
    await storeEvents(makeEvent(NOON_MS + 5, 'share.executed', null), makeEvent(NOON_MS + 6, 'share.executed', 's2'));
    expect(await readShareViews()).toEqual({ shareId: 's1', viewCount: 2, lastAccessedAt: NOON_MS + 3 });
    expect(await readShareViews('s2')).toEqual({ shareId: 's2', viewCount: 1, lastAccessedAt: NOON_MS + 6 });
    await storeEvents(makeEvent(NOON_MS + 7, 'share.resolved'), makeEvent(NOON_MS + 8));
    await getLog(company).addViews({ shareId: 's1', viewCount: 4, lastAccessedAt: NOON_MS });
    expect(await readShareViews()).toEqual({ shareId: 's1', viewCount: 7, lastAccessedAt: NOON_MS + 8 });
    await evictDurableObject(getLog(company));
    expect(await getViewCount()).toBe(7);
  });

  it('writes no row when it is read', async () => {
    const rows = await runInDurableObject(getLog(company), async (log, { storage }) => {
      await log.append(company, 'share', [makeEvent(NOON_MS)]);
      const execSpy = vi.spyOn(storage.sql, 'exec');
      for (let n = 1; n <= 20; n += 1) await log.append(company, 'share', [makeEvent(NOON_MS + n)]);
      return execSpy.mock.results.reduce((sum, { value }) => sum + value.rowsWritten, 0);
    });
    expect(rows).toBe(20);
    expect(await getViewCount()).toBe(21);
  });

  it('is computed from a few events at a time', async () => {
    setSizes({ slice: 3 });
    await storeEvents(...Array.from({ length: 10 }, (_, n) => makeEvent(NOON_MS + n)));
    const slices = await runInDurableObject(getLog(company), async (log, { storage }) => {
      const execSpy = vi.spyOn(storage.sql, 'exec');
      await log.views(['s1']);
      return execSpy.mock.calls.filter(([text]) => text.startsWith('UPDATE views_counted')).length;
    });
    expect(slices).toBe(4);
    expect(await getViewCount()).toBe(10);
  });

  it('includes an event that arrives after later events, once however often it arrives', async () => {
    await storeEvents(makeEvent(NOON_MS + 9_000));
    expect(await getViewCount()).toBe(1);
    const lateEvent = makeEvent(NOON_MS + 5_000);
    await storeEvents(
      lateEvent,
      makeEvent(NOON_MS + 6_000, 'share.resolved'),
      makeEvent(NOON_MS + 7_000, 'share.executed', null),
    );
    expect(await getViewCount()).toBe(2);
    await storeEvents(lateEvent);
    expect(await getViewCount()).toBe(2);
  });

  it('includes events before their move, and an event that arrives after its day was moved', async () => {
    setSizes({ slice: 2 });
    const last = makeEvent(NOON_MS + 3000);
    await storeEvents(makeEvent(NOON_MS + 1000), makeEvent(NOON_MS + 2000), last);
    advanceClock(200 * DAY_MS);
    await settleLog(company);
    expect(await listFiles(company)).toHaveLength(1);
    const lateEvent = makeEvent(NOON_MS + 1500);
    await storeEvents(lateEvent, last);
    await settleLog(company);
    await storeEvents(lateEvent);
    await settleLog(company);
    expect(await queryLog(company, 'SELECT count(*) FROM late_share_events')).toBe(0);
    expect(await getViewCount()).toBe(4);
  });

  it('includes an event that arrives between the count and the move of its day', async () => {
    const oldestRecord: LogRecord<'audit'> = { ...makeRecord(NOON_MS - DAY_MS), id: newId(NOON_MS - DAY_MS) };
    await appendRecords(company, [oldestRecord]);
    advanceClock(200 * DAY_MS);
    const putSpy = vi.spyOn(Object.getPrototypeOf(env.FILES), 'put');
    putSpy.mockImplementationOnce(async function rival(this: R2Bucket, ...putArguments: unknown[]) {
      putSpy.mockRestore();
      await storeEvents(makeEvent(NOON_MS + 5_000));
      return this.put(...(putArguments as Parameters<R2Bucket['put']>));
    } as never);
    await settleLog(company);
    expect(await listFiles(company)).toHaveLength(2);
    expect(await getViewCount()).toBe(1);
  });

  it('leaves out events from before the log began, which the count stored by the earlier version includes', async () => {
    await storeEvents(makeEvent(NOON_MS - 60_001), makeEvent(NOON_MS - 59_000));
    expect(await getViewCount()).toBe(1);
    advanceClock(200 * DAY_MS);
    await settleLog(company);
    await storeEvents(makeEvent(NOON_MS - 70_000), makeEvent(NOON_MS - 59_500));
    await settleLog(company);
    expect(await getViewCount()).toBe(2);
  });
});
