import { createExecutionContext, env, waitOnExecutionContext } from 'cloudflare:test';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { newId } from '../../src/kernel/ids.ts';
import { MAX_EXPORT_MS } from '../../src/modules/managed-tables/export.ts';
import { EXPORT_FORMATS } from '../../src/modules/managed-tables/export-formats.ts';
import { MAX_CONCURRENT_EXPORTS } from '../../src/modules/managed-tables/export-store.ts';
import { BASE_URL } from '../support/api.ts';
import { createProvisionedCompany } from '../support/companies.ts';
import { replaceDelays } from '../support/timers.ts';
import { disturbTunnel, runBeforeNextStatement, runWithLatency } from '../support/tunnel.ts';
import worker from '../support/worker.ts';
import { createTestQueue, runSweep } from '../uploads/support.ts';
import { createTable, createTableClient, makeColumn, runInCompanyDatabase } from './support.ts';

/** The number of rows: more than two batches of an export. */
const ROW_COUNT = 45_000;
/** Matches the statement of the first batch. */
const FIRST_BATCH_PATTERN = /COPY/;
/** Matches the statements of later batches. */
const LATER_BATCH_PATTERN = /console_value/;
const LATER_ROWS_PATTERN = /"id" > \$1/;
/** The numbers of bytes after which a reader pauses. */
const PAUSE_AFTER_BYTES = [10_000_000, 30_000_000, Number.POSITIVE_INFINITY];

let name: string;
let tableId: string;
let table: ReturnType<typeof createTableClient>;
let createdCount = 0;

const company = await createProvisionedCompany();

beforeEach(async () => {
  name = `streamed_${++createdCount}`;
  tableId = await createTable(company.as, name, [makeColumn('n', 'integer')]);
  table = createTableClient(company.as, tableId);
  await runSql(`INSERT INTO public.${name} (n) SELECT generate_series(1, ${ROW_COUNT})`);
});

const runSql = (text: string) => runInCompanyDatabase(company.id, (database) => database.execute(text));

/** Replaces the table by one with the given number of rows of a kilobyte each. */
async function fillTable(rowCount: number): Promise<void> {
  await table.delete();
  tableId = await createTable(company.as, `${name}_filled`, [makeColumn('n', 'integer'), makeColumn('t')]);
  table = createTableClient(company.as, tableId);
  const values = `SELECT n, repeat('x', 1000) FROM generate_series(1, ${rowCount}) AS n`;
  await runSql(`INSERT INTO public.${name}_filled (n, t) ${values}`);
}

const countRows = (body: string) => body.split('\r\n').length - 2;

/** Begins an export, and returns its response unread. */
async function beginExport(query = '', envChanges: Record<string, unknown> = {}) {
  const executionContext = createExecutionContext();
  const headers = { authorization: `Bearer ${company.token}` };
  const request = new Request(`${BASE_URL}/v1/managed-tables/${tableId}/export${query}`, { headers });
  const response = await worker.fetch(request, { ...env, ...envChanges }, executionContext);
  return { response, ended: () => waitOnExecutionContext(executionContext) };
}

/** Has exports wait another time for their reader: each time so long, since what was waited counts as nothing. */
function waitForReader(milliseconds: number): void {
  vi.spyOn(Date, 'now').mockReturnValue(Date.now());
  replaceDelays({ 5000: milliseconds });
}

/** Reads an export that breaks off, and returns the number of bytes it sent. */
async function readUntilItBreaks(body: ReadableStream<Uint8Array>): Promise<number> {
  const reader = body.getReader();
  let sentBytes = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) throw new Error(`ended well after ${sentBytes} bytes`);
      sentBytes += value.length;
    }
  } catch (error) {
    if (error instanceof Error && error.message.startsWith('ended well')) throw error;
    return sentBytes;
  }
}

/** Lists the open idle transactions in the company's database, except the transaction of this query. */
const listOpenTransactions = () =>
  runInCompanyDatabase(company.id, (database) =>
    database.query<{ query: string; waited: number }>(`
      SELECT query, extract(epoch FROM clock_timestamp() - state_change)::float8 AS waited FROM pg_stat_activity
      WHERE datname = current_database() AND state = 'idle in transaction' AND pid <> pg_backend_pid()`),
  );

