import { describe, expect, it } from 'vitest';
import { createProvisionedCompany } from '../support/companies.ts';
import {
  type ColumnInput,
  createTable,
  createTableClient,
  listValues,
  makeColumn,
  runInCompanyDatabase,
} from './support.ts';

let createdCount = 0;

const company = await createProvisionedCompany();

async function createFilledTable(columns: ColumnInput[], rows: unknown[]) {
  const table = createTableClient(company.as, await createTable(company.as, `changing_${++createdCount}`, columns));
  const { status, body } = await table.insert(rows);
  if (status !== 201) throw new Error(JSON.stringify(body));
  return table;
}

it('the renaming of a table changes the name, refuses a taken or invalid name, and returns the record', async () => {
  const table = await createFilledTable([makeColumn('a')], [{ a: 'x' }]);
  await createFilledTable([makeColumn('a')], [{}]);
  const takenAnswer = await table.put({ display_name: `changing_${createdCount}` });
  expect(takenAnswer).toMatchObject({ status: 400, body: { error_code: 'MANAGED_TABLE_DUPLICATE_NAME' } });
  const renamedAnswer = await table.put({ display_name: 'renamed', status: 'active' });
  expect(renamedAnswer).toMatchObject({ status: 200, body: { display_name: 'renamed', row_count: 1 } });
  expect((await table.get()).body).toStrictEqual(renamedAnswer.body);
  expect(listValues(await table.rows(), 'a')).toStrictEqual(['x']);
  expect((await table.put({ display_name: 'Renamed' })).status).toBe(422);
  expect((await table.put({ status: 'inactive' })).status).toBe(422);
  expect((await table.put({})).body).toStrictEqual(renamedAnswer.body);
});

