/**
 * Measures a deep page of a table in the whole running system, beside its first page and the bare walk along the index
 * in the same Postgres: 1M rows, pages of 20.
 *
 *   npm run bench -- rows   (or: npx node bench/rows.ts [rows])
 *
 * Page 10,000, and the page in the middle, which is the farthest from both ends, may take 3 times as long as page 1 and
 * the walk together. The last page, which is counted from the end, may take 3 times as long as page 1. Each is read
 * right after the load, and again after Postgres has vacuumed the table. The last page by cursor may take 1.5 times as long
 * as the first one, in insertion order and in that of a column with an index.
 */
import { Client } from 'pg';
import { writeOrdersCsv } from './orders.ts';
import { loadJob, startSystem, uploadFile, waitForJob } from './system.ts';
import { makeUpperLimit, measureMilliseconds, printVerdict } from './verdict.ts';

const MAX_RATIO = 3;
const MAX_CURSOR_RATIO = 1.5;
const PER_PAGE = 20;
/** Largest number of rows in a page. */
const MAX_PAGE_ROWS = 1000;
const ROUND_COUNT = 15;
const ROW_COUNT = Number(process.argv[2] ?? 1_000_000);

/** Measures several runs. @returns milliseconds of the fastest one */
async function measureBest(run: () => Promise<unknown>): Promise<number> {
  let fastestMs = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUND_COUNT; round++) fastestMs = Math.min(fastestMs, await measureMilliseconds(run));
  return fastestMs;
}

const system = await startSystem();
const postgres = new Client({ connectionString: system.postgresUrl });
try {
  const jobId = await uploadFile(system, new File([writeOrdersCsv(ROW_COUNT)], 'pedidos.csv', { type: 'text/csv' }));
  const waitingJob = await waitForJob(system, jobId, 'waiting_confirm');
  const { user_table_id: tableId } = await loadJob(system, waitingJob, { display_name: 'pedidos' });
  await postgres.connect();
  const readPage = async (page: number) => {
    const path = `/v1/managed-tables/${tableId}/data?per_page=${PER_PAGE}&page=${page}`;
    const { records, total } = await system.call('GET', path);
    const firstRow = (page - 1) * PER_PAGE + 1;
    if (total !== ROW_COUNT || records[0].pedido !== firstRow)
      throw new Error(`page ${page} begins with ${records[0].pedido}`);
  };
  const walkIndex = (rowCount: number) =>
    postgres.query('SELECT id FROM public.pedidos ORDER BY id LIMIT 1 OFFSET $1', [rowCount]);
  const lastPage = Math.ceil(ROW_COUNT / PER_PAGE);
  const pages = {
    'page 10,000': Math.min(10_000, lastPage),
    'the middle page': Math.ceil(lastPage / 2),
    'the last page': lastPage,
  };

  const worstRatios: Record<string, number> = {};
  for (const stage of ['right after the load', 'vacuumed']) {
    if (stage === 'vacuumed') await postgres.query('VACUUM (ANALYZE) public.pedidos');
    const first = await measureBest(() => readPage(1));
    console.log(`${stage}: page 1 ${first.toFixed(1)} ms`);
    for (const [name, page] of Object.entries(pages)) {
      const skippedCount = (page - 1) * PER_PAGE;
      const walkMs = await measureBest(() => walkIndex(Math.min(skippedCount, ROW_COUNT - skippedCount)));
      const pageMs = await measureBest(() => readPage(page));
      console.log(`  ${name} ${pageMs.toFixed(1)} ms, of which the bare walk takes ${walkMs.toFixed(1)} ms`);
      worstRatios[name] = Math.max(worstRatios[name] ?? 0, (pageMs - walkMs) / first);
    }
  }

  const path = `/v1/managed-tables/${tableId}`;
  await system.call('POST', `${path}/indexes`, { columns: ['pedido'] });
  const readByCursor = (order: string, perPage: number, cursor: string | null) =>
    system.call('GET', `${path}/data?per_page=${perPage}&cursor=${cursor ?? ''}${order}`);
  /** Returns the cursor of the page whose last row is the table's last. */
  const makeLastCursor = async (order: string): Promise<string> => {
    let { next_cursor: cursor } = await readByCursor(order, PER_PAGE, null);
    for (let remainingRows = ROW_COUNT - 2 * PER_PAGE; remainingRows > 0; remainingRows -= MAX_PAGE_ROWS) {
      ({ next_cursor: cursor } = await readByCursor(order, Math.min(remainingRows, MAX_PAGE_ROWS), cursor));
    }
    return cursor;
  };
  let worstCursorRatio = 0;
  for (const order of ['', '&sort_by=pedido', '&sort_by=-pedido']) {
    const cursor = await makeLastCursor(order);
    const { records, next_cursor: nextCursor } = await readByCursor(order, PER_PAGE, cursor);
    const end = order.includes('-') ? 1 : ROW_COUNT;
    if (records.at(-1).pedido !== end || nextCursor !== null)
      throw new Error(`the last page ends with ${records.at(-1).pedido}`);
    let first = Number.POSITIVE_INFINITY;
    let lastPageMs = Number.POSITIVE_INFINITY;
    // By turns, so that both find the machine alike.
    for (let round = 0; round < ROUND_COUNT; round++) {
      first = Math.min(first, await measureMilliseconds(() => readByCursor(order, PER_PAGE, null)));
      lastPageMs = Math.min(lastPageMs, await measureMilliseconds(() => readByCursor(order, PER_PAGE, cursor)));
    }
    console.log(`by cursor${order}: the first page ${first.toFixed(1)} ms, the last one ${lastPageMs.toFixed(1)} ms`);
    worstCursorRatio = Math.max(worstCursorRatio, lastPageMs / first);
  }

  for (const [name, ratio] of Object.entries(worstRatios)) {
    printVerdict(
      `${name} of 1M rows, less the bare walk along the index, against page 1`,
      ratio,
      makeUpperLimit(MAX_RATIO),
    );
  }
  printVerdict(
    'the page by cursor that ends 1M rows, against the first',
    worstCursorRatio,
    makeUpperLimit(MAX_CURSOR_RATIO),
  );
} finally {
  await postgres.end();
  await system.stop();
}
