import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Failure } from '../../src/kernel/failure.ts';
import { newId } from '../../src/kernel/ids.ts';
import type { TenantSql } from '../../src/tenant-sql/client.ts';
import {
  databaseMessage,
  type PeopleSqlLimits,
  runPeopleSql,
  STANDARD_LIMITS,
} from '../../src/tenant-sql/people-sql.ts';
import { tenantNames } from '../../src/tenant-sql/roles.ts';
import { aTenant } from '../support/tenant.ts';

const companyId = newId(Date.now());
let tenant: Awaited<ReturnType<typeof aTenant>>;
let owner: TenantSql;

beforeAll(async () => {
  tenant = await aTenant(companyId);
  owner = tenant.owner();
  await owner.query('CREATE TABLE public.sales (n integer); INSERT INTO public.sales VALUES (1), (2), (3)');
  await owner.query('CREATE TABLE public.gone (n integer); ALTER TABLE public.gone SET SCHEMA trash');
  await owner.query('CREATE TABLE console.secret (n integer); INSERT INTO console.secret VALUES (42)');
});
afterAll(async () => {
  await owner?.close();
});

async function run(text: string, values: (string | null)[] = [], limits: Partial<PeopleSqlLimits> = {}) {
  const reader = tenant.reader();
  try {
    return await runPeopleSql(reader, { text, values }, { ...STANDARD_LIMITS, ...limits });
  } finally {
    await reader.close();
  }
}

/** The failure of a statement that must fail as a fact of the domain, never as an error of ours. */
async function failureOf(text: string, limits: Partial<PeopleSqlLimits> = {}): Promise<Failure> {
  const outcome = await run(text, [], limits).catch((error: unknown) => error);
  expect(outcome, text).toBeInstanceOf(Failure);
  return outcome as Failure;
}

describe('what a result holds', () => {
  it('gives columns with types and values as row JSON has them', async () => {
    const text = `SELECT 9007199254740991::bigint AS safe, 9007199254740993::bigint AS big, 1.50::numeric AS price,
      0.1::float8 AS share, 12345678901234567890.123::numeric AS long, true AS yes, DATE '2024-02-29' AS day,
      TIMESTAMPTZ '2024-01-31 12:00:00-03' AS at, TIMESTAMP '2024-01-31 12:00:00.5' AS local, 'é'::text AS word,
      NULL::integer AS nothing, ARRAY[1,2] AS list, 'NaN'::float8 AS nan`;
    const { columns, rows, truncated } = await run(text);
    expect(columns.map(({ type }) => type)).toEqual([
      'integer',
      'integer',
      'decimal',
      'decimal',
      'decimal',
      'boolean',
      'date',
      'datetime',
      'datetime',
      'text',
      'integer',
      'text',
      'decimal',
    ]);
    expect(rows).toEqual([
      [
        9007199254740991,
        '9007199254740993',
        1.5,
        0.1,
        '12345678901234567890.123',
        true,
        '2024-02-29',
        '2024-01-31T15:00:00.000Z',
        '2024-01-31T12:00:00.500Z',
        'é',
        null,
        '{1,2}',
        'NaN',
      ],
    ]);
    expect(truncated).toBe(false);
  });

  it('keeps columns of one name, and gives none where there are none', async () => {
    expect(await run('SELECT 1 AS a, 2 AS a')).toMatchObject({
      columns: [{ name: 'a' }, { name: 'a' }],
      rows: [[1, 2]],
    });
    expect(await run('SELECT FROM sales')).toEqual({ columns: [], rows: [[], [], []], truncated: false });
  });

  it('binds values', async () => {
    const { rows } = await run(
      'SELECT n FROM sales WHERE n = ANY (($1::text[])::int[]) AND ($2::text) IS NULL ORDER BY n',
      ['{"1","3"}', null],
    );
    expect(rows).toEqual([[1], [3]]);
  });

  for (const text of [
    'VALUES (1)',
    'TABLE sales',
    'WITH s AS (SELECT n FROM sales) SELECT sum(n) FROM s',
    'SELECT 1;',
    'SELECT 1 -- the end',
    '(SELECT 1 UNION SELECT 2 ORDER BY 1) LIMIT 1',
    'SELECT pg_typeof(1)::text, now() IS NOT NULL',
  ]) {
    it(`runs: ${text}`, async () => {
      expect((await run(text)).rows.length).toBeGreaterThan(0);
    });
  }
});

