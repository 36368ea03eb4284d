import { describe, expect, it } from 'vitest';
import { createProvisionedCompany } from '../support/companies.ts';
import { createTable, createTableClient, listValues, makeColumn, runInCompanyDatabase } from './support.ts';

const SAMPLE_ROWS = [
  { n: 1, t: 'São Paulo', i: 10, d: 1.5, b: true, day: '2024-01-31', at: '2024-01-31T10:00:00Z' },
  { n: 2, t: 'são joão', i: -3, d: '0.10', b: false, day: '2024-02-29', at: '2024-02-29T00:00:00.000001Z' },
  { n: 3, t: '100% _real_ \\n', i: '9223372036854775807', d: '1e30', b: null, day: null, at: null },
  { n: 4, t: 'a,b "c"', i: null, d: null, b: true, day: '0001-01-01', at: '9999-12-31T23:59:59Z' },
  { n: 5, t: '', i: 0, d: 0, b: false, day: '9999-12-31', at: '2024-01-31T07:00:00-03:00' },
  { n: 6, t: null, i: 10, d: 1.5, b: null, day: '2024-01-31', at: null },
  { n: 7, t: 'STRASSE .* ^x$', i: null, d: '-2', b: true, day: null, at: null },
];

const company = await createProvisionedCompany();
const id = await createTable(company.as, 'filtered', [
  makeColumn('n', 'integer'),
  makeColumn('t'),
  makeColumn('i', 'integer'),
  makeColumn('d', 'decimal'),
  makeColumn('b', 'boolean'),
  makeColumn('day', 'date'),
  makeColumn('at', 'datetime'),
  makeColumn('__proto__'),
  makeColumn('select', 'text'),
]);
const table = createTableClient(company.as, id);
const rows = SAMPLE_ROWS.map((row) => ({ ...row, select: `x${row.n}` }));
expect((await table.insert(rows)).status).toBe(201);
const ids = listValues(await table.rows(), 'id') as string[];

const formatQuery = (parameters: [string, string][]) => `?${new URLSearchParams(parameters)}`;
/** Parses filters that are written as `column op value`. */
const parseFilters = (...filterTexts: string[]): [string, string][] =>
  filterTexts.map((text) => {
    const [, name, operator, value] = /^(\w+) (\w+) ?(.*)$/s.exec(text) as unknown as [string, string, string, string];
    return [`filter[${name}][${operator}]`, value];
  });

async function findRows(...filterTexts: string[]): Promise<unknown[]> {
  const answer = await table.rows(formatQuery(parseFilters(...filterTexts)));
  expect([answer.status, answer.body.total]).toEqual([200, answer.body.records?.length]);
  return listValues(answer, 'n');
}

