import { env, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { DAY_MS } from '../../src/kernel/clock.ts';
import type { LogRecord } from '../../src/logs/log.ts';
import { advanceClock, resetClock, stopClockAt } from '../support/clock.ts';
import { readRecords } from '../support/log.ts';
import {
  appendRecords,
  countStored,
  getLog,
  getTimeDaysAgo,
  listFiles,
  listTables,
  makeRecord,
  queryLog,
  readPage,
  resetSizes,
  setSizes,
  settleLog,
} from './support.ts';

let company: string;
let createdCount = 0;
beforeEach(() => {
  company = `company-${++createdCount}`;
});
afterEach(resetSizes);

/** Makes the given number of records of one day, a second apart. */
const makeRecordsOfDay = (days: number, count: number): LogRecord<'audit'>[] => {
  const midnight = Math.floor(getTimeDaysAgo(days) / DAY_MS) * DAY_MS;
  return Array.from({ length: count }, (_, n) => makeRecord(midnight + n * 1000));
};
const getIds = (records: readonly LogRecord[]) => records.map(({ id }) => id);
const sortNewestFirst = (records: readonly LogRecord<'audit'>[]) =>
  getIds(records.toSorted((a, b) => b.occurredAt - a.occurredAt));
const listIds = async (): Promise<string[]> => getIds((await readRecords('audit', company)) as never);

describe('storing a record in the log', () => {
  it('writes one row, and none when the record is delivered again', async () => {
    const records = Array.from({ length: 1000 }, (_, n) => makeRecord(Date.now() - n));
    let writtenRowCount = 0;
    for (let from = 0; from < records.length; from += 50)
      writtenRowCount += await appendRecords(company, records.slice(from, from + 50));
    expect(writtenRowCount / records.length).toBeLessThanOrEqual(1.2);
    expect(writtenRowCount).toBe(1000);
    expect(await appendRecords(company, records.toReversed())).toBe(0);
    const indexes = "SELECT count(*) FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL";
    expect(await queryLog(company, indexes)).toBe(0);
  });

  it('writes one row per record, counting all rows that a call writes', async () => {
    await appendRecords(company, [makeRecord(Date.now())]);
    const rows = await runInDurableObject(getLog(company), async (log, { storage }) => {
      const execSpy = vi.spyOn(storage.sql, 'exec');
      for (let call = 0; call < 20; call += 1) await log.append(company, 'audit', makeRecordsOfDay(0, 5));
      return execSpy.mock.results.reduce((sum, { value }) => sum + value.rowsWritten, 0);
    });
    expect(rows / 100).toBeLessThanOrEqual(1.2);
  });

  it('stores an event that anybody can cause only once a minute, whichever isolate delivers it first', async () => {
    const minuteStart = Math.floor(Date.now() / 60_000) * 60_000;
    const id = `${(minuteStart / 1000).toString(16)}${'a'.repeat(16)}`;
    const makeDeniedEvent = (occurredAt: number) => ({ ...SAMPLE_EVENT, id, occurredAt });
    await getLog(company).append(company, 'share', [
      makeDeniedEvent(minuteStart + 3000),
      makeDeniedEvent(minuteStart + 2000),
    ]);
    await getLog(company).append(company, 'share', [makeDeniedEvent(minuteStart + 1000)]);
    await getLog(company).append(company, 'share', [makeDeniedEvent(minuteStart + 59_000)]);
    expect((await readRecords('share', company)).map(({ occurredAt }) => occurredAt)).toEqual([minuteStart + 3000]);
  });
});

describe('days older than those that the log itself stores', () => {
  it('are moved to a file per day, and listed as before', async () => {
    const records = [...makeRecordsOfDay(95, 3), ...makeRecordsOfDay(92, 25), ...makeRecordsOfDay(89, 4)];
    await appendRecords(company, records);
    const pageBefore = await readPage(company, {}, 2, 20);
    setSizes({ partRows: 10 });
    await settleLog(company);
    expect(await countStored(company)).toBe(4);
    const day = new Date(getTimeDaysAgo(92)).toISOString().slice(0, 10);
    const files = await listFiles(company);
    expect(files.filter((file) => file.startsWith(`log/${company}/audit-events/${day}/`))).toHaveLength(3);
    expect(files).toHaveLength(4);
    expect(await readPage(company, {}, 2, 20)).toEqual(pageBefore);
    expect(await listIds()).toEqual(sortNewestFirst(records));
  });

  it('are not read from files if the index of the files has the answer', async () => {
    const records = [...makeRecordsOfDay(95, 30), ...makeRecordsOfDay(92, 25), ...makeRecordsOfDay(0, 40)];
    await appendRecords(company, records);
    setSizes({ partRows: 10 });
    await settleLog(company);
    const getSpy = vi.spyOn(env.FILES, 'get');
    expect((await readPage(company, {})).total).toBe(95);
    expect((await readPage(company, { values: { action: 'groups:ListGroups' } })).total).toBe(95);
    expect((await readPage(company, { values: { principalId: 'nobody' } })).total).toBe(0);
    expect(getSpy).not.toHaveBeenCalled();
    expect((await readPage(company, {}, 4, 20)).records).toHaveLength(20);
    expect(getSpy).toHaveBeenCalledTimes(3);
  });

  it('are not read from files to count the matches of several filters', async () => {
    const records = makeRecordsOfDay(95, 60).map((record, n) => ({
      ...record,
      principalId: n % 3 === 0 ? null : `p${n % 3}`,
      action: n % 4 === 0 ? 'groups:GetGroup' : 'groups:ListGroups',
    }));
    await appendRecords(company, records);
    setSizes({ partRows: 25 });
    await settleLog(company);
    const getSpy = vi.spyOn(env.FILES, 'get');
    const readTotal = async (values: Record<string, string>, number = 100) =>
      (await readPage(company, { values }, number)).total;
    expect(await readTotal({ principalId: 'p1', action: 'groups:GetGroup' })).toBe(5);
    expect(await readTotal({ principalId: 'p2', action: 'groups:ListGroups' })).toBe(15);
    expect(await readTotal({ principalId: 'p0', action: 'groups:ListGroups' })).toBe(0);
    const { correlationId } = records[1] as LogRecord<'audit'>;
    expect(await readTotal({ principalId: 'p1', action: 'groups:ListGroups', correlationId })).toBe(1);
    expect(await readTotal({ principalId: 'p2', action: 'groups:ListGroups', correlationId })).toBe(0);
    expect(getSpy).not.toHaveBeenCalled();
    const matchingPage = await readPage(company, { values: { principalId: 'p1', action: 'groups:GetGroup' } });
    expect(matchingPage.records.map(({ id }) => id)).toEqual(
      sortNewestFirst(records.filter((_, n) => n % 3 === 1 && n % 4 === 0)),
    );
  });

  it('with too many values to index are read only if a value may be among them', async () => {
    const records = makeRecordsOfDay(95, 4500);
    await appendRecords(company, records);
    setSizes({ partRows: 1500 });
    await settleLog(company);
    const getSpy = vi.spyOn(env.FILES, 'get');
    for (const { correlationId, id } of [records[0], records[2250], records[4499]] as LogRecord<'audit'>[]) {
      const matchingPage = await readPage(company, { values: { correlationId } });
      expect([matchingPage.total, getIds(matchingPage.records)]).toEqual([1, [id]]);
    }
    expect(getSpy.mock.calls.length).toBeLessThanOrEqual(4);
    getSpy.mockClear();
    for (let n = 0; n < 50; n += 1) {
      expect((await readPage(company, { values: { correlationId: crypto.randomUUID() } })).total).toBe(0);
    }
    expect(getSpy.mock.calls.length).toBeLessThan(10);
  });

  it('are neither lost nor duplicated if the move is interrupted between the file and its index entry', async () => {
    const records = makeRecordsOfDay(95, 20);
    await appendRecords(company, records);
    vi.spyOn(console, 'error').mockImplementation(() => undefined);
    await runInDurableObject(getLog(company), async (log, { storage }) => {
      const failingTransaction = vi.spyOn(storage, 'transactionSync').mockImplementation(() => {
        throw new Error('the object is gone');
      });
      await log.alarm();
      expect(failingTransaction).toHaveBeenCalled();
      failingTransaction.mockRestore();
    });
    const files = await listFiles(company);
    expect(files).toHaveLength(1);
    expect(await listIds()).toEqual(sortNewestFirst(records));
    await settleLog(company);
    expect(await listFiles(company)).toEqual(files);
    expect(await countStored(company)).toBe(0);
    expect(await listIds()).toEqual(sortNewestFirst(records));
  });

  it('keep records that arrive while they are moved', async () => {
    const [early, between, end] = [0, 10, 20].map((n) => makeRecordsOfDay(95, 30)[n]) as LogRecord<'audit'>[] as [
      LogRecord<'audit'>,
      LogRecord<'audit'>,
      LogRecord<'audit'>,
    ];
    await appendRecords(company, [early, end]);
    const concurrentAppend = runOnceBefore(
      env.FILES,
      'put',
      async () => void (await appendRecords(company, [between])),
    );
    await settleLog(company);
    expect(concurrentAppend.hasRun).toBe(true);
    expect(await listIds()).toEqual(sortNewestFirst([early, between, end]));
    expect((await readPage(company, {})).total).toBe(3);
  });

  it('keep a record that arrives before all others while these are moved, and keep it once', async () => {
    const [first, ...rest] = makeRecordsOfDay(95, 10) as [LogRecord<'audit'>, ...LogRecord<'audit'>[]];
    await appendRecords(company, rest);
    const concurrentAppend = runOnceBefore(env.FILES, 'put', async () => void (await appendRecords(company, [first])));
    await settleLog(company);
    expect(concurrentAppend.hasRun).toBe(true);
    // Before it is delivered again: that would make up for a loss.
    expect(await listIds()).toEqual(sortNewestFirst([first, ...rest]));
    await appendRecords(company, [first, ...rest]);
    await settleLog(company);
    expect(await listIds()).toEqual(sortNewestFirst([first, ...rest]));
    expect((await readPage(company, {})).total).toBe(10);
  });

  it('are dropped as whole tables, which writes no row per record', async () => {
    await appendRecords(company, [
      ...makeRecordsOfDay(95, 1000),
      ...makeRecordsOfDay(94, 1000),
      ...makeRecordsOfDay(0, 10),
    ]);
    expect(await listTables(company)).toHaveLength(3);
    setSizes({ partRows: 300 });
    const writtenRowCount = await runInDurableObject(getLog(company), async (log, { storage }) => {
      const execSpy = vi.spyOn(storage.sql, 'exec');
      await log.alarm();
      return execSpy.mock.results.reduce((sum, { value }) => sum + value.rowsWritten, 0);
    });
    // Eight files: each is a part, and the mark of how far it goes.
    expect(writtenRowCount).toBe(16);
    expect(await listTables(company)).toHaveLength(1);
    expect([await countStored(company), (await readPage(company, {})).total]).toEqual([10, 2010]);
  });

  it('are read, counted and added to while only a part of a day has moved', async () => {
    const records = makeRecordsOfDay(95, 30);
    const lateRecords = records.filter((_, n) => n % 10 === 5);
    const knownRecords = records.filter((record) => !lateRecords.includes(record));
    await appendRecords(company, knownRecords);
    setSizes({ partRows: 9 });
    vi.spyOn(console, 'error').mockImplementation(() => undefined);
    const putSpy = vi.spyOn(env.FILES, 'put').mockRejectedValue(new Error('away'));
    putSpy.mockImplementationOnce((...callArguments) => {
      putSpy.mockRestore();
      const writtenFile = env.FILES.put(...callArguments);
      vi.spyOn(env.FILES, 'put').mockRejectedValue(new Error('away'));
      return writtenFile;
    });
    await runDurableObjectAlarm(getLog(company));
    expect([await countStored(company), (await listFiles(company)).length]).toEqual([18, 1]);
    expect(await listIds()).toEqual(sortNewestFirst(knownRecords));
    expect((await readPage(company, { values: { principalId: 'p1' } })).total).toBe(27);
    await appendRecords(company, [...lateRecords, ...knownRecords]);
    const visibleRecords = records.filter((record) => record !== lateRecords[0]);
    expect(await listIds()).toEqual(sortNewestFirst(visibleRecords));
    vi.mocked(env.FILES.put).mockRestore();
    await settleLog(company);
    expect(await listIds()).toEqual(sortNewestFirst(records));
    expect([await countStored(company), await listTables(company)]).toEqual([0, []]);
  });

  it('free their space at once if the storage is full of today’s records', async () => {
    await appendRecords(company, makeRecordsOfDay(0, 10));
    setSizes({ partRows: 4 });
    await runInDurableObject(getLog(company), async (log, { storage }) => {
      let sizeReadCount = 0;
      vi.spyOn(storage.sql, 'databaseSize', 'get').mockImplementation(() => (++sizeReadCount <= 2 ? 9_500_000_000 : 0));
      await log.alarm();
    });
    const [table] = await listTables(company);
    expect([await countStored(company), await queryLog(company, `SELECT count(*) FROM "${table}"`)]).toEqual([6, 6]);
  });

  it('stay while R2 is down, and the move is retried until R2 is back', async () => {
    const records = makeRecordsOfDay(95, 5);
    await appendRecords(company, records);
    vi.spyOn(console, 'error').mockImplementation(() => undefined);
    const putSpy = vi.spyOn(env.FILES, 'put').mockRejectedValue(new Error('away'));
    for (let elapsedMinutes = 0; elapsedMinutes <= 60; elapsedMinutes += 5) {
      advanceClock(elapsedMinutes * 60_000);
      await runDurableObjectAlarm(getLog(company));
      const next = await runInDurableObject(getLog(company), (_, { storage }) => storage.getAlarm());
      expect(next).toBeLessThanOrEqual(Date.now() + (elapsedMinutes + 6) * 60_000);
    }
    expect(putSpy.mock.calls.length).toBeGreaterThan(10);
    expect(await listIds()).toEqual(sortNewestFirst(records));
    putSpy.mockRestore();
    await settleLog(company);
    expect(await listFiles(company)).toHaveLength(1);
    expect(await listIds()).toEqual(sortNewestFirst(records));
  });

  it('are moved early while the storage is nearly full, the oldest first', async () => {
    const records = [...makeRecordsOfDay(5, 10), ...makeRecordsOfDay(3, 10), ...makeRecordsOfDay(0, 10)];
    await appendRecords(company, records.slice(10));
    await appendRecords(company, records.slice(0, 10));
    setSizes({ partRows: 10 });
    let sizeReadCount = 0;
    await runInDurableObject(getLog(company), async (log, { storage }) => {
      // Full at the first look, and no more once two days have moved; each move looks too.
      vi.spyOn(storage.sql, 'databaseSize', 'get').mockImplementation(() =>
        ++sizeReadCount <= 4 ? 9_500_000_000 : 8_000_000_000,
      );
      await log.alarm();
    });
    expect(await countStored(company)).toBe(10);
    expect(await listIds()).toEqual(sortNewestFirst(records));
  });

  it('are moved and listed correctly once the clock has jumped ahead and come back', async () => {
    const records = [...makeRecordsOfDay(3, 10), ...makeRecordsOfDay(1, 10)];
    await appendRecords(company, records);
    advanceClock(1000 * DAY_MS);
    await settleLog(company);
    expect(await countStored(company)).toBe(0);
    resetClock();
    const [future, past] = [makeRecord(Date.now() + 400 * DAY_MS), makeRecord(5)];
    const now = makeRecordsOfDay(0, 5);
    await appendRecords(company, [...now, future, past]);
    expect(await readPage(company, {}, 1, 1)).toMatchObject({ total: 26, records: [{ id: future.id }] });
    await settleLog(company);
    expect(await listIds()).toEqual(sortNewestFirst([...records, ...now, future, past]));
    stopClockAt(0);
    await appendRecords(company, [makeRecord(Date.now())]);
    await settleLog(company);
    expect(await listIds()).toHaveLength(28);
  });
});

describe('a record that arrives after its day was moved', () => {
  const records = makeRecordsOfDay(95, 30);
  const deliveredRecords = records.filter((_, n) => n % 3 !== 0);
  const lateRecords = records.filter((_, n) => n % 3 === 0);

  it('is merged into the file once, and is not shown before that', async () => {
    await appendRecords(company, deliveredRecords);
    setSizes({ partRows: 8 });
    await settleLog(company);
    await appendRecords(company, [...lateRecords, ...deliveredRecords]);
    await appendRecords(company, lateRecords.toReversed());
    expect((await readPage(company, {})).total).toBe(deliveredRecords.length);
    await settleLog(company);
    expect(await listIds()).toEqual(sortNewestFirst(records));
    expect((await readPage(company, {})).total).toBe(records.length);
    expect(await queryLog(company, 'SELECT count(*) FROM late_audit_records')).toBe(0);
  });

  it('keeps the previous file for an hour for those who are reading it', async () => {
    await appendRecords(company, deliveredRecords);
    await settleLog(company);
    const filesBefore = await listFiles(company);
    await appendRecords(company, lateRecords);
    await settleLog(company);
    expect(await listFiles(company)).toEqual(expect.arrayContaining(filesBefore));
    advanceClock(61 * 60_000);
    await appendRecords(company, [makeRecord(Date.now())]);
    await runInDurableObject(getLog(company), (log) => log.alarm());
    const filesAfter = await listFiles(company);
    expect([filesAfter.length, filesAfter.includes(filesBefore[0] as string)]).toEqual([1, false]);
    expect(await listIds()).toHaveLength(31);
  });

  it('does not break an export that began before the record arrived', async () => {
    await appendRecords(company, deliveredRecords);
    setSizes({ partRows: 8 });
    await settleLog(company);
    const { exportLog } = await import('../../src/modules/company-log/service.ts');
    const { createLogReader: createReader } = await import('../support/log.ts');
    const exportIterator = exportLog(createReader(company), 'audit', { values: {} });
    const first = await exportIterator.next();
    await appendRecords(company, lateRecords);
    await settleLog(company);
    advanceClock(61 * 60_000);
    await runInDurableObject(getLog(company), (log) => log.alarm());
    const remainingRecords = await Array.fromAsync(exportIterator);
    const exportedIds = [first.value?.id, ...remainingRecords.map(({ id }) => id)];
    expect(new Set(exportedIds).size).toBe(exportedIds.length);
    expect(exportedIds).toEqual(expect.arrayContaining(getIds(deliveredRecords)));
  });
});

describe('the alarm of the log', () => {
  const readAlarmTime = () => runInDurableObject(getLog(company), (_, { storage }) => storage.getAlarm());

  it('comes within a day, soon for late records and for full storage, and is not postponed', async () => {
    await appendRecords(company, makeRecordsOfDay(0, 2));
    expect(await readAlarmTime()).toBeGreaterThan(Date.now() + 60_000);
    await appendRecords(company, makeRecordsOfDay(95, 2));
    await settleLog(company);
    const isAlarmSoon = async () => Number(await readAlarmTime()) < Date.now() + 10_000;
    expect(await isAlarmSoon()).toBe(false);
    await appendRecords(company, makeRecordsOfDay(96, 1));
    expect(await isAlarmSoon()).toBe(true);
    await appendRecords(company, makeRecordsOfDay(0, 2));
    expect(await isAlarmSoon()).toBe(true);
    await settleLog(company);
    expect(await isAlarmSoon()).toBe(false);
    setSizes({ fullBytes: 1 });
    await appendRecords(company, makeRecordsOfDay(0, 1));
    expect(await isAlarmSoon()).toBe(true);
  });
});

it('the alarm of the log is not repeated soon if no file is left to be deleted', async () => {
  const consoleError = vi.spyOn(console, 'error');
  await appendRecords(company, [...makeRecordsOfDay(91, 3), ...makeRecordsOfDay(0, 1)]);
  await settleLog(company);
  expect([await countStored(company), consoleError.mock.calls]).toEqual([1, []]);
});

describe('a list of the log', () => {
  it('counts a day again when a record was added to it', async () => {
    for (const days of [0, 1, 2, 5]) {
      const records = makeRecordsOfDay(days, 9);
      await appendRecords(company, records.slice(0, 5));
      const totalBefore = (await readPage(company, {})).total;
      await appendRecords(company, records);
      expect((await readPage(company, {})).total).toBe(totalBefore + 4);
    }
  });

  it('counts each record once if records are moved to R2 during the count', async () => {
    await appendRecords(company, [...makeRecordsOfDay(91, 40), ...makeRecordsOfDay(1, 20)]);
    setSizes({ slice: 5, partRows: 10 });
    const filter = { values: { principalId: 'p1' } };
    const listing = await runInDurableObject(getLog(company), async (log) => {
      let pauseCount = 0;
      vi.spyOn(scheduler, 'wait').mockImplementation(async () => {
        pauseCount += 1;
        // Four slices of yesterday and two of the old day are counted.
        if (pauseCount === 6) await log.alarm();
      });
      return log.list('audit', filter, 0, 100);
    });
    expect(await countStored(company)).toBe(20);
    const matchCountInParts = listing.parts.reduce((sum, { matching }) => sum + Number(matching), 0);
    expect([listing.total, listing.records.length, matchCountInParts]).toEqual([20, 20, 40]);
  });

  describe('over many files', () => {
    const FILE_COUNT = 25;
    const P1 = { values: { principalId: 'p1' } };
    let records: LogRecord<'audit'>[];
    beforeEach(async () => {
      setSizes({ partRows: 2 });
      records = makeRecordsOfDay(91, 2 * FILE_COUNT);
      await appendRecords(company, records);
      await settleLog(company);
      expect(await listFiles(company)).toHaveLength(FILE_COUNT);
    });

    it('reads the index of a file only for a filter, and only one index at a time', async () => {
      const readCounts = await runInDurableObject(getLog(company), async (log, { storage }) => {
        const exec = storage.sql.exec.bind(storage.sql);
        let maxConcurrentReadCount = 0;
        let readIndexes = 0;
        vi.spyOn(storage.sql, 'exec').mockImplementation((query, ...callArguments) => {
          const rows = exec(query, ...callArguments).toArray();
          const indexCount = rows.filter((row) => 'contents' in row).length;
          maxConcurrentReadCount = Math.max(maxConcurrentReadCount, indexCount);
          readIndexes += indexCount;
          return exec(query, ...callArguments) as never;
        });
        await log.list('audit', { values: {} }, 0, 10);
        await log.next('audit', { values: {} }, null, 10);
        const unfilteredReadCount = readIndexes;
        await log.list('audit', P1, 0, 10);
        return { unfiltered: unfilteredReadCount, most: maxConcurrentReadCount, read: readIndexes };
      });
      expect(readCounts).toEqual({ unfiltered: 0, most: 1, read: FILE_COUNT });
      const other = { values: { principalId: 'p2' } };
      expect([(await readPage(company, P1)).total, (await readPage(company, other)).total]).toEqual([
        2 * FILE_COUNT,
        0,
      ]);
    });

    it('reads a log file itself if a move meanwhile writes anew what the index of the file lists', async () => {
      const [oldest] = records as [LogRecord<'audit'>];
      await appendRecords(company, [makeRecord(oldest.occurredAt + 500)]);
      const listing = await runInDurableObject(getLog(company), async (log) => {
        const wait = vi.spyOn(scheduler, 'wait').mockImplementation(async () => {
          wait.mockRestore();
          await log.alarm();
        });
        return log.list('audit', P1, 0, 100);
      });
      expect(listing.parts.map(({ matching }) => matching)).toEqual([...Array(FILE_COUNT - 1).fill(2), null]);
      expect((await readPage(company, P1, 1, 100)).total).toBe(2 * FILE_COUNT + 1);
    });
  });
});

describe('analytics of the log', () => {
  it('count the events of 130 days, each in a table of its own', async () => {
    const todayMidnight = Math.floor(getTimeDaysAgo(0) / DAY_MS) * DAY_MS;
    const events = Array.from({ length: 130 }, (_, day) =>
      [1000, 2000].map((ms, n) => ({
        ...SAMPLE_EVENT,
        id: `${day}-${n}`.padStart(24, '0'),
        type: 'share.executed' as const,
        occurredAt: todayMidnight - day * DAY_MS + ms,
        shareId: `s${n}`,
        viewer: `v${day % 50}`,
      })),
    ).flat();
    await getLog(company).append(company, 'share', events);
    expect(await listTables(company, 'share_events')).toHaveLength(130);
    const intervalStarts = Array.from({ length: 131 }, (_, day) => todayMidnight + (day - 130) * DAY_MS);
    const allAnalytics = await getLog(company).analytics({ values: {} }, intervalStarts);
    expect(allAnalytics.totals).toEqual({ resolved: 0, executed: 260, denied: 0, unique_viewers: 50 });
    expect(allAnalytics.series).toHaveLength(130);
    expect(allAnalytics.top.shares).toMatchObject([
      { key: 's0', count: 130 },
      { key: 's1', count: 130 },
    ]);
    // Both ends are cut within their days.
    const range = { from: todayMidnight - 100 * DAY_MS + 1500, to: todayMidnight - 10 * DAY_MS + 1500 };
    const rangeAnalytics = await getLog(company).analytics({ ...range, values: { shareId: 's1' } }, intervalStarts);
    expect(rangeAnalytics.totals.executed).toBe(90);
    const momentAnalytics = await getLog(company).analytics(
      { from: range.from, to: range.from, values: {} },
      intervalStarts,
    );
    const emptyAnalytics = await getLog(company).analytics({ from: 0, to: 1, values: {} }, intervalStarts);
    expect([momentAnalytics.totals.executed, emptyAnalytics.totals.executed, emptyAnalytics.series]).toEqual([
      0,
      0,
      [],
    ]);
  });
});

const SAMPLE_EVENT: LogRecord<'share'> = {
  id: '',
  type: 'share.denied',
  occurredAt: 0,
  actorKind: 'anonymous',
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
  details: { reason: 'token.invalid' },
};

/** Runs `run` once, just before the next call of a method. @returns whether it has run */
function runOnceBefore<T extends object>(
  target: T,
  method: keyof T & string,
  run: () => Promise<void>,
): { hasRun: boolean } {
  const runState = { hasRun: false };
  const callOriginal = (target[method] as (...callArguments: unknown[]) => unknown).bind(target);
  vi.spyOn(target, method as never).mockImplementation((async (...callArguments: unknown[]) => {
    if (!runState.hasRun) {
      runState.hasRun = true;
      await run();
    }
    return callOriginal(...callArguments);
  }) as never);
  return runState;
}
