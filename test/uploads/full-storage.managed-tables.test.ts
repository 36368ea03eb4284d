import { env } from 'cloudflare:test';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createTable, createTableClient, makeColumn } from '../managed-tables/support.ts';
import type { ApiResponse } from '../support/api.ts';
import { createProvisionedCompany } from '../support/companies.ts';
import { replaceDelays } from '../support/timers.ts';
import { createStagedJob, makeFileOf } from './staged-job.ts';
import { createTestQueue, listStoredFiles, listTables, postFiles, queryDatabase, readJob } from './support.ts';

const MAX_ANSWER_MS = 30_000;

let createdCount = 0;
const company = await createProvisionedCompany();

/** Collects the error lines that the test logs from here on. */
function collectErrorLines(): Record<string, unknown>[] {
  const lines: Record<string, unknown>[] = [];
  const spy = vi.spyOn(console, 'error').mockImplementation((line: string) => void lines.push(JSON.parse(line)));
  onTestFinished(() => spy.mockRestore());
  return lines;
}

/** Creates a bucket of R2 in which `changedMethods` replaces methods. */
const createBucket = (changedMethods: Partial<Record<'put' | 'delete', () => Promise<unknown>>>) =>
  new Proxy(env.FILES, {
    get: (bucket, method: keyof R2Bucket) =>
      (changedMethods as Record<string, unknown>)[method] ?? (bucket[method] as () => unknown).bind(bucket),
  });

const failToWrite = () => Promise.reject(new Error('the object store is down'));
const waitForever = () => new Promise<never>(() => {});

it.each([
  ['fails', { put: failToWrite }],
  ['hangs', { put: waitForever }],
  ['fails, and deletes nothing either', { put: failToWrite, delete: waitForever }],
])(
  'an upload whose files cannot be stored is answered with 503 after a time limit, and leaves neither job nor files: R2 %s',
  async (_what, changedMethods) => {
    const lines = collectErrorLines();
    // The limits of a storage call, and of deleting what was stored: others would be waited for.
    replaceDelays({ 15000: 300, 5000: 300 });
    const startedAt = Date.now();
    const { status, body, headers } = await postFiles(company, [makeFileOf([1, 2])], {
      env: { FILES: createBucket(changedMethods) },
    });
    expect(Date.now() - startedAt).toBeLessThan(MAX_ANSWER_MS);
    expect([status, body.error_code, headers.get('retry-after')]).toEqual([503, 'STORAGE_UNAVAILABLE', '30']);
    expect(body.error).toMatch(/armazenar arquivos/);
    expect(lines.find(({ event }) => event === 'request_failed')).toMatchObject({
      status: 503,
      error: { reason: 'storage.unavailable', cause: expect.anything() },
    });
    expect(await listStoredFiles(company)).toEqual([]);
    expect((await company.as.get('/v1/managed-tables/upload-jobs/active')).body.records).toEqual([]);
  },
);

/** Makes Postgres refuse to write to this table as if its disk were full. */
const fillDisk = (table: string) =>
  queryDatabase(company, (database) =>
    database.query(`
      CREATE OR REPLACE FUNCTION public.no_room() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full';
      END $$;
      CREATE TRIGGER no_room BEFORE INSERT ON ${table} EXECUTE FUNCTION public.no_room()`),
  );
const freeDisk = (table: string) =>
  queryDatabase(company, (database) => database.query(`DROP TRIGGER no_room ON ${table}`));

/** Makes every new connection read-only, as managed databases do that are full; with false, makes it writable again. */
const setReadOnly = (on: boolean) =>
  queryDatabase(company, async (database) => {
    await database.query('SET default_transaction_read_only = off');
    await database.query(`
      DO $$ BEGIN
        EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = ${on ? 'on' : 'off'}', current_database());
      END $$`);
  });

function expectFull({ status, body, headers }: ApiResponse): void {
  expect([status, body.error_code, headers.get('retry-after')]).toEqual([503, 'MANAGED_DATABASE_FULL', '60']);
  expect(body.error).toMatch(/sem espaço/);
}

describe('a company database without disk space', () => {
  it('answers an upload with 503, logs the cause, and keeps no files', async () => {
    await fillDisk('console.upload_jobs');
    const lines = collectErrorLines();
    expectFull(await postFiles(company, [makeFileOf([1])], createTestQueue()));
    expect(lines.find(({ event }) => event === 'request_failed')).toMatchObject({
      error: { reason: 'tenant_sql.full', cause: { code: '53100' } },
    });
    await freeDisk('console.upload_jobs');
    expect(await listStoredFiles(company)).toEqual([]);
  });

  it('answers an insert of rows with 503', async () => {
    const name = `cheia_${++createdCount}`;
    const table = createTableClient(company.as, await createTable(company.as, name, [makeColumn('n', 'integer')]));
    await fillDisk(`public.${name}`);
    expectFull(await table.insert([{ n: 1 }]));
    await freeDisk(`public.${name}`);
    expect((await table.get()).body.row_count).toBe(0);
  });

  it('fails an upload job with MANAGED_DATABASE_FULL, and keeps none of its rows', async () => {
    const name = `cheia_${++createdCount}`;
    const id = await createTable(company.as, name, [makeColumn('n', 'integer')]);
    const job = await createStagedJob(company, id, [1, 2], 'append');
    await fillDisk(`public.${name}`);
    expect(await job.publish()).toBe('done');
    await freeDisk(`public.${name}`);
    expect(await readJob(company, job.jobId)).toMatchObject({
      status: 'failed',
      error: { code: 'MANAGED_DATABASE_FULL', message: expect.stringMatching(/sem espaço/) },
    });
    expect(await listTables(company)).not.toContainEqual(expect.stringMatching(/^console/));
    expect((await createTableClient(company.as, id).get()).body.row_count).toBe(0);
  });

  it('answers every write with 503 while it is read-only, and can still be read', async () => {
    const table = createTableClient(
      company.as,
      await createTable(company.as, `cheia_${++createdCount}`, [makeColumn('n', 'integer')]),
    );
    await table.insert([{ n: 1 }]);
    const { id } = (await table.rows()).body.records[0];
    await setReadOnly(true);
    try {
      expectFull(await table.insert([{ n: 2 }]));
      expectFull(await table.updateRow(id, { n: 2 }));
      expectFull(await table.deleteRow(id));
      expectFull(await table.truncate());
      expectFull(await table.index(['n']));
      expectFull(await postFiles(company, [makeFileOf([1])], createTestQueue()));
      expect((await table.rows()).body.records).toEqual([{ id, n: 1 }]);
    } finally {
      await setReadOnly(false);
    }
    expect((await table.insert([{ n: 2 }])).status).toBe(201);
  });
});
