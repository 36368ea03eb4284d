import { env, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { DAY_MS } from '../../src/kernel/clock.ts';
import type { Logged } from '../../src/logs/log.ts';
import { advanceClock, resetClock, stopClockAt } from '../support/clock.ts';
import { readRecords } from '../support/log.ts';
import {
  append,
  aRecord,
  ask,
  countLeft,
  daysAgo,
  filesOf,
  logOf,
  page,
  resetSizes,
  setSizes,
  settle,
  tablesOf,
} from './support.ts';

let company: string;
let createdCount = 0;
beforeEach(() => {
  createdCount += 1;
  company = `company-${createdCount}`;
});
afterEach(() => {
  resetSizes();
  resetClock();
  vi.restoreAllMocks();
});

/** So many records of one day, a second apart. */
const recordsOfDay = (days: number, count: number): Logged<'audit'>[] => {
  const midnight = Math.floor(daysAgo(days) / DAY_MS) * DAY_MS;
  return Array.from({ length: count }, (_, n) => aRecord(midnight + n * 1000));
};
const ids = (records: readonly Logged[]) => records.map(({ id }) => id);
const newestFirst = (records: readonly Logged<'audit'>[]) =>
  ids(records.toSorted((a, b) => b.occurredAt - a.occurredAt));
const listIds = async (): Promise<string[]> => ids((await readRecords('audit', company)) as never);

describe('storing a record in the log', () => {
  it('writes one row, and none when the record is delivered again', async () => {
    const records = Array.from({ length: 1000 }, (_, n) => aRecord(Date.now() - n));
    let written = 0;
    for (let from = 0; from < records.length; from += 50)
      written += await append(company, records.slice(from, from + 50));
    expect(written / records.length).toBeLessThanOrEqual(1.2);
    expect(written).toBe(1000);
    expect(await append(company, records.toReversed())).toBe(0);
    const indexes = "SELECT count(*) FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL";
    expect(await ask(company, indexes)).toBe(0);
  });

  it('writes one row per record, even counting all that a call writes', async () => {
    await append(company, [aRecord(Date.now())]);
    const rows = await runInDurableObject(logOf(company), async (log, { storage }) => {
      const exec = vi.spyOn(storage.sql, 'exec');
      for (let call = 0; call < 20; call += 1) await log.append(company, 'audit', recordsOfDay(0, 5));
      return exec.mock.results.reduce((sum, { value }) => sum + value.rowsWritten, 0);
    });
    expect(rows / 100).toBeLessThanOrEqual(1.2);
  });

  it('stores an event that anybody can cause once a minute, whichever isolate delivers it first', async () => {
    const minute = Math.floor(Date.now() / 60_000) * 60_000;
    const id = `${(minute / 1000).toString(16)}${'a'.repeat(16)}`;
    const told = (occurredAt: number) => ({ ...anEvent, id, occurredAt });
    await logOf(company).append(company, 'share', [told(minute + 3000), told(minute + 2000)]);
    await logOf(company).append(company, 'share', [told(minute + 1000)]);
    await logOf(company).append(company, 'share', [told(minute + 59_000)]);
    expect((await readRecords('share', company)).map(({ occurredAt }) => occurredAt)).toEqual([minute + 3000]);
  });
});

describe('days that are older than the log stores', () => {
  it('are moved to a file per day, and listed as before', async () => {
    const records = [...recordsOfDay(95, 3), ...recordsOfDay(92, 25), ...recordsOfDay(89, 4)];
    await append(company, records);
    const before = await page(company, {}, 2, 20);
    setSizes({ partRows: 10 });
    await settle(company);
    expect(await countLeft(company)).toBe(4);
    const day = new Date(daysAgo(92)).toISOString().slice(0, 10);
    const files = await filesOf(company);
    expect(files.filter((file) => file.startsWith(`log/${company}/audit-events/${day}/`))).toHaveLength(3);
    expect(files).toHaveLength(4);
    expect(await page(company, {}, 2, 20)).toEqual(before);
    expect(await listIds()).toEqual(newestFirst(records));
  });

  it('are not read from files if the index of the files has the answer', async () => {
    const records = [...recordsOfDay(95, 30), ...recordsOfDay(92, 25), ...recordsOfDay(0, 40)];
    await append(company, records);
    setSizes({ partRows: 10 });
    await settle(company);
    const get = vi.spyOn(env.FILES, 'get');
    expect((await page(company, {})).total).toBe(95);
    expect((await page(company, { values: { action: 'groups:ListGroups' } })).total).toBe(95);
    expect((await page(company, { values: { principalId: 'nobody' } })).total).toBe(0);
    expect(get).not.toHaveBeenCalled();
    expect((await page(company, {}, 4, 20)).records).toHaveLength(20);
    expect(get).toHaveBeenCalledTimes(3);
  });

  it('are not read from files to count the matches of several filters', async () => {
    const records = recordsOfDay(95, 60).map((record, n) => ({
      ...record,
      principalId: n % 3 === 0 ? null : `p${n % 3}`,
      action: n % 4 === 0 ? 'groups:GetGroup' : 'groups:ListGroups',
    }));
    await append(company, records);
    setSizes({ partRows: 25 });
    await settle(company);
    const get = vi.spyOn(env.FILES, 'get');
    const total = async (values: Record<string, string>, number = 100) =>
      (await page(company, { values }, number)).total;
    expect(await total({ principalId: 'p1', action: 'groups:GetGroup' })).toBe(5);
    expect(await total({ principalId: 'p2', action: 'groups:ListGroups' })).toBe(15);
    expect(await total({ principalId: 'p0', action: 'groups:ListGroups' })).toBe(0);
    const { correlationId } = records[1] as Logged<'audit'>;
    expect(await total({ principalId: 'p1', action: 'groups:ListGroups', correlationId })).toBe(1);
    expect(await total({ principalId: 'p2', action: 'groups:ListGroups', correlationId })).toBe(0);
    expect(get).not.toHaveBeenCalled();
    const found = await page(company, { values: { principalId: 'p1', action: 'groups:GetGroup' } });
    expect(found.records.map(({ id }) => id)).toEqual(
      newestFirst(records.filter((_, n) => n % 3 === 1 && n % 4 === 0)),
    );
  });

  it('with too many values to index are read only if a value may be among them', async () => {
    const records = recordsOfDay(95, 4500);
    await append(company, records);
    setSizes({ partRows: 1500 });
    await settle(company);
    const get = vi.spyOn(env.FILES, 'get');
    for (const { correlationId, id } of [records[0], records[2250], records[4499]] as Logged<'audit'>[]) {
      const found = await page(company, { values: { correlationId } });
      expect([found.total, ids(found.records)]).toEqual([1, [id]]);
    }
    expect(get.mock.calls.length).toBeLessThanOrEqual(4);
    get.mockClear();
    for (let n = 0; n < 50; n += 1) {
      expect((await page(company, { values: { correlationId: crypto.randomUUID() } })).total).toBe(0);
    }
    expect(get.mock.calls.length).toBeLessThan(10);
  });

  it('are neither lost nor doubled if the move is interrupted between the file and its index entry', async () => {
    const records = recordsOfDay(95, 20);
    await append(company, records);
    vi.spyOn(console, 'error').mockImplementation(() => undefined);
    await runInDurableObject(logOf(company), async (log, { storage }) => {
      const broken = vi.spyOn(storage, 'transactionSync').mockImplementation(() => {
        throw new Error('the object is gone');
      });
      await log.alarm();
      expect(broken).toHaveBeenCalled();
      broken.mockRestore();
    });
    const files = await filesOf(company);
    expect(files).toHaveLength(1);
    expect(await listIds()).toEqual(newestFirst(records));
    await settle(company);
    expect(await filesOf(company)).toEqual(files);
    expect(await countLeft(company)).toBe(0);
    expect(await listIds()).toEqual(newestFirst(records));
  });

  it('keep records that arrive while they are moved', async () => {
    const [early, between, end] = [0, 10, 20].map((n) => recordsOfDay(95, 30)[n]) as Logged<'audit'>[] as [
      Logged<'audit'>,
      Logged<'audit'>,
      Logged<'audit'>,
    ];
    await append(company, [early, end]);
    const rival = onceBefore(env.FILES, 'put', async () => void (await append(company, [between])));
    await settle(company);
    expect(rival.came).toBe(true);
    expect(await listIds()).toEqual(newestFirst([early, between, end]));
    expect((await page(company, {})).total).toBe(3);
  });

  it('keep a record that arrives before all others while these are moved, and keep it once', async () => {
    const [first, ...rest] = recordsOfDay(95, 10) as [Logged<'audit'>, ...Logged<'audit'>[]];
    await append(company, rest);
    const rival = onceBefore(env.FILES, 'put', async () => void (await append(company, [first])));
    await settle(company);
    expect(rival.came).toBe(true);
    // Before it is delivered again: that would make up for a loss.
    expect(await listIds()).toEqual(newestFirst([first, ...rest]));
    await append(company, [first, ...rest]);
    await settle(company);
    expect(await listIds()).toEqual(newestFirst([first, ...rest]));
    expect((await page(company, {})).total).toBe(10);
  });

  it('are dropped as whole tables, which writes no row per record', async () => {
    await append(company, [...recordsOfDay(95, 1000), ...recordsOfDay(94, 1000), ...recordsOfDay(0, 10)]);
    expect(await tablesOf(company)).toHaveLength(3);
    setSizes({ partRows: 300 });
    const written = await runInDurableObject(logOf(company), async (log, { storage }) => {
      const exec = vi.spyOn(storage.sql, 'exec');
      await log.alarm();
      return exec.mock.results.reduce((sum, { value }) => sum + value.rowsWritten, 0);
    });
    // Eight files: each is a part, and the mark of how far it goes.
    expect(written).toBe(16);
    expect(await tablesOf(company)).toHaveLength(1);
    expect([await countLeft(company), (await page(company, {})).total]).toEqual([10, 2010]);
  });

  it('are read, counted and extended while only a part of a day has moved', async () => {
    const records = recordsOfDay(95, 30);
    const late = records.filter((_, n) => n % 10 === 5);
    const known = records.filter((record) => !late.includes(record));
    await append(company, known);
    setSizes({ partRows: 9 });
    vi.spyOn(console, 'error').mockImplementation(() => undefined);
    const put = vi.spyOn(env.FILES, 'put').mockRejectedValue(new Error('away'));
    put.mockImplementationOnce((...given) => {
      put.mockRestore();
      const moved = env.FILES.put(...given);
      vi.spyOn(env.FILES, 'put').mockRejectedValue(new Error('away'));
      return moved;
    });
    await runDurableObjectAlarm(logOf(company));
    expect([await countLeft(company), (await filesOf(company)).length]).toEqual([18, 1]);
    expect(await listIds()).toEqual(newestFirst(known));
    expect((await page(company, { values: { principalId: 'p1' } })).total).toBe(27);
    await append(company, [...late, ...known]);
    const seen = records.filter((record) => record !== late[0]);
    expect(await listIds()).toEqual(newestFirst(seen));
    vi.mocked(env.FILES.put).mockRestore();
    await settle(company);
    expect(await listIds()).toEqual(newestFirst(records));
    expect([await countLeft(company), await tablesOf(company)]).toEqual([0, []]);
  });

  it('free their space at once if the storage is full of today’s records', async () => {
    await append(company, recordsOfDay(0, 10));
    setSizes({ partRows: 4 });
    await runInDurableObject(logOf(company), async (log, { storage }) => {
      let asked = 0;
      vi.spyOn(storage.sql, 'databaseSize', 'get').mockImplementation(() => (++asked <= 2 ? 9_500_000_000 : 0));
      await log.alarm();
    });
    const [table] = await tablesOf(company);
    expect([await countLeft(company), await ask(company, `SELECT count(*) FROM "${table}"`)]).toEqual([6, 6]);
  });

  it('stay while R2 is down, and are tried again as long as that lasts', async () => {
    const records = recordsOfDay(95, 5);
    await append(company, records);
    vi.spyOn(console, 'error').mockImplementation(() => undefined);
    const put = vi.spyOn(env.FILES, 'put').mockRejectedValue(new Error('away'));
    for (let minutes = 0; minutes <= 60; minutes += 5) {
      advanceClock(minutes * 60_000);
      await runDurableObjectAlarm(logOf(company));
      const next = await runInDurableObject(logOf(company), (_, { storage }) => storage.getAlarm());
      expect(next).toBeLessThanOrEqual(Date.now() + (minutes + 6) * 60_000);
    }
    expect(put.mock.calls.length).toBeGreaterThan(10);
    expect(await listIds()).toEqual(newestFirst(records));
    put.mockRestore();
    await settle(company);
    expect(await filesOf(company)).toHaveLength(1);
    expect(await listIds()).toEqual(newestFirst(records));
  });

  it('are moved early while the storage is nearly full, the oldest first', async () => {
    const records = [...recordsOfDay(5, 10), ...recordsOfDay(3, 10), ...recordsOfDay(0, 10)];
    await append(company, records.slice(10));
    await append(company, records.slice(0, 10));
    setSizes({ partRows: 10 });
    let asked = 0;
    await runInDurableObject(logOf(company), async (log, { storage }) => {
      // Full at the first look, and no more once two days have moved; each move looks too.
      vi.spyOn(storage.sql, 'databaseSize', 'get').mockImplementation(() =>
        ++asked <= 4 ? 9_500_000_000 : 8_000_000_000,
      );
      await log.alarm();
    });
    expect(await countLeft(company)).toBe(10);
    expect(await listIds()).toEqual(newestFirst(records));
  });

  it('are handled as before after the clock jumped and came back', async () => {
    const records = [...recordsOfDay(3, 10), ...recordsOfDay(1, 10)];
    await append(company, records);
    advanceClock(1000 * DAY_MS);
    await settle(company);
    expect(await countLeft(company)).toBe(0);
    resetClock();
    const [future, past] = [aRecord(Date.now() + 400 * DAY_MS), aRecord(5)];
    const now = recordsOfDay(0, 5);
    await append(company, [...now, future, past]);
    expect(await page(company, {}, 1, 1)).toMatchObject({ total: 26, records: [{ id: future.id }] });
    await settle(company);
    expect(await listIds()).toEqual(newestFirst([...records, ...now, future, past]));
    stopClockAt(0);
    await append(company, [aRecord(Date.now())]);
    await settle(company);
    expect(await listIds()).toHaveLength(28);
  });
});

describe('a record that arrives after its day was moved', () => {
  const records = recordsOfDay(95, 30);
  const delivered = records.filter((_, n) => n % 3 !== 0);
  const late = records.filter((_, n) => n % 3 === 0);

  it('is merged into the file once, and not shown before', async () => {
    await append(company, delivered);
    setSizes({ partRows: 8 });
    await settle(company);
    await append(company, [...late, ...delivered]);
    await append(company, late.toReversed());
    expect((await page(company, {})).total).toBe(delivered.length);
    await settle(company);
    expect(await listIds()).toEqual(newestFirst(records));
    expect((await page(company, {})).total).toBe(records.length);
    expect(await ask(company, 'SELECT count(*) FROM late_audit_records')).toBe(0);
  });

  it('leaves the former file for an hour to those who read it', async () => {
    await append(company, delivered);
    await settle(company);
    const before = await filesOf(company);
    await append(company, late);
    await settle(company);
    expect(await filesOf(company)).toEqual(expect.arrayContaining(before));
    advanceClock(61 * 60_000);
    await append(company, [aRecord(Date.now())]);
    await runInDurableObject(logOf(company), (log) => log.alarm());
    const after = await filesOf(company);
    expect([after.length, after.includes(before[0] as string)]).toEqual([1, false]);
    expect(await listIds()).toHaveLength(31);
  });

  it('does not break an export that had begun before', async () => {
    await append(company, delivered);
    setSizes({ partRows: 8 });
    await settle(company);
    const { exportLog } = await import('../../src/modules/company-log/service.ts');
    const { createLogReader: readerOf } = await import('../support/log.ts');
    const export_ = exportLog(readerOf(company), 'audit', { values: {} });
    const first = await export_.next();
    await append(company, late);
    await settle(company);
    advanceClock(61 * 60_000);
    await runInDurableObject(logOf(company), (log) => log.alarm());
    const rest = await Array.fromAsync(export_);
    const told = [first.value?.id, ...rest.map(({ id }) => id)];
    expect(new Set(told).size).toBe(told.length);
    expect(told).toEqual(expect.arrayContaining(ids(delivered)));
  });
});

describe('the alarm of the log', () => {
  const alarm = () => runInDurableObject(logOf(company), (_, { storage }) => storage.getAlarm());

  it('comes within a day, soon for late records and for full storage, and is not postponed', async () => {
    await append(company, recordsOfDay(0, 2));
    expect(await alarm()).toBeGreaterThan(Date.now() + 60_000);
    await append(company, recordsOfDay(95, 2));
    await settle(company);
    const isSoon = async () => Number(await alarm()) < Date.now() + 10_000;
    expect(await isSoon()).toBe(false);
    await append(company, recordsOfDay(96, 1));
    expect(await isSoon()).toBe(true);
    await append(company, recordsOfDay(0, 2));
    expect(await isSoon()).toBe(true);
    await settle(company);
    expect(await isSoon()).toBe(false);
    setSizes({ fullBytes: 1 });
    await append(company, recordsOfDay(0, 1));
    expect(await isSoon()).toBe(true);
  });
});

it('is not repeated soon if no file is left to be deleted', async () => {
  const logged = vi.spyOn(console, 'error');
  await append(company, [...recordsOfDay(91, 3), ...recordsOfDay(0, 1)]);
  await settle(company);
  expect([await countLeft(company), logged.mock.calls]).toEqual([1, []]);
});

describe('a list of the log', () => {
  it('counts a day again when a record was added to it', async () => {
    for (const days of [0, 1, 2, 5]) {
      const records = recordsOfDay(days, 9);
      await append(company, records.slice(0, 5));
      const before = (await page(company, {})).total;
      await append(company, records);
      expect((await page(company, {})).total).toBe(before + 4);
    }
  });

  it('counts each record once if they are moved to R2 in between', async () => {
    await append(company, [...recordsOfDay(91, 40), ...recordsOfDay(1, 20)]);
    setSizes({ slice: 5, partRows: 10 });
    const filter = { values: { principalId: 'p1' } };
    const found = await runInDurableObject(logOf(company), async (log) => {
      let pauses = 0;
      vi.spyOn(scheduler, 'wait').mockImplementation(async () => {
        pauses += 1;
        // Four slices of yesterday and two of the old day are counted.
        if (pauses === 6) await log.alarm();
      });
      return log.list('audit', filter, 0, 100);
    });
    expect(await countLeft(company)).toBe(20);
    const inParts = found.parts.reduce((sum, { matching }) => sum + Number(matching), 0);
    expect([found.total, found.records.length, inParts]).toEqual([20, 20, 40]);
  });

  describe('over many files', () => {
    const FILES = 25;
    const P1 = { values: { principalId: 'p1' } };
    let records: Logged<'audit'>[];
    beforeEach(async () => {
      setSizes({ partRows: 2 });
      records = recordsOfDay(91, 2 * FILES);
      await append(company, records);
      await settle(company);
      expect(await filesOf(company)).toHaveLength(FILES);
    });

    it('reads the index of a file only for a filter, and of one file at a time', async () => {
      const held = await runInDurableObject(logOf(company), async (log, { storage }) => {
        const exec = storage.sql.exec.bind(storage.sql);
        let most = 0;
        let read = 0;
        vi.spyOn(storage.sql, 'exec').mockImplementation((query, ...given) => {
          const rows = exec(query, ...given).toArray();
          const contents = rows.filter((row) => 'contents' in row).length;
          most = Math.max(most, contents);
          read += contents;
          return exec(query, ...given) as never;
        });
        await log.list('audit', { values: {} }, 0, 10);
        await log.next('audit', { values: {} }, null, 10);
        const unfiltered = read;
        await log.list('audit', P1, 0, 10);
        return { unfiltered, most, read };
      });
      expect(held).toEqual({ unfiltered: 0, most: 1, read: FILES });
      const other = { values: { principalId: 'p2' } };
      expect([(await page(company, P1)).total, (await page(company, other)).total]).toEqual([2 * FILES, 0]);
    });

    it('reads a file itself if a move writes anew what its index says', async () => {
      const [oldest] = records as [Logged<'audit'>];
      await append(company, [aRecord(oldest.occurredAt + 500)]);
      const found = await runInDurableObject(logOf(company), async (log) => {
        const wait = vi.spyOn(scheduler, 'wait').mockImplementation(async () => {
          wait.mockRestore();
          await log.alarm();
        });
        return log.list('audit', P1, 0, 100);
      });
      expect(found.parts.map(({ matching }) => matching)).toEqual([...Array(FILES - 1).fill(2), null]);
      expect((await page(company, P1, 1, 100)).total).toBe(2 * FILES + 1);
    });
  });
});

describe('analytics of the log', () => {
  it('count the events of 130 days, each in a table of its own', async () => {
    const midnight = Math.floor(daysAgo(0) / DAY_MS) * DAY_MS;
    const events = Array.from({ length: 130 }, (_, day) =>
      [1000, 2000].map((ms, n) => ({
        ...anEvent,
        id: `${day}-${n}`.padStart(24, '0'),
        type: 'share.executed' as const,
        occurredAt: midnight - day * DAY_MS + ms,
        shareId: `s${n}`,
        viewer: `v${day % 50}`,
      })),
    ).flat();
    await logOf(company).append(company, 'share', events);
    expect(await tablesOf(company, 'share_events')).toHaveLength(130);
    const starts = Array.from({ length: 131 }, (_, day) => midnight + (day - 130) * DAY_MS);
    const all = await logOf(company).analytics({ values: {} }, starts);
    expect(all.totals).toEqual({ resolved: 0, executed: 260, denied: 0, unique_viewers: 50 });
    expect(all.series).toHaveLength(130);
    expect(all.top.shares).toMatchObject([
      { key: 's0', count: 130 },
      { key: 's1', count: 130 },
    ]);
    // Both ends are cut within their days.
    const range = { from: midnight - 100 * DAY_MS + 1500, to: midnight - 10 * DAY_MS + 1500 };
    const cut = await logOf(company).analytics({ ...range, values: { shareId: 's1' } }, starts);
    expect(cut.totals.executed).toBe(90);
    const one = await logOf(company).analytics({ from: range.from, to: range.from, values: {} }, starts);
    const none = await logOf(company).analytics({ from: 0, to: 1, values: {} }, starts);
    expect([one.totals.executed, none.totals.executed, none.series]).toEqual([0, 0, []]);
  });
});

const anEvent: Logged<'share'> = {
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

/** Runs something once, just before the next call of a method. */
function onceBefore<T extends object>(
  target: T,
  method: keyof T & string,
  run: () => Promise<void>,
): { came: boolean } {
  const rival = { came: false };
  const really = (target[method] as (...given: unknown[]) => unknown).bind(target);
  vi.spyOn(target, method as never).mockImplementation((async (...given: unknown[]) => {
    if (!rival.came) {
      rival.came = true;
      await run();
    }
    return really(...given);
  }) as never);
  return rival;
}
