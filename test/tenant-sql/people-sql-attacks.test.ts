import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runPeopleSql } from '../../src/tenant-sql/people-sql.ts';
import { databaseMessage } from '../../src/tenant-sql/people-sql-failures.ts';
import { tenantNames } from '../../src/tenant-sql/roles.ts';
import { aTenantWithTables } from './people-sql-support.ts';

let world: Awaited<ReturnType<typeof aTenantWithTables>>;
beforeAll(async () => {
  world = await aTenantWithTables();
});
afterAll(async () => {
  await world?.owner.close();
});

describe("attacks through people's SQL", () => {
  const attacks = [
    // More than one statement.
    'SELECT 1; SELECT 2',
    'SELECT 1; DROP TABLE sales',
    'SELECT 1; COMMIT; DELETE FROM sales',
    'SELECT 1 /* ; */ ; SET ROLE postgres',
    'COMMIT',
    'ROLLBACK; DELETE FROM sales; BEGIN',
    'SELECT 1; CLOSE people_sql; SELECT 2',
    // Statements that are no query.
    'INSERT INTO sales VALUES (9)',
    'DELETE FROM sales RETURNING n',
    'WITH gone AS (DELETE FROM sales RETURNING n) SELECT * FROM gone',
    'SELECT n INTO copied FROM sales',
    'SELECT n FROM sales FOR UPDATE',
    "COPY sales TO '/tmp/out'",
    "COPY (SELECT 1) TO PROGRAM 'id'",
    'COPY sales FROM STDIN',
    'DO $$ BEGIN PERFORM 1; END $$',
    'EXPLAIN ANALYZE SELECT 1',
    'SET statement_timeout = 0',
    'SET ROLE postgres',
    'RESET ALL',
    'CALL anything()',
    'PREPARE p AS SELECT 1',
    'LISTEN channel',
    'LOCK TABLE sales',
    'CREATE TEMPORARY TABLE t (n integer)',
    'FETCH ALL FROM people_sql',
    'MOVE people_sql',
    'VACUUM',
    'CREATE EXTENSION dblink',
    '',
    ';',
    '-- nothing',
    // Functions that reach beyond the statement.
    "SELECT set_config('statement_timeout', '0', false)",
    "SELECT pg_catalog.set_config('transaction_read_only', 'off', true)",
    `SELECT "set_config"('role', 'postgres', false)`,
    `SELECT U&"set\\005fconfig"('role', 'postgres', false)`,
    `SELECT U&"set!005fconfig" UESCAPE '!' ('role', 'postgres', false)`,
    "SELECT set_config/* */('role', 'postgres', false)",
    "SELECT SET_CONFIG ('role', 'postgres', false)",
    "SELECT query_to_xml('SELECT set_config(''role'', ''postgres'', false)', true, true, '')",
    "SELECT * FROM ts_stat('SELECT to_tsvector(current_user::text)')",
    'SELECT pg_terminate_backend(pg_backend_pid())',
    'SELECT pg_cancel_backend(1)',
    'SELECT pg_advisory_lock(1)',
    'SELECT pg_advisory_xact_lock_shared(1)',
    "SELECT pg_notify('channel', 'text')",
    'SELECT pg_export_snapshot()',
    "SELECT pg_read_file('/etc/passwd')",
    "SELECT pg_read_binary_file('postgresql.conf')",
    "SELECT * FROM pg_ls_dir('.')",
    "SELECT lo_import('/etc/passwd')",
    'SELECT lo_create(0)',
    "SELECT lo_from_bytea(0, 'x')",
    "SELECT dblink('host=127.0.0.1', 'SELECT 1')",
    "SELECT nextval('anything')",
    "SELECT cursor_to_xml('people_sql', 1, true, true, '')",
    'SELECT * FROM pg_stat_get_activity(NULL)',
    'SELECT * FROM pg_lock_status()',
    'SELECT pg_current_wal_lsn()',
    'SELECT pg_reload_conf()',
    'SELECT pg_switch_wal()',
    "SELECT pg_logical_emit_message(false, 'a', 'b')",
    // What schema public does not hold.
    'SELECT * FROM console.secret',
    'SELECT * FROM console.managed_tables',
    'SELECT * FROM trash.gone',
    'SELECT * FROM pg_class',
    'SELECT relname FROM pg_catalog.pg_class',
    'SELECT s.n FROM sales AS s WHERE EXISTS (SELECT FROM pg_namespace)',
    'SELECT * FROM pg_tables',
    'SELECT * FROM pg_roles',
    'SELECT rolpassword FROM pg_authid',
    'SELECT * FROM pg_stat_activity',
    'SELECT * FROM pg_settings',
    'SELECT * FROM pg_largeobject',
    'SELECT * FROM information_schema.tables',
    'SELECT n::regclass FROM generate_series(16384, 16484) AS n',
    "SELECT CAST('console.secret' AS regclass)",
    "SELECT '{1,2}'::_regnamespace",
    'SELECT n::"regrole" FROM generate_series(1, 20) AS n',
    "SELECT to_regclass('console.secret')",
    'SELECT pg_get_viewdef(1)',
    'SELECT obj_description(1)',
    "SELECT pg_relation_size('sales')",
    // Quoting that a careless reader of SQL takes for something else.
    'SELECT $a$ ; $a$; DROP TABLE sales',
    "SELECT E'\\'; DROP TABLE sales; --'; DROP TABLE sales",
    'SELECT 1 /* /* */ */; SELECT pg_sleep(0)',
    "SELECT 'a' ; /* \n */ SET ROLE postgres --",
    'SELECT $1',
    'SELECT n FROM sales WHERE n = $99::int',
  ];

  it(`are refused, ${attacks.length} of them, each as a fact of the domain`, async () => {
    for (const text of attacks) {
      const failure = await world.failureOf(text);
      expect([text, failure.reason]).toEqual([text, expect.stringMatching(/^people_sql\.(refused|failed)$/)]);
      expect(JSON.stringify([failure.message, failure.detail])).not.toMatch(/sales|console|trash|pg_|schema|hint/i);
    }
    expect(await world.owner.query('SELECT count(*) AS n FROM sales')).toEqual([{ n: '3' }]);
    expect(await world.owner.query("SELECT count(*) AS n FROM pg_locks WHERE locktype = 'advisory'")).toEqual([
      { n: '0' },
    ]);
  });

  it('leave nothing behind for the next statement of the connection', async () => {
    const reader = world.tenant.reader();
    const settings = {
      text: "SELECT current_user, current_setting('statement_timeout'), current_setting('transaction_read_only')",
      values: [],
    };
    try {
      for (const text of ["SELECT set_config('statement_timeout', '0', false)", 'COMMIT', 'SELECT 1 / 0', 'SELECT 1']) {
        await runPeopleSql(reader, { text, values: [] }).catch(() => undefined);
        expect((await runPeopleSql(reader, settings)).rows).toEqual([
          [tenantNames(world.companyId).reader, '10s', 'on'],
        ]);
      }
    } finally {
      await reader.close();
    }
  });

  it('tell their author what the database said, and nobody else', async () => {
    const failure = await world.failureOf('SELECT nothing FROM sales');
    expect(databaseMessage(failure)).toContain('"nothing" does not exist');
    expect(failure.message).toBe('The query failed.');
  });
});
