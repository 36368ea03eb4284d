import { describe, expect, it } from 'vitest';
import { createProvisionedCompany } from '../support/companies.ts';
import { createTable, createTableClient, makeColumn, runInCompanyDatabase } from './support.ts';

const TABLES_PATH = '/v1/managed-tables';

const company = await createProvisionedCompany();

const postTable = (display_name: unknown, columns: unknown) =>
  company.as.post(TABLES_PATH, { json: { display_name, columns } });

describe('the creation of a table', () => {
  it('returns the record of the table', async () => {
    const columns = [makeColumn('name', 'text', false), makeColumn('price', 'decimal')];
    const { status, body } = await postTable('products', columns);
    expect(status).toBe(201);
    expect(body).toStrictEqual({
      _id: expect.stringMatching(/^[a-f0-9]{24}$/),
      company_id: company.id,
      connection_id: (await company.as.get(`${TABLES_PATH}/status`)).body.connection_id,
      display_name: 'products',
      columns,
      source: 'manual',
      status: 'active',
      row_count: 0,
      created_by_user_id: company.owner.id,
      created_at: expect.stringMatching(/^\d{4}-\d{2}-\d{2}T[\d:.]+Z$/),
      updated_at: body.created_at,
    });
    expect((await company.as.get(`${TABLES_PATH}/${body._id}`)).body).toStrictEqual(body);
  });

  it.each([
    'select',
    'user',
    'table',
    '_',
    'id',
    'ctid',
    'pg_class',
    'text',
    'x'.repeat(63),
    // Names that Postgres would give to an index and to a type of the table above.
    'products_pkey',
    '_products',
  ])('accepts the name %s for a table and for a column', async (name) => {
    const id = await createTable(company.as, name, [makeColumn(name === 'id' || name === 'ctid' ? 'x' : name)]);
    const table = createTableClient(company.as, id);
    expect((await table.insert([{}])).status).toBe(201);
    expect((await table.rows()).body.total).toBe(1);
  });

  it('accepts columns whose names JavaScript treats specially', async () => {
    const names = ['__proto__', 'constructor', 'c0', 'c1', 'bytes', 'page', 'source', 'sent'];
    const id = await createTable(
      company.as,
      'special',
      names.map((name) => makeColumn(name)),
    );
    const table = createTableClient(company.as, id);
    const row = `{${names.map((name) => `"${name}":"${name}!"`).join(',')}}`;
    const insertionAnswer = await company.as.post(`${TABLES_PATH}/${id}/data`, {
      body: `{"rows":[${row}]}`,
      headers: { 'content-type': 'application/json' },
    });
    expect(insertionAnswer.status).toBe(201);
    for (const name of names) {
      const [record] = (await table.rows(`?sort_by=-${name}`)).body.records;
      expect(Object.getOwnPropertyDescriptor(record, name)?.value).toBe(`${name}!`);
    }
  });

  it.each([
    ['', 'an empty name'],
    ['x'.repeat(64), '64 characters'],
    ['Sales', 'upper case'],
    ['1st', 'a leading digit'],
    ['vendas_são', 'an accent'],
    ['a b', 'a space'],
    ['a"; drop table x; --', 'SQL'],
    ['a\n', 'a line end'],
  ])('refuses %j as a name (%s)', async (name) => {
    const tableAnswer = await postTable(name, [makeColumn('a')]);
    expect(tableAnswer.status).toBe(422);
    expect(tableAnswer.body.details).toContainEqual(expect.objectContaining({ field: 'display_name' }));
    const columnAnswer = await postTable('fine', [{ ...makeColumn('a'), name }]);
    expect(columnAnswer.status).toBe(422);
    expect(columnAnswer.body.details).toContainEqual(expect.objectContaining({ field: 'columns.0.name' }));
    expect(columnAnswer.body.error).toBe('Os dados enviados são inválidos.');
  });

  it.each(['id', 'ctid', 'xmin', 'xmax', 'cmin', 'cmax', 'tableoid'])(
    'refuses the reserved column %s',
    async (name) => {
      expect((await postTable('fine', [makeColumn(name)])).status).toBe(422);
    },
  );

  it('refuses no columns, two of the same name and unknown types', async () => {
    expect((await postTable('fine', [])).status).toBe(422);
    const repeatedColumnAnswer = await postTable('fine', [makeColumn('a'), makeColumn('b'), makeColumn('a')]);
    expect(repeatedColumnAnswer.body.details).toStrictEqual([
      { field: 'columns.2.name', reason: 'taken', message: 'é usado por outra coluna' },
    ]);
    expect((await postTable('fine', [makeColumn('a', 'varchar')])).status).toBe(422);
    expect((await postTable('fine', [{ ...makeColumn('a'), display_name: 'a\0' }])).status).toBe(422);
    expect((await company.as.get(`${TABLES_PATH}?search=fine`)).body.total).toBe(0);
  });

  it('creates a table of 1,000 columns, and refuses 1,001', async () => {
    const columns = Array.from({ length: 1001 }, (_, index) => makeColumn(`c${index}`, 'integer'));
    const id = await createTable(company.as, 'wide', columns.slice(0, 1000));
    expect((await createTableClient(company.as, id).insert([{ c0: 1, c999: 2 }])).status).toBe(201);
    const [row] = (await createTableClient(company.as, id).rows()).body.records;
    expect([row.c0, row.c1, row.c999]).toStrictEqual([1, null, 2]);
    expect((await postTable('wider', columns)).status).toBe(422);
  });

  it('accepts the name of a deleted table', async () => {
    let id = await createTable(company.as, 'once', [makeColumn('a')]);
    const takenNameAnswer = await postTable('once', [makeColumn('a')]);
    expect([takenNameAnswer.status, takenNameAnswer.body.error_code]).toStrictEqual([
      400,
      'MANAGED_TABLE_DUPLICATE_NAME',
    ]);
    for (let attempt = 0; attempt < 3; attempt++) {
      expect((await company.as.delete(`${TABLES_PATH}/${id}`)).status).toBe(204);
      id = await createTable(company.as, 'once', [makeColumn('b', 'integer')]);
    }
  });
});