describe('an export of a table', () => {
  it.each(['', '?sort_by=-n'])(
    'shows the rows of one moment, even if rows are deleted meanwhile (%s)',
    async (query) => {
      const concurrentDeletion = await runBeforeNextStatement(company.id, LATER_BATCH_PATTERN, () =>
        runSql(`DELETE FROM public.${name}`),
      );
      expect(countRows((await table.export(query)).body)).toBe(ROW_COUNT);
      expect(await concurrentDeletion.outcome).toBe(ROW_COUNT);
    },
  );

  it('is refused with 503 while the table stays locked', async () => {
    const tableLocked = Promise.withResolvers<void>();
    const exportAnswered = Promise.withResolvers<void>();
    const pendingLock = runInCompanyDatabase(company.id, (database) =>
      database.runInTransaction(async (tx) => {
        await tx.query(`LOCK TABLE public.${name}`);
        tableLocked.resolve();
        await exportAnswered.promise;
      }),
    );
    await tableLocked.promise;
    expect((await table.export()).status).toBe(503);
    exportAnswered.resolve();
    await pendingLock;
  });

  it.each([
    ['csv', LATER_BATCH_PATTERN],
    ['ndjson', LATER_ROWS_PATTERN],
    ['xlsx', LATER_ROWS_PATTERN],
    ['parquet', LATER_ROWS_PATTERN],
  ])('ends as a broken stream when its database connection is lost (%s)', async (format, statement) => {
    await disturbTunnel(company.id, { statement: statement.source, effect: 'lose_answer' });
    const { response, ended } = await beginExport(`?format=${format}`);
    expect(response.status).toBe(200);
    expect(await readUntilItBreaks(response.body as ReadableStream)).toBeGreaterThan(0);
    await ended();
    expect(countRows((await table.export()).body)).toBe(ROW_COUNT);
  });

  it('is refused with 503 when its database connection is lost before it begins', async () => {
    await disturbTunnel(company.id, { statement: FIRST_BATCH_PATTERN.source, effect: 'lose_answer' });
    expect((await table.export()).status).toBe(503);
  });

  it('reads no further ahead than fits into memory while the client pauses, and then continues', async () => {
    await fillTable(40_000);
    // A machine may be slow.
    waitForReader(60_000);
    const { response, ended } = await beginExport();
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    const decoder = new TextDecoder();
    let body = '';
    const requestedLimits: number[] = [];
    for (let readResult = await reader.read(); !readResult.done; readResult = await reader.read()) {
      body += decoder.decode(readResult.value, { stream: true });
      if (body.length < (PAUSE_AFTER_BYTES[requestedLimits.length] as number)) continue;
      // In the middle of a batch that does not fit into memory.
      await expect.poll(async () => (await listOpenTransactions())[0]?.waited ?? 0).toBeGreaterThan(0.5);
      const [open] = await listOpenTransactions();
      requestedLimits.push(Number(/LIMIT (\d+)/.exec(open?.query ?? '')?.[1]));
    }
    // Once a part was dropped, no more is asked for than fits into memory: rows of a kilobyte into 8 MB.
    expect(requestedLimits[1]).toBeLessThan(8_000);
    const numbers = body
      .split('\r\n')
      .slice(1, -1)
      .map((line) => Number(line.split(',')[1]));
    expect(numbers).toHaveLength(40_000);
    expect(numbers.findIndex((n, at) => n !== at + 1)).toBe(-1);
    await ended();
    expect(await listOpenTransactions()).toEqual([]);
  });

  it('reads larger batches while the client reads without pauses', async () => {
    await fillTable(40_000);
    const tripCounts: number[] = [];
    // A busy machine takes some of them slowly.
    for (let tryCount = 0; tryCount < 5 && !tripCounts.some((tripCount) => tripCount <= 14); tryCount += 1) {
      const exportOutcome = await runWithLatency(company.id, 1, () => table.export());
      expect(countRows(exportOutcome.outcome.body)).toBe(40_000);
      tripCounts.push(exportOutcome.tripCount);
    }
    // They would be 16, were it never more than fits into memory.
    expect(Math.min(...tripCounts)).toBeLessThanOrEqual(14);
  });

  it.each([
    ['csv', LATER_BATCH_PATTERN],
    ['ndjson', LATER_ROWS_PATTERN],
  ])('ends as a broken stream, and releases the table, when it takes too long (%s)', async (format, statement) => {
    replaceDelays({ [MAX_EXPORT_MS]: 3000 });
    const exportEnd = Promise.withResolvers<void>();
    const { outcome } = await runBeforeNextStatement(company.id, statement, () => exportEnd.promise);
    const { response, ended } = await beginExport(`?format=${format}`);
    expect(response.status).toBe(200);
    await readUntilItBreaks(response.body as ReadableStream);
    exportEnd.resolve();
    await Promise.all([outcome, ended()]);
    await expect.poll(listOpenTransactions, { timeout: 10_000 }).toEqual([]);
    expect((await table.delete()).status).toBe(204);
  });

  it('releases the table when the client stops reading', async () => {
    const { response, ended } = await beginExport();
    await (response.body as ReadableStream).cancel();
    await ended();
    expect(await listOpenTransactions()).toEqual([]);
    expect((await table.delete()).status).toBe(204);
  });

  it(`is refused with 429 while ${MAX_CONCURRENT_EXPORTS} others of the company are read`, async () => {
    const batchRelease = Promise.withResolvers<void>();
    const { outcome } = await runBeforeNextStatement(company.id, LATER_BATCH_PATTERN, () => batchRelease.promise);
    const first = await beginExport();
    const openExports = [];
    for (let count = 1; count < MAX_CONCURRENT_EXPORTS; count += 1) openExports.push(await beginExport());
    const refusedExport = await table.export();
    expect([refusedExport.status, refusedExport.headers.get('retry-after')]).toEqual([429, '30']);
    expect(refusedExport.body).toMatchObject({
      error: 'RateLimitExceeded',
      message: 'Outras exportações da sua empresa estão em andamento. Tente novamente em 30 segundos.',
    });
    batchRelease.resolve();
    await outcome;
    expect(countRows(await first.response.text())).toBe(ROW_COUNT);
    await first.ended();
    expect((await table.export()).status).toBe(200);
    for (const { response, ended } of openExports) {
      await response.body?.cancel();
      await ended();
    }
  });
});

