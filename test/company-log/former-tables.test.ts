import { evictDurableObject, runInDurableObject } from 'cloudflare:test';
import { beforeEach, describe, expect, it } from 'vitest';
import { DAY_MS } from '../../src/kernel/clock.ts';
import type { LogRecord } from '../../src/logs/log.ts';
import { createTable, listColumns } from '../../src/logs/tables.ts';
import { advanceClock } from '../support/clock.ts';
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
  settleLog,
} from './support.ts';

let company: string;
let createdCount = 0;
beforeEach(() => {
  company = `former-${++createdCount}`;
});

const makeRecordsOfDay = (days: number, count: number): LogRecord<'audit'>[] => {
  const midnight = Math.floor(getTimeDaysAgo(days) / DAY_MS) * DAY_MS;
  return Array.from({ length: count }, (_, n) => makeRecord(midnight + n * 1000));
};
const sortNewestFirst = (records: readonly LogRecord[]) =>
  records.toSorted((a, b) => b.occurredAt - a.occurredAt).map(({ id }) => id);
const listIds = async () => (await readRecords('audit', company)).map(({ id }) => id);

/** Stores records as the previous version did: in one table, without knowledge of any other tables. */
async function storeAsFormerVersion(records: readonly LogRecord<'audit'>[]): Promise<void> {
  await runInDurableObject(getLog(company), (_, { storage }) => {
    createTable(storage.sql, 'audit', 'audit_records');
    const members = listColumns('audit').split(', ');
    for (const record of records) {
      storage.sql.exec(
        `INSERT OR IGNORE INTO audit_records (${listColumns('audit')}) VALUES (${members.map(() => '?').join()})`,
        ...members.map((member) => record[member as keyof typeof record]),
      );
    }
  });
  await evictDurableObject(getLog(company));
}

describe('the table of an earlier version of the log', () => {
  it('is used for its days until they are moved, without copying a row', async () => {
    const oldRecords = [...makeRecordsOfDay(80, 20), ...makeRecordsOfDay(1, 20)];
    await storeAsFormerVersion(oldRecords);
    const [more, news] = [makeRecordsOfDay(1, 30).slice(20), makeRecordsOfDay(0, 5)];
    await appendRecords(company, [...more, ...news, ...oldRecords]);
    const allRecords = [...oldRecords, ...more, ...news];
    expect(await listTables(company)).toHaveLength(2);
    expect(await queryLog(company, 'SELECT count(*) FROM audit_records')).toBe(50);
    expect(await listIds()).toEqual(sortNewestFirst(allRecords));
    expect((await readPage(company, {}, 2, 20)).records.map(({ id }) => id)).toEqual(
      sortNewestFirst(allRecords).slice(20, 40),
    );
    expect((await readPage(company, { values: { principalId: 'p1' } })).total).toBe(55);

    advanceClock(11 * DAY_MS);
    await settleLog(company);
    // Rows of a table that lasts are deleted, so that their space is free again.
    expect(await queryLog(company, 'SELECT count(*) FROM audit_records')).toBe(30);
    expect(await listIds()).toEqual(sortNewestFirst(allRecords));
    advanceClock(90 * DAY_MS);
    await settleLog(company);
    expect([await countStored(company), await listTables(company)]).toEqual([
      5,
      [expect.stringMatching(/^audit_records_\d+$/)],
    ]);
    expect(await listFiles(company)).toHaveLength(2);
    expect(await listIds()).toEqual(sortNewestFirst(allRecords));
    await evictDurableObject(getLog(company));
    expect(await listIds()).toEqual(sortNewestFirst(allRecords));
  });

  it('is dropped at once if it is empty', async () => {
    await storeAsFormerVersion([]);
    await appendRecords(company, makeRecordsOfDay(0, 3));
    expect(await listTables(company)).toEqual([expect.stringMatching(/^audit_records_\d+$/)]);
  });

  it('is read again after a rollback has added records to it', async () => {
    const [old, today, after] = [makeRecordsOfDay(2, 5), makeRecordsOfDay(0, 5), makeRecordsOfDay(0, 9).slice(5)];
    await storeAsFormerVersion(old);
    await appendRecords(company, today);
    // It does not see the others: one comes to it again.
    await storeAsFormerVersion([...after, today[0] as LogRecord<'audit'>]);
    expect(await listIds()).toEqual(sortNewestFirst([...old, ...today, ...after]));
    expect(await queryLog(company, 'SELECT count(*) FROM audit_records')).toBe(5);
    advanceClock(92 * DAY_MS);
    await settleLog(company);
    expect(await listTables(company)).toEqual([]);
    const last = [makeRecord(getTimeDaysAgo(0)), makeRecord(getTimeDaysAgo(1))];
    await appendRecords(company, last.slice(0, 1));
    await storeAsFormerVersion(last.slice(1));
    expect(await listIds()).toEqual(sortNewestFirst([...old, ...today, ...after, ...last]));
    expect(await listTables(company)).toHaveLength(2);
  });

  it('is read if the earlier version makes it in a new object', async () => {
    const [today, after] = [makeRecordsOfDay(0, 5), makeRecordsOfDay(0, 9).slice(5)];
    await appendRecords(company, today);
    await storeAsFormerVersion([...after, today[0] as LogRecord<'audit'>]);
    expect(await listIds()).toEqual(sortNewestFirst([...today, ...after]));
    expect(await listTables(company)).toHaveLength(1);
  });

  it('is found again after the object restarts', async () => {
    await storeAsFormerVersion(makeRecordsOfDay(3, 4));
    await appendRecords(company, makeRecordsOfDay(3, 6));
    await evictDurableObject(getLog(company));
    await appendRecords(company, [...makeRecordsOfDay(3, 8), ...makeRecordsOfDay(2, 1)]);
    expect((await readPage(company, {})).total).toBe(4 + 6 + 8 + 1);
  });
});
