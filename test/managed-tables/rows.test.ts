import { describe, expect, it } from 'vitest';
import type { ApiResponse } from '../support/api.ts';
import { createProvisionedCompany } from '../support/companies.ts';
import { runBeforeNextStatement } from '../support/tunnel.ts';
import { createTable, createTableClient, listValues, makeColumn, runInCompanyDatabase } from './support.ts';

const UUID_V7_PATTERN = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
let createdCount = 0;

const company = await createProvisionedCompany();

const createFreshTable = async (...columns: ReturnType<typeof makeColumn>[]) =>
  createTableClient(company.as, await createTable(company.as, `t${++createdCount}`, columns));

describe('the insertion of rows', () => {
  it('keeps values of every type exactly, at their limits and in their order', async () => {
    const table = await createFreshTable(
      makeColumn('t'),
      makeColumn('i', 'integer'),
      makeColumn('d', 'decimal'),
      makeColumn('b', 'boolean'),
      makeColumn('day', 'date'),
      makeColumn('at', 'datetime'),
    );
    const rows = [
      {
        t: 'São Paulo 東京 🎉 " \\ \n',
        i: 9007199254740991,
        d: 0.1,
        b: true,
        day: '2024-02-29',
        at: '2024-01-31T13:45:00-03:00',
      },
      {
        t: '',
        i: '9223372036854775807',
        d: '123456789012345678901234567890.123456789',
        b: 'false',
        day: '0001-01-01',
        at: '0001-01-01',
      },
      {
        t: "'); DROP TABLE x; --",
        i: '-9223372036854775808',
        d: '1e-30',
        b: false,
        day: '9999-12-31',
        at: '9999-12-31T23:59:59.999999Z',
      },
      { t: 'null', i: null, d: null, b: null, day: null, at: null },
      {},
    ];
    expect(await table.insert(rows)).toMatchObject({ status: 201, body: { inserted: 5 } });
    const answer = await table.rows();
    expect(answer.body).toMatchObject({ total: 5, quantity: 5 });
    const records = answer.body.records.map(({ id, ...rest }: { id: string }) => {
      expect(id).toMatch(UUID_V7_PATTERN);
      return rest;
    });
    const nullRow = { t: null, i: null, d: null, b: null, day: null, at: null };
    expect(records).toStrictEqual([
      { ...rows[0], at: '2024-01-31T16:45:00.000Z' },
      { ...rows[1], b: false, at: '0001-01-01T00:00:00.000Z' },
      { ...rows[2], d: 1e-30 },
      { ...nullRow, t: 'null' },
      nullRow,
    ]);
    expect((await table.get()).body.row_count).toBe(5);
  });

  it('accepts the values that it returned', async () => {
    const table = await createFreshTable(
      makeColumn('i', 'integer'),
      makeColumn('d', 'decimal'),
      makeColumn('at', 'datetime'),
    );
    const at = '2024-01-31T00:00:00.000001Z';
    await table.insert([
      { i: '9007199254740993', d: '0.10000000000000000001', at },
      { i: 1, d: '6.02214076e+23', at: '9999-12-31T23:59:59.999999Z' },
      { i: -1, d: '-1.5e-300', at: '0001-01-01T00:00:00Z' },
      { i: 0, d: '179769313486231570000000000e282', at },
    ]);
    const { records } = (await table.rows()).body;
    expect(records[1].d).toBe(6.02214076e23);
    for (const { id, ...row } of records) {
      const { status, body } = await table.updateRow(id, row);
      expect({ status, body }).toStrictEqual({ status: 200, body: { id, ...row } });
    }
  });

  it('keeps every digit of a JSON number', async () => {
    const id = await createTable(company.as, 'digits', [
      makeColumn('i', 'integer'),
      makeColumn('d', 'decimal'),
      makeColumn('t', 'text'),
    ]);
    const body =
      '{"rows":[{"i":9223372036854775807,"d":0.1234567890123456789},{"i":9007199254740993,"d":1e20},{"d":1e-400}]}';
    const headers = { 'content-type': 'application/json' };
    expect((await company.as.post(`/v1/managed-tables/${id}/data`, { body, headers })).status).toBe(201);
    const answer = await createTableClient(company.as, id).rows();
    expect(listValues(answer, 'i')).toStrictEqual(['9223372036854775807', '9007199254740993', null]);
    expect(listValues(answer, 'd')).toStrictEqual(['0.1234567890123456789', 1e20, `0.${'0'.repeat(399)}1`]);
    const putPath = `/v1/managed-tables/${id}/data/${answer.body.records[0].id}`;
    const changeAnswer = await company.as.put(putPath, { body: '{"d":100000000000000000001}', headers });
    expect(changeAnswer.body.d).toBe('100000000000000000001');
    const tooLargeAnswer = await company.as.put(putPath, { body: '{"i":9223372036854775808}', headers });
    expect(tooLargeAnswer.status).toBe(422);
    const notTextAnswer = await company.as.put(putPath, { body: '{"t":12345678901234567890}', headers });
    expect(notTextAnswer.status).toBe(422);
  });

  it('names fields without lone surrogates in its error', async () => {
    const table = await createFreshTable(makeColumn('t'));
    const refusedAnswer = await table.insert([{ 'half \ud83d': 1, t: 'half \ud83d' }]);
    expect(refusedAnswer.status).toBe(422);
    expect(refusedAnswer.body.details).toMatchObject([
      { row: 0, field: 'half \ufffd' },
      { row: 0, field: 't' },
    ]);
  });

  it('reports each value that does not fit its column, with its row, and inserts nothing', async () => {
    const table = await createFreshTable(makeColumn('a', 'integer', false), makeColumn('b', 'date'));
    const refusedAnswer = await table.insert([
      { a: 1 },
      { a: null, b: '2024-02-30' },
      { b: null },
      { a: 1, id: 'x', nothing: 2 },
      'row',
      [1],
      null,
      { a: 1.5 },
    ]);
    expect(refusedAnswer.status).toBe(422);
    expect(refusedAnswer.body.error).toBe('Os dados enviados são inválidos.');
    const problemPlaces = refusedAnswer.body.details.map(({ row, field }: { row: number; field: string }) => [
      row,
      field,
    ]);
    expect(problemPlaces.slice(0, 5)).toStrictEqual([
      [1, 'a'],
      [1, 'b'],
      [2, 'a'],
      [3, 'id'],
      [3, 'nothing'],
    ]);
    expect(problemPlaces.slice(5)).toStrictEqual([
      [4, ''],
      [5, ''],
      [6, ''],
      [7, 'a'],
    ]);
    expect((await table.rows()).body.total).toBe(0);
    expect((await table.get()).body.row_count).toBe(0);
  });

  it('reports at most 100 problems', async () => {
    const table = await createFreshTable(makeColumn('a', 'integer'));
    const refusedAnswer = await table.insert(Array.from({ length: 200 }, () => ({ a: 'x' })));
    expect(refusedAnswer.body.details).toHaveLength(100);
    expect(refusedAnswer.body.details[99].row).toBe(99);
  });

  it('accepts 10,000 rows in their order, and refuses 10,001 rows, no rows, and a value that is not a list', async () => {
    const table = await createFreshTable(makeColumn('n', 'integer'));
    const rows = Array.from({ length: 10_001 }, (_, n) => ({ n }));
    expect((await table.insert(rows)).status).toBe(422);
    expect((await table.insert(rows.slice(0, 10_000))).body).toStrictEqual({ inserted: 10_000 });
    expect(listValues(await table.rows('?per_page=1000&page=1'), 'n')).toStrictEqual(
      rows.slice(0, 1000).map(({ n }) => n),
    );
    expect(listValues(await table.rows('?per_page=1000&page=10'), 'n')).toStrictEqual(
      rows.slice(9000, 10_000).map(({ n }) => n),
    );
    expect((await table.insert([])).status).toBe(422);
    expect((await table.insert({ n: 1 })).status).toBe(422);
    expect((await table.insert(undefined)).status).toBe(422);
  });

  it('writes rows that need several statements in their order, and writes all or none of them', async () => {
    const table = await createFreshTable(makeColumn('n', 'integer'), makeColumn('t'));
    expect((await table.index(['n'], true)).status).toBe(201);
    const rows = Array.from({ length: 500 }, (_, n) => ({ n, t: 'x'.repeat(10_000) }));
    expect((await table.insert([...rows, { n: 0 }])).status).toBe(409);
    expect((await table.rows()).body.total).toBe(0);
    expect((await table.insert(rows)).body).toStrictEqual({ inserted: 500 });
    expect(listValues(await table.rows('?per_page=500&fields=n'), 'n')).toStrictEqual(rows.map(({ n }) => n));
  });

  it('refuses nested values, too many fields and too long names with short errors', async () => {
    const table = await createFreshTable(makeColumn('t'));
    const members = Object.fromEntries(Array.from({ length: 2_001 }, (_, n) => [`x${n}`, 1]));
    const refusedAnswer = await table.insert([{ t: [{ a: 1 }] }, members, { ['é'.repeat(5_000)]: 1 }, 7]);
    expect(refusedAnswer.status).toBe(422);
    expect(refusedAnswer.body.details).toStrictEqual([
      { row: 0, field: 't', reason: 'type', message: 'deve ser um texto Unicode sem caracteres NUL' },
      { row: 1, field: '', reason: 'too_many', limits: { max: 2000 }, message: 'deve ter no máximo 2000 campos' },
      { row: 2, field: `${'é'.repeat(99)}…`, reason: 'unknown', message: 'não é uma coluna da tabela' },
      { row: 3, field: '', reason: 'type', message: 'deve ser um objeto de nomes de colunas e valores' },
    ]);
  });

  it('accepts a body of nearly 10 MiB, and refuses a larger one with 413', async () => {
    const table = await createFreshTable(makeColumn('t'));
    expect((await table.insert([{ t: 'x'.repeat(10 * 1024 * 1024 - 100) }])).status).toBe(201);
    expect((await table.insert([{ t: 'x'.repeat(10 * 1024 * 1024) }])).status).toBe(413);
    expect((await table.get()).body.row_count).toBe(1);
  });

  it('writes rows with large values one insert at a time in an isolate', async () => {
    const [table, other] = [await createFreshTable(makeColumn('t')), await createFreshTable(makeColumn('t'))];
    const largeRows = [{ t: 'x'.repeat(1024 * 1024) }];
    let secondInsert: Promise<ApiResponse> | undefined;
    const count = async () => (await other.get()).body.row_count;
    const { outcome } = await runBeforeNextStatement(company.id, /INSERT INTO "public"/, async () => {
      secondInsert = other.insert(largeRows);
      await other.insert([{ t: 'small' }]);
      await scheduler.wait(100);
      return count();
    });
    const first = await table.insert(largeRows);
    const answerMeanwhile = await outcome;
    expect([first.status, answerMeanwhile]).toEqual([201, 1]);
    expect([(await secondInsert)?.status, await count()]).toEqual([201, 2]);
  });

  it('refuses large values with 503 while as many other inserts wait as fit into memory', async () => {
    const table = await createFreshTable(makeColumn('t'));
    const largeRows = [{ t: 'x'.repeat(1024 * 1024) }];
    let pendingInserts: Promise<ApiResponse>[] = [];
    const { outcome } = await runBeforeNextStatement(company.id, /INSERT INTO "public"/, async () => {
      pendingInserts = Array.from({ length: 4 }, () => table.insert(largeRows));
      return Promise.race(pendingInserts);
    });
    expect((await table.insert(largeRows)).status).toBe(201);
    const refusedInsert = await outcome;
    expect([refusedInsert.status, refusedInsert.headers.get('retry-after')]).toEqual([503, '5']);
    const statuses = (await Promise.all(pendingInserts)).map(({ status }) => status);
    expect(statuses.toSorted()).toEqual([201, 201, 201, 503]);
  });

  it('refuses malformed JSON, another content type and a body that is no object', async () => {
    const id = await createTable(company.as, 'malformed', [makeColumn('a')]);
    const sendBody = (body: string, type = 'application/json') =>
      company.as.post(`/v1/managed-tables/${id}/data`, { body, headers: { 'content-type': type } });
    expect(await sendBody('{"rows": [')).toMatchObject({
      status: 400,
      body: { error: 'O corpo da requisição não é um JSON válido.' },
    });
    expect((await sendBody('{"rows":[{}]}', 'text/plain')).status).toBe(400);
    expect((await sendBody('[]')).status).toBe(422);
    expect((await sendBody('null')).status).toBe(422);
  });
});