describe('a change of the columns', () => {
  it('renames, exchanges, adds, drops and reorders columns in one call', async () => {
    const table = await createFilledTable(
      [makeColumn('a'), makeColumn('b'), makeColumn('c')],
      [{ a: '1', b: '2', c: '3' }],
    );
    const columns = [
      { ...makeColumn('b'), previous_name: 'a' },
      makeColumn('fresh', 'integer'),
      { ...makeColumn('a'), previous_name: 'b', display_name: 'Was b' },
    ];
    const { status, body } = await table.put({ columns });
    expect(status).toBe(200);
    expect(body.columns).toStrictEqual([
      makeColumn('b'),
      makeColumn('fresh', 'integer'),
      { ...makeColumn('a'), display_name: 'Was b' },
    ]);
    expect((await table.rows()).body.records).toStrictEqual([{ id: expect.any(String), b: '1', fresh: null, a: '2' }]);
    expect((await table.insert([{ fresh: 5 }])).status).toBe(201);
    expect((await table.insert([{ c: 'gone' }])).status).toBe(422);
  });

  it('renames columns in chains and in cycles', async () => {
    const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
    const table = await createFilledTable(
      names.map((name) => makeColumn(name)),
      [Object.fromEntries(names.map((name) => [name, `was ${name}`]))],
    );
    // a, b and c in a circle; d after e after f; g stays.
    const renamedColumns = { a: 'b', b: 'c', c: 'a', d: 'e', e: 'f', f: 'new' };
    const columns = Object.entries(renamedColumns).map(([from, to]) => ({ ...makeColumn(to), previous_name: from }));
    expect((await table.put({ columns: [...columns, makeColumn('g')] })).status).toBe(200);
    expect((await table.rows()).body.records).toStrictEqual([
      {
        id: expect.any(String),
        ...{ b: 'was a', c: 'was b', a: 'was c', e: 'was d', f: 'was e', new: 'was f', g: 'was g' },
      },
    ]);
  });

  const conversions: [from: string, to: string, values: unknown[], expected: unknown[]][] = [
    ['text', 'integer', ['1', ' -2 ', '+9223372036854775807', null], [1, -2, '9223372036854775807', null]],
    ['text', 'decimal', ['1.50', '.5', '1e3', '0.12345678901234567890'], [1.5, 0.5, 1000, '0.12345678901234567890']],
    ['text', 'boolean', ['true', 'FALSE'], [true, false]],
    ['text', 'date', ['2024-02-29'], ['2024-02-29']],
    [
      'text',
      'datetime',
      ['2024-01-31T13:45:00-03:00', '2024-01-31 13:45', '2024-01-31'],
      ['2024-01-31T16:45:00.000Z', '2024-01-31T13:45:00.000Z', '2024-01-31T00:00:00.000Z'],
    ],
    ['integer', 'text', ['9223372036854775807'], ['9223372036854775807']],
    ['integer', 'decimal', [7, null], [7, null]],
    ['integer', 'boolean', [0, 1], [false, true]],
    ['decimal', 'integer', ['3.00', '-9223372036854775808'], [3, '-9223372036854775808']],
    ['decimal', 'text', ['3.10'], ['3.10']],
    ['boolean', 'text', [true, null], ['true', null]],
    ['boolean', 'integer', [true, false], [1, 0]],
    ['boolean', 'decimal', [true], [1]],
    ['date', 'datetime', ['2024-02-29'], ['2024-02-29T00:00:00.000Z']],
    ['date', 'text', ['0099-02-28'], ['0099-02-28']],
    ['datetime', 'date', ['2024-02-29T00:00:00Z'], ['2024-02-29']],
    ['datetime', 'text', ['2024-02-29T01:02:03.000004Z'], ['2024-02-29T01:02:03.000004Z']],
    ['datetime', 'integer', [null], [null]],
  ];
  it('converts the values of several columns at once', async () => {
    const makeColumns = (side: 0 | 1) =>
      conversions.map((conversion, index) => makeColumn(`v${index}`, conversion[side]));
    const rows = [0, 1, 2, 3].map((row) =>
      Object.fromEntries(conversions.map(([, , values], index) => [`v${index}`, values[row] ?? null])),
    );
    const table = await createFilledTable(makeColumns(0), rows);
    expect((await table.put({ columns: makeColumns(1) })).body).toMatchObject({
      columns: makeColumns(1),
      row_count: 4,
    });
    const answer = await table.rows();
    const convertedValues = conversions.map(([from, to, values], index) => [
      from,
      to,
      listValues(answer, `v${index}`).slice(0, values.length),
    ]);
    expect(convertedValues).toStrictEqual(conversions.map(([from, to, , expected]) => [from, to, expected]));
  });

  const lossyConversions: [from: string, to: string, value: unknown][] = [
    ['text', 'integer', '1.0'],
    ['text', 'integer', '007'],
    ['text', 'integer', '9223372036854775808'],
    ['text', 'integer', '1_000'],
    ['text', 'integer', '0x1f'],
    ['text', 'integer', ''],
    ['text', 'decimal', 'NaN'],
    ['text', 'decimal', '1,5'],
    ['text', 'decimal', '00.5'],
    ['text', 'decimal', '1e999999'],
    ['text', 'boolean', 'yes'],
    ['text', 'date', '2024-02-30'],
    ['text', 'date', '31/01/2024'],
    ['text', 'datetime', 'now'],
    ['text', 'datetime', '2024-01-31T24:00:00Z'],
    ['text', 'datetime', '2024-06-30 23:59:60'],
    ['text', 'datetime', '2024-01-31T10:00:00.1234567Z'],
    ['text', 'datetime', '9999-12-31T23:59:59-05:00'],
    ['integer', 'boolean', 2],
    ['integer', 'date', 20240101],
    ['decimal', 'integer', '1.5'],
    ['decimal', 'integer', '9223372036854775808'],
    ['boolean', 'date', true],
    ['date', 'integer', '2024-01-01'],
    ['datetime', 'date', '2024-01-31T00:00:00.000001Z'],
  ];
  it('refuses conversions that fail or lose digits in any row, names each column and value, and changes nothing', async () => {
    const makeColumns = (typeIndex: 0 | 1) =>
      lossyConversions.map((loss, index) => makeColumn(`v${index}`, loss[typeIndex]));
    const unconvertibleRow = Object.fromEntries(lossyConversions.map(([, , value], index) => [`v${index}`, value]));
    const table = await createFilledTable([...makeColumns(0), makeColumn('other')], [{ other: 'x' }, unconvertibleRow]);
    const tableBefore = [(await table.get()).body, (await table.rows()).body];
    const refusedAnswer = await table.put({ display_name: 'elsewhere', columns: makeColumns(1) });
    expect(refusedAnswer.status).toBe(422);
    expect(refusedAnswer.body.details).toStrictEqual(
      lossyConversions.map(([, to], index) => ({
        field: `columns.${index}.type`,
        reason: 'conflict',
        message: expect.stringMatching(new RegExp(`^"v${index}" tem ".*", que não pode virar ${to} sem perda$`)),
      })),
    );
    expect([(await table.get()).body, (await table.rows()).body]).toStrictEqual(tableBefore);
  });

  it('reports its problems in the order of the columns, and problems of new columns last', async () => {
    const table = await createFilledTable(
      [makeColumn('a'), makeColumn('b'), makeColumn('c')],
      [{ a: 'x' }, { b: 'y', c: '3' }],
    );
    const columns = [
      makeColumn('c', 'integer', false),
      makeColumn('new', 'text', false),
      makeColumn('b', 'integer', false),
      { ...makeColumn('d', 'boolean'), previous_name: 'a' },
    ];
    const { details } = (await table.put({ columns })).body;
    expect(details.map(({ field }: { field: string }) => field)).toEqual([
      'columns.0.nullable',
      'columns.2.type',
      'columns.2.nullable',
      'columns.3.type',
      'columns.1.nullable',
    ]);
  });

  it('refuses nulls in columns that become not nullable, and names each column', async () => {
    const table = await createFilledTable([makeColumn('a'), makeColumn('b', 'text', false)], [{ b: 'x' }]);
    const refusedAnswer = await table.put({
      columns: [makeColumn('a', 'text', false), makeColumn('b'), makeColumn('c', 'text', false)],
    });
    expect(refusedAnswer.body.details).toStrictEqual([
      { field: 'columns.0.nullable', reason: 'conflict', message: '"a" está vazia em algumas linhas' },
      { field: 'columns.2.nullable', reason: 'conflict', message: '"c" ficaria vazia nas linhas existentes' },
    ]);
    await table.truncate();
    expect(
      (await table.put({ columns: [makeColumn('a', 'text', false), makeColumn('c', 'text', false)] })).status,
    ).toBe(200);
    expect((await table.insert([{ a: 'x' }])).status).toBe(422);
    expect((await table.put({ columns: [makeColumn('a'), makeColumn('c')] })).status).toBe(200);
    expect((await table.insert([{}])).status).toBe(201);
  });

  it('refuses an empty list, a repeated name, a reserved name and an unknown previous_name', async () => {
    const table = await createFilledTable([makeColumn('a')], [{}]);
    for (const columns of [
      [],
      [makeColumn('a'), makeColumn('a')],
      [makeColumn('id')],
      [{ ...makeColumn('b'), previous_name: 'nothing' }],
      [{ ...makeColumn('b'), previous_name: 'a"; DROP TABLE x; --' }],
    ]) {
      expect((await table.put({ columns })).status).toBe(422);
    }
    expect((await table.get()).body.columns).toStrictEqual([makeColumn('a')]);
  });

  it('refuses more columns than Postgres allows a table in its lifetime', async () => {
    const makeWideColumns = (round: number) =>
      Array.from({ length: 600 }, (_, index) => makeColumn(`r${round}_${index}`));
    const table = await createFilledTable(makeWideColumns(0), [{}]);
    expect((await table.put({ columns: makeWideColumns(1) })).status).toBe(200);
    const refusedAnswer = await table.put({ columns: makeWideColumns(2) });
    expect(refusedAnswer.status).toBe(422);
    expect(refusedAnswer.body.details[0].field).toBe('columns');
    expect((await table.get()).body.columns).toHaveLength(600);
  });
});

