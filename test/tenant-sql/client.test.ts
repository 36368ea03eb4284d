import { afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
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
import { tenantNames } from '../../src/tenant-sql/roles.ts';
import { runBehindApi } from '../managed-tables/support.ts';
import { aTenant, tunnel } from '../support/tenant.ts';
import { connectionsOf, disturb, rivalBeforeStatement } from '../support/tunnel.ts';
import { aProvisionedCompany } from '../support/worlds.ts';

const companyId = newId(Date.now());
const opened: TenantSql[] = [];
let url: string;

beforeAll(async () => {
  const tenant = await aTenant(companyId);
  url = tenant.connection.ownerConnectionString;
  const sql = open();
  await sql.query("CREATE TABLE t (n integer PRIMARY KEY, m text NOT NULL DEFAULT '')");
});

afterEach(async () => {
  for (const sql of opened.splice(0)) await sql.close();
});

function open(connectionString = url, options: TenantSqlOptions = tunnel()): TenantSql {
  const sql = openTenantSql(connectionString, options);
  opened.push(sql);
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
      expect(await open().query(`SELECT ${expression} AS value`)).toEqual([{ value: expected }]);
      expect(await open().query(`SELECT ${expression} AS value WHERE $1`, [true])).toEqual([{ value: expected }]);
    });
  }
});

describe('statements of the client of a company’s Postgres', () => {
  it('return the number of affected rows, or the rows of the last of several statements', async () => {
    const sql = open();
    expect(await sql.execute('INSERT INTO t SELECT generate_series($1::int, $2::int)', [100, 109])).toBe(10);
    expect(await sql.query('SELECT 1 AS a; SELECT 2 AS b')).toEqual([{ b: 2 }]);
    expect(await sql.execute('DELETE FROM t WHERE n >= 100')).toBe(10);
  });

  it("fail with the fields of PostgreSQL's error and leave the connection usable", async () => {
    const sql = open();
    const error = await sql.query('INSERT INTO t (n) VALUES (200), (200)').catch((caught: unknown) => caught);
    expect(isPostgresError(error) && error).toMatchObject({ code: '23505', constraint: 't_pkey', table: 't' });
    const missing = await sql.query('INSERT INTO t (n, m) VALUES (201, NULL)').catch((caught: unknown) => caught);
    expect(isPostgresError(missing) && missing.column).toBe('m');
    expect(await sql.query('SELECT count(*) AS n FROM t')).toEqual([{ n: '0' }]);
  });
});

describe('a transaction in a company’s Postgres', () => {
  it('commits its statements and returns the result of its callback', async () => {
    const result = await open().transaction(async (tx) => {
      await tx.execute('INSERT INTO t (n) VALUES (1)');
      return 'done';
    });
    expect(result).toBe('done');
    expect(await open().execute('DELETE FROM t WHERE n = 1')).toBe(1);
  });

  it('rolls back when its callback throws, and throws the same error', async () => {
    const sql = open();
    const work = sql.transaction(async (tx) => {
      await tx.execute('INSERT INTO t (n) VALUES (2)');
      throw new RangeError('no');
    });
    await expect(work).rejects.toThrow(RangeError);
    expect(await sql.query('SELECT n FROM t')).toEqual([]);
  });

  it('fails when its callback swallows the error of a statement', async () => {
    const work = open().transaction(async (tx) => {
      await tx.execute('INSERT INTO t (n) VALUES (3)');
      await tx.query('SELECT 1/0').catch(() => undefined);
    });
    await expect(work).rejects.toThrow('rolled back');
    expect(await open().query('SELECT n FROM t')).toEqual([]);
  });

  it('limits the time of a statement and of a wait for a lock', async () => {
    const slow = open().transaction((tx) => tx.query('SELECT pg_sleep(5)'), { statementTimeoutMs: 100 });
    await expect(slow).rejects.toMatchObject({ code: '57014' });
    await open().transaction(async (holder) => {
      await holder.query('LOCK TABLE t');
      const waiting = open().transaction((tx) => tx.query('SELECT * FROM t'), { lockTimeoutMs: 100 });
      await expect(waiting).rejects.toMatchObject({ code: '55P03' });
    });
  });

  it('can be read-only or serializable, and leaves no setting on the connection', async () => {
    const sql = open();
    const write = sql.transaction((tx) => tx.execute('INSERT INTO t (n) VALUES (4)'), { readOnly: true });
    await expect(write).rejects.toMatchObject({ code: '25006' });
    const level = await sql.transaction((tx) => tx.query('SHOW transaction_isolation'), { isolation: 'serializable' });
    expect(level).toEqual([{ transaction_isolation: 'serializable' }]);
    expect(await sql.query('SHOW statement_timeout')).toEqual([{ statement_timeout: '30s' }]);
  });

  it('can run several statements in one message, and none after one that fails', async () => {
    const sql = open();
    const both = await sql.transaction((tx) =>
      tx.queryAll<[{ a: number }, { b: string[] }]>([
        { text: 'SELECT $1::int AS a', values: [1] },
        { text: 'SELECT $1::text[] AS b', values: [['x', '"y"']] },
      ]),
    );
    expect(both).toEqual([[{ a: 1 }], [{ b: ['x', '"y"'] }]]);
    const failing = sql.queryAll([
      { text: 'SELECT 1 / $1::int', values: [0] },
      { text: 'INSERT INTO t (n) VALUES ($1)', values: [5] },
    ]);
    await expect(failing).rejects.toMatchObject({ code: '22012' });
    expect(await sql.query('SELECT n FROM t')).toEqual([]);
  });

  it('can end in the same message as its last statements', async () => {
    const sql = open();
    const read = (tx: TenantTx) => tx.finish<[{ n: number }]>([{ text: 'SELECT 1 AS n', values: [] }]);
    expect(await sql.transaction(read, { readOnly: true })).toEqual([[{ n: 1 }]]);
    expect(await sql.query('SELECT now() = statement_timestamp() AS alone')).toEqual([{ alone: true }]);
    const failing = (tx: TenantTx) => tx.finish([{ text: 'SELECT 1 / $1::int', values: [0] }]);
    await expect(sql.transaction(failing, { readOnly: true })).rejects.toMatchObject({ code: '22012' });
    expect(await sql.query('SELECT now() = statement_timestamp() AS alone')).toEqual([{ alone: true }]);
  });

  it('runs no statement when it cannot begin', async () => {
    const sql = open();
    const work = sql.transaction((tx) => tx.execute('INSERT INTO t (n) VALUES ($1)', [6]), { lockTimeoutMs: -1 });
    await expect(work).rejects.toMatchObject({ code: '22023' });
    expect(await sql.query('SELECT n FROM t')).toEqual([]);
  });

  it('cannot be nested', async () => {
    const sql = open();
    const nested = sql.transaction(() => sql.transaction(async () => undefined));
    await expect(nested).rejects.toThrow('nest');
  });
});