describe('the update and the deletion of a row', () => {
  it('changes only the given fields, and returns the row', async () => {
    const table = await createFreshTable(makeColumn('a'), makeColumn('b', 'decimal'));
    await table.insert([{ a: 'one', b: '1.10' }, { a: 'two' }]);
    const [{ id }, otherRow] = (await table.rows()).body.records;
    expect(await table.updateRow(id, { b: '2.5' })).toMatchObject({ status: 200, body: { id, a: 'one', b: 2.5 } });
    expect((await table.updateRow(id.toUpperCase(), { a: null })).body).toStrictEqual({ id, a: null, b: 2.5 });
    expect((await table.rows()).body.records[1]).toStrictEqual(otherRow);
  });

  it('refuses an empty change, unknown fields, id, wrong values and null in columns that are not nullable', async () => {
    const table = await createFreshTable(makeColumn('a', 'integer', false));
    await table.insert([{ a: 1 }]);
    const [{ id }] = (await table.rows()).body.records;
    for (const [changes, field] of [
      [{}, ''],
      [{ x: 1 }, 'x'],
      [{ id: crypto.randomUUID() }, 'id'],
      [{ a: 'x' }, 'a'],
      [{ a: null }, 'a'],
    ] as const) {
      const refusedAnswer = await table.updateRow(id, changes);
      expect(refusedAnswer.status).toBe(422);
      expect(refusedAnswer.body.details).toStrictEqual([
        expect.objectContaining({ field, message: expect.any(String) }),
      ]);
    }
    expect((await table.updateRow(id, [])).status).toBe(422);
    expect((await table.rows()).body.records).toStrictEqual([{ id, a: 1 }]);
  });

  it('answers 404 for unknown rows, whatever their id looks like', async () => {
    const table = await createFreshTable(makeColumn('a'));
    await table.insert([{ a: 'x' }]);
    const [{ id }] = (await table.rows()).body.records;
    for (const rowId of [crypto.randomUUID(), 'x', '1', "'%20OR%20'1'='1", '%00', id.slice(0, 35)]) {
      expect(await table.updateRow(rowId, { a: 'y' })).toMatchObject({
        status: 404,
        body: { error: 'Linha não encontrada.' },
      });
      expect((await table.deleteRow(rowId)).status).toBe(404);
    }
    expect((await table.get()).body.row_count).toBe(1);
    expect((await table.deleteRow(id)).status).toBe(204);
    expect((await table.deleteRow(id)).status).toBe(404);
    expect((await table.get()).body.row_count).toBe(0);
  });
});