describe('a table with an unfinished upload job', () => {
  const statuses = ['queued', 'analisando', 'waiting_confirm', 'inserting'];
  it.each(statuses)('is locked while the job is %s, except for its rows', async (status) => {
    const table = await createFilledTable([makeColumn('a')], [{ a: 'x' }]);
    const { _id: id, display_name: name } = (await table.get()).body;
    await runInCompanyDatabase(company.id, (database) =>
      database.query(
        `INSERT INTO console.upload_jobs (id, company_id, user_table_id, created_by_user_id, mode, status, files, progress, created_at, updated_at)
         VALUES ($1, $2, $3, $4, 'append', $5, '[]', '{}', now(), now())`,
        [String(createdCount).padStart(24, '0'), company.id, id, company.owner.id, status],
      ),
    );
    expect(await table.truncate()).toMatchObject({
      status: 409,
      body: { error_code: 'MANAGED_TABLE_TRUNCATE_LOCKED' },
    });
    for (const answer of [
      await table.delete(),
      await table.put({ display_name: 'elsewhere' }),
      await table.put({ columns: [makeColumn('b')] }),
    ]) {
      const body = { error_code: 'MANAGED_TABLE_LOCKED', error: expect.stringContaining('carga de arquivos') };
      expect(answer).toMatchObject({ status: 409, body });
    }
    expect((await table.put({ display_name: name, columns: [makeColumn('a')] })).status).toBe(200);
    expect((await table.insert([{ a: 'y' }])).status).toBe(201);

    await runInCompanyDatabase(company.id, (database) =>
      database.query("UPDATE console.upload_jobs SET status = 'failed' WHERE user_table_id = $1", [id]),
    );
    expect((await table.truncate()).status).toBe(200);
    expect((await table.delete()).status).toBe(204);
  });
});