describe('a connection to a company’s Postgres', () => {
  const UNAVAILABLE = { kind: 'unavailable', reason: 'tenant_sql.unavailable' };

  it('is opened by its first statement only', async () => {
    const sql = open();
    await expect(connectionsOf(companyId, () => sql.close())).resolves.toEqual({ direct: 0, pooled: 0 });
    const used = open();
    await expect(connectionsOf(companyId, () => used.query('SELECT 1'))).resolves.toEqual({ direct: 1, pooled: 0 });
  });

  it('holds no lock once it is closed inside a transaction', async () => {
    const sql = open();
    await sql.query('BEGIN; LOCK TABLE t');
    await sql.close();
    await open().transaction((tx) => tx.query('SELECT * FROM t'), { lockTimeoutMs: 3_000 });
    await expect(sql.query('SELECT 1')).rejects.toMatchObject(UNAVAILABLE);
  });

  it('fails as unavailable when it is lost, and ever after', async () => {
    const sql = open();
    const work = sql.transaction(async (tx) => {
      const [row] = await tx.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
      await open().query('SELECT pg_terminate_backend($1)', [row?.pid]);
      await tx.query('SELECT pg_sleep(1)');
    });
    await expect(work).rejects.toMatchObject(UNAVAILABLE);
    // It would never report its end: nobody waits for that.
    expect(sql.closed).toBe(true);
    await expect(sql.query('SELECT 1')).rejects.toMatchObject(UNAVAILABLE);
    await sql.close();
  });

  it('is closed at once when it is lost, and releases its locks', async () => {
    let ends = 0;
    const sql = open(url, { ...tunnel(), graceMs: 100, onClosed: () => (ends += 1) });
    const never = () => new Promise<never>(() => undefined);
    await sql.query('BEGIN; LOCK TABLE t');
    await expect(sql.bounded(never, 0)).rejects.toMatchObject(UNAVAILABLE);
    expect(ends).toBe(1);
    // Although nobody has closed it.
    await open().transaction((tx) => tx.query('SELECT * FROM t'), { lockTimeoutMs: 10_000 });
    await sql.close();
  });

  it('has PostgreSQL’s time limits for statements, locks and idle transactions', async () => {
    const settings = ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout'];
    const limits = await Promise.all(settings.map((name) => open().query<Record<string, string>>(`SHOW ${name}`)));
    expect(limits.map(([row], index) => row?.[settings[index] as string])).toEqual(['30s', '5s', '1min']);
  });

  it.each([
    ['outside a transaction', (sql: TenantSql) => sql.executeAlone('SELECT 1 AS dead', 100)],
    [
      'inside a transaction',
      (sql: TenantSql) => sql.transaction((tx) => tx.query('SELECT 1 AS dead'), { statementTimeoutMs: 100 }),
    ],
    ['in the middle of COPY', (sql: TenantSql) => copyIn(sql, 'COPY t FROM STDIN /* dead */', new Uint8Array(), 100)],
  ])('fails after the grace period when its socket falls silent, %s', async (_, run) => {
    await disturb(companyId, { statement: 'dead', effect: 'fall_silent' });
    const sql = open(url, { ...tunnel(), graceMs: 200 });
    const started = Date.now();
    await expect(run(sql)).rejects.toMatchObject(UNAVAILABLE);
    // Not by the statement's own time limit, of thirty seconds.
    expect(Date.now() - started).toBeLessThan(10_000);
    await expect(sql.query('SELECT 1')).rejects.toMatchObject(UNAVAILABLE);
  });

  it('fails after the connect timeout when it cannot be opened', async () => {
    await disturb(companyId, { effect: 'fall_silent' });
    await expect(open(url, { ...tunnel(), connectTimeoutMs: 200 }).query('SELECT 1')).rejects.toMatchObject(
      UNAVAILABLE,
    );
  });

  it('fails with an unknown result when the answer to COMMIT is lost', async () => {
    const RESULT_UNKNOWN = { kind: 'unavailable', reason: 'tenant_sql.result_unknown' };
    await disturb(companyId, { statement: 'COMMIT', effect: 'lose_answer' });
    const inserting = open().transaction((tx) => tx.execute('INSERT INTO t (n) VALUES (50)'));
    await expect(inserting).rejects.toMatchObject(RESULT_UNKNOWN);
    await disturb(companyId, { statement: 'VALUES .51', effect: 'lose_answer' });
    await expect(open().execute('INSERT INTO t (n) VALUES (51)')).rejects.toMatchObject(RESULT_UNKNOWN);
    // Both were committed.
    expect(await open().execute('DELETE FROM t WHERE n IN (50, 51)')).toBe(2);
  });

  it('fails as unavailable when it is lost before COMMIT or while reading', async () => {
    await disturb(companyId, { statement: 'VALUES .52', effect: 'lose_answer' });
    const lost = open().transaction((tx) => tx.execute('INSERT INTO t (n) VALUES (52)'));
    await expect(lost).rejects.toMatchObject(UNAVAILABLE);
    await disturb(companyId, { statement: 'COMMIT', effect: 'lose_answer' });
    const reading = open().transaction((tx) => tx.query('SELECT 1'), { readOnly: true });
    await expect(reading).rejects.toMatchObject(UNAVAILABLE);
    const sql = open();
    const cutBefore = sql.transaction(async (tx) => {
      const [row] = await tx.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
      await open().query('SELECT pg_terminate_backend($1)', [row?.pid]);
      await new Promise((resolve) => setTimeout(resolve, 300));
    });
    await expect(cutBefore).rejects.toMatchObject(UNAVAILABLE);
    expect(await open().query('SELECT n FROM t')).toEqual([]);
  });

  it('fails as unavailable with a wrong host, proxy, password or database', async () => {
    const wrong = (change: (url: URL) => void) => {
      const changed = new URL(url);
      change(changed);
      return changed.href;
    };
    const attempts = [
      open(wrong((it) => (it.hostname = 'ep-unknown.neon.localhost'))),
      open(wrong((it) => (it.password = 'wrong'))),
      open(wrong((it) => (it.pathname = '/nothing'))),
      open(url, { wsProxy: 'ws://127.0.0.1:9/v2' }),
    ];
    for (const sql of attempts) {
      await expect(sql.query('SELECT 1')).rejects.toMatchObject(UNAVAILABLE);
      expect(sql.closed).toBe(true);
    }
  });

  it('reaches only endpoints of Neon', async () => {
    const postgres = new URL(inject('postgresUrl'));
    await expect(open(postgres.href).query('SELECT 1')).rejects.toMatchObject(UNAVAILABLE);
  });
});

describe('the migrations of a company’s Postgres', () => {
  it('run once, however many calls migrate at the same time', async () => {
    const company = await aProvisionedCompany();
    const inDatabase = <T>(work: (sql: TenantSql) => Promise<T>) => runBehindApi(company.id, work);
    await inDatabase((sql) => sql.query('DROP SCHEMA console CASCADE'));
    const run = () => inDatabase((sql) => migrateDatabase(sql, tenantNames(company.id).reader));
    const rival = await rivalBeforeStatement(company.id, /INSERT INTO console.migrations/, run);
    expect([await run(), await rival.outcome]).toEqual([TENANT_SCHEMA_VERSION, TENANT_SCHEMA_VERSION]);
    const applied = await inDatabase((sql) => sql.query('SELECT version FROM console.migrations'));
    expect(applied).toHaveLength(TENANT_SCHEMA_VERSION);
  });
});
