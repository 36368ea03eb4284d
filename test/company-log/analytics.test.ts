import { env } from 'cloudflare:test';
import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { DAY_MS } from '../../src/kernel/clock.ts';
import { newId } from '../../src/kernel/ids.ts';
import { listIntervals } from '../../src/kernel/time-zones.ts';
import type { LogFilter, LogRecord } from '../../src/logs/log.ts';
import { tallyLimits } from '../../src/logs/view-counter.ts';
import { readAnalytics } from '../../src/modules/company-log/service.ts';
import { createLogReader } from '../support/log.ts';
import { countStored, getLog, getTimeDaysAgo, listFiles, resetSizes, setSizes, settleLog } from './support.ts';

const STANDARD_TALLY_SIZES = { ...tallyLimits };

afterEach(() => {
  resetSizes();
  Object.assign(tallyLimits, STANDARD_TALLY_SIZES);
});

const makeEvent = (occurredAt: number, overrides: Partial<LogRecord<'share'>> = {}): LogRecord<'share'> => ({
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
  ...overrides,
});

let createdCount = 0;
const makeCompanyName = () => `analytics-${++createdCount}`;
const getMidnight = (days: number) => Math.floor(getTimeDaysAgo(days) / DAY_MS) * DAY_MS;

const eventArbitrary = fc.record({
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
        fc.array(eventArbitrary, { minLength: 20, maxLength: 120 }),
        fc.constantFrom('UTC', 'America/Sao_Paulo', 'Asia/Kolkata'),
        fc.constantFrom('day', 'week', 'hour'),
        fc.integer({ min: 5, max: 60 }),
        async (generatedEvents, timeZone, interval, viewers) => {
          const company = makeCompanyName();
          const events = generatedEvents.map(({ day, ms, person, ...rest }) =>
            makeEvent(getMidnight(day) + ms, {
              ...(rest as Partial<LogRecord<'share'>>),
              viewer: `v${person}`,
              // Some are known by name.
              ...(person % 3 === 0 && { actorId: `v${person}`, actorEmail: `p${person}@x.test` }),
            }),
          );
          await getLog(company).append(company, 'share', events);
          const range = { from: getMidnight(95) + DAY_MS / 3, to: getMidnight(81) + DAY_MS / 2 };
          const intervalStarts = listIntervals(range, interval as 'day', timeZone, 1000);
          const deniedFilters = [
            {
              field: 'targetId',
              denied: { everything: false, ids: ['d2'], patterns: [] },
              where: { field: 'targetType', value: 'dashboard' },
            },
          ];
          const filters: LogFilter[] = [
            { ...range, values: {} },
            { ...range, values: { shareId: 's1' } },
            { from: range.from, to: getMidnight(93), values: { targetType: 'dashboard' } },
            { ...range, values: {}, denied: deniedFilters },
          ];
          // An interval without events may be named or not.
          const readAll = () =>
            Promise.all(
              filters.map(async (filter) => {
                const analytics = await readAnalytics(createLogReader(company), filter, intervalStarts);
                const hasCounts = (counts: object) => Object.values({ ...counts, start: 0 }).some((count) => count > 0);
                return { ...analytics, series: analytics.series.filter(hasCounts) };
              }),
            );
          const resultsBefore = await readAll();
          setSizes({ partRows: 7 });
          await settleLog(company);
          expect(await readAll()).toEqual(resultsBefore);
          tallyLimits.viewers = viewers;
          expect(await readAll()).toEqual(resultsBefore);
          Object.assign(tallyLimits, STANDARD_TALLY_SIZES);
        },
      ),
      { numRuns: 10 },
    );
  });

  it('count a viewer of moved and unmoved days once, in total and in an interval with both', async () => {
    const company = makeCompanyName();
    const [old, recent] = [getMidnight(91) + 1000, getMidnight(90) + DAY_MS + 1000];
    await getLog(company).append(company, 'share', [
      makeEvent(old),
      makeEvent(recent),
      makeEvent(recent, { viewer: 'v2' }),
    ]);
    await settleLog(company);
    expect(await countStored(company, 'share')).toBe(2);
    const analytics = await readAnalytics(createLogReader(company), { values: {} }, [getMidnight(94)]);
    const counts = { resolved: 0, executed: 3, denied: 0, unique_viewers: 2 };
    expect([analytics.totals, analytics.series]).toEqual([counts, [{ start: getMidnight(94), ...counts }]]);
    expect(analytics.top.viewers.map(({ key, count }) => `${key} ${count}`)).toEqual(['v1 2', 'v2 1']);
  });

  it('read no file that has none of the events', async () => {
    const company = makeCompanyName();
    await getLog(company).append(company, 'share', [
      makeEvent(getMidnight(95)),
      makeEvent(getMidnight(94), { shareId: 's2' }),
    ]);
    await settleLog(company);
    expect(await listFiles(company)).toHaveLength(2);
    const getSpy = vi.spyOn(env.FILES, 'get');
    const analytics = await readAnalytics(createLogReader(company), { values: { shareId: 's2' } }, [getMidnight(96)]);
    expect([analytics.totals.executed, getSpy.mock.calls.length]).toEqual([1, 1]);
    expect(
      (await readAnalytics(createLogReader(company), { from: getMidnight(90), values: {} }, [getMidnight(90)])).series,
    ).toEqual([]);
    expect(getSpy).toHaveBeenCalledTimes(1);
  });

  it('begin anew if events are moved while they are counted', async () => {
    const company = makeCompanyName();
    const events = [95, 94, 93].map((days) => makeEvent(getMidnight(days), { viewer: `v${days}` }));
    await getLog(company).append(company, 'share', events);
    await getLog(company).append(company, 'share', [makeEvent(getMidnight(1))]);
    await settleLog(company);
    const { get } = env.FILES;
    let hasMoved = false;
    vi.spyOn(env.FILES, 'get').mockImplementation((async (...callArguments: [string]) => {
      if (!hasMoved) {
        hasMoved = true;
        await getLog(company).append(company, 'share', [makeEvent(getMidnight(94) + 5)]);
        await settleLog(company);
        await env.FILES.delete(callArguments[0]);
      }
      return get.apply(env.FILES, callArguments);
    }) as never);
    vi.spyOn(console, 'error').mockImplementation(() => undefined);
    const pendingAnalytics = readAnalytics(
      createLogReader(company),
      { from: getMidnight(94), to: getMidnight(94) + 100, values: {} },
      [getMidnight(94)],
    );
    expect((await pendingAnalytics).totals).toMatchObject({ executed: 2, unique_viewers: 2 });
  });
});
