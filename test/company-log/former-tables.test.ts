import { evictDurableObject, runInDurableObject } from 'cloudflare:test';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { DAY_MS } from '../../src/kernel/clock.ts';
import type { Logged } from '../../src/logs/log.ts';
import { createTable, listColumns } from '../../src/logs/tables.ts';
import { advanceClock, resetClock } from '../support/clock.ts';
import { readRecords } from '../support/log.ts';
import { append, aRecord, ask, countLeft, daysAgo, filesOf, logOf, page, settle, tablesOf } from './support.ts';

let company: string;
let createdCount = 0;
beforeEach(() => {
  createdCount += 1;
  company = `former-${createdCount}`;
});
afterEach(() => {
  resetClock();
  vi.restoreAllMocks();
});

const ofDay = (days: number, count: number): Logged<'audit'>[] => {
  const midnight = Math.floor(daysAgo(days) / DAY_MS) * DAY_MS;
  return Array.from({ length: count }, (_, n) => aRecord(midnight + n * 1000));
};
const newestFirst = (records: readonly Logged[]) =>
  records.toSorted((a, b) => b.occurredAt - a.occurredAt).map(({ id }) => id);
const listIds = async () => (await readRecords('audit', company)).map(({ id }) => id);

/** Has the object as the version before leaves it: it keeps records in one table, and knows nothing of others. */
async function keepAsBefore(records: readonly Logged<'audit'>[]): Promise<void> {
  await runInDurableObject(logOf(company), (_, { storage }) => {
    createTable(storage.sql, 'audit', 'audit_records');
    const members = listColumns('audit').split(', ');
    for (const record of records) {
      storage.sql.exec(
        `INSERT OR IGNORE INTO audit_records (${listColumns('audit')}) VALUES (${members.map(() => '?').join()})`,
        ...members.map((member) => record[member as keyof typeof record]),
      );
    }
  });
  await evictDurableObject(logOf(company));
}

describe('the table of an earlier version of the log', () => {
  it('is used for its days until these are moved, without copying a row', async () => {
    const before = [...ofDay(80, 20), ...ofDay(1, 20)];
    await keepAsBefore(before);
    const [more, news] = [ofDay(1, 30).slice(20), ofDay(0, 5)];
    await append(company, [...more, ...news, ...before]);
    const all = [...before, ...more, ...news];
    expect(await tablesOf(company)).toHaveLength(2);
    expect(await ask(company, 'SELECT count(*) FROM audit_records')).toBe(50);
    expect(await listIds()).toEqual(newestFirst(all));
    expect((await page(company, {}, 2, 20)).records.map(({ id }) => id)).toEqual(newestFirst(all).slice(20, 40));
    expect((await page(company, { values: { principalId: 'p1' } })).total).toBe(55);

    advanceClock(11 * DAY_MS);
    await settle(company);
    // Rows of a table that lasts are deleted, so that their space is free again.
    expect(await ask(company, 'SELECT count(*) FROM audit_records')).toBe(30);
    expect(await listIds()).toEqual(newestFirst(all));
    advanceClock(90 * DAY_MS);
    await settle(company);
    expect([await countLeft(company), await tablesOf(company)]).toEqual([
      5,
      [expect.stringMatching(/^audit_records_\d+$/)],
    ]);
    expect(await filesOf(company)).toHaveLength(2);
    expect(await listIds()).toEqual(newestFirst(all));
    await evictDurableObject(logOf(company));
    expect(await listIds()).toEqual(newestFirst(all));
  });

  it('is dropped at once if it is empty', async () => {
    await keepAsBefore([]);
    await append(company, ofDay(0, 3));
    expect(await tablesOf(company)).toEqual([expect.stringMatching(/^audit_records_\d+$/)]);
  });

  it('is read again after a rollback has added records to it', async () => {
    const [old, today, after] = [ofDay(2, 5), ofDay(0, 5), ofDay(0, 9).slice(5)];
    await keepAsBefore(old);
    await append(company, today);
    // It does not see the others: one comes to it again.
    await keepAsBefore([...after, today[0] as Logged<'audit'>]);
    expect(await listIds()).toEqual(newestFirst([...old, ...today, ...after]));
    expect(await ask(company, 'SELECT count(*) FROM audit_records')).toBe(5);
    advanceClock(92 * DAY_MS);
    await settle(company);
    expect(await tablesOf(company)).toEqual([]);
    const last = [aRecord(daysAgo(0)), aRecord(daysAgo(1))];
    await append(company, last.slice(0, 1));
    await keepAsBefore(last.slice(1));
    expect(await listIds()).toEqual(newestFirst([...old, ...today, ...after, ...last]));
    expect(await tablesOf(company)).toHaveLength(2);
  });

  it('is read if the earlier version makes it in a new object', async () => {
    const [today, after] = [ofDay(0, 5), ofDay(0, 9).slice(5)];
    await append(company, today);
    await keepAsBefore([...after, today[0] as Logged<'audit'>]);
    expect(await listIds()).toEqual(newestFirst([...today, ...after]));
    expect(await tablesOf(company)).toHaveLength(1);
  });

  it('is found again after the object restarts', async () => {
    await keepAsBefore(ofDay(3, 4));
    await append(company, ofDay(3, 6));
    await evictDurableObject(logOf(company));
    await append(company, [...ofDay(3, 8), ...ofDay(2, 1)]);
    expect((await page(company, {})).total).toBe(4 + 6 + 8 + 1);
  });
});
