import { createExecutionContext, env, waitOnExecutionContext } from 'cloudflare:test';
import { beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { newId } from '../../src/kernel/ids.ts';
import { MAX_EXPORT_MS } from '../../src/modules/managed-tables/export.ts';
import { EXPORT_FORMATS } from '../../src/modules/managed-tables/export-formats.ts';
import { READER_WAIT_MS } from '../../src/modules/managed-tables/export-output.ts';
import { MAX_EXPORTS } from '../../src/modules/managed-tables/export-store.ts';
import { BASE_URL } from '../support/api.ts';
import { disturb, farAway, rivalBeforeStatement } from '../support/tunnel.ts';
import worker from '../support/worker.ts';
import { aProvisionedCompany, type Company } from '../support/worlds.ts';
import { createHeldQueue, runSweep } from '../uploads/support.ts';
import { column, createTable, makeTableRoutes, runBehindApi } from './support.ts';

/** More than two batches. */
const ROWS = 45_000;
/** The first batch, and those after it. */
const FIRST_BATCH = /COPY/;
const LATER_BATCH = /console_value/;
const LATER_ROWS = /"id" > \$1/;
/** After how many bytes a reader pauses. */
const PAUSES = [10_000_000, 30_000_000, Number.POSITIVE_INFINITY];

let company: Company;
let name: string;
let tableId: string;
let table: ReturnType<typeof makeTableRoutes>;
let createdCount = 0;

beforeAll(async () => {
  company = await aProvisionedCompany();
});

beforeEach(async () => {
  createdCount += 1;
  name = `streamed_${createdCount}`;
  tableId = await createTable(company.as, name, [column('n', 'integer')]);
  table = makeTableRoutes(company.as, tableId);
  await runSql(`INSERT INTO public.${name} (n) SELECT generate_series(1, ${ROWS})`);
});

const runSql = (text: string) => runBehindApi(company.id, (database) => database.execute(text));

/** Gives the table so many rows of a kilobyte in place of its own. */
async function fillTable(rows: number): Promise<void> {
  await table.delete();
  tableId = await createTable(company.as, `${name}_filled`, [column('n', 'integer'), column('t')]);
  table = makeTableRoutes(company.as, tableId);
  const values = `SELECT n, repeat('x', 1000) FROM generate_series(1, ${rows}) AS n`;
  await runSql(`INSERT INTO public.${name}_filled (n, t) ${values}`);
}

const countRows = (body: string) => body.split('\r\n').length - 2;

/** An export whose answer is not read yet. */
async function beginExport(query = '', changed: Record<string, unknown> = {}) {
  const execution = createExecutionContext();
  const headers = { authorization: `Bearer ${company.token}` };
  const request = new Request(`${BASE_URL}/v1/managed-tables/${tableId}/export${query}`, { headers });
  const response = await worker.fetch(request, { ...env, ...changed }, execution);
  return { response, ended: () => waitOnExecutionContext(execution) };
}

/** Lets what takes as long as an export may be over after so many milliseconds. */
function shortenExports(milliseconds: number): void {
  const { setTimeout } = globalThis;
  const spy = vi.spyOn(globalThis, 'setTimeout');
  spy.mockImplementation(((work: () => void, delay?: number) =>
    setTimeout(work, delay === MAX_EXPORT_MS ? milliseconds : delay)) as typeof setTimeout);
  onTestFinished(() => spy.mockRestore());
}

/** Has exports wait for whoever takes them however slow the machine is, in the place of five seconds. */
function waitPatiently(): void {
  const { setTimeout } = globalThis;
  const now = Date.now();
  // What was waited counts as nothing, so that each wait has the same limit.
  const spies = [
    vi.spyOn(Date, 'now').mockReturnValue(now),
    vi
      .spyOn(globalThis, 'setTimeout')
      .mockImplementation(((work: () => void, delay?: number) =>
        setTimeout(work, delay === READER_WAIT_MS ? 60_000 : delay)) as typeof setTimeout),
  ];
  onTestFinished(() => {
    for (const spy of spies) spy.mockRestore();
  });
}

/** How many bytes an export that breaks off has sent. */
async function readUntilItBreaks(body: ReadableStream<Uint8Array>): Promise<number> {
  const reader = body.getReader();
  let bytes = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) throw new Error(`ended well after ${bytes} bytes`);
      bytes += value.length;
    }
  } catch (error) {
    if (error instanceof Error && error.message.startsWith('ended well')) throw error;
    return bytes;
  }
}

/** The transactions that are open in the company's database, besides the one that asks. */
const countOpenTransactions = () =>
  runBehindApi(company.id, (database) =>
    database.query<{ query: string; waited: number }>(`
      SELECT query, extract(epoch FROM clock_timestamp() - state_change)::float8 AS waited FROM pg_stat_activity
      WHERE datname = current_database() AND state = 'idle in transaction' AND pid <> pg_backend_pid()`),
  );