describe('the list of rows', () => {
  it('is sorted with nulls last and ties by insertion, in both directions and on every page', async () => {
    const table = await createFreshTable(makeColumn('n', 'integer'), makeColumn('c0'));
    const numbers = [3, null, 1, 3, null, 2, 1];
    await table.insert(numbers.map((n, index) => ({ n, c0: `r${index}` })));
    const readOrder = async (sortBy: string) => {
      const allValues = listValues(await table.rows(`?sort_by=${encodeURIComponent(sortBy)}`), 'c0');
      const pages = [];
      for (let page = 1; page <= 4; page++) {
        pages.push(
          ...listValues(await table.rows(`?sort_by=${encodeURIComponent(sortBy)}&per_page=2&page=${page}`), 'c0'),
        );
      }
      expect(pages).toStrictEqual(allValues);
      return allValues.join(' ');
    };
    expect(await readOrder('n')).toBe('r2 r6 r5 r0 r3 r1 r4');
    expect(await readOrder('n DESC')).toBe('r0 r3 r5 r2 r6 r1 r4');
    expect(await readOrder('-n')).toBe('r0 r3 r5 r2 r6 r1 r4');
    expect(await readOrder('c0 desc')).toBe('r6 r5 r4 r3 r2 r1 r0');
    expect(await readOrder('id')).toBe('r0 r1 r2 r3 r4 r5 r6');
    expect(await readOrder('-id DESC')).toBe('r6 r5 r4 r3 r2 r1 r0');
    for (const page of [5, 1_000_000_000]) {
      expect((await table.rows(`?page=${page}&per_page=2`)).body).toStrictEqual({ total: 7, quantity: 0, records: [] });
    }
  });

  it.each([
    'per_page=0',
    'per_page=1001',
    'per_page=abc',
    'page=0',
    'page=x',
    'sort_by=nothing',
    'sort_by=',
    'sort_by=n%3BDROP',
  ])('refuses %s', async (query) => {
    const table = await createFreshTable(makeColumn('n', 'integer'));
    const refusedAnswer = await table.rows(`?${query}`);
    expect(refusedAnswer.status).toBe(422);
    expect(refusedAnswer.body.details).toStrictEqual([
      expect.objectContaining({ field: query.split('=')[0], message: expect.any(String) }),
    ]);
  });

  it('is refused when a page is too large for one answer, and answered in smaller pages', async () => {
    const table = await createFreshTable(makeColumn('t'));
    const rows = [{ t: 'é'.repeat(2_000_000) }, { t: 'x'.repeat(4_000_000) }];
    for (let batchNumber = 0; batchNumber < 3; batchNumber++) await table.insert(rows);
    const refusedAnswer = await table.rows();
    expect(refusedAnswer.status).toBe(413);
    expect(refusedAnswer.body.error).toMatch(/menos linhas/);
    expect((await table.rows('?per_page=2')).body.records.map(({ t }: { t: string }) => t.length)).toStrictEqual([
      2_000_000, 4_000_000,
    ]);
  });

  it('is refused, as are updates and conditional deletes, when a single row is too large', async () => {
    const table = await createFreshTable(makeColumn('n', 'integer'), makeColumn('t'), makeColumn('u'));
    await table.insert([{ n: 1, t: 'x', u: 'x' }]);
    const [{ id }] = (await table.rows()).body.records;
    const GROW_SQL = `UPDATE public.t${createdCount} SET t = repeat('x', 9000000), u = repeat('x', 9000000)`;
    await runInCompanyDatabase(company.id, (database) => database.execute(GROW_SQL));
    const refusals = [
      await table.row(id),
      await table.updateRow(id, { n: 2 }),
      await company.as.delete(table.rowPath(id), { headers: { 'if-match': '"x"' } }),
    ];
    for (const { status, body } of refusals) {
      expect([status, body]).toMatchObject([413, { details: { limit_bytes: 16 * 1024 * 1024 } }]);
    }
    const listedRow = await table.rows(`?filter[id][eq]=${id}&fields=n`);
    expect(listedRow.body.records).toStrictEqual([{ id, n: 1 }]);
    expect((await table.updateRow(id, { u: null })).body.t).toHaveLength(9_000_000);
    expect((await table.row(id)).body.n).toBe(1);
  });
});

it('a page of rows has the first 50 rows by default', async () => {
  const table = await createFreshTable(makeColumn('n', 'integer'));
  await table.insert(Array.from({ length: 51 }, (_, n) => ({ n })));
  const answer = await table.rows('?sort_by=n ASC');
  expect([answer.body.total, answer.body.quantity]).toEqual([51, 50]);
  expect(listValues(answer, 'n')).toEqual(Array.from({ length: 50 }, (_, n) => n));
});
