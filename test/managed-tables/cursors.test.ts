import { beforeAll, describe, expect, it } from 'vitest';
import {
  countRows,
  type PageSource,
  type RowPosition,
  selectFollowingRows,
  selectRowWindow,
} from '../../src/modules/managed-tables/row-pages.ts';
import { checkSelection, type SentFilter } from '../../src/modules/managed-tables/selection.ts';
import { parseSort } from '../../src/modules/managed-tables/sort.ts';
import type { TableColumnDefinition } from '../../src/tenant-sql/columns.ts';
import type { Statement } from '../../src/tenant-sql/rows.ts';
import { createProvisionedCompany } from '../support/companies.ts';
import { runBeforeNextStatement } from '../support/tunnel.ts';
import { createTable, createTableClient, listValues, makeColumn, runInCompanyDatabase } from './support.ts';

let createdCount = 0;

const company = await createProvisionedCompany();

type TableRoutes = ReturnType<typeof createTableClient>;

async function createFilledTable(rows: Record<string, unknown>[], ...columns: ReturnType<typeof makeColumn>[]) {
  const table = createTableClient(company.as, await createTable(company.as, `paged_${++createdCount}`, columns));
  expect((await table.insert(rows)).status).toBe(201);
  return table;
}

const formatQuery = (parameters: Record<string, string>) => `?${new URLSearchParams(parameters)}`;

/** Reads every page from the first to the last; `afterPage` runs after each page. */
async function readPages(
  table: TableRoutes,
  queryParameters: Record<string, string>,
  afterPage = async (_page: number) => {},
) {
  const pages = [];
  let cursor: string | null = '';
  while (cursor !== null) {
    const { status, body } = await table.rows(formatQuery({ ...queryParameters, cursor }));
    expect([status, body.quantity, 'total' in body]).toEqual([
      200,
      body.records?.length,
      queryParameters.count === 'exact',
    ]);
    pages.push(body);
    cursor = body.next_cursor;
    await afterPage(pages.length);
  }
  return pages;
}

const listRecords = (pages: { records: Record<string, unknown>[] }[]) => pages.flatMap(({ records }) => records);

const VALUES_BY_TYPE = {
  text: ['b', null, '', 'B', 'ä', 'b', 'b', null, 'a,"\\', 'b'],
  integer: [3, null, '9223372036854775807', -1, 3, 3, null, 0, 3, 1],
  decimal: [1.5, '1e30', null, '0.10', -2, 1.5, null, '123456789012345678901234567890.5', 1.5, 0],
  boolean: [true, false, null, true, true, false, null, true, true, false],
  date: ['2024-02-29', null, '0001-01-01', '2024-02-29', '9999-12-31', null, '2024-02-29', '2023-01-01', '2024-02-29'],
  datetime: ['2024-02-29T01:02:03.000004Z', null, '0001-01-01T00:00:00Z', '2024-02-29T01:02:03.000004Z', null],
};

