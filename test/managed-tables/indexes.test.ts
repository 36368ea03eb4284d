import { describe, expect, it } from 'vitest';
import { createProvisionedCompany } from '../support/companies.ts';
import { disturbTunnel, runBeforeNextStatement } from '../support/tunnel.ts';
import { createTable, createTableClient, listValues, makeColumn, runInCompanyDatabase } from './support.ts';

let createdCount = 0;

const company = await createProvisionedCompany();

async function createFilledTable(rows: Record<string, unknown>[], ...columns: ReturnType<typeof makeColumn>[]) {
  const name = `indexed_${++createdCount}`;
  const table = createTableClient(company.as, await createTable(company.as, name, columns));
  if (rows.length > 0) expect((await table.insert(rows)).status).toBe(201);
  return { ...table, name };
}

/** Lists all indexes of a table in Postgres, usable or not, except the primary key. */
const listStoredIndexes = (table: string) =>
  runInCompanyDatabase(company.id, (database) =>
    database.query<{ name: string; valid: boolean }>(
      `SELECT relname::text AS name, indisvalid AS valid FROM pg_index JOIN pg_class ON oid = indexrelid
       WHERE indrelid = to_regclass($1) AND NOT indisprimary`,
      [`public.${table}`],
    ),
  );

/** Makes a random text of 512 characters times `repeatCount`, which cannot be compressed. */
const makeRandomText = (repeatCount: number) =>
  Array.from({ length: repeatCount }, () => crypto.getRandomValues(new Uint8Array(256)).toHex()).join('');

