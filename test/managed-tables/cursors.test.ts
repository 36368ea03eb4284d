import { beforeAll, describe, expect, it } from 'vitest';
import {
  countRows,
  type PageSource,
  type Position,
  selectFollowing,
  selectWindow,
} from '../../src/modules/managed-tables/row-pages.ts';
import { readSelection, type SentFilter } from '../../src/modules/managed-tables/selection.ts';
import { parseSort } from '../../src/modules/managed-tables/sort.ts';
import type { Column } from '../../src/tenant-sql/columns.ts';
import type { Statement } from '../../src/tenant-sql/rows.ts';
import { rivalBeforeStatement } from '../support/tunnel.ts';
import { aProvisionedCompany, type Company } from '../support/worlds.ts';
import { column, createTable, listValues, makeTableRoutes, runBehindApi } from './support.ts';

let company: Company;
let createdCount = 0;

beforeAll(async () => {
  company = await aProvisionedCompany();
});

type Table = ReturnType<typeof makeTableRoutes>;

async function createFilledTable(rows: Record<string, unknown>[], ...columns: ReturnType<typeof column>[]) {
  const table = makeTableRoutes(company.as, await createTable(company.as, `paged_${++createdCount}`, columns));
  expect((await table.insert(rows)).status).toBe(201);
  return table;
}

const formatQuery = (parameters: Record<string, string>) => `?${new URLSearchParams(parameters)}`;

/** Every page from the first to the last; `between` runs after each. */
async function readPages(table: Table, asked: Record<string, string>, between = async (_page: number) => {}) {
  const pages = [];
  let cursor: string | null = '';
  while (cursor !== null) {
    const { status, body } = await table.rows(formatQuery({ ...asked, cursor }));
    expect([status, body.quantity, 'total' in body]).toEqual([200, body.records?.length, asked.count === 'exact']);
    pages.push(body);
    cursor = body.next_cursor;
    await between(pages.length);
  }
  return pages;
}

const listRecords = (pages: { records: Record<string, unknown>[] }[]) => pages.flatMap(({ records }) => records);

const VALUES = {
  text: ['b', null, '', 'B', 'ä', 'b', 'b', null, 'a,"\\', 'b'],
  integer: [3, null, '9223372036854775807', -1, 3, 3, null, 0, 3, 1],
  decimal: [1.5, '1e30', null, '0.10', -2, 1.5, null, '123456789012345678901234567890.5', 1.5, 0],
  boolean: [true, false, null, true, true, false, null, true, true, false],
  date: ['2024-02-29', null, '0001-01-01', '2024-02-29', '9999-12-31', null, '2024-02-29', '2023-01-01', '2024-02-29'],
  datetime: ['2024-02-29T01:02:03.000004Z', null, '0001-01-01T00:00:00Z', '2024-02-29T01:02:03.000004Z', null],
};