it('a view in the database that an operator made prevents the creation of a table with its name, and the renaming of a table to it', async () => {
  const takenNameError = { status: 400, body: { error_code: 'MANAGED_TABLE_DUPLICATE_NAME' } };
  const table = createTableClient(company.as, await createTable(company.as, 'beside_a_view', [makeColumn('a')]));
  await runInCompanyDatabase(company.id, (database) =>
    database.execute('CREATE VIEW public.a_view AS SELECT 1 AS one'),
  );
  expect(await postTable('a_view', [makeColumn('a')])).toMatchObject(takenNameError);
  expect(await table.put({ display_name: 'a_view', columns: [makeColumn('b')] })).toMatchObject(takenNameError);
  expect((await table.get()).body).toMatchObject({ display_name: 'beside_a_view', columns: [makeColumn('a')] });
  expect((await company.as.get(`${TABLES_PATH}?search=a_view`)).body.total).toBe(1);
});

it('a table that an operator dropped in the database still prevents the creation of another table with its name', async () => {
  const table = createTableClient(company.as, await createTable(company.as, 'without_relation', [makeColumn('a')]));
  await runInCompanyDatabase(company.id, (database) => database.execute('DROP TABLE public.without_relation'));
  expect(await postTable('without_relation', [makeColumn('a')])).toMatchObject({
    status: 400,
    body: { error_code: 'MANAGED_TABLE_DUPLICATE_NAME' },
  });
  expect((await table.get()).status).toBe(200);
});

describe('the list of tables', () => {
  it('is searched literally and case-insensitively, and answered in pages with an exact total, newest first', async () => {
    const other = await createProvisionedCompany();
    for (const name of ['sales_2023', 'sales_2024', 'salesx2024', 'costs'])
      await createTable(other.as, name, [makeColumn('a')]);
    const readList = async (query: string) => (await other.as.get(`${TABLES_PATH}${query}`)).body;
    const listNames = async (query: string) =>
      (await readList(query)).records.map((table: { display_name: string }) => table.display_name);

    expect(await listNames('')).toStrictEqual(['costs', 'salesx2024', 'sales_2024', 'sales_2023']);
    expect(await listNames('?search=SALES_')).toStrictEqual(['sales_2024', 'sales_2023']);
    expect(await listNames('?search=%25')).toStrictEqual([]);
    expect(await listNames(`?search=${encodeURIComponent("' OR 1=1 --")}`)).toStrictEqual([]);
    expect(await readList('?per_page=2&page=2')).toMatchObject({ total: 4, quantity: 2 });
    expect(await readList('?per_page=2&page=3')).toStrictEqual({ total: 4, quantity: 0, records: [] });
    expect(await listNames('?per_page=3&page=2&search=s')).toStrictEqual(['sales_2023']);
  });

  it.each(['per_page=0', 'per_page=101', 'per_page=1.5', 'page=0', 'page=1e3', 'search=%00'])(
    'refuses %s',
    async (query) => {
      expect((await company.as.get(`${TABLES_PATH}?${query}`)).status).toBe(422);
    },
  );
});

describe('a table', () => {
  it.each(['x', 'a'.repeat(23), 'A'.repeat(24), "1' OR '1'='1", '%00', '1; DROP TABLE x'])(
    'is answered 404 under the malformed id %j',
    async (id) => {
      const answer = await company.as.get(`${TABLES_PATH}/${encodeURIComponent(id).replace('%2500', '%00')}`);
      expect(answer.status).toBe(404);
    },
  );
});

describe('the truncation and the deletion of a table', () => {
  it('keep the table and its columns when it is truncated', async () => {
    const table = createTableClient(
      company.as,
      await createTable(company.as, 'emptied', [makeColumn('a', 'integer', false)]),
    );
    await table.insert([{ a: 1 }, { a: 2 }]);
    expect((await table.truncate()).body).toStrictEqual({ row_count: 0 });
    expect((await table.rows()).body).toStrictEqual({ total: 0, quantity: 0, records: [] });
    expect((await table.get()).body).toMatchObject({ row_count: 0, columns: [makeColumn('a', 'integer', false)] });
    expect((await table.insert([{ a: 3 }])).status).toBe(201);
    expect((await table.insert([{}])).status).toBe(422);
  });

  it('make the table answer 404 once it is deleted', async () => {
    const table = createTableClient(company.as, await createTable(company.as, 'deleted', [makeColumn('a')]));
    expect((await table.delete()).status).toBe(204);
    for (const answer of [await table.get(), await table.rows(), await table.insert([{}]), await table.delete()]) {
      expect(answer.status).toBe(404);
    }
    expect((await company.as.get(`${TABLES_PATH}?search=deleted`)).body.total).toBe(0);
  });
});