describe('limits', () => {
  it('gives the rows up to the limit and says that there are more', async () => {
    const { rows, truncated } = await run('SELECT g FROM generate_series(1, 10001) AS g');
    expect([rows.length, truncated]).toEqual([10_000, true]);
    const all = await run('SELECT g FROM generate_series(1, 10000) AS g');
    expect([all.rows.length, all.truncated]).toEqual([10_000, false]);
  });

  it('runs nothing for a limit of no rows, and still knows the columns', async () => {
    expect(await run('SELECT 1 / (random() * 0)::integer AS broken', [], { rows: 0 })).toEqual({
      columns: [{ name: 'broken', type: 'integer' }],
      rows: [],
      truncated: false,
    });
  });

  it('stops SQL that runs for ever', async () => {
    const started = Date.now();
    const endless = 'WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r';
    for (const text of [
      'SELECT pg_sleep(60)',
      endless,
      'SELECT count(*) FROM generate_series(1, 1000000000000) AS g',
    ]) {
      expect((await failureOf(text, { milliseconds: 300 })).reason).toBe('people_sql.timeout');
    }
    expect(Date.now() - started).toBeLessThan(8000);
  });

  it('drops a result that is too many bytes, and gives the rows that fit', async () => {
    const { rows, truncated } = await run("SELECT repeat('x', 100000) FROM generate_series(1, 9000)");
    expect(truncated).toBe(true);
    expect(rows.length).toBeGreaterThan(50);
    expect(rows.length).toBeLessThan(120);
  });

  it('drops a single value that is too large', async () => {
    expect((await failureOf("SELECT repeat('x', 100000000)")).reason).toBe('people_sql.too_large');
  });

  it('shares a budget of bytes among statements', async () => {
    const budget = { left: 300_000 };
    expect((await run("SELECT repeat('x', 200000)", [], { budget })).truncated).toBe(false);
    await expect(run("SELECT repeat('x', 200000)", [], { budget })).rejects.toMatchObject({
      reason: 'people_sql.too_large',
    });
  });

  it('goes on after a failure on the same connection, and is of no use after a drop', async () => {
    const reader = tenant.reader();
    try {
      await expect(runPeopleSql(reader, { text: 'SELECT 1 / 0', values: [] })).rejects.toMatchObject({
        reason: 'people_sql.failed',
      });
      expect((await runPeopleSql(reader, { text: 'SELECT 7', values: [] })).rows).toEqual([[7]]);
      expect((await runPeopleSql(reader, { text: 'SELECT 8', values: [] })).rows).toEqual([[8]]);
      await expect(runPeopleSql(reader, { text: "SELECT repeat('x', 100000000)", values: [] })).rejects.toBeInstanceOf(
        Failure,
      );
      await expect(runPeopleSql(reader, { text: 'SELECT 9', values: [] })).rejects.toMatchObject({
        reason: 'tenant_sql.unavailable',
      });
    } finally {
      await reader.close();
    }
  });
});

describe('attacks', () => {
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
      const failure = await failureOf(text);
      expect([text, failure.reason]).toEqual([text, expect.stringMatching(/^people_sql\.(refused|failed)$/)]);
      expect(JSON.stringify([failure.message, failure.detail])).not.toMatch(/sales|console|trash|pg_|schema|hint/i);
    }
    expect(await owner.query('SELECT count(*) AS n FROM sales')).toEqual([{ n: '3' }]);
    expect(await owner.query("SELECT count(*) AS n FROM pg_locks WHERE locktype = 'advisory'")).toEqual([{ n: '0' }]);
  });

  it('leave nothing behind for the next statement of the connection', async () => {
    const reader = tenant.reader();
    const settings = {
      text: "SELECT current_user, current_setting('statement_timeout'), current_setting('transaction_read_only')",
      values: [],
    };
    try {
      for (const text of ["SELECT set_config('statement_timeout', '0', false)", 'COMMIT', 'SELECT 1 / 0', 'SELECT 1']) {
        await runPeopleSql(reader, { text, values: [] }).catch(() => undefined);
        expect((await runPeopleSql(reader, settings)).rows).toEqual([[tenantNames(companyId).reader, '10s', 'on']]);
      }
    } finally {
      await reader.close();
    }
  });

  it('tell their author what the database said, and nobody else', async () => {
    const failure = await failureOf('SELECT nothing FROM sales');
    expect(databaseMessage(failure)).toContain('"nothing" does not exist');
    expect(failure.message).toBe('The query failed.');
  });
});
