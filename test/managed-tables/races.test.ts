import { describe, expect, it } from 'vitest';
import { createProvisionedCompany } from '../support/companies.ts';
import { disturbTunnel, runBeforeNextStatement, runEachBeforeStatement } from '../support/tunnel.ts';
import { createTable, createTableClient, listValues, makeColumn, runInCompanyDatabase } from './support.ts';

let createdCount = 0;

const company = await createProvisionedCompany();

async function createFilledTable(type: string, values: unknown[]) {
  const table = createTableClient(
    company.as,
    await createTable(company.as, `raced_${++createdCount}`, [makeColumn('v', type)]),
  );
  expect((await table.insert(values.map((v) => ({ v })))).status).toBe(201);
  const { body } = await table.rows();
  return { ...table, rowId: body.records[0].id as string };
}

const runBeforeStatement = <T>(statement: RegExp, runConcurrently: () => Promise<T>) =>
  runBeforeNextStatement(company.id, statement, runConcurrently);

describe('a row that is updated while its column is converted', () => {
  it.each([1.5, '1e300'])('keeps %s exactly, and the conversion that comes after it is refused', async (value) => {
    const table = await createFilledTable('decimal', [1]);
    const { outcome } = await runBeforeStatement(/UPDATE "public"/, () =>
      table.put({ columns: [makeColumn('v', 'integer')] }),
    );
    expect((await table.updateRow(table.rowId, { v: value })).status).toBe(200);
    expect((await outcome).status).toBe(422);
    expect(Number(listValues(await table.rows(), 'v')[0])).toBe(Number(value));
  });

  it('is refused when the conversion comes first', async () => {
    const table = await createFilledTable('decimal', [1]);
    const { outcome } = await runBeforeStatement(/FOR KEY SHARE/, () =>
      table.put({ columns: [makeColumn('v', 'integer')] }),
    );
    const updated = await table.updateRow(table.rowId, { v: 1.5 });
    expect((await outcome).status).toBe(200);
    expect(updated).toMatchObject({ status: 422, body: { details: [{ field: 'v' }] } });
    expect(listValues(await table.rows(), 'v')).toStrictEqual([1]);
  });

  it('is answered 404 when the table is deleted first', async () => {
    const table = await createFilledTable('decimal', [1]);
    const { outcome } = await runBeforeStatement(/FOR KEY SHARE/, () => table.delete());
    expect((await table.updateRow(table.rowId, { v: 2 })).status).toBe(404);
    expect((await outcome).status).toBe(204);
  });

  it('neither waits for an insert of other rows nor blocks it', async () => {
    const table = await createFilledTable('decimal', [1]);
    const { outcome } = await runBeforeStatement(/UPDATE "public"/, () => table.insert([{ v: 3 }]));
    expect((await table.updateRow(table.rowId, { v: 2 })).status).toBe(200);
    expect((await outcome).status).toBe(201);
    expect(listValues(await table.rows(), 'v')).toStrictEqual([2, 3]);
  });
});

it('rows that are inserted while their column is converted are validated against the converted column, never rounded', async () => {
  const table = await createFilledTable('decimal', [1]);
  const { outcome } = await runBeforeStatement(/FOR KEY SHARE/, () =>
    table.put({ columns: [makeColumn('v', 'integer')] }),
  );
  const insertionAnswer = await table.insert([{ v: 1.5 }]);
  expect((await outcome).status).toBe(200);
  expect(insertionAnswer).toMatchObject({ status: 422, body: { details: [{ row: 0, field: 'v' }] } });
  expect(await table.rows()).toMatchObject({ body: { total: 1 } });
});

