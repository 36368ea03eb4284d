import { beforeAll, describe, expect, it } from 'vitest';
import { column, createTable, makeTableRoutes } from '../managed-tables/support.ts';
import { must } from '../support/signed.ts';
import { rivalBeforeStatement } from '../support/tunnel.ts';
import { aProvisionedCompany, type Company } from '../support/worlds.ts';

let company: Company;
beforeAll(async () => {
  company = await aProvisionedCompany();
});

let createdCount = 0;
async function aVersioned(what: 'table' | 'row') {
  createdCount += 1;
  const id = await createTable(company.as, `versioned_${createdCount}`, [column('view_count', 'integer')]);
  const table = makeTableRoutes(company.as, id);
  await must(table.insert([{ view_count: 1 }]));
  const row = (await table.rows()).body.records[0].id as string;
  const path = `/v1/managed-tables/${id}${what === 'row' ? `/data/${row}` : ''}`;
  const read = () => company.as.get(path);
  const write = (json: object, tag: string | null) =>
    company.as.put(path, { json, headers: { 'If-Match': tag as string } });
  const remove = (tag: string | null) => company.as.delete(path, { headers: { 'If-Match': tag as string } });
  return { table, read, write, remove, tag: (await read()).headers.get('etag') };
}

const refused = { status: 412, body: { error_code: 'PRECONDITION_FAILED', error: expect.stringContaining('mudou') } };

describe('the version of a row', () => {
  it('changes with its columns, even one that is called view_count', async () => {
    const { read, write, remove, tag } = await aVersioned('row');
    expect((await read()).headers.get('etag')).toBe(tag);
    expect((await write({ view_count: 2 }, '"other"')).status).toBe(412);
    expect((await write({ view_count: 2 }, `W/${tag}`)).status).toBe(200);
    expect(await write({ view_count: 3 }, tag)).toMatchObject(refused);
    expect(await remove(tag)).toMatchObject(refused);
    const now = await read();
    expect(now.body.view_count).toBe(2);
    expect((await remove(now.headers.get('etag'))).status).toBe(204);
  });

  it('lets only one of two writers with the same If-Match succeed, whoever comes first', async () => {
    const first = await aVersioned('row');
    const ahead = await rivalBeforeStatement(company.id, /FOR UPDATE/, () => first.write({ view_count: 2 }, first.tag));
    expect(await first.write({ view_count: 3 }, first.tag)).toMatchObject(refused);
    expect((await ahead.outcome).status).toBe(200);
    const second = await aVersioned('row');
    const late = await rivalBeforeStatement(company.id, /UPDATE "public"/, () =>
      second.write({ view_count: 2 }, second.tag),
    );
    expect((await second.write({ view_count: 3 }, second.tag)).status).toBe(200);
    expect(await late.outcome).toMatchObject(refused);
    expect((await second.read()).body.view_count).toBe(3);
  });

  it('makes a deletion with an older If-Match fail', async () => {
    const { read, write, remove, tag } = await aVersioned('row');
    const { outcome } = await rivalBeforeStatement(company.id, /FOR UPDATE/, () => write({ view_count: 2 }, tag));
    expect(await remove(tag)).toMatchObject(refused);
    expect((await outcome).status).toBe(200);
    expect((await read()).body.view_count).toBe(2);
  });
});

describe('the version of a table', () => {
  it('changes with its columns, not with its rows', async () => {
    const { table, read, write, remove, tag } = await aVersioned('table');
    await must(table.insert([{ view_count: 5 }]));
    const { headers, body } = await company.as.get(`/v1/managed-tables/${(await read()).body._id}`, {
      headers: { 'If-None-Match': tag as string },
    });
    expect([headers.get('etag'), body]).toEqual([tag, '']);
    const columns = [column('view_count', 'integer'), column('more')];
    expect((await write({ columns }, '"other"')).status).toBe(412);
    expect((await write({ columns }, tag)).status).toBe(200);
    expect(await write({ columns: columns.slice(1) }, tag)).toMatchObject(refused);
    expect(await remove(tag)).toMatchObject(refused);
    const now = await read();
    expect(now.body.columns).toHaveLength(2);
    expect((await remove(now.headers.get('etag'))).status).toBe(204);
  });

  it('lets only one of two writers with the same If-Match succeed', async () => {
    const { read, write, tag } = await aVersioned('table');
    const { outcome } = await rivalBeforeStatement(company.id, /FOR UPDATE/, () =>
      write({ columns: [column('theirs')] }, tag),
    );
    expect(await write({ columns: [column('ours')] }, tag)).toMatchObject(refused);
    expect((await outcome).status).toBe(200);
    expect((await read()).body.columns).toMatchObject([{ name: 'theirs' }]);
  });
});
