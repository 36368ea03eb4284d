import { env, evictDurableObject, runInDurableObject } from 'cloudflare:test';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { DAY_MS } from '../../src/kernel/clock.ts';
import { newId } from '../../src/kernel/ids.ts';
import type { Logged } from '../../src/logs/log.ts';
import { advanceClock, resetClock, stopClockAt } from '../support/clock.ts';
import { append, aRecord, ask, filesOf, logOf, resetSizes, setSizes, settle } from './support.ts';

/** When the log is made. */
const NOON = Math.floor(Date.now() / DAY_MS) * DAY_MS + DAY_MS / 2;

let company: string;
let createdCount = 0;
beforeEach(async () => {
  createdCount += 1;
  company = `views-${createdCount}`;
  stopClockAt(NOON);
  await logOf(company).views([]);
});
afterEach(() => {
  resetSizes();
  resetClock();
  vi.restoreAllMocks();
});

const event = (
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
const keep = (...events: Logged<'share'>[]) => logOf(company).append(company, 'share', events);
const views = async (id = 's1') => (await logOf(company).views([id]))[0];
const getViewCount = async () => (await views())?.viewCount;

describe('the view count of a share', () => {
  it('counts each event once, when somebody asks', async () => {
    await keep(event(NOON + 1), event(NOON + 2, 'share.resolved'), event(NOON + 3), event(NOON + 4, 'share.denied'));
    await keep(event(NOON + 5, 'share.executed', null), event(NOON + 6, 'share.executed', 's2'));
    expect(await views()).toEqual({ shareId: 's1', viewCount: 2, lastAccessedAt: NOON + 3 });
    expect(await views('s2')).toEqual({ shareId: 's2', viewCount: 1, lastAccessedAt: NOON + 6 });
    await keep(event(NOON + 7, 'share.resolved'), event(NOON + 8));
    await logOf(company).addViews({ shareId: 's1', viewCount: 4, lastAccessedAt: NOON });
    expect(await views()).toEqual({ shareId: 's1', viewCount: 7, lastAccessedAt: NOON + 8 });
    await evictDurableObject(logOf(company));
    expect(await getViewCount()).toBe(7);
  });

  it('writes no row of its own', async () => {
    const rows = await runInDurableObject(logOf(company), async (log, { storage }) => {
      await log.append(company, 'share', [event(NOON)]);
      const exec = vi.spyOn(storage.sql, 'exec');
      for (let n = 1; n <= 20; n += 1) await log.append(company, 'share', [event(NOON + n)]);
      return exec.mock.results.reduce((sum, { value }) => sum + value.rowsWritten, 0);
    });
    expect(rows).toBe(20);
    expect(await getViewCount()).toBe(21);
  });

  it('is computed in slices', async () => {
    setSizes({ slice: 3 });
    await keep(...Array.from({ length: 10 }, (_, n) => event(NOON + n)));
    const slices = await runInDurableObject(logOf(company), async (log, { storage }) => {
      const exec = vi.spyOn(storage.sql, 'exec');
      await log.views(['s1']);
      return exec.mock.calls.filter(([text]) => text.startsWith('UPDATE views_counted')).length;
    });
    expect(slices).toBe(4);
    expect(await getViewCount()).toBe(10);
  });

  it('includes an event that arrives after later ones, once however often it arrives', async () => {
    await keep(event(NOON + 9_000));
    expect(await getViewCount()).toBe(1);
    const late = event(NOON + 5_000);
    await keep(late, event(NOON + 6_000, 'share.resolved'), event(NOON + 7_000, 'share.executed', null));
    expect(await getViewCount()).toBe(2);
    await keep(late);
    expect(await getViewCount()).toBe(2);
  });

  it('includes events before their move, and one that arrives after its day was moved', async () => {
    setSizes({ slice: 2 });
    const last = event(NOON + 3000);
    await keep(event(NOON + 1000), event(NOON + 2000), last);
    advanceClock(200 * DAY_MS);
    await settle(company);
    expect(await filesOf(company)).toHaveLength(1);
    const late = event(NOON + 1500);
    await keep(late, last);
    await settle(company);
    await keep(late);
    await settle(company);
    expect(await ask(company, 'SELECT count(*) FROM late_share_events')).toBe(0);
    expect(await getViewCount()).toBe(4);
  });

  it('includes an event that arrives between the count and the move of its day', async () => {
    const oldest: Logged<'audit'> = { ...aRecord(NOON - DAY_MS), id: newId(NOON - DAY_MS) };
    await append(company, [oldest]);
    advanceClock(200 * DAY_MS);
    const put = vi.spyOn(Object.getPrototypeOf(env.FILES), 'put');
    put.mockImplementationOnce(async function rival(this: R2Bucket, ...given: unknown[]) {
      put.mockRestore();
      await keep(event(NOON + 5_000));
      return this.put(...(given as Parameters<R2Bucket['put']>));
    } as never);
    await settle(company);
    expect(await filesOf(company)).toHaveLength(2);
    expect(await getViewCount()).toBe(1);
  });

  it('leaves events that are older than the log to the count of the earlier version', async () => {
    await keep(event(NOON - 60_001), event(NOON - 59_000));
    expect(await getViewCount()).toBe(1);
    advanceClock(200 * DAY_MS);
    await settle(company);
    await keep(event(NOON - 70_000), event(NOON - 59_500));
    await settle(company);
    expect(await getViewCount()).toBe(2);
  });
});