describe('rows of a table whose columns change during the request', () => {
  const makeColumnChanges = (table: { put(json: unknown): Promise<{ status: number }> }, changeCount: number) =>
    Array.from({ length: changeCount }, (_, index) => () => {
      const [from, to] = [`v${index || ''}`, `v${index + 1}`];
      return table.put({ columns: [{ ...makeColumn(to, 'integer'), previous_name: from }] });
    });

  it.each([
    ['listed', /AS MATERIALIZED/, (table: ReturnType<typeof createTableClient>) => table.rows(), 200],
    ['inserted', /FOR KEY SHARE/, (table: ReturnType<typeof createTableClient>) => table.insert([{}]), 201],
  ])(
    'are %s despite four changes, and refused with 409 after a fifth change',
    async (_, statement, request, status) => {
      const fourChangesTable = await createFilledTable('integer', [1]);
      const concurrentChanges = await runEachBeforeStatement(
        company.id,
        statement,
        makeColumnChanges(fourChangesTable, 4),
      );
      expect((await request(fourChangesTable)).status).toBe(status);
      expect((await concurrentChanges.outcomes).map((outcome) => outcome.status)).toEqual([200, 200, 200, 200]);

      const fiveChangesTable = await createFilledTable('integer', [1]);
      const { outcomes } = await runEachBeforeStatement(company.id, statement, makeColumnChanges(fiveChangesTable, 5));
      const refusedAnswer = await request(fiveChangesTable);
      expect(refusedAnswer).toMatchObject({ status: 409, body: { error: expect.stringContaining('Tente novamente') } });
      expect(await outcomes).toHaveLength(5);
      expect((await fiveChangesTable.rows()).body.total).toBe(1);
    },
  );

  it('are answered with 500 when the database differs from the catalogue without a change', async () => {
    const table = await createFilledTable('integer', [1]);
    const { body } = await table.get();
    await runInCompanyDatabase(company.id, (database) =>
      database.execute(`ALTER TABLE "public"."${body.display_name}" RENAME COLUMN "v" TO "elsewhere"`),
    );
    expect((await table.rows()).status).toBe(500);
  });
});

it('rows that are inserted while their table is deleted are not inserted into another table that takes its name', async () => {
  const table = await createFilledTable('integer', [1]);
  const { body } = await table.get();
  let successorId = '';
  const { outcome } = await runBeforeStatement(/FOR KEY SHARE/, async () => {
    await table.delete();
    successorId = await createTable(company.as, body.display_name, [makeColumn('v', 'integer')]);
  });
  expect((await table.insert([{ v: 2 }])).status).toBe(404);
  await outcome;
  expect((await createTableClient(company.as, successorId).rows()).body.records).toEqual([]);
});

describe('the row count of a table', () => {
  const LOCK_STATEMENT_PATTERN = /FOR KEY SHARE/;

  it.each([
    ['inserted', LOCK_STATEMENT_PATTERN],
    ['inserted', /INSERT INTO "public"/],
    ['deleted', /DELETE FROM "public"/],
    ['deleted', LOCK_STATEMENT_PATTERN],
    ['deleted', /COMMIT/],
    ['inserted', /COMMIT/],
  ])('is exact when rows are %s and other rows are written before %s', async (writeKind, statement) => {
    const table = await createFilledTable('integer', [1, 2, 3]);
    const [firstRow, secondRow] = (await table.rows()).body.records;
    const writeRows = async () => [
      (await table.insert([{ v: 4 }, { v: 5 }])).status,
      (await table.deleteRow(secondRow.id)).status,
    ];
    const { outcome } = await runBeforeStatement(statement, writeRows);
    const { status } = writeKind === 'inserted' ? await table.insert([{ v: 6 }]) : await table.deleteRow(firstRow.id);
    expect([status, ...(await outcome)]).toStrictEqual([writeKind === 'inserted' ? 201 : 204, 201, 204]);
    const remainingNumbers = writeKind === 'inserted' ? [1, 3, 4, 5, 6] : [3, 4, 5];
    const answer = await table.rows();
    expect(listValues(answer, 'v').toSorted()).toStrictEqual(remainingNumbers);
    expect([answer.body.total, (await table.get()).body.row_count]).toStrictEqual([
      remainingNumbers.length,
      remainingNumbers.length,
    ]);
  });

  it.each([
    ['truncated before rows are inserted', LOCK_STATEMENT_PATTERN, [2]],
    ['truncated before rows are written', /INSERT INTO "public"/, [2]],
    ['truncated when rows are written', /COMMIT/, []],
  ])('is exact when the table is %s', async (_when, statement, remainingNumbers) => {
    const table = await createFilledTable('integer', [1]);
    const { outcome } = await runBeforeStatement(statement, () => table.truncate());
    expect([(await table.insert([{ v: 2 }])).status, (await outcome).status]).toStrictEqual([201, 200]);
    const answer = await table.rows();
    expect(listValues(answer, 'v')).toStrictEqual(remainingNumbers);
    expect([answer.body.total, (await table.get()).body.row_count]).toStrictEqual([
      remainingNumbers.length,
      remainingNumbers.length,
    ]);
  });
});