describe('pages of rows by cursor', () => {
  it.each(Object.entries(VALUES_BY_TYPE))(
    'have every row once, in the order of a column of type %s',
    async (type, values) => {
      const table = await createFilledTable(
        values.map((v) => ({ v })),
        makeColumn('v', type),
      );
      // The order by id has nothing to do with the type.
      for (const order of type === 'text' ? [undefined, 'id', '-id', 'v', 'v DESC'] : ['v', 'v DESC']) {
        const sortParameters: Record<string, string> = order === undefined ? {} : { sort_by: order };
        const allRows = (await table.rows(formatQuery(sortParameters))).body.records;
        expect(allRows).toHaveLength(values.length);
        for (const size of ['1', '2', '100']) {
          const pages = await readPages(table, { ...sortParameters, per_page: size });
          expect(listRecords(pages)).toEqual(allRows);
          expect(pages.length).toBe(Math.ceil(values.length / Number(size)));
        }
      }
    },
  );

  it('have only rows that match the filters and search, whatever fields are requested', async () => {
    const rows = Array.from({ length: 9 }, (_, n) => ({ n, v: n % 3 === 0 ? null : n % 3, t: `Row ${n}` }));
    const table = await createFilledTable(
      rows,
      makeColumn('n', 'integer'),
      makeColumn('v', 'integer'),
      makeColumn('t'),
    );
    const queryParameters = {
      'filter[n][gt]': '1',
      search: 'row',
      sort_by: '-v',
      fields: 'n',
      count: 'exact',
      per_page: '2',
    };
    const pages = await readPages(table, queryParameters);
    expect(listRecords(pages).map(({ n }) => n)).toEqual([2, 5, 8, 4, 7, 3, 6]);
    expect(pages.map(({ total }) => total)).toEqual([7, 7, 7, 7]);
    expect(Object.keys(pages[0].records[0])).toEqual(['id', 'n']);
  });

  it('are a single empty page for an empty table', async () => {
    const table = createTableClient(company.as, await createTable(company.as, 'empty', [makeColumn('v')]));
    for (const extraQuery of ['', '&sort_by=v', '&search=x']) {
      expect((await table.rows(`?cursor=${extraQuery}`)).body).toEqual({ quantity: 0, records: [], next_cursor: null });
    }
  });

  it.each([
    ['', {}],
    ['v', { sort_by: 'v' }],
    ['v DESC', { sort_by: '-v' }],
    ['-id', { sort_by: '-id' }],
  ])('miss no row and repeat none while other rows are inserted, updated and deleted (%s)', async (_order, order) => {
    const rows = Array.from({ length: 20 }, (_, n) => ({ n, v: n % 4 === 0 ? null : n % 4, other: 'old' }));
    const columns = [makeColumn('n', 'integer'), makeColumn('v', 'integer'), makeColumn('other')];
    const table = await createFilledTable(rows, ...columns);
    const name = `paged_${createdCount}`;
    const { records } = (await table.rows('?per_page=100')).body;
    const deletedRows = records.filter(({ n }: { n: number }) => n % 5 === 2);
    const readNumbers = listRecords(
      await readPages(table, { ...order, per_page: '3' }, async (page) => {
        if (page === 1) for (const { id } of deletedRows) expect((await table.deleteRow(id)).status).toBe(204);
        if (page === 2) {
          // Also the row that the cursor stands at goes.
          const lastRow = (await table.rows(formatQuery({ ...order, per_page: '100' }))).body.records[3];
          expect((await table.deleteRow(lastRow.id)).status).toBe(204);
          deletedRows.push(lastRow);
        }
        if (page === 3) {
          await table.insert([null, 0, 1, 2, 3].map((v) => ({ n: 100, v, other: 'new' })));
          const changeRows = `UPDATE public.${name} SET other = 'changed' WHERE other = 'old'`;
          await runInCompanyDatabase(company.id, (database) => database.execute(changeRows));
        }
      }),
    ).map(({ n }) => n as number);
    const remainingRecords = records.filter(({ id }: { id: string }) =>
      deletedRows.every((row: { id: string }) => row.id !== id),
    );
    const oldNumbers = readNumbers.filter((n) => n < 100);
    expect(new Set(oldNumbers).size).toBe(oldNumbers.length);
    expect(remainingRecords.map(({ n }: { n: number }) => n).filter((n: number) => !oldNumbers.includes(n))).toEqual(
      [],
    );
  });

  it('are complete even if the columns of the table change meanwhile', async () => {
    const table = await createFilledTable([{ v: '1' }, { v: '2' }, { v: '3' }], makeColumn('v'));
    const { outcome } = await runBeforeNextStatement(company.id, /AS MATERIALIZED/, () =>
      table.put({ columns: [{ ...makeColumn('v'), display_name: 'V' }, makeColumn('w')] }),
    );
    const { body } = await table.rows('?cursor=&per_page=2&sort_by=v');
    expect([(await outcome).status, listValues({ body } as never, 'v')]).toEqual([200, ['1', '2']]);
    const next = await table.rows(formatQuery({ cursor: body.next_cursor, per_page: '2', sort_by: 'v' }));
    expect(listValues(next, 'v')).toEqual(['3']);
  });

  it.each([
    ['control characters', '\u0001'],
    ['line ends, quotes and backslashes', '\n"\\\n'],
    ['characters beyond the first 65,536', '😀'],
  ])('continue after the longest text for a cursor, also one of %s', async (_, characters) => {
    const longText = characters.repeat(4000 / Buffer.byteLength(characters));
    const values = ['', '1', '2', '3'].map((end) => longText.slice(end.length * characters.length) + end);
    const table = await createFilledTable(
      values.map((v) => ({ v })),
      makeColumn('v'),
    );
    const pages = await readPages(table, { sort_by: 'v', per_page: '1' });
    expect(new Set(listRecords(pages).map(({ v }) => v))).toEqual(new Set(values));
    expect(pages.length).toBe(values.length);
  });

  it('are refused when they would have to continue after a text that is too long for a cursor', async () => {
    const table = await createFilledTable(
      [{ v: 'a'.repeat(4000) }, { v: 'b'.repeat(4001) }, { v: 'c' }],
      makeColumn('v'),
    );
    const readPage = (size: string, cursor = '') => table.rows(formatQuery({ sort_by: 'v', per_page: size, cursor }));
    const first = await readPage('1');
    expect(await readPage('1', first.body.next_cursor)).toMatchObject({
      status: 422,
      body: { details: [{ field: 'sort_by' }] },
    });
    expect(listValues(await readPage('2', first.body.next_cursor), 'v')).toEqual(['b'.repeat(4001), 'c']);
  });
});