describe('an export of a table', () => {
  it.each(['', '?sort_by=-n'])(
    'shows the rows of one moment, even if rows are deleted meanwhile (%s)',
    async (query) => {
      const rival = await rivalBeforeStatement(company.id, LATER_BATCH, () => runSql(`DELETE FROM public.${name}`));
      expect(countRows((await table.export(query)).body)).toBe(ROWS);
      expect(await rival.outcome).toBe(ROWS);
    },
  );

  it('is refused with 503 while the table stays locked', async () => {
    const locked = Promise.withResolvers<void>();
    const answered = Promise.withResolvers<void>();
    const holding = runBehindApi(company.id, (database) =>
      database.transaction(async (tx) => {
        await tx.query(`LOCK TABLE public.${name}`);
        locked.resolve();
        await answered.promise;
      }),
    );
    await locked.promise;
    expect((await table.export()).status).toBe(503);
    answered.resolve();
    await holding;
  });

  it.each([
    ['csv', LATER_BATCH],
    ['ndjson', LATER_ROWS],
    ['xlsx', LATER_ROWS],
    ['parquet', LATER_ROWS],
  ])('ends as a broken stream when its database connection is lost (%s)', async (format, statement) => {
    await disturb(company.id, { statement: statement.source, effect: 'lose_answer' });
    const { response, ended } = await beginExport(`?format=${format}`);
    expect(response.status).toBe(200);
    expect(await readUntilItBreaks(response.body as ReadableStream)).toBeGreaterThan(0);
    await ended();
    expect(countRows((await table.export()).body)).toBe(ROWS);
  });

  it('is refused with 503 when its database connection is lost before it begins', async () => {
    await disturb(company.id, { statement: FIRST_BATCH.source, effect: 'lose_answer' });
    expect((await table.export()).status).toBe(503);
  });

  it('reads no further ahead than fits into memory while the client pauses, and then continues', async () => {
    await fillTable(40_000);
    waitPatiently();
    const { response, ended } = await beginExport();
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    const decoder = new TextDecoder();
    let body = '';
    const asked: number[] = [];
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      body += decoder.decode(part.value, { stream: true });
      if (body.length < (PAUSES[asked.length] as number)) continue;
      // In the middle of a batch that does not fit into memory.
      await expect.poll(async () => (await countOpenTransactions())[0]?.waited ?? 0).toBeGreaterThan(0.5);
      const [open] = await countOpenTransactions();
      asked.push(Number(/LIMIT (\d+)/.exec(open?.query ?? '')?.[1]));
    }
    // Once a part was dropped, no more is asked for than fits into memory: rows of a kilobyte into 8 MB.
    expect(asked[1]).toBeLessThan(8_000);
    const numbers = body
      .split('\r\n')
      .slice(1, -1)
      .map((line) => Number(line.split(',')[1]));
    expect(numbers).toHaveLength(40_000);
    expect(numbers.findIndex((n, at) => n !== at + 1)).toBe(-1);
    await ended();
    expect(await countOpenTransactions()).toEqual([]);
  });

  it('reads larger batches while the client reads without pauses', async () => {
    await fillTable(40_000);
    const trips: number[] = [];
    // A busy machine takes some of them slowly.
    for (let tries = 0; tries < 5 && !trips.some((each) => each <= 14); tries += 1) {
      const taken = await farAway(company.id, 1, () => table.export());
      expect(countRows(taken.outcome.body)).toBe(40_000);
      trips.push(taken.trips);
    }
    // They would be 16, were it never more than fits into memory.
    expect(Math.min(...trips)).toBeLessThanOrEqual(14);
  });

  it.each([
    ['csv', LATER_BATCH],
    ['ndjson', LATER_ROWS],
  ])('ends as a broken stream, and releases the table, when it takes too long (%s)', async (format, statement) => {
    shortenExports(3000);
    const cut = Promise.withResolvers<void>();
    const { outcome } = await rivalBeforeStatement(company.id, statement, () => cut.promise);
    const { response, ended } = await beginExport(`?format=${format}`);
    expect(response.status).toBe(200);
    await readUntilItBreaks(response.body as ReadableStream);
    cut.resolve();
    await Promise.all([outcome, ended()]);
    await expect.poll(countOpenTransactions, { timeout: 10_000 }).toEqual([]);
    expect((await table.delete()).status).toBe(204);
  });

  it('releases the table when the client stops reading', async () => {
    const { response, ended } = await beginExport();
    await (response.body as ReadableStream).cancel();
    await ended();
    expect(await countOpenTransactions()).toEqual([]);
    expect((await table.delete()).status).toBe(204);
  });

  it(`is refused with 429 while ${MAX_EXPORTS} others of the company are read`, async () => {
    const held = Promise.withResolvers<void>();
    const { outcome } = await rivalBeforeStatement(company.id, LATER_BATCH, () => held.promise);
    const first = await beginExport();
    const others = [];
    for (let count = 1; count < MAX_EXPORTS; count += 1) others.push(await beginExport());
    const refused = await table.export();
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '30']);
    expect(refused.body).toMatchObject({
      error: 'RateLimitExceeded',
      message: 'Outras exportações da sua empresa estão em andamento. Tente novamente em 30 segundos.',
    });
    held.resolve();
    await outcome;
    expect(countRows(await first.response.text())).toBe(ROWS);
    await first.ended();
    expect((await table.export()).status).toBe(200);
    for (const { response, ended } of others) {
      await response.body?.cancel();
      await ended();
    }
  });
});