describe('an index', () => {
  it('is created, listed and deleted', async () => {
    const table = await createFilledTable([{ a: 'x', select: 1 }], makeColumn('a'), makeColumn('select', 'integer'));
    expect((await table.indexes()).body).toEqual({ total: 0, quantity: 0, records: [] });
    const first = await table.index(['a']);
    expect(first.status).toBe(201);
    expect(first.body).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{24}$/),
      columns: ['a'],
      unique: false,
      created_at: expect.stringMatching(/^20\d\d-.*Z$/),
    });
    const secondIndex = await table.index(['select', 'a'], true);
    expect(secondIndex.body).toMatchObject({ columns: ['select', 'a'], unique: true });
    const listedIndexes = (await table.indexes()).body;
    expect(listedIndexes.records.toSorted(compareById)).toEqual([first.body, secondIndex.body].toSorted(compareById));
    expect((await table.deleteIndex(first.body.id)).status).toBe(204);
    expect((await table.indexes()).body.records).toEqual([secondIndex.body]);
    expect(await listStoredIndexes(table.name)).toHaveLength(1);
    for (const id of [first.body.id, 'x', 'f'.repeat(24)]) expect((await table.deleteIndex(id)).status).toBe(404);
  });

  const compareById = (firstIndex: { id: string }, other: { id: string }) => firstIndex.id.localeCompare(other.id);

  it('cannot be deleted through another table', async () => {
    const [one, other] = [await createFilledTable([], makeColumn('a')), await createFilledTable([], makeColumn('a'))];
    const { body } = await one.index(['a']);
    expect((await other.deleteIndex(body.id)).status).toBe(404);
    expect((await one.indexes()).body.total).toBe(1);
  });

  it.each([
    [[]],
    [['a', 'b', 'a']],
    [['nope']],
    [['id']],
    [['a', 'b', 'c', 'd', 'e']],
    [['a" DESC']],
    ['a'],
    [[1]],
    [undefined],
  ])('of the columns %j is refused', async (columns) => {
    const names = ['a', 'b', 'c', 'd', 'e'];
    const table = await createFilledTable([], ...names.map((name) => makeColumn(name)));
    const { status, body } = await table.index(columns);
    expect([status, body.details[0].field]).toEqual([422, expect.stringMatching(/^columns/)]);
  });

  it('may have up to four columns, and keeps their order', async () => {
    const names = ['d', 'b', 'a', 'c'];
    const table = await createFilledTable([], ...names.map((name) => makeColumn(name)));
    expect(await table.index(names)).toMatchObject({ status: 201, body: { columns: names } });
  });

  it('follows renamed columns, and is dropped together with one of its columns only', async () => {
    const table = await createFilledTable(
      [{ a: 'x', b: 1 }],
      makeColumn('a'),
      makeColumn('b', 'integer'),
      makeColumn('c'),
    );
    await table.index(['a', 'b']);
    await table.index(['c']);
    const renamedColumns = [{ ...makeColumn('a2'), previous_name: 'a' }, makeColumn('b', 'decimal'), makeColumn('c')];
    expect((await table.put({ display_name: `renamed_${createdCount}`, columns: renamedColumns })).status).toBe(200);
    expect(listIndexColumns(await table.indexes())).toEqual([['a2', 'b'], ['c']]);
    expect((await table.put({ columns: [makeColumn('a2'), makeColumn('c')] })).status).toBe(200);
    expect(listIndexColumns(await table.indexes())).toEqual([['c']]);
  });

  const listIndexColumns = (answer: { body: { records: { columns: string[] }[] } }) =>
    answer.body.records.map(({ columns }) => columns).toSorted();

  it('is refused as the eleventh index, and as busy while another one is built', async () => {
    const table = await createFilledTable([], makeColumn('a'), makeColumn('b'));
    for (let count = 0; count < 9; count += 1) expect((await table.index(['a'])).status).toBe(201);
    const { outcome } = await runBeforeNextStatement(company.id, /CREATE INDEX/, () => table.index(['a']));
    const tenthIndex = await table.index(['b']);
    // The rival waits in vain while the other builds: one at a time.
    expect([(await outcome).body.error_code, tenthIndex.status]).toEqual(['MANAGED_TABLE_BUSY', 201]);
    const eleventhIndex = await table.index(['a']);
    expect([eleventhIndex.status, eleventhIndex.body.error_code]).toEqual([409, 'MANAGED_TABLE_TOO_MANY_INDEXES']);
    expect((await table.indexes()).body.total).toBe(10);
  });

  it('has the requested columns even if two columns exchange their names meanwhile', async () => {
    const table = await createFilledTable([{ a: 1, b: 'x' }], makeColumn('a', 'integer'), makeColumn('b'));
    const exchangedColumns = [
      { ...makeColumn('b', 'integer'), previous_name: 'a' },
      { ...makeColumn('a'), previous_name: 'b' },
    ];
    const { outcome } = await runBeforeNextStatement(company.id, /CREATE INDEX/, () =>
      table.put({ columns: exchangedColumns }),
    );
    const { status, body } = await table.index(['a']);
    expect([(await outcome).status, status]).toEqual([200, 201]);
    expect((await table.indexes()).body.records).toEqual([body]);
    expect(body.columns).toEqual(['a']);
    expect(await listStoredIndexes(table.name)).toHaveLength(1);
  });

  it('is not created on a table that is deleted meanwhile, nor of another that takes its name', async () => {
    const table = await createFilledTable([], makeColumn('a'));
    const { outcome } = await runBeforeNextStatement(company.id, /CREATE INDEX/, async () => {
      await table.delete();
      await createTable(company.as, table.name, [makeColumn('a')]);
    });
    expect((await table.index(['a'])).status).toBe(404);
    await outcome;
    expect(await listStoredIndexes(table.name)).toEqual([]);
  });

  it.each([
    ['before it begins', 'false', `query LIKE '%begun.since%'`],
    ['when it has begun', 'true', `query LIKE 'CREATE%INDEX%' AND wait_event_type = 'Lock'`],
  ])(
    'does not block writers while its build waits for transactions that began earlier (%s)',
    async (_when, hasBuildBegun, waitCondition) => {
      const table = await createFilledTable([{ a: 'x' }], makeColumn('a'));
      await runInCompanyDatabase(company.id, async (database) => {
        const buildResult = await database.runInTransaction(async (tx) => {
          const writeRow = () => tx.execute(`INSERT INTO "public"."${table.name}" ("a") VALUES ('begun')`);
          const isBefore = hasBuildBegun === 'false';
          const concurrentWrite = isBefore
            ? await writeRow()
            : await runBeforeNextStatement(company.id, /CREATE UNIQUE/, writeRow);
          const index = table.index(['a'], true);
          if (typeof concurrentWrite === 'object') await concurrentWrite.outcome;
          const WAITING_SESSIONS_SQL = `SELECT FROM pg_stat_activity
          WHERE datname = current_database() AND pid <> pg_backend_pid() AND ${waitCondition}`;
          const listWaitingSessions = () =>
            runInCompanyDatabase(company.id, (other) => other.query(WAITING_SESSIONS_SQL));
          await expect.poll(async () => (await listWaitingSessions()).length, { timeout: 20_000 }).toBe(1);
          expect((await table.insert([{ a: 'y' }])).status).toBe(201);
          return { index };
        });
        expect((await buildResult.index).status).toBe(201);
      });
      expect((await table.insert([{ a: 'y' }])).status).toBe(409);
      expect((await table.insert([{ a: 'begun' }])).status).toBe(409);
    },
  );

  it('is not listed after its build failed, and is dropped when another one is created', async () => {
    const table = await createFilledTable([{ a: 'x' }, { a: 'x' }], makeColumn('a'));
    await runInCompanyDatabase(company.id, async (database) => {
      const BROKEN_INDEX_SQL = `CREATE UNIQUE INDEX CONCURRENTLY "idx$${'0'.repeat(24)}" ON "public"."${table.name}" ("a")`;
      await database.executeOutsideTransaction(BROKEN_INDEX_SQL, 10_000).catch(() => undefined);
    });
    expect(await listStoredIndexes(table.name)).toEqual([{ name: `idx$${'0'.repeat(24)}`, valid: false }]);
    expect((await table.indexes()).body.total).toBe(0);
    const { body } = await table.index(['a']);
    expect(await listStoredIndexes(table.name)).toEqual([{ name: `idx$${body.id}`, valid: true }]);
  });

  it('restricts rows while its deletion is unfinished, and is dropped when the deletion is repeated', async () => {
    const table = await createFilledTable([{ a: 'x' }], makeColumn('a'));
    const { id } = (await table.index(['a'], true)).body;
    await runInCompanyDatabase(company.id, (database) =>
      database.runInTransaction(async (tx) => {
        await tx.query(`SELECT FROM "public"."${table.name}"`);
        await runInCompanyDatabase(company.id, (other) =>
          other.executeOutsideTransaction(`DROP INDEX CONCURRENTLY "idx$${id}"`, 500).catch(() => undefined),
        );
      }),
    );
    expect(await listStoredIndexes(table.name)).toEqual([{ name: `idx$${id}`, valid: false }]);
    expect((await table.insert([{ a: 'x' }])).status).toBe(409);
    expect((await table.deleteIndex(id)).status).toBe(204);
    expect(await listStoredIndexes(table.name)).toEqual([]);
    expect((await table.insert([{ a: 'x' }])).status).toBe(201);
    expect((await table.deleteIndex(id)).status).toBe(404);
  });

  it('is listed after it was built even if the answer of the database was lost', async () => {
    const table = await createFilledTable([{ a: 'x' }], makeColumn('a'));
    await disturbTunnel(company.id, { statement: 'CREATE INDEX', effect: 'lose_answer' });
    expect(await table.index(['a'])).toMatchObject({ status: 503, body: { error_code: 'RESULT_UNKNOWN' } });
    await expect.poll(async () => (await table.indexes()).body.total).toBe(1);
  });
});

