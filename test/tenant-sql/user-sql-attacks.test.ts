import { afterAll, describe, expect, it } from 'vitest';
import { getDatabaseMessage } from '../../src/tenant-sql/failures.ts';
import { makeTenantNames } from '../../src/tenant-sql/roles.ts';
import { runUserSql } from '../../src/tenant-sql/user-sql.ts';
import { SQL_ATTACKS } from './sql-attacks.ts';
import { createTenantWithTables } from './user-sql-support.ts';

const testTenant = await createTenantWithTables();
afterAll(async () => {
  await testTenant?.owner.close();
});

describe('attacks by user SQL', () => {
  it(`are all refused or fail, without revealing names (${SQL_ATTACKS.length} of them)`, async () => {
    for (const text of SQL_ATTACKS) {
      const failure = await testTenant.failureOf(text);
      expect([text, failure.reason]).toEqual([text, expect.stringMatching(/^user_sql\.(refused|failed)$/)]);
      expect(JSON.stringify([failure.message, failure.detail])).not.toMatch(/sales|console|trash|pg_|schema|hint/i);
    }
    expect(await testTenant.owner.query('SELECT count(*) AS n FROM sales')).toEqual([{ n: '3' }]);
    // Other tests have databases on the same server.
    const advisoryLocksSql = `SELECT count(*) AS n FROM pg_locks JOIN pg_database ON pg_database.oid = database
      WHERE locktype = 'advisory' AND datname = current_database()`;
    expect(await testTenant.owner.query(advisoryLocksSql)).toEqual([{ n: '0' }]);
  });

  it('do not change a setting for the next statement of the connection', async () => {
    const reader = testTenant.tenant.openReaderSql();
    const settings = {
      text: "SELECT current_user, current_setting('statement_timeout'), current_setting('transaction_read_only')",
      values: [],
    };
    try {
      for (const text of ["SELECT set_config('statement_timeout', '0', false)", 'COMMIT', 'SELECT 1 / 0', 'SELECT 1']) {
        await runUserSql(reader, { text, values: [] }).catch(() => undefined);
        expect((await runUserSql(reader, settings)).rows).toEqual([
          [makeTenantNames(testTenant.companyId).reader, '10s', 'on'],
        ]);
      }
    } finally {
      await reader.close();
    }
  });

  it("show the database's message only to the author of the SQL", async () => {
    const failure = await testTenant.failureOf('SELECT nothing FROM sales');
    expect(getDatabaseMessage(failure)).toContain('"nothing" does not exist');
    expect(failure.message).toBe('The query failed.');
  });
});
