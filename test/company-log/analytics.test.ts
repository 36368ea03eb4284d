import { env } from 'cloudflare:test';
import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { DAY_MS } from '../../src/kernel/clock.ts';
import { newId } from '../../src/kernel/ids.ts';
import { listIntervals } from '../../src/kernel/time-zones.ts';
import type { LogFilter, Logged } from '../../src/logs/log.ts';
import { tallySizes } from '../../src/logs/tally.ts';
import { readAnalytics } from '../../src/modules/company-log/service.ts';
import { resetClock } from '../support/clock.ts';
import { createLogReader } from '../support/log.ts';
import { countLeft, daysAgo, getLog, listFiles, resetSizes, setSizes, settleLog } from './support.ts';

const STANDARD = { ...tallySizes };

afterEach(() => {
  resetSizes();
  resetClock();
  Object.assign(tallySizes, STANDARD);
  vi.restoreAllMocks();
});

const makeEvent = (occurredAt: number, more: Partial<Logged<'share'>> = {}): Logged<'share'> => ({
  id: newId(occurredAt),
  type: 'share.executed',
  occurredAt,
  actorKind: 'viewer',
  actorId: null,
  actorEmail: null,
  targetType: 'dashboard',
  targetId: 'd1',
  shareId: 's1',
  shareContextId: null,
  ipCountry: 'BR',
  userAgent: null,
  origin: null,
  correlationId: 'c',
  viewer: 'v1',
  details: {},
  ...more,
});

let createdCount = 0;
const makeCompanyName = () => `analytics-${++createdCount}`;
const midnight = (days: number) => Math.floor(daysAgo(days) / DAY_MS) * DAY_MS;

const some = fc.record({
  day: fc.integer({ min: 80, max: 96 }),
  ms: fc.integer({ min: 0, max: DAY_MS - 1 }),
  type: fc.constantFrom('share.executed', 'share.resolved', 'share.denied', 'embed.executed', 'context.updated'),
  person: fc.integer({ min: 1, max: 40 }),
  shareId: fc.constantFrom('s1', 's2', 's3', null),
  targetId: fc.constantFrom('d1', 'd2'),
  targetType: fc.constantFrom('dashboard', 'visualization'),
  ipCountry: fc.constantFrom('BR', 'PT', null),
});

describe('analytics over days of which some were moved to files', () => {
  it('are the same as before the move, in any time zone, with any filter and many viewers', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(some, { minLength: 20, maxLength: 120 }),
        fc.constantFrom('UTC', 'America/Sao_Paulo', 'Asia/Kolkata'),
        fc.constantFrom('day', 'week', 'hour'),
        fc.integer({ min: 5, max: 60 }),
        async (all, timeZone, interval, viewers) => {
          const company = makeCompanyName();
          const events = all.map(({ day, ms, person, ...rest }) =>
            makeEvent(midnight(day) + ms, {
              ...(rest as Partial<Logged<'share'>>),
              viewer: `v${person}`,
              // Some are known by name.
              ...(person % 3 === 0 && { actorId: `v${person}`, actorEmail: `p${person}@x.test` }),
            }),
          );
          await getLog(company).append(company, 'share', events);
          const range = { from: midnight(95) + DAY_MS / 3, to: midnight(81) + DAY_MS / 2 };
          const starts = listIntervals(range, interval as 'day', timeZone, 1000);
          const denied = [
            {
              field: 'targetId',
              denied: { everything: false, ids: ['d2'], patterns: [] },
              where: { field: 'targetType', value: 'dashboard' },
            },
          ];
          const filters: LogFilter[] = [
            { ...range, values: {} },
            { ...range, values: { shareId: 's1' } },
            { from: range.from, to: midnight(93), values: { targetType: 'dashboard' } },
            { ...range, values: {}, denied },
          ];
          // An interval without events may be named or not.
          const ask = () =>
            Promise.all(
              filters.map(async (filter) => {
                const found = await readAnalytics(createLogReader(company), filter, starts);
                const isFilled = (counts: object) => Object.values({ ...counts, start: 0 }).some((count) => count > 0);
                return { ...found, series: found.series.filter(isFilled) };
              }),
            );
          const before = await ask();
          setSizes({ partRows: 7 });
          await settleLog(company);
          expect(await ask()).toEqual(before);
          tallySizes.viewers = viewers;
          expect(await ask()).toEqual(before);
          Object.assign(tallySizes, STANDARD);
        },
      ),
      { numRuns: 10 },
    );
  });

  it('count a viewer of moved and unmoved days once, in total and in an interval with both', async () => {
    const company = makeCompanyName();
    const [old, recent] = [midnight(91) + 1000, midnight(90) + DAY_MS + 1000];
    await getLog(company).append(company, 'share', [
      makeEvent(old),
      makeEvent(recent),
      makeEvent(recent, { viewer: 'v2' }),
    ]);
    await settleLog(company);
    expect(await countLeft(company, 'share')).toBe(2);
    const found = await readAnalytics(createLogReader(company), { values: {} }, [midnight(94)]);
    const counts = { resolved: 0, executed: 3, denied: 0, unique_viewers: 2 };
    expect([found.totals, found.series]).toEqual([counts, [{ start: midnight(94), ...counts }]]);
    expect(found.top.viewers.map(({ key, count }) => `${key} ${count}`)).toEqual(['v1 2', 'v2 1']);
  });

  it('read no file that has none of the events', async () => {
    const company = makeCompanyName();
    await getLog(company).append(company, 'share', [
      makeEvent(midnight(95)),
      makeEvent(midnight(94), { shareId: 's2' }),
    ]);
    await settleLog(company);
    expect(await listFiles(company)).toHaveLength(2);
    const get = vi.spyOn(env.FILES, 'get');
    const found = await readAnalytics(createLogReader(company), { values: { shareId: 's2' } }, [midnight(96)]);
    expect([found.totals.executed, get.mock.calls.length]).toEqual([1, 1]);
    expect(
      (await readAnalytics(createLogReader(company), { from: midnight(90), values: {} }, [midnight(90)])).series,
    ).toEqual([]);
    expect(get).toHaveBeenCalledTimes(1);
  });

  it('begin anew if events are moved while they are counted', async () => {
    const company = makeCompanyName();
    const events = [95, 94, 93].map((days) => makeEvent(midnight(days), { viewer: `v${days}` }));
    await getLog(company).append(company, 'share', events);
    await getLog(company).append(company, 'share', [makeEvent(midnight(1))]);
    await settleLog(company);
    const { get } = env.FILES;
    let moved = false;
    vi.spyOn(env.FILES, 'get').mockImplementation((async (...given: [string]) => {
      if (!moved) {
        moved = true;
        await getLog(company).append(company, 'share', [makeEvent(midnight(94) + 5)]);
        await settleLog(company);
        await env.FILES.delete(given[0]);
      }
      return get.apply(env.FILES, given);
    }) as never);
    vi.spyOn(console, 'error').mockImplementation(() => undefined);
    const found = readAnalytics(createLogReader(company), { from: midnight(94), to: midnight(94) + 100, values: {} }, [
      midnight(94),
    ]);
    expect((await found).totals).toMatchObject({ executed: 2, unique_viewers: 2 });
  });
});
