import { describe, expect, it } from 'vitest';
import { createTable, createTableClient, makeColumn } from '../managed-tables/support.ts';
import { createProvisionedCompany } from '../support/companies.ts';
import { expectSuccess } from '../support/signed.ts';
import { runBeforeNextStatement } from '../support/tunnel.ts';
import { createStagedJob } from '../uploads/staged-job.ts';
import { readRows, undoJob } from '../uploads/support.ts';

let tableCount = 0;
const company = await createProvisionedCompany();

/** Creates a table with a unique key and two rows. `values`: the value of each key. */
async function createKeyedTable() {
  const id = await createTable(company.as, `versions_${++tableCount}`, [
    makeColumn('k', 'integer'),
    makeColumn('v', 'integer'),
  ]);
  const table = createTableClient(company.as, id);
  await expectSuccess(
    table.insert([
      { k: 1, v: 10 },
      { k: 2, v: 20 },
    ]),
  );
  // Making the index would hold the table, too.
  await expectSuccess(company.as.post(`/v1/managed-tables/${id}/indexes`, { json: { columns: ['k'], unique: true } }));
  const readValues = async () => Object.fromEntries((await readRows(company, id)).map(({ k, v }) => [k, v]));
  return { id, table, values: readValues };
}

/** Reads the current version of a row. @returns writes that send that version as If-Match */
async function readVersionedRow(id: string, k: number) {
  const { body } = await company.as.get(`/v1/managed-tables/${id}/data?filter[k][eq]=${k}`);
  const path = `/v1/managed-tables/${id}/data/${body.records[0].id}`;
  const tag = (await company.as.get(path)).headers.get('etag') as string;
  const headers = { 'If-Match': tag };
  return {
    put: (json: object) => company.as.put(path, { json, headers }),
    remove: () => company.as.delete(path, { headers }),
  };
}

const createUpsertJob = (id: string, ...lines: string[]) => createStagedJob(company, id, lines, 'upsert', ['k'], 'k,v');

describe('a conditional write of a row, beside an upsert that changes the row', () => {
  it.each(['PUT', 'DELETE'])('is refused when the upsert came first: %s', async (method) => {
    const { id, values } = await createKeyedTable();
    const row = await readVersionedRow(id, 1);
    const upsert = await createUpsertJob(id, '1,11', '3,30');
    const { outcome } = await runBeforeNextStatement(company.id, /FOR UPDATE/, upsert.publish);
    expect((await (method === 'PUT' ? row.put({ v: 99 }) : row.remove())).status).toBe(412);
    expect(await outcome).toBe('done');
    expect(await values()).toEqual({ 1: 11, 2: 20, 3: 30 });
  });

  it('is applied before the upsert once the write has locked the row', async () => {
    const { id, values } = await createKeyedTable();
    const row = await readVersionedRow(id, 1);
    const upsert = await createUpsertJob(id, '1,11', '3,30');
    const { outcome } = await runBeforeNextStatement(company.id, /UPDATE "public"/, upsert.publish);
    const { status, body } = await row.put({ v: 99 });
    expect([status, body.v]).toEqual([200, 99]);
    expect(await outcome).toBe('done');
    expect(await values()).toEqual({ 1: 11, 2: 20, 3: 30 });
  });

  it.each([
    ['waits for the upsert, and is refused', /DROP TABLE/, 412, { 1: 11, 2: 20 }],
    ['is overwritten by the upsert when it came first', /LOCK TABLE/, 200, { 1: 11, 2: 20 }],
  ])('%s', async (_what, statement, status, rowsAfter) => {
    const { id, values } = await createKeyedTable();
    const row = await readVersionedRow(id, 1);
    const upsert = await createUpsertJob(id, '1,11');
    const { outcome } = await runBeforeNextStatement(company.id, statement, () => row.put({ v: 99 }));
    expect(await upsert.publish()).toBe('done');
    expect((await outcome).status).toBe(status);
    expect(await values()).toEqual(rowsAfter);
  });

  it('succeeds when the upsert leaves the row unchanged', async () => {
    const { id, values } = await createKeyedTable();
    const row = await readVersionedRow(id, 1);
    const upsert = await createUpsertJob(id, '1,10', '2,21');
    const { outcome } = await runBeforeNextStatement(company.id, /FOR UPDATE/, upsert.publish);
    expect((await row.put({ v: 99 })).status).toBe(200);
    expect(await outcome).toBe('done');
    expect(await values()).toEqual({ 1: 99, 2: 21 });
  });
});

