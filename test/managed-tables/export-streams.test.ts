import { createExecutionContext, env, waitOnExecutionContext } from 'cloudflare:test';
import { beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import worker from '../../src/index.ts';
import { MAX_EXPORT_MS } from '../../src/modules/managed-tables/export.ts';
import { MAX_EXPORTS } from '../../src/modules/managed-tables/export-store.ts';
import { BASE_URL } from '../support/api.ts';
import { disturb, farAway, rivalBeforeStatement } from '../support/tunnel.ts';
import { aProvisionedCompany, type Company } from '../support/worlds.ts';
import { aTable, behindTheApi, column, tableRoutes } from './support.ts';

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
let table: ReturnType<typeof tableRoutes>;
let made = 0;

beforeAll(async () => {
  company = await aProvisionedCompany();
});

beforeEach(async () => {
  made += 1;
  name = `streamed_${made}`;
  tableId = await aTable(company.as, name, [column('n', 'integer')]);
  table = tableRoutes(company.as, tableId);
  await inDatabase(`INSERT INTO public.${name} (n) SELECT generate_series(1, ${ROWS})`);
});

const inDatabase = (text: string) => behindTheApi(company.id, (database) => database.execute(text));

/** Gives the table so many rows of a kilobyte in place of its own. */
async function fill(rows: number): Promise<void> {
  await table.delete();
  tableId = await aTable(company.as, `${name}_filled`, [column('n', 'integer'), column('t')]);
  table = tableRoutes(company.as, tableId);
  const values = `SELECT n, repeat('x', 1000) FROM generate_series(1, ${rows}) AS n`;
  await inDatabase(`INSERT INTO public.${name}_filled (n, t) ${values}`);
}

const rowsIn = (body: string) => body.split('\r\n').length - 2;

/** An export whose answer is not read yet. */
async function begin(query = '') {
  const execution = createExecutionContext();
  const headers = { authorization: `Bearer ${company.token}` };
  const request = new Request(`${BASE_URL}/v1/managed-tables/${tableId}/export${query}`, { headers });
  const response = await worker.fetch(request, env, execution);
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
const openTransactions = () =>
  behindTheApi(company.id, (database) =>
    database.query<{ query: string; waited: number }>(`
      SELECT query, extract(epoch FROM clock_timestamp() - state_change)::float8 AS waited FROM pg_stat_activity
      WHERE datname = current_database() AND state = 'idle in transaction' AND pid <> pg_backend_pid()`),
  );

describe('an export', () => {
  it.each(['', '?sort_by=-n'])('shows one moment, whatever rows go meanwhile (%s)', async (query) => {
    const rival = await rivalBeforeStatement(company.id, LATER_BATCH, () => inDatabase(`DELETE FROM public.${name}`));
    expect(rowsIn((await table.export(query)).body)).toBe(ROWS);
    expect(await rival.outcome).toBe(ROWS);
  });

  it('waits no longer for a change than others', async () => {
    const locked = Promise.withResolvers<void>();
    const answered = Promise.withResolvers<void>();
    const holding = behindTheApi(company.id, (database) =>
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
  ])('that loses its database ends as a broken stream (%s)', async (format, statement) => {
    await disturb(company.id, { statement: statement.source, effect: 'lose_answer' });
    const { response, ended } = await begin(`?format=${format}`);
    expect(response.status).toBe(200);
    expect(await readUntilItBreaks(response.body as ReadableStream)).toBeGreaterThan(0);
    await ended();
    expect(rowsIn((await table.export()).body)).toBe(ROWS);
  });

  it('that loses its database before it begins is refused', async () => {
    await disturb(company.id, { statement: FIRST_BATCH.source, effect: 'lose_answer' });
    expect((await table.export()).status).toBe(503);
  });

  it('reads no further than it is taken, and on from there', async () => {
    await fill(40_000);
    const { response, ended } = await begin();
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    const decoder = new TextDecoder();
    let body = '';
    const asked: number[] = [];
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      body += decoder.decode(part.value, { stream: true });
      if (body.length < (PAUSES[asked.length] as number)) continue;
      // In the middle of a batch that does not fit into memory.
      await expect.poll(async () => (await openTransactions())[0]?.waited ?? 0).toBeGreaterThan(0.5);
      const [open] = await openTransactions();
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
    expect(await openTransactions()).toEqual([]);
  });

  it('asks for more at a time while it is taken as fast as it comes', async () => {
    await fill(40_000);
    const trips: number[] = [];
    // A busy machine takes some of them slowly.
    for (let tries = 0; tries < 5 && !trips.some((each) => each <= 14); tries += 1) {
      const taken = await farAway(company.id, 1, () => table.export());
      expect(rowsIn(taken.outcome.body)).toBe(40_000);
      trips.push(taken.trips);
    }
    // They would be 16, were it never more than fits into memory.
    expect(Math.min(...trips)).toBeLessThanOrEqual(14);
  });

  it.each(['csv', 'ndjson'])(
    'that takes longer than it may ends as a broken stream, and lets the table go (%s)',
    async (format) => {
      shortenExports(3000);
      const { response, ended } = await begin(`?format=${format}`);
      expect(response.status).toBe(200);
      await expect.poll(openTransactions).toHaveLength(1);
      await expect.poll(openTransactions, { timeout: 10_000 }).toEqual([]);
      await readUntilItBreaks(response.body as ReadableStream);
      await ended();
      expect((await table.delete()).status).toBe(204);
    },
  );

  it('that nobody takes any more lets the table go', async () => {
    const { response, ended } = await begin();
    await (response.body as ReadableStream).cancel();
    await ended();
    expect(await openTransactions()).toEqual([]);
    expect((await table.delete()).status).toBe(204);
  });

  it(`is one of ${MAX_EXPORTS} of the company at once`, async () => {
    const running = [];
    for (let count = 0; count < MAX_EXPORTS; count += 1) running.push(await begin());
    const refused = await table.export();
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '30']);
    expect(refused.body).toMatchObject({
      error: 'RateLimitExceeded',
      message: 'Outras exportações da sua empresa estão em andamento. Tente novamente em 30 segundos.',
    });
    const [first, ...others] = running as [(typeof running)[0], ...typeof running];
    expect(rowsIn(await first.response.text())).toBe(ROWS);
    await first.ended();
    expect((await table.export()).status).toBe(200);
    for (const { response, ended } of others) {
      await response.body?.cancel();
      await ended();
    }
  });
});