describe('a cursor for pages of rows', () => {
  const CURSOR_REFUSAL = { status: 422, body: { details: [{ field: 'cursor' }] } };

  it('is valid for its company, table, filters, search and order only, and does not reveal their values', async () => {
    const other = await createProvisionedCompany();
    const columns = [makeColumn('v'), makeColumn('n', 'integer')];
    const rows = [
      { v: 'secret', n: 1 },
      { v: 'secret', n: 2 },
      { v: 'secret', n: 3 },
    ];
    const table = await createFilledTable(rows, ...columns);
    const otherTable = await createFilledTable(rows, ...columns);
    const foreignTable = createTableClient(other.as, await createTable(other.as, 'paged', columns));
    await foreignTable.insert(rows);

    const queryParameters = {
      'filter[v][eq]': 'secret',
      'filter[n][gte]': '0',
      search: 'sec',
      sort_by: 'v',
      per_page: '1',
    };
    const { body } = await table.rows(formatQuery({ ...queryParameters, cursor: '' }));
    const cursor = body.next_cursor as string;
    expect(cursor).not.toContain('secret');
    expect(atob(cursor.split(':').at(-1)?.replaceAll('-', '+').replaceAll('_', '/') ?? '')).not.toContain('secret');

    const { 'filter[v][eq]': v, 'filter[n][gte]': n, ...rest } = queryParameters;
    const reorderedQuery = { 'filter[n][gte]': n, 'filter[v][eq]': v, ...rest, per_page: '5', fields: 'n' };
    expect(listValues(await table.rows(formatQuery({ ...reorderedQuery, cursor })), 'n')).toEqual([2, 3]);

    const jsonQuery = { ...rest, sort_by: 'v asc', per_page: '5', filter: '{"v":{"eq":"secret"},"n":{"gte":0}}' };
    for (const equalQuery of [{ ...reorderedQuery, sort_by: 'v ASC' }, jsonQuery]) {
      expect(listValues(await table.rows(formatQuery({ ...equalQuery, cursor })), 'n')).toEqual([2, 3]);
    }

    const otherQueries: Record<string, string>[] = [
      { ...queryParameters, sort_by: '-v' },
      { ...queryParameters, sort_by: 'n' },
      { ...queryParameters, search: 'secret' },
      { ...queryParameters, search: '' },
      { ...queryParameters, 'filter[n][gte]': '1' },
      { ...rest, 'filter[v][eq]': v },
      { ...queryParameters, 'filter[n][lt]': '9' },
      { ...rest, 'filter[v][eq]': v, 'filter[n][gt]': '0' },
    ];
    for (const changedQuery of otherQueries)
      expect(await table.rows(formatQuery({ ...changedQuery, cursor }))).toMatchObject(CURSOR_REFUSAL);
    expect(await otherTable.rows(formatQuery({ ...queryParameters, cursor }))).toMatchObject(CURSOR_REFUSAL);
    expect(await foreignTable.rows(formatQuery({ ...queryParameters, cursor }))).toMatchObject(CURSOR_REFUSAL);
  });

  it.each([
    ['n', 'n ASC', 'n asc'],
    ['-n', 'n DESC', 'n desc', '-n desc'],
    [undefined, 'id', 'id asc'],
  ])('of the order %s is valid for each spelling of that order', async (...spellings) => {
    const table = await createFilledTable([{ n: 2 }, { n: 2 }, { n: 2 }], makeColumn('n', 'integer'));
    const readPage = (order: string | undefined, cursor: string) =>
      table.rows(formatQuery({ per_page: '1', cursor, ...(order && { sort_by: order }) }));
    for (const first of spellings) {
      const { next_cursor: cursor } = (await readPage(first, '')).body;
      for (const secondSpelling of spellings) expect((await readPage(secondSpelling, cursor)).status).toBe(200);
      expect(await readPage('-id', cursor)).toMatchObject(CURSOR_REFUSAL);
    }
  });

  it('is refused when it was changed or made up', async () => {
    const table = await createFilledTable([{}, {}, {}], makeColumn('v'));
    const { next_cursor: cursor } = (await table.rows('?cursor=&per_page=1')).body;
    const at = cursor.length - 5;
    const flippedCursor = cursor.slice(0, at) + (cursor[at] === 'A' ? 'B' : 'A') + cursor.slice(at + 1);
    for (const invalidCursor of [
      flippedCursor,
      cursor.slice(0, -1),
      `${cursor}A`,
      'x',
      'v1:x:y',
      cursor.replace(/^v\d+/, 'v9'),
      '{}',
    ]) {
      expect(await table.rows(formatQuery({ cursor: invalidCursor }))).toMatchObject(CURSOR_REFUSAL);
    }
    expect((await table.rows(formatQuery({ cursor: 'x'.repeat(8193) }))).status).toBe(422);
    expect((await table.rows(formatQuery({ cursor: 'x', page: '1' }))).status).toBe(422);
  });

  it('is refused when its column was converted after it was issued', async () => {
    const table = await createFilledTable([{ v: '1' }, { v: '2' }], makeColumn('v'));
    const { next_cursor: cursor } = (await table.rows('?cursor=&per_page=1&sort_by=v')).body;
    expect((await table.put({ columns: [makeColumn('v', 'integer')] })).status).toBe(200);
    expect(await table.rows(formatQuery({ cursor, per_page: '1', sort_by: 'v' }))).toMatchObject(CURSOR_REFUSAL);
  });
});