describe('pages of rows by cursor', () => {
  it.each(Object.entries(VALUES))('have every row once, in the order of a column of type %s', async (type, values) => {
    const table = await createFilledTable(
      values.map((v) => ({ v })),
      column('v', type),
    );
    for (const order of [undefined, 'v', 'v DESC', 'id', '-id']) {
      const asked: Record<string, string> = order === undefined ? {} : { sort_by: order };
      const whole = (await table.rows(formatQuery(asked))).body.records;
      expect(whole).toHaveLength(values.length);
      for (const size of ['1', '2', '3', '100']) {
        const pages = await readPages(table, { ...asked, per_page: size });
        expect(listRecords(pages)).toEqual(whole);
        expect(pages.length).toBe(Math.ceil(values.length / Number(size)));
      }
    }
  });

  it('have only the rows of the filters and search, whatever fields are asked for', async () => {
    const rows = Array.from({ length: 9 }, (_, n) => ({ n, v: n % 3 === 0 ? null : n % 3, t: `Row ${n}` }));
    const table = await createFilledTable(rows, column('n', 'integer'), column('v', 'integer'), column('t'));
    const asked = { 'filter[n][gt]': '1', search: 'row', sort_by: '-v', fields: 'n', count: 'exact', per_page: '2' };
    const pages = await readPages(table, asked);
    expect(listRecords(pages).map(({ n }) => n)).toEqual([2, 5, 8, 4, 7, 3, 6]);
    expect(pages.map(({ total }) => total)).toEqual([7, 7, 7, 7]);
    expect(Object.keys(pages[0].records[0])).toEqual(['id', 'n']);
  });

  it('are a single empty page for an empty table', async () => {
    const table = makeTableRoutes(company.as, await createTable(company.as, 'empty', [column('v')]));
    for (const asked of ['', '&sort_by=v', '&search=x']) {
      expect((await table.rows(`?cursor=${asked}`)).body).toEqual({ quantity: 0, records: [], next_cursor: null });
    }
  });

  it.each([
    ['', {}],
    ['v', { sort_by: 'v' }],
    ['v DESC', { sort_by: '-v' }],
    ['-id', { sort_by: '-id' }],
  ])('miss no row and repeat none while other rows are inserted, updated and deleted (%s)', async (_order, order) => {
    const rows = Array.from({ length: 20 }, (_, n) => ({ n, v: n % 4 === 0 ? null : n % 4, other: 'old' }));
    const table = await createFilledTable(rows, column('n', 'integer'), column('v', 'integer'), column('other'));
    const { records } = (await table.rows('?per_page=100')).body;
    const gone = records.filter(({ n }: { n: number }) => n % 5 === 2);
    const seen = listRecords(
      await readPages(table, { ...order, per_page: '3' }, async (page) => {
        if (page === 1) for (const { id } of gone) expect((await table.deleteRow(id)).status).toBe(204);
        if (page === 2) {
          // Also the row that the cursor stands at goes.
          const last = (await table.rows(formatQuery({ ...order, per_page: '100' }))).body.records[3];
          expect((await table.deleteRow(last.id)).status).toBe(204);
          gone.push(last);
        }
        if (page === 3) {
          for (const v of [null, 0, 1, 2, 3]) await table.insert([{ n: 100, v, other: 'new' }]);
          for (const { id } of records.filter(({ id }: { id: string }) =>
            gone.every((row: { id: string }) => row.id !== id),
          ))
            expect((await table.updateRow(id, { other: 'changed' })).status).toBe(200);
        }
      }),
    ).map(({ n }) => n as number);
    const left = records.filter(({ id }: { id: string }) => gone.every((row: { id: string }) => row.id !== id));
    const old = seen.filter((n) => n < 100);
    expect(new Set(old).size).toBe(old.length);
    expect(left.map(({ n }: { n: number }) => n).filter((n: number) => !old.includes(n))).toEqual([]);
  });

  it('are complete when the columns of the table change meanwhile', async () => {
    const table = await createFilledTable([{ v: '1' }, { v: '2' }, { v: '3' }], column('v'));
    const { outcome } = await rivalBeforeStatement(company.id, /AS MATERIALIZED/, () =>
      table.put({ columns: [{ ...column('v'), display_name: 'V' }, column('w')] }),
    );
    const { body } = await table.rows('?cursor=&per_page=2&sort_by=v');
    expect([(await outcome).status, listValues({ body } as never, 'v')]).toEqual([200, ['1', '2']]);
    const next = await table.rows(formatQuery({ cursor: body.next_cursor, per_page: '2', sort_by: 'v' }));
    expect(listValues(next, 'v')).toEqual(['3']);
  });

  it('are refused when they would have to continue after a text that is too long for a cursor', async () => {
    const table = await createFilledTable([{ v: 'a'.repeat(4000) }, { v: 'b'.repeat(4001) }, { v: 'c' }], column('v'));
    const pages = (size: string, cursor = '') => table.rows(formatQuery({ sort_by: 'v', per_page: size, cursor }));
    const first = await pages('1');
    expect(await pages('1', first.body.next_cursor)).toMatchObject({
      status: 422,
      body: { details: [{ field: 'sort_by' }] },
    });
    expect(listValues(await pages('2', first.body.next_cursor), 'v')).toEqual(['b'.repeat(4001), 'c']);
  });
});