describe('a filter of rows', () => {
  it.each([
    ['t eq são joão', [2]],
    ['t eq ', [5]],
    ['t ne São Paulo', [2, 3, 4, 5, 6, 7]],
    ['t gt b', [2]],
    ['i eq 10', [1, 6]],
    ['i eq +10', [1, 6]],
    ['i eq 9223372036854775807', [3]],
    ['i ne 10', [2, 3, 4, 5, 7]],
    ['i gt 0', [1, 3, 6]],
    ['i gte 0', [1, 3, 5, 6]],
    ['i lt 0', [2]],
    ['i lte 0', [2, 5]],
    ['i in 10,0', [1, 5, 6]],
    ['i nin 10,0', [2, 3, 4, 7]],
    ['d eq 1.50', [1, 6]],
    ['d gte 1e30', [3]],
    ['d in 0.1,-2', [2, 7]],
    ['b eq true', [1, 4, 7]],
    ['b ne true', [2, 3, 5, 6]],
    ['b in true,false', [1, 2, 4, 5, 7]],
    ['day eq 2024-01-31', [1, 6]],
    ['day lt 2024-01-01', [4]],
    ['day nin 2024-01-31,9999-12-31', [2, 3, 4, 7]],
    ['at eq 2024-01-31T10:00:00Z', [1, 5]],
    // A day that ends a range is meant whole.
    ['at gt 2024-02-29', [4]],
    ['at gt 2024-02-29T00:00:00Z', [2, 4]],
    ['at lte 2024-02-29', [1, 2, 5]],
    ['at lte 2024-02-29T00:00:00Z', [1, 5]],
    ['at gte 2024-02-29', [2, 4]],
    ['at lt 2024-02-29', [1, 5]],
    ['at lte 9999-12-31', [1, 2, 4, 5]],
    ['day lte 2024-01-31', [1, 4, 6]],
    ['t gt 2024-02-29', [1, 2, 4, 7]],
    ['at is_null true', [3, 6, 7]],
    ['at is_null false', [1, 2, 4, 5]],
    ['t is_null true', [6]],
    ['t in "a,b ""c""",', [4, 5]],
    ['t in são joão, São Paulo', [2]],
    ['t nin "a,b ""c""",são joão', [1, 3, 5, 6, 7]],
    ['t contains SÃO', [1, 2]],
    ['t contains straße', [7]],
    ['t contains 0%', [3]],
    ['t contains %', [3]],
    ['t contains _real_', [3]],
    ['t contains \\n', [3]],
    ['t contains .*', [7]],
    ['t contains ', [1, 2, 3, 4, 5, 7]],
    ['t starts_with são', [1, 2]],
    ['t starts_with _', []],
    ['t starts_with ^', []],
    ['__proto__ is_null true', [1, 2, 3, 4, 5, 6, 7]],
    ['__proto__ eq x', []],
    ['select eq x3', [3]],
  ])('%s finds %j', async (filterText, expected) => {
    expect(await findRows(filterText)).toEqual(expected);
  });

  it('combines with other filters by AND, also of the same column and operator', async () => {
    expect(await findRows('i gte 0', 'b is_null false')).toEqual([1, 5]);
    expect(await findRows('i gte 0', 'i gte 10', 'i lt 11')).toEqual([1, 6]);
    expect(await findRows('t contains são', 't contains paulo')).toEqual([1]);
    expect(await findRows('n eq 1', 'n eq 2')).toEqual([]);
  });

  it.each([
    [{ i: { gte: 0 } }, [1, 3, 5, 6]],
    [{ i: { gte: '0', lt: 11 }, b: { is_null: false } }, [1, 5]],
    [{ i: { in: [10, 0] } }, [1, 5, 6]],
    [{ i: { in: '10,0' } }, [1, 5, 6]],
    [{ t: { in: ['a,b "c"', ''] } }, [4, 5]],
    [{ t: { contains: ['são', 'paulo'] } }, [1]],
    [{ b: { eq: true } }, [1, 4, 7]],
    [{}, [1, 2, 3, 4, 5, 6, 7]],
  ])('may be written as JSON: %j finds %j', async (filter, expected) => {
    const answer = await table.rows(formatQuery([['filter', JSON.stringify(filter)]]));
    expect([answer.status, listValues(answer, 'n')]).toEqual([200, expected]);
  });

  it('keeps every digit of a number in JSON, and may name a column __proto__', async () => {
    const findByJson = async (json: string) => listValues(await table.rows(formatQuery([['filter', json]])), 'n');
    expect(await findByJson('{"i":{"eq":9223372036854775807}}')).toEqual([3]);
    expect(await findByJson('{"i":{"gt":9223372036854775806}}')).toEqual([3]);
    expect(await findByJson('{"__proto__":{"eq":"x"}}')).toEqual([]);
  });

  it('may combine both of its forms', async () => {
    const combinedAnswer = await table.rows(
      formatQuery([['filter', '{"i":{"gte":0}}'], ...parseFilters('i lt 11', 'b is_null false')]),
    );
    expect(listValues(combinedAnswer, 'n')).toEqual([1, 5]);
  });

  it('may be written as JSON for an export too', async () => {
    const { status, body } = await table.export(
      formatQuery([
        ['filter', '{"n":{"eq":3}}'],
        ['fields', 'n'],
      ]),
    );
    expect([status, body]).toEqual([200, `id,n\r\n${ids[2]},3\r\n`]);
  });

  it.each([
    ['1', 'filter'],
    ['', 'filter'],
    ['{"i":{"gte":0}', 'filter'],
    ['[]', 'filter'],
    ['null', 'filter'],
    ['{"i":1}', 'filter[i]'],
    ['{"i":{"eq":null}}', 'filter[i][eq]'],
    ['{"i":{"eq":{}}}', 'filter[i][eq]'],
    ['{"i":{"in":[]}}', 'filter[i][in]'],
    ['{"i":{"in":[[1]]}}', 'filter[i][in]'],
    ['{"i":{"eq":"x"}}', 'filter[i][eq]'],
    ['{"nope":{"eq":1}}', 'filter[nope][eq]'],
    ['{"i":{"like":1}}', 'filter[i][like]'],
    ['{"b":{"is_null":"yes"}}', 'filter[b][is_null]'],
  ])('as the JSON %s is refused with the name of the field', async (json, field) => {
    const { status, body } = await table.rows(formatQuery([['filter', json]]));
    expect([status, body.details]).toEqual([
      422,
      [expect.objectContaining({ field, message: expect.stringMatching(/\w{3}/) })],
    ]);
  });

  it('finds rows by id', async () => {
    const [first, , third] = ids as [string, string, string];
    expect(await findRows(`id eq ${first.toUpperCase()}`)).toEqual([1]);
    expect(await findRows(`id in ${third},${first},00000000-0000-0000-0000-000000000000`)).toEqual([1, 3]);
  });

  it('keeps the total and the pages exact', async () => {
    const readPage = (number: number) =>
      table.rows(
        formatQuery([...parseFilters('i is_null false'), ['per_page', '2'], ['page', `${number}`], ['sort_by', '-i']]),
      );
    const pages = [await readPage(1), await readPage(2), await readPage(3), await readPage(4)];
    expect(pages.map(({ body }) => body.total)).toEqual([5, 5, 5, 5]);
    expect(pages.map((answer) => listValues(answer, 'n'))).toEqual([[3, 1], [6, 5], [2], []]);
  });

  it.each([
    ['nope eq 1', 'filter[nope][eq]'],
    ['toString eq 1', 'filter[toString][eq]'],
    ['i like 1', 'filter[i][like]'],
    ['i constructor 1', 'filter[i][constructor]'],
    ['i contains 1', 'filter[i][contains]'],
    ['at starts_with 2024', 'filter[at][starts_with]'],
    ['i eq ', 'filter[i][eq]'],
    ['i eq 1.5', 'filter[i][eq]'],
    ['i eq 9223372036854775808', 'filter[i][eq]'],
    ['i in 1, 2', 'filter[i][in]'],
    ['i in 1,', 'filter[i][in]'],
    ['i eq 1 OR 1=1', 'filter[i][eq]'],
    ['d gt NaN', 'filter[d][gt]'],
    ['b eq yes', 'filter[b][eq]'],
    ['b gt 1', 'filter[b][gt]'],
    ['day lt 2024-02-30', 'filter[day][lt]'],
    ['at gt yesterday', 'filter[at][gt]'],
    ['t is_null', 'filter[t][is_null]'],
    ['t is_null TRUE', 'filter[t][is_null]'],
    ['t eq \0', 'filter[t][eq]'],
    ['t in "a', 'filter[t][in]'],
    ['t in a"b', 'filter[t][in]'],
    ['t in "a"b', 'filter[t][in]'],
    ['id eq 1', 'filter[id][eq]'],
    ['id ne 00000000-0000-0000-0000-000000000000', 'filter[id][ne]'],
    ['id is_null false', 'filter[id][is_null]'],
  ])('%s is refused with the name of the field', async (filterText, field) => {
    const { status, body } = await table.rows(formatQuery(parseFilters(filterText)));
    expect([status, body.details]).toEqual([
      422,
      [expect.objectContaining({ field, message: expect.stringMatching(/\w{3}/) })],
    ]);
  });

  it('is accepted up to 50 times and with up to 1,000 list values, and refused far beyond either limit', async () => {
    const makeManyFilters = (count: number) => parseFilters(...Array.from({ length: count }, () => 'i gt 1'));
    expect((await table.rows(formatQuery(makeManyFilters(50)))).status).toBe(200);
    expect(await table.rows(formatQuery(makeManyFilters(200)))).toMatchObject({
      status: 422,
      body: { details: [{ field: 'filter' }] },
    });
    const makeListFilter = (count: number) =>
      formatQuery(parseFilters(`i in ${Array.from({ length: count }, (_, at) => at).join(',')}`));
    expect(listValues(await table.rows(makeListFilter(1000)), 'n')).toEqual([1, 5, 6]);
    const tooLongAnswer = await table.rows(makeListFilter(10_000));
    expect(tooLongAnswer).toMatchObject({ status: 422, body: { details: [{ field: 'filter[i][in]' }] } });
  });

  it.each([
    'filter=1',
    'filter[i]=1',
    'filter[i][eq][x]=1',
    'filter[i][]=1',
    'filter[[i]][eq]=1',
    'filter%5Bi%5D%5Beq%5D=x',
    'filters[i][eq]=1',
    'where=1',
    'sort_by=i&sort_by=n',
    'page=2&cursor=',
    'count=yes',
    'fields=nope',
    'fields=',
    'fields=n,,t',
    'search=%00',
    'search=%ED%A0%80',
    'filter[t][eq]=%ED%A0%80',
    'filter[t][in]=a,%ED%B0%80',
    'filter[t][eq]=a?&search=%ED%A0%80',
    `search=${'x'.repeat(1001)}`,
    '__proto__=1',
  ])('the query %s is refused', async (queryText) => {
    const { status, body } = await table.rows(`?${queryText}`);
    expect([status, body.details?.length]).toEqual([422, 1]);
  });

  // What clients write that know deep objects of one level only.
  it('is refused with the correct syntax when a client sent [object Object]', async () => {
    const { status, body } = await table.rows('?filter[i]=[object Object]');
    const message =
      'deve ser escrito como filter[column][operator]=value, ou como JSON: filter={"column":{"operator":value}}';
    expect([status, body.details]).toMatchObject([422, [{ field: 'filter[i]', message }]]);
  });
});

