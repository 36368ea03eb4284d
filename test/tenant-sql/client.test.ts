import { afterEach, describe, expect, inject, it } from 'vitest';
import { newId } from '../../src/kernel/ids.ts';
import { migrateDatabase, TENANT_SCHEMA_VERSION } from '../../src/modules/managed-database/migrations.ts';
import {
  isPostgresError,
  openTenantSql,
  type TenantSql,
  type TenantSqlOptions,
  type TenantTx,
} from '../../src/tenant-sql/client.ts';
import { copyIn } from '../../src/tenant-sql/copy.ts';
import { makeTenantNames } from '../../src/tenant-sql/roles.ts';
import { runInCompanyDatabase } from '../managed-tables/support.ts';
import { createProvisionedCompany } from '../support/companies.ts';
import { createTenant, makeTunnelOptions } from '../support/tenant.ts';
import { countOpenedConnections, disturbTunnel, runBeforeNextStatement } from '../support/tunnel.ts';

const companyId = newId(Date.now());
const openClients: TenantSql[] = [];

const tenant = await createTenant(companyId);
const url = tenant.connection.ownerConnectionString;
const sql = openClient();
await sql.query("CREATE TABLE t (n integer PRIMARY KEY, m text NOT NULL DEFAULT '')");

afterEach(async () => {
  for (const sql of openClients.splice(0)) await sql.close();
});

function openClient(connectionString = url, options: TenantSqlOptions = makeTunnelOptions()): TenantSql {
  const sql = openTenantSql(connectionString, options);
  openClients.push(sql);
  return sql;
}

describe('the client of a company’s Postgres reads the value of', () => {
  const cases: [string, unknown][] = [
    ['9223372036854775807::bigint', '9223372036854775807'],
    ["'-9223372036854775808'::bigint", '-9223372036854775808'],
    ['12345678901234567890.123456789000::numeric', '12345678901234567890.123456789000'],
    ["'NaN'::numeric", 'NaN'],
    ["timestamptz '2026-01-02 03:04:05.678901+02'", '2026-01-02 01:04:05.678901+00'],
    ["timestamp '2026-01-02 03:04:05'", '2026-01-02 03:04:05'],
    ["date '0044-03-15 BC'", '0044-03-15 BC'],
    ["time '23:59:59.999999'", '23:59:59.999999'],
    ["interval '1 day 2 hours'", '1 day 02:00:00'],
    ['2147483647', 2147483647],
    ['(-32768)::smallint', -32768],
    ['0.1::float8', 0.1],
    ["'Infinity'::float8", Number.POSITIVE_INFINITY],
    ['true', true],
    ['false', false],
    ["'0198c7a5-1111-7222-8333-444455556666'::uuid", '0198c7a5-1111-7222-8333-444455556666'],
    ['\'{"a": [1, null]}\'::json', { a: [1, null] }],
    ['\'[1, "two"]\'::jsonb', [1, 'two']],
    ["'null'::jsonb", null],
    ['NULL::bigint', null],
    ["ARRAY['a', NULL, 'b,c']::text[]", ['a', null, 'b,c']],
    ['ARRAY[1, 9223372036854775807]::bigint[]', ['1', '9223372036854775807']],
    ["'\\xdeadbeef'::bytea", '\\xdeadbeef'],
    ["'日本 \u{1F600}'::text", '日本 \u{1F600}'],
  ];
  for (const [expression, expected] of cases) {
    it(expression, async () => {
      expect(await openClient().query(`SELECT ${expression} AS value`)).toEqual([{ value: expected }]);
      expect(await openClient().query(`SELECT ${expression} AS value WHERE $1`, [true])).toEqual([{ value: expected }]);
    });
  }
});

describe('statements of the client of a company’s Postgres', () => {
  it('return the number of affected rows, or the rows of the last of several statements', async () => {
    const sql = openClient();
    expect(await sql.execute('INSERT INTO t SELECT generate_series($1::int, $2::int)', [100, 109])).toBe(10);
    expect(await sql.query('SELECT 1 AS a; SELECT 2 AS b')).toEqual([{ b: 2 }]);
    expect(await sql.execute('DELETE FROM t WHERE n >= 100')).toBe(10);
  });

  it("fail with the fields of PostgreSQL's error and leave the connection usable", async () => {
    const sql = openClient();
    const error = await sql.query('INSERT INTO t (n) VALUES (200), (200)').catch((caughtError: unknown) => caughtError);
    expect(isPostgresError(error) && error).toMatchObject({ code: '23505', constraint: 't_pkey', table: 't' });
    const missingValueError = await sql
      .query('INSERT INTO t (n, m) VALUES (201, NULL)')
      .catch((caughtError: unknown) => caughtError);
    expect(isPostgresError(missingValueError) && missingValueError.column).toBe('m');
    expect(await sql.query('SELECT count(*) AS n FROM t')).toEqual([{ n: '0' }]);
  });
});

