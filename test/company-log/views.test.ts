import { env, evictDurableObject, runInDurableObject } from 'cloudflare:test';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { DAY_MS } from '../../src/kernel/clock.ts';
import { newId } from '../../src/kernel/ids.ts';
import type { Logged } from '../../src/logs/log.ts';
import { advanceClock, resetClock, stopClockAt } from '../support/clock.ts';
import { appendRecords, getLog, listFiles, makeRecord, queryLog, resetSizes, setSizes, settleLog } from './support.ts';

/** When the log is made. */
const NOON = Math.floor(Date.now() / DAY_MS) * DAY_MS + DAY_MS / 2;

let company: string;
let createdCount = 0;
beforeEach(async () => {
  createdCount += 1;
  company = `views-${createdCount}`;
  stopClockAt(NOON);
  await getLog(company).views([]);
});
afterEach(() => {
  resetSizes();
  resetClock();
  vi.restoreAllMocks();
});

const makeEvent = (
  occurredAt: number,
  type: Logged<'share'>['type'] = 'share.executed',
  shareId: string | null = 's1',
): Logged<'share'> => ({
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
const storeEvents = (...events: Logged<'share'>[]) => getLog(company).append(company, 'share', events);
const readShareViews = async (id = 's1') => (await getLog(company).views([id]))[0];
const getViewCount = async () => (await readShareViews())?.viewCount;

describe('the view count of a share', () => {
  it('counts each event once, when somebody asks', async () => {
    await storeEvents(
      makeEvent(NOON + 1),
      makeEvent(NOON + 2, 'share.resolved'),
      makeEvent(NOON + 3),
      makeEvent(NOON + 4, 'share.denied'),
    );
    await storeEvents(makeEvent(NOON + 5, 'share.executed', null), makeEvent(NOON + 6, 'share.executed', 's2'));
    expect(await readShareViews()).toEqual({ shareId: 's1', viewCount: 2, lastAccessedAt: NOON + 3 });
    expect(await readShareViews('s2')).toEqual({ shareId: 's2', viewCount: 1, lastAccessedAt: NOON + 6 });
    await storeEvents(makeEvent(NOON + 7, 'share.resolved'), makeEvent(NOON + 8));
    await getLog(company).addViews({ shareId: 's1', viewCount: 4, lastAccessedAt: NOON });
    expect(await readShareViews()).toEqual({ shareId: 's1', viewCount: 7, lastAccessedAt: NOON + 8 });
    await evictDurableObject(getLog(company));
    expect(await getViewCount()).toBe(7);
  });

  it('writes no row of its own', async () => {
    const rows = await runInDurableObject(getLog(company), async (log, { storage }) => {
      await log.append(company, 'share', [makeEvent(NOON)]);
      const exec = vi.spyOn(storage.sql, 'exec');
      for (let n = 1; n <= 20; n += 1) await log.append(company, 'share', [makeEvent(NOON + n)]);
      return exec.mock.results.reduce((sum, { value }) => sum + value.rowsWritten, 0);
    });
    expect(rows).toBe(20);
    expect(await getViewCount()).toBe(21);
  });

  it('is computed in slices', async () => {
    setSizes({ slice: 3 });
    await storeEvents(...Array.from({ length: 10 }, (_, n) => makeEvent(NOON + n)));
    const slices = await runInDurableObject(getLog(company), async (log, { storage }) => {
      const exec = vi.spyOn(storage.sql, 'exec');
      await log.views(['s1']);
      return exec.mock.calls.filter(([text]) => text.startsWith('UPDATE views_counted')).length;
    });
    expect(slices).toBe(4);
    expect(await getViewCount()).toBe(10);
  });

  it('includes an event that arrives after later ones, once however often it arrives', async () => {
    await storeEvents(makeEvent(NOON + 9_000));
    expect(await getViewCount()).toBe(1);
    const late = makeEvent(NOON + 5_000);
    await storeEvents(late, makeEvent(NOON + 6_000, 'share.resolved'), makeEvent(NOON + 7_000, 'share.executed', null));
    expect(await getViewCount()).toBe(2);
    await storeEvents(late);
    expect(await getViewCount()).toBe(2);
  });

  it('includes events before their move, and one that arrives after its day was moved', async () => {
    setSizes({ slice: 2 });
    const last = makeEvent(NOON + 3000);
    await storeEvents(makeEvent(NOON + 1000), makeEvent(NOON + 2000), last);
    advanceClock(200 * DAY_MS);
    await settleLog(company);
    expect(await listFiles(company)).toHaveLength(1);
    const late = makeEvent(NOON + 1500);
    await storeEvents(late, last);
    await settleLog(company);
    await storeEvents(late);
    await settleLog(company);
    expect(await queryLog(company, 'SELECT count(*) FROM late_share_events')).toBe(0);
    expect(await getViewCount()).toBe(4);
  });

  it('includes an event that arrives between the count and the move of its day', async () => {
    const oldest: Logged<'audit'> = { ...makeRecord(NOON - DAY_MS), id: newId(NOON - DAY_MS) };
    await appendRecords(company, [oldest]);
    advanceClock(200 * DAY_MS);
    const put = vi.spyOn(Object.getPrototypeOf(env.FILES), 'put');
    put.mockImplementationOnce(async function rival(this: R2Bucket, ...given: unknown[]) {
      put.mockRestore();
      await storeEvents(makeEvent(NOON + 5_000));
      return this.put(...(given as Parameters<R2Bucket['put']>));
    } as never);
    await settleLog(company);
    expect(await listFiles(company)).toHaveLength(2);
    expect(await getViewCount()).toBe(1);
  });

  it('leaves events that are older than the log to the count of the earlier version', async () => {
    await storeEvents(makeEvent(NOON - 60_001), makeEvent(NOON - 59_000));
    expect(await getViewCount()).toBe(1);
    advanceClock(200 * DAY_MS);
    await settleLog(company);
    await storeEvents(makeEvent(NOON - 70_000), makeEvent(NOON - 59_500));
    await settleLog(company);
    expect(await getViewCount()).toBe(2);
  });
});