describe('a unique index', () => {
  it('is refused with the duplicate values when rows have them', async () => {
    const table = await createFilledTable(
      [
        { a: 'x), (y', n: 1 },
        { a: 'x), (y', n: 1 },
        { a: 'z', n: 1 },
      ],
      makeColumn('a'),
      makeColumn('n', 'integer'),
    );
    const { status, body } = await table.index(['a', 'n'], true);
    expect([status, body.details]).toEqual([
      422,
      [expect.objectContaining({ field: 'columns', message: expect.stringMatching(/"a", "n".*x\), \(y, 1/) })],
    ]);
    expect(await listStoredIndexes(table.name)).toEqual([]);
  });

  it('accepts several nulls, and every other value once', async () => {
    const table = await createFilledTable(
      [{}, {}, { a: 'x', n: 1 }, { a: 'x' }],
      makeColumn('a'),
      makeColumn('n', 'integer'),
    );
    expect((await table.index(['a', 'n'], true)).status).toBe(201);
    expect((await table.insert([{}, { a: 'x' }, { a: 'x', n: 2 }])).status).toBe(201);
    const duplicateError = {
      error_code: 'MANAGED_TABLE_DUPLICATE_VALUE',
      details: { columns: ['a', 'n'], value: 'x, 1' },
    };
    expect(await table.insert([{ a: 'new' }, { a: 'x', n: 1 }])).toMatchObject({ status: 409, body: duplicateError });
    expect((await table.rows('?filter[a][eq]=new')).body.total).toBe(0);
    const { body } = await table.rows('?filter[n][eq]=2');
    expect(await table.updateRow(body.records[0].id, { n: 1 })).toMatchObject({ status: 409, body: duplicateError });
    expect((await table.get()).body.row_count).toBe(7);
  });

  it('shows the value that it refuses as rows show it', async () => {
    const row = { a: 'x, t', b: true, d: '2030-01-01T00:00:00Z', n: '1.50' };
    const columns = [
      makeColumn('a'),
      makeColumn('b', 'boolean'),
      makeColumn('d', 'datetime'),
      makeColumn('n', 'decimal'),
    ];
    const table = await createFilledTable([row, row, { b: false }], ...columns);
    const value = 'x, t, true, 2030-01-01T00:00:00.000Z, 1.5';
    const refusedAnswer = await table.index(['a', 'b', 'd', 'n'], true);
    expect(refusedAnswer.body.details).toEqual([
      expect.objectContaining({ message: expect.stringMatching(`: ${value}$`) }),
    ]);

    const { records } = (await table.rows()).body;
    await table.updateRow(records[0].id, { a: 'y' });
    expect((await table.index(['a', 'b', 'd', 'n'], true)).status).toBe(201);
    const taken = { columns: ['a', 'b', 'd', 'n'], value };
    expect((await table.insert([row])).body.details).toEqual(taken);
    expect((await table.updateRow(records[0].id, { a: 'x, t' })).body.details).toEqual(taken);
  });

  it('names columns called like SQL keywords when it refuses a row', async () => {
    const table = await createFilledTable([{ select: 'x' }], makeColumn('select'));
    await table.index(['select'], true);
    expect((await table.insert([{ select: 'x' }])).body.details).toEqual({ columns: ['select'], value: 'x' });
  });

  it('prevents a conversion that would make two values equal', async () => {
    const table = await createFilledTable([{ a: '1' }, { a: '1.0' }], makeColumn('a'));
    await table.index(['a'], true);
    const { status, body } = await table.put({ columns: [makeColumn('a', 'decimal')] });
    expect([status, body.details]).toEqual([
      422,
      [expect.objectContaining({ field: 'columns.0.type', message: expect.stringMatching(/"a".*: 1$/) })],
    ]);
    expect(listValues(await table.rows(), 'a')).toEqual(['1', '1.0']);
  });
});

