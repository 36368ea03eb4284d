import { afterAll, describe, expect, it } from 'vitest';
import { Failure } from '../../src/kernel/failure.ts';
import { runAllUserSql, runUserSql, STANDARD_LIMITS } from '../../src/tenant-sql/user-sql.ts';
import { createTenantWithTables } from './user-sql-support.ts';

const testTenant = await createTenantWithTables();
afterAll(async () => {
  await testTenant?.owner.close();
});

describe('a result of user SQL', () => {
  it('has columns with types, and values as JSON', async () => {
    const text = `SELECT 9007199254740991::bigint AS safe, 9007199254740993::bigint AS big, 1.50::numeric AS price,
      0.1::float8 AS share, 12345678901234567890.123::numeric AS long, true AS yes, DATE '2024-02-29' AS day,
      TIMESTAMPTZ '2024-01-31 12:00:00-03' AS at, TIMESTAMP '2024-01-31 12:00:00.5' AS local, 'é'::text AS word,
      NULL::integer AS nothing, ARRAY[1,2] AS list, 'NaN'::float8 AS nan`;
    const { columns, rows, truncated } = await testTenant.run(text);
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

  it('keeps several columns of the same name, and may have no columns', async () => {
    expect(await testTenant.run('SELECT 1 AS a, 2 AS a')).toMatchObject({
      columns: [{ name: 'a' }, { name: 'a' }],
      rows: [[1, 2]],
    });
    const tables = ['sales'];
    expect(await testTenant.run('SELECT FROM sales')).toEqual({
      columns: [],
      rows: [[], [], []],
      truncated: false,
      tables,
    });
  });

  it('depends on bound values', async () => {
    const { rows } = await testTenant.run(
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
    'SELECT now() IS NOT NULL',
  ]) {
    it(`has rows: ${text}`, async () => {
      expect((await testTenant.run(text)).rows.length).toBeGreaterThan(0);
    });
  }
});

describe('user SQL under limits', () => {
  /** Counts the files that the database has written for results and sorts. A session's files are counted when it ends. */
  async function countFilesWritten() {
    const readerSessionsSql =
      "SELECT FROM pg_stat_activity WHERE datname = current_database() AND usename LIKE 'reader%'";
    await expect.poll(async () => (await testTenant.owner.query(readerSessionsSql)).length).toBe(0);
    const [database] = await testTenant.owner.query(
      'SELECT temp_files FROM pg_stat_database WHERE datname = current_database()',
    );
    return database?.temp_files;
  }

  it('returns rows up to the limit and marks the result as truncated', async () => {
    const { rows, truncated } = await testTenant.run('SELECT g FROM generate_series(1, 10001) AS g');
    expect([rows.length, truncated]).toEqual([10_000, true]);
    const allRows = await testTenant.run('SELECT g FROM generate_series(1, 10000) AS g');
    expect([allRows.rows.length, allRows.truncated]).toEqual([10_000, false]);
  });

  it('returns only the columns for a limit of no rows, without running the query', async () => {
    expect(await testTenant.run('SELECT 1 / (random() * 0)::integer AS broken', [], { maxRows: 0 })).toEqual({
      columns: [{ name: 'broken', type: 'integer' }],
      rows: [],
      truncated: false,
      tables: [],
    });
  });

  it('is stopped when it never ends', async () => {
    const startedAt = Date.now();
    const endlessSql = 'WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r';
    for (const text of [
      'SELECT pg_sleep(60)',
      endlessSql,
      'SELECT count(*) FROM generate_series(1, 1000000000000) AS g',
    ]) {
      expect((await testTenant.failureOf(text, { milliseconds: 300 })).reason).toBe('user_sql.timeout');
    }
    expect(Date.now() - startedAt).toBeLessThan(20_000);
  });

  it('returns the rows that fit when the result has too many bytes', async () => {
    // 104 times 100,000 bytes are less than 10 MiB, 105 times are more.
    for (let run = 0; run < 3; run++) {
      const { rows, truncated } = await testTenant.run("SELECT repeat('x', 100000) FROM generate_series(1, 9000)");
      expect([rows.length, truncated]).toEqual([104, true]);
    }
  });

  it('is streamed row by row, without being written to the database’s disk first', async () => {
    const filesBefore = await countFilesWritten();
    const { rows, truncated } = await testTenant.run("SELECT repeat('x', 1000) FROM generate_series(1, 9000)");
    expect([rows.length, truncated]).toEqual([9000, false]);
    expect(await countFilesWritten()).toBe(filesBefore);
  });

  it('is refused when a single value is too large', async () => {
    expect((await testTenant.failureOf("SELECT repeat('x', 100000000)")).reason).toBe('user_sql.too_large');
  });

  it('shares a limit of bytes among several statements', async () => {
    const byteBudget = { remainingBytes: 300_000 };
    expect((await testTenant.run("SELECT repeat('x', 200000)", [], { budget: byteBudget })).truncated).toBe(false);
    // More than one message of the network: what has come whole when it is counted is answered.
    await expect(testTenant.run("SELECT repeat('x', 2000000)", [], { budget: byteBudget })).rejects.toMatchObject({
      reason: 'user_sql.too_large',
    });
  });

  it('succeeds after a failure on the same connection, but not after a result that was too large', async () => {
    const reader = testTenant.tenant.openReaderSql();
    try {
      await expect(runUserSql(reader, { text: 'SELECT 1 / 0', values: [] })).rejects.toMatchObject({
        reason: 'user_sql.failed',
      });
      expect((await runUserSql(reader, { text: 'SELECT 7', values: [] })).rows).toEqual([[7]]);
      expect((await runUserSql(reader, { text: 'SELECT 8', values: [] })).rows).toEqual([[8]]);
      await expect(runUserSql(reader, { text: "SELECT repeat('x', 100000000)", values: [] })).rejects.toBeInstanceOf(
        Failure,
      );
      await expect(runUserSql(reader, { text: 'SELECT 9', values: [] })).rejects.toMatchObject({
        reason: 'tenant_sql.unavailable',
      });
    } finally {
      await reader.close();
    }
  });
});

describe('user SQL statements that are sent together', () => {
  async function listOutcomes(texts: string[], limits = {}): Promise<unknown[]> {
    const sql = testTenant.tenant.openReaderSql();
    const statements = texts.map((text) => ({
      statement: { text, values: [] },
      limits: { ...STANDARD_LIMITS, ...limits },
    }));
    const settledResults = await Promise.allSettled(runAllUserSql(sql, statements));
    await sql.close();
    return settledResults.map((settledResult) =>
      settledResult.status === 'fulfilled' ? settledResult.value.rows : (settledResult.reason as Failure).reason,
    );
  }

  it('each have their own result, whether the statements before them succeeded or failed', async () => {
    const texts = [
      'SELECT n FROM sales WHERE n = 1',
      'SELECT 1/0',
      'SELECT pg_backend_pid()',
      'SELECT 2',
      'SELECT 3 FROM',
    ];
    const expectedOutcomes = [[[1]], 'user_sql.failed', 'user_sql.refused', [[2]], 'user_sql.failed'];
    expect(await listOutcomes(texts)).toEqual(expectedOutcomes);
    expect(await listOutcomes(texts.toReversed())).toEqual(expectedOutcomes.toReversed());
  });

  it('fail as unavailable when an earlier statement ends the connection', async () => {
    const largeSql = "SELECT repeat('x', 100000000)";
    expect(await listOutcomes(['SELECT 1', largeSql, 'SELECT 2'])).toEqual([
      [[1]],
      'user_sql.too_large',
      'tenant_sql.unavailable',
    ]);
  });

  it('cannot end or begin the transaction of another statement', async () => {
    const escapeStatements = [
      'SELECT 1; COMMIT; DROP TABLE sales',
      'SELECT 1) ; ROLLBACK; (SELECT 1',
      'COMMIT',
      'ROLLBACK; BEGIN',
    ];
    const failedOutcomes = escapeStatements.map(() => 'user_sql.failed');
    expect(await listOutcomes([...escapeStatements, 'SELECT count(*)::int FROM sales'])).toEqual([
      ...failedOutcomes,
      [[3]],
    ]);
  });
});