describe('the query plan of a page of rows', () => {
  const columns: TableColumnDefinition[] = [{ name: 'k', display_name: 'k', type: 'integer', nullable: true }];
  const CURSOR_POSITION = { id: '00000000-0000-7000-8000-000000000000', key: '77' };

  beforeAll(async () => {
    const table = createTableClient(company.as, await createTable(company.as, 'large', columns));
    await runInCompanyDatabase(company.id, async (database) => {
      await database.execute('INSERT INTO "public"."large" ("k") SELECT n / 4 FROM generate_series(1, 20000) AS n');
      await database.execute('INSERT INTO "public"."large" SELECT FROM generate_series(1, 1000)');
    });
    expect((await table.index(['k'])).status).toBe(201);
    await runInCompanyDatabase(company.id, (database) =>
      database.executeOutsideTransaction('VACUUM ANALYZE "public"."large"', 10_000),
    );
  });

  async function explainStatement({ text, values }: Statement): Promise<string> {
    const rows = await runInCompanyDatabase(company.id, (database) =>
      database.query<Record<string, string>>(`EXPLAIN (COSTS OFF) ${text}`, values),
    );
    return rows.map((row) => row['QUERY PLAN']).join('\n');
  }

  const makePageSource = (filter: SentFilter[], sortBy?: string): PageSource => ({
    ...checkSelection({ filter, search: '' }, columns),
    table: 'large',
    order: parseSort(sortBy, columns),
    maxBytes: 1000,
  });

  it.each([
    ['k', 'eq', '77', /Index Cond: \(k = '77'/],
    ['k', 'in', '77,78', /Index Cond: \(k = ANY/],
    ['k', 'gte', '4990', /Index Cond: \(k >= '4990'/],
    ['k', 'lt', '10', /Index Cond: \(k < '10'/],
    ['id', 'eq', CURSOR_POSITION.id, /Index Cond: \(id = '0/],
  ])(
    'for the filter %s %s %s uses an index, and so does the query plan of their count',
    async (column, operator, value, index) => {
      const page = makePageSource([{ column, operator, value }]);
      const window = { limit: 50, offset: 0, isFromEnd: false };
      for (const statement of [selectRowWindow(page, window), countRows('large', page.rowSelection)]) {
        const plan = await explainStatement(statement);
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
    const first = await explainStatement(selectFollowingRows(makePageSource([], order), 50, null));
    expect(first).toMatch(new RegExp(`Index (Only )?Scan (Backward )?using "?${name}\\$`));
    const positionAfter = order?.includes('k') ? CURSOR_POSITION : { ...CURSOR_POSITION, key: null };
    const nextPlan = await explainStatement(selectFollowingRows(makePageSource([], order), 50, positionAfter));
    expect(nextPlan).toMatch(index);
  });

  it('by cursor among rows without a value starts in the index at the row of the cursor', async () => {
    const positionAfter = { ...CURSOR_POSITION, key: null };
    const plan = await explainStatement(selectFollowingRows(makePageSource([], 'k'), 50, positionAfter));
    expect(plan).toMatch(/Index Cond: \(\(k IS NULL\) AND \(id > '0/);
  });

  it('by cursor at the end of a large table reads as few blocks as at its beginning', async () => {
    const countBlocks = async (after: RowPosition | null, sortBy: string) => {
      const { text, values } = selectFollowingRows(makePageSource([], sortBy), 50, after);
      const [row] = await runInCompanyDatabase(company.id, (database) =>
        database.query<Record<string, [{ Plan: Record<string, number> }]>>(
          `EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) ${text}`,
          values,
        ),
      );
      const { Plan } = row?.['QUERY PLAN']?.[0] ?? {};
      return Number(Plan?.['Shared Hit Blocks']) + Number(Plan?.['Shared Read Blocks']);
    };
    const middleRow = (await runInCompanyDatabase(company.id, (database) =>
      database.query<{ id: string; k: string }>('SELECT "id", "k" FROM "public"."large" WHERE "k" = 4900 LIMIT 1'),
    )) as [{ id: string; k: string }];
    const [{ id, k: key }] = middleRow;
    for (const sortBy of ['id', 'k', '-k']) {
      const first = await countBlocks(null, sortBy);
      expect(await countBlocks({ id, key: sortBy === 'id' ? null : key }, sortBy)).toBeLessThanOrEqual(first * 1.5);
    }
  });
});