describe('a transaction in a company’s Postgres', () => {
  it('commits its statements and returns the result of its callback', async () => {
    const result = await openClient().runInTransaction(async (tx) => {
      await tx.execute('INSERT INTO t (n) VALUES (1)');
      return 'done';
    });
    expect(result).toBe('done');
    expect(await openClient().execute('DELETE FROM t WHERE n = 1')).toBe(1);
  });

  it('rolls back when its callback throws, and throws the same error', async () => {
    const sql = openClient();
    const failingTransaction = sql.runInTransaction(async (tx) => {
      await tx.execute('INSERT INTO t (n) VALUES (2)');
      throw new RangeError('no');
    });
    await expect(failingTransaction).rejects.toThrow(RangeError);
    expect(await sql.query('SELECT n FROM t')).toEqual([]);
  });

  it('fails when its callback swallows the error of a statement', async () => {
    const failingTransaction = openClient().runInTransaction(async (tx) => {
      await tx.execute('INSERT INTO t (n) VALUES (3)');
      await tx.query('SELECT 1/0').catch(() => undefined);
    });
    await expect(failingTransaction).rejects.toThrow('rolled back');
    expect(await openClient().query('SELECT n FROM t')).toEqual([]);
  });

  it('limits the time of a statement and of a wait for a lock', async () => {
    const slowTransaction = openClient().runInTransaction((tx) => tx.query('SELECT pg_sleep(5)'), {
      statementTimeoutMs: 100,
    });
    await expect(slowTransaction).rejects.toMatchObject({ code: '57014' });
    await openClient().runInTransaction(async (lockHolder) => {
      await lockHolder.query('LOCK TABLE t');
      const waitingTransaction = openClient().runInTransaction((tx) => tx.query('SELECT * FROM t'), {
        lockTimeoutMs: 100,
      });
      await expect(waitingTransaction).rejects.toMatchObject({ code: '55P03' });
    });
  });

  it('can be read-only or serializable, and leaves no setting on the connection', async () => {
    const sql = openClient();
    const pendingWrite = sql.runInTransaction((tx) => tx.execute('INSERT INTO t (n) VALUES (4)'), { readOnly: true });
    await expect(pendingWrite).rejects.toMatchObject({ code: '25006' });
    const isolationLevel = await sql.runInTransaction((tx) => tx.query('SHOW transaction_isolation'), {
      isolation: 'serializable',
    });
    expect(isolationLevel).toEqual([{ transaction_isolation: 'serializable' }]);
    expect(await sql.query('SHOW statement_timeout')).toEqual([{ statement_timeout: '30s' }]);
  });

  it('can run several statements in one message, and runs none after a statement that fails', async () => {
    const sql = openClient();
    const bothResults = await sql.runInTransaction((tx) =>
      tx.queryAll<[{ a: number }, { b: string[] }]>([
        { text: 'SELECT $1::int AS a', values: [1] },
        { text: 'SELECT $1::text[] AS b', values: [['x', '"y"']] },
      ]),
    );
    expect(bothResults).toEqual([[{ a: 1 }], [{ b: ['x', '"y"'] }]]);
    const failingStatements = sql.queryAll([
      { text: 'SELECT 1 / $1::int', values: [0] },
      { text: 'INSERT INTO t (n) VALUES ($1)', values: [5] },
    ]);
    await expect(failingStatements).rejects.toMatchObject({ code: '22012' });
    expect(await sql.query('SELECT n FROM t')).toEqual([]);
  });

  it('can end in the same message as its last statements', async () => {
    const sql = openClient();
    const finishRead = (tx: TenantTx) => tx.finish<[{ n: number }]>([{ text: 'SELECT 1 AS n', values: [] }]);
    expect(await sql.runInTransaction(finishRead, { readOnly: true })).toEqual([[{ n: 1 }]]);
    expect(await sql.query('SELECT now() = statement_timestamp() AS alone')).toEqual([{ alone: true }]);
    const finishFailing = (tx: TenantTx) => tx.finish([{ text: 'SELECT 1 / $1::int', values: [0] }]);
    await expect(sql.runInTransaction(finishFailing, { readOnly: true })).rejects.toMatchObject({ code: '22012' });
    expect(await sql.query('SELECT now() = statement_timestamp() AS alone')).toEqual([{ alone: true }]);
  });

  it('runs no statement when it cannot begin', async () => {
    const sql = openClient();
    const blockedTransaction = sql.runInTransaction((tx) => tx.execute('INSERT INTO t (n) VALUES ($1)', [6]), {
      lockTimeoutMs: -1,
    });
    await expect(blockedTransaction).rejects.toMatchObject({ code: '22023' });
    expect(await sql.query('SELECT n FROM t')).toEqual([]);
  });

  it('cannot be nested in another transaction', async () => {
    const sql = openClient();
    const nestedTransaction = sql.runInTransaction(() => sql.runInTransaction(async () => undefined));
    await expect(nestedTransaction).rejects.toThrow('nest');
  });
});