describe('a conditional write of a row, beside an undo', () => {
  const BEFORE_UNDO_LOCKS_PATTERN = /added_rows, undone_at FROM console\.upload_jobs WHERE id/;
  const BEFORE_UNDO_END_PATTERN = /SET undone_at = /;

  it.each([
    ['finds no row when the undo came first', /FOR UPDATE/, 404],
    ['succeeds before the undo once it has locked the row', /UPDATE "public"/, 200],
  ])('of the upload that added the row, %s', async (_what, statement, status) => {
    const { id, values } = await createKeyedTable();
    const load = await createStagedJob(company, id, ['7,70'], 'append', [], 'k,v');
    expect(await load.publish()).toBe('done');
    const row = await readVersionedRow(id, 7);
    const { outcome } = await runBeforeNextStatement(company.id, statement, () => undoJob(company, load.jobId));
    expect((await row.put({ v: 99 })).status).toBe(status);
    expect((await outcome).status).toBe(200);
    expect(await values()).toEqual({ 1: 10, 2: 20 });
  });

  it.each([
    ['succeeds when it came first', BEFORE_UNDO_LOCKS_PATTERN, 200],
    ['waits, and finds no row', BEFORE_UNDO_END_PATTERN, 404],
  ])('of the upload that added the row, %s', async (_what, statement, status) => {
    const { id, values } = await createKeyedTable();
    const load = await createStagedJob(company, id, ['7,70'], 'append', [], 'k,v');
    expect(await load.publish()).toBe('done');
    const row = await readVersionedRow(id, 7);
    const { outcome } = await runBeforeNextStatement(company.id, statement, () => row.put({ v: 99 }));
    expect((await undoJob(company, load.jobId)).status).toBe(200);
    expect((await outcome).status).toBe(status);
    expect(await values()).toEqual({ 1: 10, 2: 20 });
  });

  it('of the upload that replaced the row, finds the row again with its former version', async () => {
    const { id, values } = await createKeyedTable();
    const row = await readVersionedRow(id, 1);
    const load = await createStagedJob(company, id, ['7,70'], 'replace', [], 'k,v');
    expect(await load.publish()).toBe('done');
    expect((await row.put({ v: 99 })).status).toBe(404);
    const { outcome } = await runBeforeNextStatement(company.id, BEFORE_UNDO_END_PATTERN, () => row.put({ v: 99 }));
    expect((await undoJob(company, load.jobId)).status).toBe(200);
    const { status } = await outcome;
    expect([status, await values()]).toEqual(status === 200 ? [200, { 1: 99, 2: 20 }] : [404, { 1: 10, 2: 20 }]);
    if (status === 404) expect((await row.put({ v: 99 })).status).toBe(200);
  });
});

describe('a conditional write of a table', () => {
  const columns = [makeColumn('k', 'integer'), makeColumn('v', 'integer'), makeColumn('more')];

  it('succeeds when rows are upserted at the same moment', async () => {
    const { id, table, values } = await createKeyedTable();
    const tag = (await table.get()).headers.get('etag') as string;
    const putTable = () =>
      company.as.put(`/v1/managed-tables/${id}`, { json: { columns }, headers: { 'If-Match': tag } });
    const upsert = await createUpsertJob(id, '1,11');
    const { outcome } = await runBeforeNextStatement(company.id, /FOR UPDATE/, upsert.publish);
    const { status, headers } = await putTable();
    expect([status, await outcome]).toEqual([200, 'done']);
    expect(headers.get('etag')).not.toBe(tag);
    expect((await putTable()).status).toBe(412);
    expect(await values()).toEqual({ 1: 11, 2: 20 });
  });
});