describe('a value that is too long for an index', () => {
  it('prevents the index, and is reported with its column and row', async () => {
    const table = await createFilledTable(
      [
        { a: 'x', b: 'y' },
        { a: makeRandomText(1), b: makeRandomText(8) },
      ],
      makeColumn('a'),
      makeColumn('b'),
    );
    const { records } = (await table.rows()).body;
    const { status, body } = await table.index(['a', 'b']);
    const message = expect.stringMatching(new RegExp(`"b".*${records[1].id}`));
    expect([status, body.details]).toEqual([422, [expect.objectContaining({ field: 'columns', message })]]);
    expect(await listStoredIndexes(table.name)).toEqual([]);
  });

  it('prevents the index, and is reported with its row, if it is too long for any index', async () => {
    const table = await createFilledTable(
      [{ a: 'x' }, { a: makeRandomText(40) }, { a: makeRandomText(8) }],
      makeColumn('a'),
    );
    const { records } = (await table.rows()).body;
    const { status, body } = await table.index(['a']);
    const message = expect.stringMatching(new RegExp(`"a".*${records[1].id}`));
    expect([status, body.details]).toEqual([422, [expect.objectContaining({ field: 'columns', message })]]);
  });

  it('prevents the index, and leaves no broken one behind, if its row cannot be found in time', async () => {
    const table = await createFilledTable([{ a: makeRandomText(40) }], makeColumn('a'));
    const [tableLocked, indexRefused] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const lockTable = () =>
      runInCompanyDatabase(company.id, (database) =>
        database.runInTransaction(async (tx) => {
          await tx.query(`LOCK TABLE public.${table.name}`);
          tableLocked.resolve();
          await indexRefused.promise;
        }),
      );
    let lockOutcome: Promise<void> | undefined;
    const { outcome } = await runBeforeNextStatement(company.id, /SELECT source."id"/, () => {
      lockOutcome = lockTable();
      return tableLocked.promise;
    });
    const { status, body } = await table.index(['a']);
    indexRefused.resolve();
    await outcome;
    await lockOutcome;
    const detail = { field: 'columns', reason: 'too_long', message: expect.not.stringMatching(/[0-9a-f]{24}/) };
    expect([status, body.details]).toEqual([422, [detail]]);
    expect(await listStoredIndexes(table.name)).toEqual([]);
  });

  it('is refused with its row and field in an insert, if it is too long for any index', async () => {
    const table = await createFilledTable([{ a: 'x' }], makeColumn('a'), makeColumn('b'));
    await table.index(['a']);
    const refusedAnswer = await table.insert([
      { b: makeRandomText(80) },
      { a: 'y' },
      { b: 'z', a: makeRandomText(40) },
    ]);
    expect([refusedAnswer.status, refusedAnswer.body.details]).toEqual([
      422,
      [expect.objectContaining({ row: 2, field: 'a' })],
    ]);
  });

  it('is refused in a row that is inserted or updated', async () => {
    const table = await createFilledTable([{ a: 'x' }], makeColumn('a'), makeColumn('b'));
    await table.index(['a']);
    const longValue = makeRandomText(8);
    const refusedAnswer = await table.insert([{ b: makeRandomText(20) }, { a: 'y' }, { b: 'z', a: longValue }]);
    expect([refusedAnswer.status, refusedAnswer.body.details]).toEqual([
      422,
      [expect.objectContaining({ row: 2, field: 'a', message: expect.stringMatching(/"a"/) })],
    ]);
    const { records } = (await table.rows()).body;
    const changeAnswer = await table.updateRow(records[0].id, { b: longValue, a: longValue });
    expect(changeAnswer).toMatchObject({ status: 422, body: { details: [{ field: 'a' }] } });
    expect((await table.updateRow(records[0].id, { b: longValue })).status).toBe(200);
    expect((await table.get()).body.row_count).toBe(1);
  });
});