/** What waits in R2 of the company's exports. */
const listWaitingParts = async (): Promise<string[]> =>
  (await env.FILES.list({ prefix: `exports/${company.id}/` })).objects.map(({ key }) => key);

/** Resolves when no transaction is open, working or not. */
const waitForNoTransaction = () => {
  const open = `SELECT query FROM pg_stat_activity
    WHERE datname = current_database() AND xact_start IS NOT NULL AND pid <> pg_backend_pid()`;
  const find = () => runBehindApi(company.id, (database) => database.query(open));
  return expect.poll(find, { timeout: 30_000 }).toEqual([]);
};

describe('an export whose client does not read for a while', () => {
  it.each(EXPORT_FORMATS)(
    'is buffered in R2, releases the table, and is complete when the client reads on (%s)',
    async (format) => {
      const whole = await (await beginExport(`?format=${format}`)).response.arrayBuffer();
      const { response, ended } = await beginExport(`?format=${format}`);
      await waitForNoTransaction();
      const changed = { display_name: `${name}_renamed`, columns: [column('n', 'decimal')] };
      expect((await table.put(changed)).status).toBe(200);
      expect((await table.truncate()).status).toBe(200);
      const taken = await response.arrayBuffer();
      // The time of its making stands in a workbook.
      if (format === 'xlsx') expect(taken.byteLength).toBe(whole.byteLength);
      else expect(await digestOf(taken)).toBe(await digestOf(whole));
      await ended();
      expect(await listWaitingParts()).toEqual([]);
    },
  );

  const digestOf = async (bytes: ArrayBuffer) => new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)).toHex();

  it('is complete and in order over as many R2 objects as it needs', async () => {
    await fillTable(40_000);
    const { response, ended } = await beginExport();
    await waitForNoTransaction();
    expect((await listWaitingParts()).length).toBeGreaterThan(5);
    const numbers = (await response.text())
      .split('\r\n')
      .slice(1, -1)
      .map((line) => Number(line.split(',')[1]));
    expect(numbers).toHaveLength(40_000);
    expect(numbers.findIndex((n, at) => n !== at + 1)).toBe(-1);
    await ended();
    expect(await listWaitingParts()).toEqual([]);
  });

  it('does not count towards the limit of exports at once', async () => {
    const slow = [];
    for (let count = 0; count < MAX_EXPORTS; count += 1) slow.push(await beginExport());
    await waitForNoTransaction();
    expect(countRows((await table.export()).body)).toBe(ROWS);
    for (const { response, ended } of slow) {
      expect(countRows(await response.text())).toBe(ROWS);
      await ended();
    }
  });

  it('leaves no object in R2 when the client stops reading', async () => {
    await fillTable(40_000);
    const { response, ended } = await beginExport();
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    await reader.read();
    await waitForNoTransaction();
    expect(await listWaitingParts()).not.toEqual([]);
    await reader.cancel();
    await ended();
    expect(await listWaitingParts()).toEqual([]);
  });

  it.each(['put', 'get'] as const)(
    'ends as a broken stream, and releases the table, when R2 fails to %s',
    async (fails) => {
      await fillTable(10_000);
      const FILES = new Proxy(env.FILES, {
        get: (bucket, method: keyof R2Bucket) =>
          method === fails
            ? () => Promise.reject(new Error('the object store is down'))
            : (bucket[method] as (...given: unknown[]) => unknown).bind(bucket),
      });
      const { response, ended } = await beginExport('', { FILES });
      await waitForNoTransaction();
      await readUntilItBreaks(response.body as ReadableStream);
      await ended();
      expect(await listWaitingParts()).toEqual([]);
    },
  );

  it('has its leftover R2 objects deleted after a day', async () => {
    const queue = createHeldQueue();
    await runSweep(queue);
    const DAY = 86_400_000;
    const [old, young] = [newId(Date.now() - DAY - 60_000), newId(Date.now() - DAY / 2)];
    for (const id of [old, young]) await env.FILES.put(`exports/${company.id}/${id}/0`, 'x');
    // Any export that waits has this looked at.
    await env.CONTROL_DB.prepare('UPDATE managed_databases SET sweep_at = 0 WHERE company_id = ?')
      .bind(company.id)
      .run();
    await runSweep(queue);
    expect(await listWaitingParts()).toEqual([`exports/${company.id}/${young}/0`]);
    await env.FILES.delete(`exports/${company.id}/${young}/0`);
  });
});
