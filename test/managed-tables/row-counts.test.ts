import { beforeEach, describe, expect, it } from 'vitest';
import type { TenantTx } from '../../src/tenant-sql/client.ts';
import { createProvisionedCompany } from '../support/companies.ts';
import { runBeforeNextStatement } from '../support/tunnel.ts';
import { createStagedJob } from '../uploads/staged-job.ts';
import { createTable, createTableClient, makeColumn, runInCompanyDatabase } from './support.ts';

let id: string;
let name: string;
let table: ReturnType<typeof createTableClient>;
let tableCount = 0;

const company = await createProvisionedCompany();

beforeEach(async () => {
  name = `counted_${++tableCount}`;
  id = await createTable(company.as, name, [makeColumn('n', 'integer')]);
  table = createTableClient(company.as, id);
});

const insertNumbers = async (...numbers: number[]) => (await table.insert(numbers.map((n) => ({ n })))).status;
const findRowId = async (n: number) => (await table.rows(`?filter[n][eq]=${n}`)).body.records[0].id as string;

/** Reads the row counts from all answers, and the actual number of rows. All are equal if the set has one member. */
async function readCounts(): Promise<Set<number>> {
  const { records } = (await company.as.get(`/v1/managed-tables?search=${name}`)).body;
  const listedTable = records.find((record: { _id: string }) => record._id === id);
  const { body } = await table.rows('?per_page=1000');
  return new Set([body.records.length, body.total, (await table.get()).body.row_count, listedTable.row_count]);
}

const countPendingChanges = () =>
  runInCompanyDatabase(company.id, async (database) => {
    const rows = await database.query('SELECT FROM console.row_count_changes WHERE table_id = $1', [id]);
    return rows.length;
  });

/** Runs `work` while a transaction that inserted the row -1 waits to commit. @returns whether it waited until `work` ended */
async function runDuringInsert(work: () => Promise<unknown>): Promise<boolean> {
  let isAnswered = false;
  const { outcome } = await runBeforeNextStatement(company.id, /COMMIT/, async () => {
    await work();
    return !isAnswered;
  });
  const status = await insertNumbers(-1);
  isAnswered = true;
  const hasWaited = await outcome;
  expect(status).toBe(201);
  return hasWaited;
}

describe('rows of one table', () => {
  it('are written side by side: a hundred inserts, updates and deletes do not wait for an uncommitted insert', async () => {
    await insertNumbers(...Array.from({ length: 20 }, (_, n) => n));
    const { records } = (await table.rows()).body as { records: { id: string }[] };
    const ids = records.map((row) => row.id);
    const hasWaited = await runDuringInsert(async () => {
      for (let batchNumber = 0; batchNumber < 10; batchNumber += 1) {
        const pendingInserts = Array.from({ length: 8 }, (_, n) => insertNumbers(100 + 10 * batchNumber + n));
        const pendingDeletion = table.deleteRow(ids[batchNumber] as string).then(({ status }) => status);
        const pendingUpdate = table.updateRow(ids[10 + batchNumber] as string, { n: 7 }).then(({ status }) => status);
        expect(await Promise.all([...pendingInserts, pendingDeletion, pendingUpdate])).toEqual([
          ...Array(8).fill(201),
          204,
          200,
        ]);
      }
    });
    expect(hasWaited).toBe(true);
    expect(await readCounts()).toEqual(new Set([20 + 1 + 80 - 10]));
  });

  it('are counted exactly before and after the next write merges pending count changes', async () => {
    await insertNumbers(1, 2);
    await runDuringInsert(async () => {
      await insertNumbers(3);
      await table.deleteRow(await findRowId(1));
    });
    expect(await countPendingChanges()).toBe(2);
    expect(await readCounts()).toEqual(new Set([3]));
    const { updated_at: updatedBefore } = (await table.get()).body;
    await insertNumbers(4);
    expect(await countPendingChanges()).toBe(0);
    expect(await readCounts()).toEqual(new Set([4]));
    expect((await table.get()).body.updated_at >= updatedBefore).toBe(true);
  });

  it.each(['append', 'replace', 'upsert'])(
    'are counted exactly when an upload in the mode %s comes beside uncommitted inserts',
    async (mode) => {
      await insertNumbers(1, 2);
      const job = await createStagedJob(company, id, [2, 10], mode, mode === 'upsert' ? ['n'] : []);
      let pendingLoad: Promise<unknown> = Promise.resolve();
      await runDuringInsert(async () => {
        await insertNumbers(3);
        pendingLoad = job.publish();
      });
      expect(await pendingLoad).toBe('done');
      const [count] = await readCounts();
      expect(await readCounts()).toEqual(new Set([count]));
    },
  );

  it('are counted exactly with pending count changes when the table is deleted, restored and truncated', async () => {
    await runDuringInsert(() => insertNumbers(1, 2));
    expect((await table.delete()).status).toBe(204);
    expect((await table.restore()).body.row_count).toBe(3);
    expect(await readCounts()).toEqual(new Set([3]));
    expect((await table.truncate()).status).toBe(200);
    expect(await readCounts()).toEqual(new Set([0]));
    expect(await countPendingChanges()).toBe(0);
  });

  it('prevent a new column that is not nullable while their count changes are pending', async () => {
    await insertNumbers(0);
    await runDuringInsert(() => insertNumbers(1, 2));
    for (const n of [0, -1]) await table.deleteRow(await findRowId(n));
    const { status } = await table.put({ columns: [makeColumn('n', 'integer'), makeColumn('m', 'integer', false)] });
    expect(status).toBe(422);
  });
});

