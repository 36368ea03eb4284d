import { env } from 'cloudflare:test';
import { expect, it, vi } from 'vitest';
import { createProvisionedCompany } from '../support/companies.ts';
import { countOpenedConnections, runWithLatency } from '../support/tunnel.ts';
import { createTable, createTableClient, listValues, makeColumn } from './support.ts';

/** The simulated latency: long enough for parallel requests to overlap, even on a busy machine. */
const LATENCY_MS = 100;

const company = await createProvisionedCompany();

const runWithDatabaseLatency = <T>(work: () => Promise<T>) => runWithLatency(company.id, LATENCY_MS, work);

async function createNumberedTable(name: string, rowCount: number) {
  const id = await createTable(company.as, name, [makeColumn('n', 'integer'), makeColumn('m')]);
  const table = createTableClient(company.as, id);
  await table.insert(Array.from({ length: rowCount }, (_, index) => ({ n: index + 1, m: 'x' })));
  return table;
}

it('a page of rows takes one round trip more than the connection, or two when the isolate has not cached the table', async () => {
  const table = await createNumberedTable('far_pages', 5);
  const first = await runWithDatabaseLatency(() => table.rows('?sort_by=-n&per_page=2'));
  expect(listValues(first.outcome, 'n')).toEqual([5, 4]);
  expect(first.tripCount).toBe(5);
  const secondPage = await runWithDatabaseLatency(() => table.rows('?sort_by=n&per_page=2&page=2'));
  expect(listValues(secondPage.outcome, 'n')).toEqual([3, 4]);
  expect(secondPage.tripCount).toBe(4);
});

it('a page of rows with filters and an exact total, or by cursor, takes one round trip more than the connection', async () => {
  const table = await createNumberedTable('far_filters', 9);
  await table.rows();
  const filteredPage = await runWithDatabaseLatency(() =>
    table.rows('?filter[n][gt]=2&filter[n][in]=1,2,3,4&search=X'),
  );
  expect([filteredPage.outcome.body.total, listValues(filteredPage.outcome, 'n')]).toEqual([2, [3, 4]]);
  expect(filteredPage.tripCount).toBe(4);
  const first = await runWithDatabaseLatency(() =>
    table.rows('?cursor=&per_page=4&sort_by=-n&count=exact&filter[n][gt]=2'),
  );
  expect([first.outcome.body.total, listValues(first.outcome, 'n')]).toEqual([7, [9, 8, 7, 6]]);
  const cursor = encodeURIComponent(first.outcome.body.next_cursor);
  const next = await runWithDatabaseLatency(() =>
    table.rows(`?cursor=${cursor}&per_page=4&sort_by=-n&filter[n][gt]=2`),
  );
  expect(listValues(next.outcome, 'n')).toEqual([5, 4, 3]);
  expect([first.tripCount, next.tripCount]).toEqual([4, 4]);
});

it('a table, the list of tables and the list of its uploads each take one round trip more than the connection', async () => {
  const table = await createNumberedTable('far_tables', 1);
  expect((await runWithDatabaseLatency(() => table.get())).tripCount).toBe(4);
  expect((await runWithDatabaseLatency(() => company.as.get('/v1/managed-tables'))).tripCount).toBe(4);
  expect((await runWithDatabaseLatency(() => table.loads())).tripCount).toBe(4);
});

it('a change of columns takes as many round trips for a hundred columns as for one', async () => {
  const countChangeTrips = async (count: number) => {
    const names = Array.from({ length: count }, (_, index) => `c${index}`);
    const id = await createTable(
      company.as,
      `far_columns_${count}`,
      names.map((name) => makeColumn(name)),
    );
    const table = createTableClient(company.as, id);
    expect((await table.insert([Object.fromEntries(names.map((name, index) => [name, `${index}`]))])).status).toBe(201);
    // Each gets the name and the type of its neighbour, and a value.
    const columns = names.map((name, index) => ({
      ...makeColumn(
        names[(index + 1) % count] === name ? 'other' : (names[(index + 1) % count] as string),
        'integer',
        false,
      ),
      previous_name: name,
    }));
    const { outcome, tripCount } = await runWithDatabaseLatency(() => table.put({ columns }));
    expect([outcome.status, outcome.body.columns?.length]).toEqual([200, count]);
    return tripCount;
  };
  expect(await countChangeTrips(100)).toBe(await countChangeTrips(1));
});

it('reading requests use one pooled connection, and writing requests one direct connection', async () => {
  // What is told and checked after a change has connections of its own.
  for (const queue of [env.WEBHOOKS, env.RECHECKS]) {
    vi.spyOn(queue, 'send').mockResolvedValue(undefined as never);
    vi.spyOn(queue, 'sendBatch').mockResolvedValue(undefined as never);
  }
  const table = await createNumberedTable('pooled', 1);
  const countConnections = (work: () => Promise<{ status: number }>) =>
    countOpenedConnections(company.id, async () => expect((await work()).status).toBeLessThan(300));
  const expectedReadCounts = { direct: 0, pooled: 1 };
  expect(await countConnections(() => table.rows())).toEqual(expectedReadCounts);
  expect(await countConnections(() => table.get())).toEqual(expectedReadCounts);
  expect(await countConnections(() => company.as.get('/v1/managed-tables'))).toEqual(expectedReadCounts);
  expect(await countConnections(() => company.as.get('/v1/managed-tables/upload-jobs/active'))).toEqual(
    expectedReadCounts,
  );
  const expectedWriteCounts = { direct: 1, pooled: 0 };
  expect(await countConnections(() => table.insert([{ n: 2 }]))).toEqual(expectedWriteCounts);
  expect(await countConnections(() => table.put({ display_name: 'pooled_too' }))).toEqual(expectedWriteCounts);
  expect(await countConnections(() => table.truncate())).toEqual(expectedWriteCounts);
  vi.restoreAllMocks();
});

it('a page of rows shows the current table, even if the isolate has cached an older version', async () => {
  const table = await createNumberedTable('known_before', 4);
  const readPage = (query = '?per_page=3&page=2') => table.rows(query);
  expect(listValues(await readPage(), 'n')).toEqual([4]);

  // Counted from the nearer end, other rows are wanted when there are more.
  await table.insert([{ n: 5 }, { n: 6 }, { n: 7 }, { n: 8 }]);
  const grownPage = await readPage();
  expect(listValues(grownPage, 'n')).toEqual([4, 5, 6]);
  expect(grownPage.body.total).toBe(8);

  const putColumns = (newColumns: unknown[]) => table.put({ columns: newColumns });
  await putColumns([makeColumn('n', 'decimal'), makeColumn('m'), makeColumn('added')]);
  expect((await readPage()).body.records[0]).toEqual({
    id: expect.any(String),
    n: expect.anything(),
    m: 'x',
    added: null,
  });
  expect((await readPage('?sort_by=added')).status).toBe(200);
  await putColumns([makeColumn('m'), makeColumn('added')]);
  expect((await readPage()).body.records[0]).toEqual({ id: expect.any(String), m: 'x', added: null });
  expect((await readPage('?sort_by=n')).status).toBe(422);

  expect((await table.put({ display_name: 'known_after' })).status).toBe(200);
  expect((await readPage()).body.records).toHaveLength(3);
  // Another table under the name that it had.
  const other = await createNumberedTable('known_before', 1);
  expect((await readPage()).body.total).toBe(8);
  expect((await other.rows()).body.total).toBe(1);

  await table.truncate();
  expect((await readPage()).body).toMatchObject({ total: 0, records: [] });
  await table.delete();
  expect((await readPage()).status).toBe(404);
});
