import { afterAll, beforeAll, expect, it } from 'vitest';
import { CloudflareAccount } from '../../operations/cloudflare.ts';
import { moveFormerRecords } from '../../operations/deployment/former-records.ts';
import { type LocalCloudflare, startCloudflare } from './cloudflare.ts';

const DATABASE_NAME = 'data-console-audit';
const BUCKET_NAME = 'data-console-files';
const BUCKET_LOCATION = { hint: 'weur', jurisdiction: null };

let cloudflare: LocalCloudflare;
let account: CloudflareAccount;
let database: string;
beforeAll(async () => {
  cloudflare = await startCloudflare();
  account = new CloudflareAccount(cloudflare);
  await account.createBucket(BUCKET_NAME, BUCKET_LOCATION);
  database = await account.createDatabase(DATABASE_NAME, BUCKET_LOCATION);
  for (const statement of [
    'CREATE TABLE audit_events (id text PRIMARY KEY, company_id text, occurred_at integer)',
    'CREATE TABLE share_events (id text PRIMARY KEY, company_id text, occurred_at integer, details text)',
    'CREATE TABLE share_views (share_id text PRIMARY KEY, company_id text, view_count integer, last_accessed_at integer)',
    'CREATE TABLE dead_letters (id text PRIMARY KEY, queue text, body text, attempts integer, died_at integer, replay_requested_at integer, replayed_at integer)',
    `INSERT INTO share_events VALUES ('s', 'a', 1, '{"reason":"x"}')`,
    `INSERT INTO share_views VALUES ('one', 'a', 3, 5)`,
    `INSERT INTO dead_letters VALUES ('dead', 'data-console-jobs', '{"x":1}', 6, 10, NULL, NULL),
       ('wanted', 'data-console-jobs', '{"x":2}', 6, 11, 12, NULL), ('sent', 'data-console-jobs', '{}', 6, 11, 12, 13)`,
  ]) {
    await account.query(database, statement, []);
  }
  await insertRecords(1, 12_000);
});
afterAll(() => cloudflare.close());

const insertRecords = (from: number, to: number) =>
  account.query(
    database,
    `WITH RECURSIVE n(i) AS (SELECT ${from} UNION ALL SELECT i + 1 FROM n WHERE i < ${to})
     INSERT INTO audit_events SELECT printf('%06d', i), 'a', i FROM n`,
    [],
  );
const openFiles = () => account.openBucketFiles(BUCKET_NAME, BUCKET_LOCATION);
const moveRecords = () => moveFormerRecords(account, openFiles(), DATABASE_NAME);

/** Deletes the archived files, as the Worker's scheduled run does once their records are in the logs. */
const deleteArchive = () => {
  for (const key of [...cloudflare.objects.keys()]) if (key.includes('/archive/')) cloudflare.objects.delete(key);
};
const listIds = async (prefix: string): Promise<string[]> =>
  (await Promise.all((await openFiles().list(prefix)).map((key) => openFiles().get(key)))).flatMap((text) =>
    (text ?? '')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).id),
  );

it('the move of records of the former database resumes after a failure of the object store', async () => {
  let putCount = 0;
  const failingFiles = {
    ...openFiles(),
    put: async (key: string, text: string) => {
      putCount += 1;
      if (putCount === 2) throw new Error('away');
      await openFiles().put(key, text);
    },
  };
  await expect(moveFormerRecords(account, failingFiles, DATABASE_NAME)).rejects.toThrow('away');
  expect(await listIds('archive/audit-events/')).toHaveLength(5000);
  const report = await moveRecords();
  expect(report).toMatch(/^7004 rows were moved; 5 files wait for the scheduled run.* run this again/);
  const ids = await listIds('archive/audit-events/');
  expect([ids.length, new Set(ids).size, ids.includes('012000')]).toEqual([12_000, 12_000, true]);
  expect(await openFiles().get('archive/share-events/former/000000000001.ndjson')).toBe(
    '{"id":"s","company_id":"a","occurred_at":1,"details":"{\\"reason\\":\\"x\\"}"}\n',
  );
  expect(await openFiles().list('dead-letters')).toEqual([
    'dead-letters-wanted/data-console-jobs/11-wanted.json',
    'dead-letters/data-console-jobs/10-dead.json',
    'dead-letters/data-console-jobs/11-wanted.json',
  ]);
  expect(JSON.parse((await openFiles().get('dead-letters/data-console-jobs/10-dead.json')) ?? '')).toEqual({
    id: 'dead',
    queue: 'data-console-jobs',
    body: { x: 1 },
    attempts: 6,
    sentAt: 10,
    diedAt: 10,
  });
});

it('the move of records of the former database can be repeated, and reports when the database may be deleted', async () => {
  deleteArchive();
  cloudflare.objects.delete(`${BUCKET_NAME}/dead-letters/data-console-jobs/10-dead.json`);
  await insertRecords(12_001, 12_010);
  expect(await moveRecords()).toContain('10 rows were moved; 1 files wait');
  expect(await listIds('archive/audit-events/')).toHaveLength(10);
  // What was sent again meanwhile does not come back.
  expect(await openFiles().list('dead-letters/')).toEqual(['dead-letters/data-console-jobs/11-wanted.json']);
  deleteArchive();
  await account.query(database, 'UPDATE share_views SET view_count = 4', []);
  expect(await moveRecords()).toContain('0 rows were moved; 1 files wait');
  expect(await openFiles().get('archive/share-views/former/one.ndjson')).toContain('"view_count":4');
  deleteArchive();
  expect(await moveRecords()).toBe(
    `0 rows were moved, and all are in their logs: ${DATABASE_NAME} is not used any more, and may be deleted by hand`,
  );
  expect(cloudflare.databases.has(DATABASE_NAME)).toBe(true);
});

it('the move of records of the former database includes rows whose numbers began anew in an emptied table', async () => {
  await account.query(database, 'DELETE FROM audit_events', []);
  await insertRecords(20_001, 20_003);
  expect(await moveRecords()).toContain('3 rows were moved');
});

it('the move of records of the former database does nothing when the former database does not exist', async () => {
  expect(await moveFormerRecords(account, openFiles(), 'data-console-other')).toBe('there is no such database');
});