it('a search of rows that takes too long is refused with MANAGED_TABLE_QUERY_TIMEOUT', async () => {
  const slowTable = createTableClient(company.as, await createTable(company.as, 'slow', [makeColumn('t')]));
  await runInCompanyDatabase(company.id, (database) =>
    database.query(`ALTER TABLE public.slow RENAME TO "slow$"; CREATE VIEW public.slow AS
      SELECT uuidv7() AS id, pg_sleep(60)::text AS t`),
  );
  const { status, body } = await slowTable.rows('?search=x');
  expect([status, body.error_code]).toEqual([422, 'MANAGED_TABLE_QUERY_TIMEOUT']);
});

describe('the parameter search of the list of rows', () => {
  it.each([
    ['são', [1, 2]],
    ['X4', [4]],
    ['%', [3]],
    ['100% _', [3]],
    ["'; --", []],
    ['10', [3]],
  ])('finds %s in any text column', async (text, expected) => {
    const answer = await table.rows(formatQuery([['search', text]]));
    expect([listValues(answer, 'n'), answer.body.total]).toEqual([expected, expected.length]);
  });

  it('may have a percent sign that encodes nothing', async () => {
    expect(listValues(await table.rows('?search=%'), 'n')).toEqual([3]);
    expect(listValues(await table.rows('?search=100%%20_'), 'n')).toEqual([3]);
  });

  it('finds nothing in a table without text', async () => {
    const numberTable = createTableClient(
      company.as,
      await createTable(company.as, 'numbers', [makeColumn('n', 'integer')]),
    );
    await numberTable.insert([{ n: 1 }]);
    expect((await numberTable.rows('?search=1')).body).toMatchObject({ total: 0, records: [] });
    expect((await numberTable.rows('?search=')).body.total).toBe(1);
  });
});

it('the parameter fields of the list of rows selects the fields, and their order, after the id', async () => {
  const { body } = await table.rows('?fields=i,n,i&per_page=1&sort_by=-n');
  expect(Object.entries(body.records[0])).toEqual([
    ['id', ids[6]],
    ['i', null],
    ['n', 7],
  ]);
  expect((await table.rows('?fields=id&per_page=1')).body.records).toEqual([{ id: ids[0] }]);
});

it('a single row is read by its id', async () => {
  const { body } = await table.rows('?per_page=1');
  expect(await table.row(ids[0] as string)).toMatchObject({ status: 200, body: body.records[0] });
  for (const id of ['00000000-0000-0000-0000-000000000000', 'x', `${ids[0]}0`]) {
    expect((await table.row(id)).status).toBe(404);
  }
});
