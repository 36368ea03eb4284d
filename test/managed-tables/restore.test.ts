import { describe, expect, it } from 'vitest';
import { createProvisionedCompany } from '../support/companies.ts';
import { runBeforeNextStatement } from '../support/tunnel.ts';
import { createTable, createTableClient, listValues, makeColumn, runInCompanyDatabase } from './support.ts';

const TABLES_PATH = '/v1/managed-tables';
const TABLE_COLUMNS = [makeColumn('a', 'integer', false), makeColumn('b')];

let createdCount = 0;
const company = await createProvisionedCompany();

/** Creates a table with two rows, and deletes it. */
async function createDeletedTable() {
  const name = `excluida_${++createdCount}`;
  const routes = createTableClient(company.as, await createTable(company.as, name, TABLE_COLUMNS));
  await routes.insert([{ a: 1, b: 'x' }, { a: 2 }]);
  const { body: tableBefore } = await routes.get();
  const { body: rows } = await routes.rows();
  expect((await routes.delete()).status).toBe(204);
  return { name, routes, before: tableBefore, rows, id: tableBefore._id as string };
}

const listDeleted = async (query = '') => (await company.as.get(`${TABLES_PATH}/deleted${query}`)).body;
const listIds = (list: { records: { _id: string }[] }) => list.records.map(({ _id }) => _id);

describe('a deleted table', () => {
  it('is listed, the latest deleted first, and can be restored unchanged', async () => {
    const [first, second] = [await createDeletedTable(), await createDeletedTable()];
    expect(listIds(await listDeleted('?per_page=2'))).toEqual([second.id, first.id]);
    const page = await listDeleted('?per_page=1&page=2');
    expect(page).toMatchObject({ quantity: 1, records: [{ _id: first.id }] });
    expect(page.total).toBeGreaterThanOrEqual(2);
    expect(page.records[0]).toStrictEqual({
      ...first.before,
      updated_at: page.records[0].deleted_at,
      deleted_at: expect.stringMatching(/^\d{4}-\d{2}-\d{2}T[\d:.]+Z$/),
    });

    const { status, body } = await first.routes.restore();
    expect([status, body]).toStrictEqual([200, { ...first.before, updated_at: expect.any(String) }]);
    expect((await first.routes.get()).body).toStrictEqual(body);
    expect((await first.routes.rows()).body).toStrictEqual(first.rows);
    expect(listIds(await listDeleted())).not.toContain(first.id);
    expect((await first.routes.insert([{ a: 3 }])).status).toBe(201);
    expect((await first.routes.insert([{}])).status).toBe(422);
    expect((await first.routes.restore()).status).toBe(404);

    expect((await first.routes.delete()).status).toBe(204);
    expect((await first.routes.restore()).status).toBe(200);
    expect(listValues(await first.routes.rows(), 'a')).toEqual([1, 2, 3]);
  });

  it('is not restored while another table or view has its name', async () => {
    const { name, routes, before } = await createDeletedTable();
    const other = createTableClient(company.as, await createTable(company.as, name, [makeColumn('c')]));
    const refusedAnswer = await routes.restore();
    expect([refusedAnswer.status, refusedAnswer.body.error_code]).toEqual([409, 'MANAGED_TABLE_DUPLICATE_NAME']);
    await other.put({ display_name: `${name}_outra` });

    await runInCompanyDatabase(company.id, (database) =>
      database.execute(`CREATE VIEW public.${name} AS SELECT 1 AS one`),
    );
    expect(await routes.restore()).toMatchObject({ status: 409, body: { error_code: 'MANAGED_TABLE_DUPLICATE_NAME' } });
    expect(listIds(await listDeleted())).toContain(before._id);
    await runInCompanyDatabase(company.id, (database) => database.execute(`DROP VIEW public.${name}`));
    expect((await routes.restore()).status).toBe(200);
    expect(listValues(await routes.rows(), 'b')).toEqual(['x', null]);
  });

  it('can be listed and restored for 30 days', async () => {
    const { id, routes } = await createDeletedTable();
    const setDeletedBefore = (time: string) =>
      runInCompanyDatabase(company.id, (database) =>
        database.execute(`UPDATE console.managed_tables SET deleted_at = now() - interval '${time}' WHERE id = $1`, [
          id,
        ]),
      );
    await setDeletedBefore('30 days 1 second');
    expect(listIds(await listDeleted())).not.toContain(id);
    expect((await routes.restore()).status).toBe(404);
    await setDeletedBefore('29 days 23 hours');
    expect(listIds(await listDeleted())).toContain(id);
    expect((await routes.restore()).status).toBe(200);
  });
});

describe('the restoration of a deleted table', () => {
  const RESTORE_STATEMENT_PATTERN = /SET deleted_at = NULL/;
  const createTableNamed = (display_name: string) =>
    company.as.post(TABLES_PATH, { json: { display_name, columns: TABLE_COLUMNS } });

  it('is answered 404 when the table was restored by another request meanwhile', async () => {
    const { routes } = await createDeletedTable();
    const { outcome } = await runBeforeNextStatement(company.id, RESTORE_STATEMENT_PATTERN, () => routes.restore());
    const lateAnswer = await routes.restore();
    expect([(await outcome).status, lateAnswer.status]).toEqual([200, 404]);
    expect((await routes.rows()).body.total).toBe(2);
  });

  it('succeeds, or is refused with 409, when another table of the name is created at the same moment', async () => {
    const first = await createDeletedTable();
    const creationBefore = await runBeforeNextStatement(company.id, RESTORE_STATEMENT_PATTERN, () =>
      createTableNamed(first.name),
    );
    expect((await first.routes.restore()).status).toBe(409);
    expect((await creationBefore.outcome).status).toBe(201);

    const secondTable = await createDeletedTable();
    const creationDuring = await runBeforeNextStatement(company.id, /SET SCHEMA "public"/, () =>
      createTableNamed(secondTable.name),
    );
    expect((await secondTable.routes.restore()).status).toBe(200);
    expect((await creationDuring.outcome).status).toBe(400);
    expect((await secondTable.routes.rows()).body.total).toBe(2);
  });

  it('succeeds, or is refused with 409, when another deleted table of the name is restored at the same moment', async () => {
    const { name, routes: first } = await createDeletedTable();
    const secondTable = createTableClient(company.as, await createTable(company.as, name, TABLE_COLUMNS));
    await secondTable.delete();
    const restorationBefore = await runBeforeNextStatement(company.id, RESTORE_STATEMENT_PATTERN, () =>
      secondTable.restore(),
    );
    const { status, body } = await first.restore();
    expect([status, body.error_code]).toEqual([409, 'MANAGED_TABLE_DUPLICATE_NAME']);
    expect((await restorationBefore.outcome).status).toBe(200);

    await secondTable.delete();
    const restorationDuring = await runBeforeNextStatement(company.id, /SET SCHEMA "public"/, () =>
      secondTable.restore(),
    );
    expect((await first.restore()).status).toBe(200);
    expect((await restorationDuring.outcome).status).toBe(409);
    expect((await first.rows()).body.total).toBe(2);
  });
});