describe('a cursor for pages of rows', () => {
  const REFUSED = { status: 422, body: { details: [{ field: 'cursor' }] } };

  it('is valid for its company, table, filters, search and order only, and does not reveal their values', async () => {
    const other = await aProvisionedCompany();
    const columns = [column('v'), column('n', 'integer')];
    const rows = [
      { v: 'secret', n: 1 },
      { v: 'secret', n: 2 },
      { v: 'secret', n: 3 },
    ];
    const table = await createFilledTable(rows, ...columns);
    const twin = await createFilledTable(rows, ...columns);
    const foreign = makeTableRoutes(other.as, await createTable(other.as, 'paged', columns));
    await foreign.insert(rows);

    const asked = { 'filter[v][eq]': 'secret', 'filter[n][gte]': '0', search: 'sec', sort_by: 'v', per_page: '1' };
    const { body } = await table.rows(formatQuery({ ...asked, cursor: '' }));
    const cursor = body.next_cursor as string;
    expect(cursor).not.toContain('secret');
    expect(atob(cursor.split(':').at(-1)?.replaceAll('-', '+').replaceAll('_', '/') ?? '')).not.toContain('secret');

    const { 'filter[v][eq]': v, 'filter[n][gte]': n, ...rest } = asked;
    const reordered = { 'filter[n][gte]': n, 'filter[v][eq]': v, ...rest, per_page: '5', fields: 'n' };
    expect(listValues(await table.rows(formatQuery({ ...reordered, cursor })), 'n')).toEqual([2, 3]);

    const asJson = { ...rest, sort_by: 'v asc', per_page: '5', filter: '{"v":{"eq":"secret"},"n":{"gte":0}}' };
    for (const same of [{ ...reordered, sort_by: 'v ASC' }, asJson]) {
      expect(listValues(await table.rows(formatQuery({ ...same, cursor })), 'n')).toEqual([2, 3]);
    }

    const others: Record<string, string>[] = [
      { ...asked, sort_by: '-v' },
      { ...asked, sort_by: 'n' },
      { ...asked, search: 'secret' },
      { ...asked, search: '' },
      { ...asked, 'filter[n][gte]': '1' },
      { ...rest, 'filter[v][eq]': v },
      { ...asked, 'filter[n][lt]': '9' },
      { ...rest, 'filter[v][eq]': v, 'filter[n][gt]': '0' },
    ];
    for (const changed of others) expect(await table.rows(formatQuery({ ...changed, cursor }))).toMatchObject(REFUSED);
    expect(await twin.rows(formatQuery({ ...asked, cursor }))).toMatchObject(REFUSED);
    expect(await foreign.rows(formatQuery({ ...asked, cursor }))).toMatchObject(REFUSED);
  });

  it.each([
    ['n', 'n ASC', 'n asc'],
    ['-n', 'n DESC', 'n desc', '-n desc'],
    [undefined, 'id', 'id asc'],
  ])('of the order %s is valid for each spelling of that order', async (...spellings) => {
    const table = await createFilledTable([{ n: 2 }, { n: 2 }, { n: 2 }], column('n', 'integer'));
    const page = (order: string | undefined, cursor: string) =>
      table.rows(formatQuery({ per_page: '1', cursor, ...(order && { sort_by: order }) }));
    for (const first of spellings) {
      const { next_cursor: cursor } = (await page(first, '')).body;
      for (const second of spellings) expect((await page(second, cursor)).status).toBe(200);
      expect(await page('-id', cursor)).toMatchObject(REFUSED);
    }
  });

  it('is refused when it was changed or made up', async () => {
    const table = await createFilledTable([{}, {}, {}], column('v'));
    const { next_cursor: cursor } = (await table.rows('?cursor=&per_page=1')).body;
    const at = cursor.length - 5;
    const flipped = cursor.slice(0, at) + (cursor[at] === 'A' ? 'B' : 'A') + cursor.slice(at + 1);
    for (const bad of [
      flipped,
      cursor.slice(0, -1),
      `${cursor}A`,
      'x',
      'v1:x:y',
      cursor.replace(/^v\d+/, 'v9'),
      '{}',
    ]) {
      expect(await table.rows(formatQuery({ cursor: bad }))).toMatchObject(REFUSED);
    }
    expect((await table.rows(formatQuery({ cursor: 'x'.repeat(8193) }))).status).toBe(422);
    expect((await table.rows(formatQuery({ cursor: 'x', page: '1' }))).status).toBe(422);
  });

  it('is refused when its column was converted since', async () => {
    const table = await createFilledTable([{ v: '1' }, { v: '2' }], column('v'));
    const { next_cursor: cursor } = (await table.rows('?cursor=&per_page=1&sort_by=v')).body;
    expect((await table.put({ columns: [column('v', 'integer')] })).status).toBe(200);
    expect(await table.rows(formatQuery({ cursor, per_page: '1', sort_by: 'v' }))).toMatchObject(REFUSED);
  });
});