/** The statements of the previous version of the Worker, which updates `row_count` alone. */
const PREVIOUS_STATEMENTS: Record<string, (tx: TenantTx) => Promise<unknown>> = {
  'inserts rows': async (tx) => {
    await tx.execute('UPDATE console.managed_tables SET row_count = row_count + 2 WHERE id = $1', [id]);
    await tx.execute(`INSERT INTO public.${name} (n) VALUES (20), (21)`);
  },
  'deletes a row': async (tx) => {
    const countBefore = await readLockedCount(tx);
    await tx.execute(`DELETE FROM public.${name} WHERE n = 1`);
    await setCount(tx, countBefore - 1);
  },
  'truncates it': async (tx) => {
    await readLockedCount(tx);
    await tx.execute(`TRUNCATE public.${name}`);
    await setCount(tx, 0);
  },
  'replaces its rows': async (tx) => {
    await readLockedCount(tx);
    await tx.execute(`DELETE FROM public.${name}`);
    await tx.execute(`INSERT INTO public.${name} (n) VALUES (20), (21), (22), (23)`);
    await setCount(tx, 4);
  },
};

async function readLockedCount(tx: TenantTx): Promise<number> {
  const selectSql = 'SELECT row_count FROM console.managed_tables WHERE id = $1 FOR NO KEY UPDATE';
  const [row] = await tx.query<{ row_count: string }>(selectSql, [id]);
  return Number(row?.row_count);
}

const setCount = (tx: TenantTx, count: number) =>
  tx.execute('UPDATE console.managed_tables SET row_count = $2 WHERE id = $1', [id, count]);

describe.each(Object.entries(PREVIOUS_STATEMENTS))(
  'a table in which the previous version of the Worker %s',
  (_what, runStatements) => {
    const runAsPreviousVersion = () =>
      runInCompanyDatabase(company.id, (database) => database.runInTransaction(runStatements));

    it('has an exact row count, even with pending count changes', async () => {
      await runDuringInsert(() => insertNumbers(1, 2, 3));
      expect(await countPendingChanges()).toBe(1);
      await runAsPreviousVersion();
      const [count] = await readCounts();
      expect(await readCounts()).toEqual(new Set([count]));
      await insertNumbers(30);
      expect(await readCounts()).toEqual(new Set([(count as number) + 1]));
    });

    it('has an exact row count when rows are inserted at the same moment', async () => {
      await insertNumbers(1, 2, 3);
      const { outcome } = await runBeforeNextStatement(company.id, /COMMIT/, () => insertNumbers(4, 5));
      await runAsPreviousVersion();
      expect(await outcome).toBe(201);
      const [count] = await readCounts();
      expect(await readCounts()).toEqual(new Set([count]));
    });
  },
);
