import { beforeAll, describe, expect, it } from 'vitest';
import { disturb, rivalBeforeStatement } from '../support/tunnel.ts';
import { aProvisionedCompany, type Company } from '../support/worlds.ts';
import { aTable, column, tableRoutes, valuesOf } from './support.ts';

let company: Company;
let made = 0;

beforeAll(async () => {
  company = await aProvisionedCompany();
});

async function filledTable(type: string, values: unknown[]) {
  const table = tableRoutes(company.as, await aTable(company.as, `raced_${++made}`, [column('v', type)]));
  expect((await table.insert(values.map((v) => ({ v })))).status).toBe(201);
  const { body } = await table.rows();
  return { ...table, rowId: body.records[0].id as string };
}

const rivalAt = <T>(statement: RegExp, rival: () => Promise<T>) => rivalBeforeStatement(company.id, statement, rival);

describe('a row that is changed while its column is converted', () => {
  it.each([1.5, '1e300'])('keeps %s whole: the conversion comes after it and is refused', async (value) => {
    const table = await filledTable('decimal', [1]);
    const { outcome } = await rivalAt(/UPDATE "public"/, () => table.put({ columns: [column('v', 'integer')] }));
    expect((await table.updateRow(table.rowId, { v: value })).status).toBe(200);
    expect((await outcome).status).toBe(422);
    expect(Number(valuesOf(await table.rows(), 'v')[0])).toBe(Number(value));
  });

  it('is refused where the conversion comes first', async () => {
    const table = await filledTable('decimal', [1]);
    const { outcome } = await rivalAt(/FOR KEY SHARE/, () => table.put({ columns: [column('v', 'integer')] }));
    const updated = await table.updateRow(table.rowId, { v: 1.5 });
    expect((await outcome).status).toBe(200);
    expect(updated).toMatchObject({ status: 422, body: { details: [{ field: 'v' }] } });
    expect(valuesOf(await table.rows(), 'v')).toStrictEqual([1]);
  });

  it('is not there any more where the table was deleted', async () => {
    const table = await filledTable('decimal', [1]);
    const { outcome } = await rivalAt(/FOR KEY SHARE/, () => table.delete());
    expect((await table.updateRow(table.rowId, { v: 2 })).status).toBe(404);
    expect((await outcome).status).toBe(204);
  });

  it('waits neither for rows that are added nor holds them up', async () => {
    const table = await filledTable('decimal', [1]);
    const { outcome } = await rivalAt(/UPDATE "public"/, () => table.insert([{ v: 3 }]));
    expect((await table.updateRow(table.rowId, { v: 2 })).status).toBe(200);
    expect((await outcome).status).toBe(201);
    expect(valuesOf(await table.rows(), 'v')).toStrictEqual([2, 3]);
  });
});

describe('rows that are added while their column is converted', () => {
  it('are held against the column as it is then, never rounded', async () => {
    const table = await filledTable('decimal', [1]);
    const { outcome } = await rivalAt(/SET row_count = row_count/, () =>
      table.put({ columns: [column('v', 'integer')] }),
    );
    const inserted = await table.insert([{ v: 1.5 }]);
    expect((await outcome).status).toBe(200);
    expect(inserted).toMatchObject({ status: 422, body: { details: [{ row: 0, field: 'v' }] } });
    expect(await table.rows()).toMatchObject({ body: { total: 1 } });
  });
});

describe('rows that are read while the table is written anew', () => {
  it.each([
    ['text', 'integer', '7', 7],
    ['decimal', 'integer', 7, 7],
    ['integer', 'text', 7, '7'],
    ['text', 'boolean', 'true', true],
  ])('%s to %s: are those of before or of after', async (from, to, value, converted) => {
    const table = await filledTable(from, [value]);
    const { outcome } = await rivalAt(/AS MATERIALIZED/, () => table.put({ columns: [column('v', to)] }));
    const answer = await table.rows();
    expect((await outcome).status).toBe(200);
    expect(answer).toMatchObject({ status: 200, body: { total: 1 } });
    expect(valuesOf(answer, 'v')).toStrictEqual([converted]);
  });

  it('are found under the new name', async () => {
    const table = await filledTable('integer', [7]);
    const rename = () =>
      table.put({ display_name: `renamed_${made}`, columns: [{ ...column('w'), previous_name: 'v' }] });
    const { outcome } = await rivalAt(/AS MATERIALIZED/, rename);
    const answer = await table.rows();
    expect((await outcome).status).toBe(200);
    expect(valuesOf(answer, 'w')).toStrictEqual(['7']);
  });
});

describe('an answer that is lost', () => {
  it('after COMMIT says that nobody knows whether the rows are there, and they are, once', async () => {
    const table = await filledTable('integer', [1]);
    await disturb(company.id, { statement: 'COMMIT', effect: 'lose_answer' });
    const answer = await table.insert([{ v: 2 }]);
    expect(answer).toMatchObject({ status: 503, body: { error_code: 'RESULT_UNKNOWN' } });
    expect(answer.headers.get('retry-after')).toBeNull();
    expect(valuesOf(await table.rows(), 'v')).toStrictEqual([1, 2]);
  });

  it('before that says to try again', async () => {
    const table = await filledTable('integer', [1]);
    await disturb(company.id, { statement: 'INSERT INTO "public"', effect: 'lose_answer' });
    const answer = await table.insert([{ v: 2 }]);
    expect(answer.status).toBe(503);
    expect(answer.body.error_code).toBeUndefined();
    expect(answer.headers.get('retry-after')).toBe('5');
    expect(await table.rows()).toMatchObject({ body: { total: 1 } });
  });
});
