import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newId } from '../../src/kernel/ids.ts';
import { openTenantSql, type TenantSql } from '../../src/tenant-sql/client.ts';
import { makeTenantNames } from '../../src/tenant-sql/roles.ts';
import { createTenant, makeTunnelOptions } from '../support/tenant.ts';

describe('the database role that runs user SQL', () => {
  const companyId = newId(Date.now());
  let tenant: Awaited<ReturnType<typeof createTenant>>;
  let owner: TenantSql;
  let reader: TenantSql;

  beforeAll(async () => {
    tenant = await createTenant(companyId);
    owner = tenant.openOwnerSql();
    await owner.query('CREATE TABLE public.sales (n integer); INSERT INTO public.sales VALUES (1)');
    await owner.query('CREATE TABLE public.gone (n integer)');
    reader = tenant.openReaderSql();
  });
  afterAll(async () => {
    await reader?.close();
    await owner?.close();
  });

  it('reads tables of the schema public, also one that was moved there from another schema', async () => {
    expect(await reader.query('SELECT n FROM sales')).toEqual([{ n: 1 }]);
    await owner.query('CREATE TABLE console.staging (n integer); INSERT INTO console.staging VALUES (2)');
    await expect(reader.query('SELECT n FROM console.staging')).rejects.toMatchObject({ code: '42501' });
    await owner.query('ALTER TABLE console.staging SET SCHEMA public');
    expect(await reader.query('SELECT n FROM staging')).toEqual([{ n: 2 }]);
  });

  it('cannot read a deleted table', async () => {
    await owner.query('ALTER TABLE public.gone SET SCHEMA trash');
    await expect(reader.query('SELECT n FROM trash.gone')).rejects.toMatchObject({ code: '42501' });
  });

  it("cannot read the service's tables, whose schemas and grants it lacks", async () => {
    await expect(reader.query('SELECT * FROM console.managed_tables')).rejects.toMatchObject({ code: '42501' });
    const { reader: name } = makeTenantNames(companyId);
    const readableTables = await owner.query<{ relname: string }>(
      `SELECT relname FROM pg_class WHERE relnamespace = 'console'::regnamespace AND relkind = 'r'
       AND has_table_privilege($1, oid, 'SELECT')`,
      [name],
    );
    expect(readableTables).toEqual([]);
  });

  const refusedStatements = [
    'INSERT INTO sales VALUES (9)',
    'UPDATE sales SET n = 9',
    'DELETE FROM sales',
    'TRUNCATE sales',
    'DROP TABLE sales',
    'ALTER TABLE sales ADD COLUMN m integer',
    'CREATE TABLE mine (n integer)',
    'CREATE TEMPORARY TABLE mine (n integer)',
    'CREATE SCHEMA mine',
    'CREATE FUNCTION mine() RETURNS integer LANGUAGE sql AS $$ SELECT 1 $$',
    'CREATE ROLE mine',
    "SELECT pg_read_file('/etc/passwd')",
    "SELECT * FROM pg_ls_dir('.')",
    'SELECT rolpassword FROM pg_authid',
    "COPY sales TO PROGRAM 'cat'",
    "COPY sales TO '/tmp/sales'",
    'SELECT * FROM sales FOR UPDATE',
  ];
  for (const statement of refusedStatements) {
    it(`cannot run: ${statement}`, async () => {
      // Also after the session has lifted its own default: grants refuse, not the setting.
      const writableReader = tenant.openReaderSql();
      try {
        await writableReader.query('SET default_transaction_read_only = off');
        await expect(writableReader.query(statement)).rejects.toMatchObject({ code: '42501' });
      } finally {
        await writableReader.close();
      }
    });
  }

  it('cannot become the owner', async () => {
    await expect(reader.query(`SET ROLE ${makeTenantNames(companyId).owner}`)).rejects.toMatchObject({ code: '42501' });
  });

  it('cannot write in a read-only transaction, not even large objects', async () => {
    const readOnlyWrite = reader.runInTransaction((tx) => tx.query('SELECT lo_create(0)'), { readOnly: true });
    await expect(readOnlyWrite).rejects.toMatchObject({ code: '25006' });
    const writableAttempt = reader.runInTransaction(
      (tx) => tx.query("SELECT set_config('transaction_read_only', 'off', true)"),
      {
        readOnly: true,
      },
    );
    await expect(writableAttempt).rejects.toMatchObject({ code: '25001' });
  });

  it("cannot connect to another company's database", async () => {
    const other = await createTenant(newId(Date.now()));
    for (const ownConnection of [tenant.connection.readonlyConnectionString, tenant.connection.ownerConnectionString]) {
      const url = new URL(ownConnection);
      url.pathname = new URL(other.connection.ownerConnectionString).pathname;
      const sql = openTenantSql(url.href, makeTunnelOptions());
      try {
        await expect(sql.query('SELECT 1')).rejects.toMatchObject({ cause: { code: '42501' } });
      } finally {
        await sql.close();
      }
    }
  });

  it('leaves the owner’s privileges as they are', async () => {
    expect(await owner.execute('INSERT INTO sales VALUES (3)')).toBe(1);
    expect(await owner.query('SELECT version FROM console.migrations ORDER BY version')).toContainEqual({ version: 1 });
  });
});