describe('a connection to a company’s Postgres', () => {
  const UNAVAILABLE_FAILURE = { kind: 'unavailable', reason: 'tenant_sql.unavailable' };

  it('is opened by its first statement only', async () => {
    const sql = openClient();
    await expect(countOpenedConnections(companyId, () => sql.close())).resolves.toEqual({ direct: 0, pooled: 0 });
    const usedClient = openClient();
    await expect(countOpenedConnections(companyId, () => usedClient.query('SELECT 1'))).resolves.toEqual({
      direct: 1,
      pooled: 0,
    });
  });

  it('holds no lock once it is closed inside a transaction', async () => {
    const sql = openClient();
    await sql.query('BEGIN; LOCK TABLE t');
    await sql.close();
    await openClient().runInTransaction((tx) => tx.query('SELECT * FROM t'), { lockTimeoutMs: 3_000 });
    await expect(sql.query('SELECT 1')).rejects.toMatchObject(UNAVAILABLE_FAILURE);
  });

  it('fails as unavailable once it is lost, also for all later statements', async () => {
    const sql = openClient();
    const lostTransaction = sql.runInTransaction(async (tx) => {
      const [row] = await tx.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
      await openClient().query('SELECT pg_terminate_backend($1)', [row?.pid]);
      await tx.query('SELECT pg_sleep(1)');
    });
    await expect(lostTransaction).rejects.toMatchObject(UNAVAILABLE_FAILURE);
    // It would never report its end: nobody waits for that.
    expect(sql.isClosed).toBe(true);
    await expect(sql.query('SELECT 1')).rejects.toMatchObject(UNAVAILABLE_FAILURE);
    await sql.close();
  });

  it('is closed at once when it is lost, and releases its locks', async () => {
    let endCount = 0;
    const sql = openClient(url, { ...makeTunnelOptions(), graceMs: 100, onClosed: () => (endCount += 1) });
    const waitForever = () => new Promise<never>(() => undefined);
    await sql.query('BEGIN; LOCK TABLE t');
    await expect(sql.runBounded(waitForever, 0)).rejects.toMatchObject(UNAVAILABLE_FAILURE);
    expect(endCount).toBe(1);
    // Although nobody has closed it.
    await openClient().runInTransaction((tx) => tx.query('SELECT * FROM t'), { lockTimeoutMs: 10_000 });
    await sql.close();
  });

  it('has PostgreSQL’s time limits for statements, locks and idle transactions', async () => {
    const settings = ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout'];
    const limits = await Promise.all(
      settings.map((name) => openClient().query<Record<string, string>>(`SHOW ${name}`)),
    );
    expect(limits.map(([row], index) => row?.[settings[index] as string])).toEqual(['30s', '5s', '1min']);
  });

  it.each([
    ['outside a transaction', (sql: TenantSql) => sql.executeOutsideTransaction('SELECT 1 AS dead', 100)],
    [
      'inside a transaction',
      (sql: TenantSql) => sql.runInTransaction((tx) => tx.query('SELECT 1 AS dead'), { statementTimeoutMs: 100 }),
    ],
    ['in the middle of COPY', (sql: TenantSql) => copyIn(sql, 'COPY t FROM STDIN /* dead */', new Uint8Array(), 100)],
  ])('fails after the grace period when its socket falls silent, %s', async (_, run) => {
    await disturbTunnel(companyId, { statement: 'dead', effect: 'fall_silent' });
    const sql = openClient(url, { ...makeTunnelOptions(), graceMs: 200 });
    const startedAt = Date.now();
    await expect(run(sql)).rejects.toMatchObject(UNAVAILABLE_FAILURE);
    // Not by the statement's own time limit, of thirty seconds.
    expect(Date.now() - startedAt).toBeLessThan(10_000);
    await expect(sql.query('SELECT 1')).rejects.toMatchObject(UNAVAILABLE_FAILURE);
  });

  it('fails after the connect timeout when it cannot be opened', async () => {
    await disturbTunnel(companyId, { effect: 'fall_silent' });
    await expect(
      openClient(url, { ...makeTunnelOptions(), connectTimeoutMs: 200 }).query('SELECT 1'),
    ).rejects.toMatchObject(UNAVAILABLE_FAILURE);
  });

  it('fails with an unknown result when the answer to COMMIT is lost', async () => {
    const UNKNOWN_RESULT_FAILURE = { kind: 'unavailable', reason: 'tenant_sql.result_unknown' };
    await disturbTunnel(companyId, { statement: 'COMMIT', effect: 'lose_answer' });
    const pendingInsert = openClient().runInTransaction((tx) => tx.execute('INSERT INTO t (n) VALUES (50)'));
    await expect(pendingInsert).rejects.toMatchObject(UNKNOWN_RESULT_FAILURE);
    await disturbTunnel(companyId, { statement: 'VALUES .51', effect: 'lose_answer' });
    await expect(openClient().execute('INSERT INTO t (n) VALUES (51)')).rejects.toMatchObject(UNKNOWN_RESULT_FAILURE);
    // Both were committed.
    expect(await openClient().execute('DELETE FROM t WHERE n IN (50, 51)')).toBe(2);
  });

  it('fails as unavailable when it is lost before COMMIT or while reading', async () => {
    await disturbTunnel(companyId, { statement: 'VALUES .52', effect: 'lose_answer' });
    const lostTransaction = openClient().runInTransaction((tx) => tx.execute('INSERT INTO t (n) VALUES (52)'));
    await expect(lostTransaction).rejects.toMatchObject(UNAVAILABLE_FAILURE);
    await disturbTunnel(companyId, { statement: 'COMMIT', effect: 'lose_answer' });
    const pendingRead = openClient().runInTransaction((tx) => tx.query('SELECT 1'), { readOnly: true });
    await expect(pendingRead).rejects.toMatchObject(UNAVAILABLE_FAILURE);
    const sql = openClient();
    const disconnectedTransaction = sql.runInTransaction(async (tx) => {
      const [row] = await tx.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
      await openClient().query('SELECT pg_terminate_backend($1)', [row?.pid]);
      await new Promise((resolve) => setTimeout(resolve, 300));
    });
    await expect(disconnectedTransaction).rejects.toMatchObject(UNAVAILABLE_FAILURE);
    expect(await openClient().query('SELECT n FROM t')).toEqual([]);
  });

  it('fails as unavailable with a wrong host, proxy, password or database', async () => {
    const changeUrl = (change: (url: URL) => void) => {
      const changedUrl = new URL(url);
      change(changedUrl);
      return changedUrl.href;
    };
    const attempts = [
      openClient(changeUrl((it) => (it.hostname = 'ep-unknown.neon.localhost'))),
      openClient(changeUrl((it) => (it.password = 'wrong'))),
      openClient(changeUrl((it) => (it.pathname = '/nothing'))),
      openClient(url, { wsProxy: 'ws://127.0.0.1:9/v2' }),
    ];
    for (const sql of attempts) {
      await expect(sql.query('SELECT 1')).rejects.toMatchObject(UNAVAILABLE_FAILURE);
      expect(sql.isClosed).toBe(true);
    }
  });

  it('reaches only endpoints of Neon', async () => {
    const postgres = new URL(inject('postgresUrl'));
    await expect(openClient(postgres.href).query('SELECT 1')).rejects.toMatchObject(UNAVAILABLE_FAILURE);
  });
});

it('the migrations of a company’s Postgres run once, however many calls migrate at the same time', async () => {
  const company = await createProvisionedCompany();
  const runInDatabase = <T>(work: (sql: TenantSql) => Promise<T>) => runInCompanyDatabase(company.id, work);
  await runInDatabase((sql) => sql.query('DROP SCHEMA console CASCADE'));
  const runMigrations = () => runInDatabase((sql) => migrateDatabase(sql, makeTenantNames(company.id).reader));
  const concurrentRun = await runBeforeNextStatement(company.id, /INSERT INTO console.migrations/, runMigrations);
  expect([await runMigrations(), await concurrentRun.outcome]).toEqual([TENANT_SCHEMA_VERSION, TENANT_SCHEMA_VERSION]);
  const appliedVersions = await runInDatabase((sql) => sql.query('SELECT version FROM console.migrations'));
  expect(appliedVersions).toHaveLength(TENANT_SCHEMA_VERSION);
});
