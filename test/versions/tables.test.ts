import { describe, expect, it } from 'vitest';
import { createTable, createTableClient, makeColumn } from '../managed-tables/support.ts';
import { createProvisionedCompany } from '../support/companies.ts';
import { expectSuccess } from '../support/signed.ts';
import { runBeforeNextStatement } from '../support/tunnel.ts';

const company = await createProvisionedCompany();

let createdCount = 0;
async function createVersionedResource(resourceKind: 'table' | 'row') {
  const id = await createTable(company.as, `versioned_${++createdCount}`, [makeColumn('view_count', 'integer')]);
  const table = createTableClient(company.as, id);
  await expectSuccess(table.insert([{ view_count: 1 }]));
  const row = (await table.rows()).body.records[0].id as string;
  const path = `/v1/managed-tables/${id}${resourceKind === 'row' ? `/data/${row}` : ''}`;
  const readResource = () => company.as.get(path);
  const writeResource = (json: object, tag: string | null) =>
    company.as.put(path, { json, headers: { 'If-Match': tag as string } });
  const deleteResource = (tag: string | null) => company.as.delete(path, { headers: { 'If-Match': tag as string } });
  return {
    table,
    read: readResource,
    write: writeResource,
    remove: deleteResource,
    tag: (await readResource()).headers.get('etag'),
  };
}

const preconditionFailed = {
  status: 412,
  body: { error_code: 'PRECONDITION_FAILED', error: expect.stringContaining('mudou') },
};

describe('the version of a row', () => {
  it('changes with its columns, even one that is called view_count', async () => {
    const { read, write, remove, tag } = await createVersionedResource('row');
    expect((await read()).headers.get('etag')).toBe(tag);
    expect((await write({ view_count: 2 }, '"other"')).status).toBe(412);
    expect((await write({ view_count: 2 }, `W/${tag}`)).status).toBe(200);
    expect(await write({ view_count: 3 }, tag)).toMatchObject(preconditionFailed);
    expect(await remove(tag)).toMatchObject(preconditionFailed);
    const now = await read();
    expect(now.body.view_count).toBe(2);
    expect((await remove(now.headers.get('etag'))).status).toBe(204);
  });

  it('lets only one of two writers with the same If-Match succeed, whoever comes first', async () => {
    const first = await createVersionedResource('row');
    const concurrentWrite = await runBeforeNextStatement(company.id, /FOR UPDATE/, () =>
      first.write({ view_count: 2 }, first.tag),
    );
    expect(await first.write({ view_count: 3 }, first.tag)).toMatchObject(preconditionFailed);
    expect((await concurrentWrite.outcome).status).toBe(200);
    const secondRow = await createVersionedResource('row');
    const lateWrite = await runBeforeNextStatement(company.id, /UPDATE "public"/, () =>
      secondRow.write({ view_count: 2 }, secondRow.tag),
    );
    expect((await secondRow.write({ view_count: 3 }, secondRow.tag)).status).toBe(200);
    expect(await lateWrite.outcome).toMatchObject(preconditionFailed);
    expect((await secondRow.read()).body.view_count).toBe(3);
  });

  it('makes a deletion with an older If-Match fail', async () => {
    const { read, write, remove, tag } = await createVersionedResource('row');
    const { outcome } = await runBeforeNextStatement(company.id, /FOR UPDATE/, () => write({ view_count: 2 }, tag));
    expect(await remove(tag)).toMatchObject(preconditionFailed);
    expect((await outcome).status).toBe(200);
    expect((await read()).body.view_count).toBe(2);
  });
});

describe('the version of a table', () => {
  it('changes with its columns, not with its rows', async () => {
    const { table, read, write, remove, tag } = await createVersionedResource('table');
    await expectSuccess(table.insert([{ view_count: 5 }]));
    const { headers, body } = await company.as.get(`/v1/managed-tables/${(await read()).body._id}`, {
      headers: { 'If-None-Match': tag as string },
    });
    expect([headers.get('etag'), body]).toEqual([tag, '']);
    const columns = [makeColumn('view_count', 'integer'), makeColumn('more')];
    expect((await write({ columns }, '"other"')).status).toBe(412);
    expect((await write({ columns }, tag)).status).toBe(200);
    expect(await write({ columns: columns.slice(1) }, tag)).toMatchObject(preconditionFailed);
    expect(await remove(tag)).toMatchObject(preconditionFailed);
    const now = await read();
    expect(now.body.columns).toHaveLength(2);
    expect((await remove(now.headers.get('etag'))).status).toBe(204);
  });

  it('lets only one of two writers with the same If-Match succeed', async () => {
    const { read, write, tag } = await createVersionedResource('table');
    const { outcome } = await runBeforeNextStatement(company.id, /FOR UPDATE/, () =>
      write({ columns: [makeColumn('theirs')] }, tag),
    );
    expect(await write({ columns: [makeColumn('ours')] }, tag)).toMatchObject(preconditionFailed);
    expect((await outcome).status).toBe(200);
    expect((await read()).body.columns).toMatchObject([{ name: 'theirs' }]);
  });
});