/** Lists the parts of the company's exports that are buffered in R2. */
const listBufferedParts = async (): Promise<string[]> =>
  (await env.FILES.list({ prefix: `exports/${company.id}/` })).objects.map(({ key }) => key);

/** Waits until no transaction is open, whether working or idle. */
const waitForNoTransaction = () => {
  const OPEN_TRANSACTIONS_SQL = `SELECT query FROM pg_stat_activity
    WHERE datname = current_database() AND xact_start IS NOT NULL AND pid <> pg_backend_pid()`;
  const findTransactions = () => runInCompanyDatabase(company.id, (database) => database.query(OPEN_TRANSACTIONS_SQL));
  return expect.poll(findTransactions, { timeout: 30_000 }).toEqual([]);
};

describe('an export whose client does not read for a while', () => {
  beforeEach(() => waitForReader(300));

  it.each(EXPORT_FORMATS)(
    'is buffered in R2, releases the table, and is complete when the client continues to read (%s)',
    async (format) => {
      const fullExport = await (await beginExport(`?format=${format}`)).response.arrayBuffer();
      const { response, ended } = await beginExport(`?format=${format}`);
      await waitForNoTransaction();
      const changedTable = { display_name: `${name}_renamed`, columns: [makeColumn('n', 'decimal')] };
      expect((await table.put(changedTable)).status).toBe(200);
      expect((await table.truncate()).status).toBe(200);
      const exportedBytes = await response.arrayBuffer();
      // The time of its making stands in a workbook.
      if (format === 'xlsx') expect(exportedBytes.byteLength).toBe(fullExport.byteLength);
      else expect(await computeDigest(exportedBytes)).toBe(await computeDigest(fullExport));
      await ended();
      expect(await listBufferedParts()).toEqual([]);
    },
  );

  const computeDigest = async (bytes: ArrayBuffer) =>
    new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)).toHex();

  it('is complete and in order, even if it needs several R2 objects', async () => {
    await fillTable(40_000);
    const { response, ended } = await beginExport();
    await waitForNoTransaction();
    expect((await listBufferedParts()).length).toBeGreaterThan(5);
    const numbers = (await response.text())
      .split('\r\n')
      .slice(1, -1)
      .map((line) => Number(line.split(',')[1]));
    expect(numbers).toHaveLength(40_000);
    expect(numbers.findIndex((n, at) => n !== at + 1)).toBe(-1);
    await ended();
    expect(await listBufferedParts()).toEqual([]);
  });

  it('does not count towards the limit of simultaneous exports', async () => {
    const slowExports = [];
    for (let count = 0; count < MAX_CONCURRENT_EXPORTS; count += 1) slowExports.push(await beginExport());
    await waitForNoTransaction();
    expect(countRows((await table.export()).body)).toBe(ROW_COUNT);
    for (const { response, ended } of slowExports) {
      expect(countRows(await response.text())).toBe(ROW_COUNT);
      await ended();
    }
  });

  it('leaves no object in R2 when the client stops reading', async () => {
    await fillTable(40_000);
    const { response, ended } = await beginExport();
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    await reader.read();
    await waitForNoTransaction();
    expect(await listBufferedParts()).not.toEqual([]);
    await reader.cancel();
    await ended();
    expect(await listBufferedParts()).toEqual([]);
  });

  it.each(['put', 'get'] as const)(
    'ends as a broken stream, and releases the table, when R2 fails to %s',
    async (failingMethod) => {
      await fillTable(10_000);
      const FILES = new Proxy(env.FILES, {
        get: (bucket, method: keyof R2Bucket) =>
          method === failingMethod
            ? () => Promise.reject(new Error('the object store is down'))
            : (bucket[method] as (...callArguments: unknown[]) => unknown).bind(bucket),
      });
      const { response, ended } = await beginExport('', { FILES });
      await waitForNoTransaction();
      await readUntilItBreaks(response.body as ReadableStream);
      await ended();
      expect(await listBufferedParts()).toEqual([]);
    },
  );

  it('has its leftover R2 objects deleted after a day', async () => {
    const queue = createTestQueue();
    await runSweep(queue);
    const DAY_MS = 86_400_000;
    const [old, young] = [newId(Date.now() - DAY_MS - 60_000), newId(Date.now() - DAY_MS / 2)];
    for (const id of [old, young]) await env.FILES.put(`exports/${company.id}/${id}/0`, 'x');
    // Any export that waits has this looked at.
    await env.CONTROL_DB.prepare('UPDATE managed_databases SET sweep_at = 0 WHERE company_id = ?')
      .bind(company.id)
      .run();
    await runSweep(queue);
    expect(await listBufferedParts()).toEqual([`exports/${company.id}/${young}/0`]);
    await env.FILES.delete(`exports/${company.id}/${young}/0`);
  });
});