describe('rows that are inserted while their table is renamed', () => {
  it.each([/FOR KEY SHARE/, /INSERT INTO "public"/])(
    'are inserted into the renamed table when the rename comes before %s',
    async (at) => {
      const table = await createFilledTable('integer', [1]);
      const { outcome } = await runBeforeStatement(at, () => table.put({ display_name: `renamed_${createdCount}` }));
      expect([(await table.insert([{ v: 2 }])).status, (await outcome).status]).toStrictEqual([201, 200]);
      expect(listValues(await table.rows(), 'v')).toStrictEqual([1, 2]);
    },
  );
});

it('the creation of a table is refused when another table of the same name is created at the same moment', async () => {
  const json = { display_name: `contested_${++createdCount}`, columns: [makeColumn('v')] };
  const createTableNow = () => company.as.post('/v1/managed-tables', { json });
  const { outcome } = await runBeforeStatement(/INSERT INTO console\.managed_tables/, createTableNow);
  const lateAnswer = await createTableNow();
  expect([lateAnswer.status, lateAnswer.body.error_code]).toStrictEqual([400, 'MANAGED_TABLE_DUPLICATE_NAME']);
  expect((await outcome).status).toBe(201);
});

describe('rows that are read while the columns of the table change', () => {
  it.each([
    ['text', 'integer', '7', 7],
    ['decimal', 'integer', 7, 7],
    ['integer', 'text', 7, '7'],
    ['text', 'boolean', 'true', true],
  ])('are complete and converted from %s to %s', async (from, to, value, convertedValue) => {
    const table = await createFilledTable(from, [value]);
    const { outcome } = await runBeforeStatement(/AS MATERIALIZED/, () =>
      table.put({ columns: [makeColumn('v', to)] }),
    );
    const answer = await table.rows();
    expect((await outcome).status).toBe(200);
    expect(answer).toMatchObject({ status: 200, body: { total: 1 } });
    expect(listValues(answer, 'v')).toStrictEqual([convertedValue]);
  });

  it('have the new column names', async () => {
    const table = await createFilledTable('integer', [7]);
    const renameColumn = () =>
      table.put({ display_name: `renamed_${createdCount}`, columns: [{ ...makeColumn('w'), previous_name: 'v' }] });
    const { outcome } = await runBeforeStatement(/AS MATERIALIZED/, renameColumn);
    const answer = await table.rows();
    expect((await outcome).status).toBe(200);
    expect(listValues(answer, 'w')).toStrictEqual(['7']);
  });
});

describe('an insert of rows whose answer from Postgres is lost', () => {
  it('is answered with RESULT_UNKNOWN when COMMIT was lost, and has inserted its rows once', async () => {
    const table = await createFilledTable('integer', [1]);
    await disturbTunnel(company.id, { statement: 'COMMIT', effect: 'lose_answer' });
    const answer = await table.insert([{ v: 2 }]);
    expect(answer).toMatchObject({ status: 503, body: { error_code: 'RESULT_UNKNOWN' } });
    expect(answer.headers.get('retry-after')).toBeNull();
    expect(listValues(await table.rows(), 'v')).toStrictEqual([1, 2]);
  });

  it('is answered with Retry-After when an earlier statement was lost, and has inserted no row', async () => {
    const table = await createFilledTable('integer', [1]);
    await disturbTunnel(company.id, { statement: 'INSERT INTO "public"', effect: 'lose_answer' });
    const answer = await table.insert([{ v: 2 }]);
    expect(answer.status).toBe(503);
    expect(answer.body.error_code).toBe('SERVICE_UNAVAILABLE');
    expect(answer.headers.get('retry-after')).toBe('5');
    expect(await table.rows()).toMatchObject({ body: { total: 1 } });
  });
});