describe('the query plan of a page of rows', () => {
  const columns: Column[] = [{ name: 'k', display_name: 'k', type: 'integer', nullable: true }];
  const POSITION = { id: '00000000-0000-7000-8000-000000000000', key: '77' };

  beforeAll(async () => {
    const table = makeTableRoutes(company.as, await createTable(company.as, 'large', columns));
    await runBehindApi(company.id, async (database) => {
      await database.execute('INSERT INTO "public"."large" ("k") SELECT n / 4 FROM generate_series(1, 20000) AS n');
      await database.execute('INSERT INTO "public"."large" SELECT FROM generate_series(1, 1000)');
    });
    expect((await table.index(['k'])).status).toBe(201);
    await runBehindApi(company.id, (database) => database.executeAlone('VACUUM ANALYZE "public"."large"', 10_000));
  });

  async function explain({ text, values }: Statement): Promise<string> {
    const rows = await runBehindApi(company.id, (database) =>
      database.query<Record<string, string>>(`EXPLAIN (COSTS OFF) ${text}`, values),
    );
    return rows.map((row) => row['QUERY PLAN']).join('\n');
  }

  const pageOf = (filter: SentFilter[], sortBy?: string): PageSource => ({
    ...readSelection({ filter, search: '' }, columns),
    table: 'large',
    order: parseSort(sortBy, columns),
    maxBytes: 1000,
  });

  it.each([
    ['k', 'eq', '77', /Index Cond: \(k = '77'/],
    ['k', 'in', '77,78', /Index Cond: \(k = ANY/],
    ['k', 'gte', '4990', /Index Cond: \(k >= '4990'/],
    ['k', 'lt', '10', /Index Cond: \(k < '10'/],
    ['id', 'eq', POSITION.id, /Index Cond: \(id = '0/],
  ])(
    'for the filter %s %s %s uses an index, and so does that of their count',
    async (column, operator, value, index) => {
      const page = pageOf([{ column, operator, value }]);
      const window = { limit: 50, offset: 0, fromEnd: false };
      for (const statement of [selectWindow(page, window), countRows('large', page.rows)]) {
        const plan = await explain(statement);
        expect(plan).toMatch(index);
        // The other place where the table is read is whether it has any row.
        expect(plan.match(/Seq Scan on large/g)?.length ?? 0).toBeLessThan(2);
      }
    },
  );

  it.each([
    [undefined, 'pk', /Index Cond: \(id > '0/],
    ['-id', 'pk', /Index Cond: \(id < '0/],
    ['k', 'idx', /Index Cond: \(\(k IS NOT NULL\) AND \(ROW\(k, id\) > ROW\('77'/],
    ['-k', 'idx', /Index Cond: \(\(k IS NOT NULL\) AND \(k <= '77'/],
  ])('by cursor in the order %s starts in the index at the row of the cursor', async (order, name, index) => {
    const first = await explain(selectFollowing(pageOf([], order), { limit: 50, after: null }));
    expect(first).toMatch(new RegExp(`Index (Only )?Scan (Backward )?using "?${name}\\$`));
    const after = order?.includes('k') ? POSITION : { ...POSITION, key: null };
    const next = await explain(selectFollowing(pageOf([], order), { limit: 50, after }));
    expect(next).toMatch(index);
  });

  it('by cursor among rows without a value starts in the index at the row of the cursor', async () => {
    const after = { ...POSITION, key: null };
    const plan = await explain(selectFollowing(pageOf([], 'k'), { limit: 50, after }));
    expect(plan).toMatch(/Index Cond: \(\(k IS NULL\) AND \(id > '0/);
  });

  it('by cursor at the end of a large table reads as few blocks as at its beginning', async () => {
    const blocks = async (after: Position | null, sortBy: string) => {
      const { text, values } = selectFollowing(pageOf([], sortBy), { limit: 50, after });
      const [row] = await runBehindApi(company.id, (database) =>
        database.query<Record<string, [{ Plan: Record<string, number> }]>>(
          `EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) ${text}`,
          values,
        ),
      );
      const { Plan } = row?.['QUERY PLAN']?.[0] ?? {};
      return Number(Plan?.['Shared Hit Blocks']) + Number(Plan?.['Shared Read Blocks']);
    };
    const middle = (await runBehindApi(company.id, (database) =>
      database.query<{ id: string; k: string }>('SELECT "id", "k" FROM "public"."large" WHERE "k" = 4900 LIMIT 1'),
    )) as [{ id: string; k: string }];
    const [{ id, k: key }] = middle;
    for (const sortBy of ['id', 'k', '-k']) {
      const first = await blocks(null, sortBy);
      expect(await blocks({ id, key: sortBy === 'id' ? null : key }, sortBy)).toBeLessThanOrEqual(first * 1.5);
    }
  });
});
