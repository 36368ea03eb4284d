import { describe, expect, it } from 'vitest';
import type { TenantTx } from '../../src/tenant-sql/client.ts';
import type { ApiResponse } from '../support/api.ts';
import { createProvisionedCompany } from '../support/companies.ts';
import { runBeforeNextStatement } from '../support/tunnel.ts';
import { createTestQueue, runSweep } from '../uploads/support.ts';
import { createTable, createTableClient, makeColumn, runInCompanyDatabase } from './support.ts';

const MAX_ANSWER_MS = 30_000;

const company = await createProvisionedCompany();
let createdCount = 0;

/** Creates a table with two rows. */
async function createFilledTable({ id: companyId, as } = company) {
  const name = `busy_${++createdCount}`;
  const routes = createTableClient(as, await createTable(as, name, [makeColumn('n', 'integer')]));
  await routes.insert([{ n: 1 }, { n: 2 }]);
  return { ...routes, name, companyId };
}

/** Creates a table in a company of its own: an index waits for all transactions in its database. */
const createTableApart = async () => createFilledTable(await createProvisionedCompany());

type FilledTable = Awaited<ReturnType<typeof createFilledTable>>;
type TransactionStep = (tx: TenantTx, table: FilledTable) => Promise<unknown>;

const readTable: TransactionStep = (tx, { name }) => tx.query(`SELECT n FROM public.${name}`);
const writeTable: TransactionStep = (tx, { name }) => tx.execute(`INSERT INTO public.${name} (n) VALUES (3)`);
/** Reads another table: the transaction sees the state at its beginning for as long as it is open. */
const readOtherTable: TransactionStep = (tx) => tx.query('SELECT count(*) FROM console.managed_tables');

/** Runs `work` while another transaction is open that has first run `runFirstStep`. */
const runDuringTransaction = <T>(
  table: FilledTable,
  runFirstStep: TransactionStep,
  work: () => Promise<T>,
): Promise<T> =>
  runInCompanyDatabase(table.companyId, (database) =>
    database.runInTransaction(
      async (tx) => {
        await runFirstStep(tx, table);
        return work();
      },
      { isolation: 'repeatable read', idleTimeoutMs: 120_000 },
    ),
  );

/** Sends a request, requires an answer within the time limit, and returns it. */
async function awaitAnswerInTime(request: () => Promise<ApiResponse>): Promise<ApiResponse> {
  const startedAt = Date.now();
  const answer = await request();
  expect(Date.now() - startedAt).toBeLessThan(MAX_ANSWER_MS);
  return answer;
}

function expectRefused({ status, body, headers }: ApiResponse): void {
  expect([status, body.error_code, headers.get('retry-after')]).toEqual([409, 'MANAGED_TABLE_BUSY', '5']);
}

/** Lists the table's indexes in Postgres, usable or not, except the primary key. */
const listIndexes = ({ companyId, name }: FilledTable) =>
  runInCompanyDatabase(companyId, (database) =>
    database.query(`SELECT indisvalid FROM pg_index WHERE indrelid = 'public.${name}'::regclass AND NOT indisprimary`),
  );

// They wait for time limits: together.
describe.concurrent('a change of a table that another transaction reads', () => {
  it.each<[string, (table: FilledTable) => Promise<ApiResponse>]>([
    ['renamed', (table) => table.put({ display_name: `${table.name}_renamed` })],
    ['retyped', (table) => table.put({ columns: [makeColumn('n', 'decimal')] })],
    ['truncated', (table) => table.truncate()],
    ['deleted', (table) => table.delete()],
  ])('is refused after a time limit with MANAGED_TABLE_BUSY, and changes nothing: %s', async (_what, changeTable) => {
    const table = await createFilledTable();
    const tableBefore = (await table.get()).body;
    expectRefused(await runDuringTransaction(table, readTable, () => awaitAnswerInTime(() => changeTable(table))));
    expect((await table.get()).body).toEqual(tableBefore);
    expect((await table.rows()).body.total).toBe(2);
    expect((await changeTable(table)).status).toBeLessThan(300);
  });

  it('is refused after a time limit, and changes nothing, when it takes too long itself', async () => {
    const table = await createFilledTable();
    // Only a change that is to be answered in time is slow.
    await runInCompanyDatabase(company.id, (database) =>
      database.query(`
        CREATE FUNCTION public.slow(n numeric) RETURNS numeric IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN
          IF current_setting('transaction_timeout') <> '0' THEN PERFORM pg_sleep(60); END IF;
          RETURN n;
        END $$;
        CREATE INDEX ON public.${table.name} (public.slow(n))`),
    );
    expectRefused(await awaitAnswerInTime(() => table.put({ columns: [makeColumn('n', 'decimal')] })));
    expect((await table.get()).body.columns).toEqual([makeColumn('n', 'integer')]);
  });
});

describe.concurrent('an index', () => {
  it.each([
    ['write to the table', writeTable],
    ['keep an older snapshot', readOtherTable],
  ])('is refused as busy while other transactions are open that %s', async (_what, runFirstStep) => {
    const table = await createTableApart();
    await runDuringTransaction(table, runFirstStep, async () => {
      expectRefused(await awaitAnswerInTime(() => table.index(['n'])));
      expect(await listIndexes(table)).toEqual([]);
    });
    expect((await table.index(['n'])).status).toBe(201);
  });

  it('is not dropped while another transaction reads the table', async () => {
    const table = await createTableApart();
    const { body } = await table.index(['n']);
    const deleteIndex = () => awaitAnswerInTime(() => table.deleteIndex(body.id));
    expectRefused(await runDuringTransaction(table, readTable, deleteIndex));
    expect((await table.indexes()).body.records).toEqual([body]);
    expect((await table.deleteIndex(body.id)).status).toBe(204);
  });

  it('is dropped when another transaction keeps its build from ending', async () => {
    const table = await createTableApart();
    await runInCompanyDatabase(table.companyId, (database) =>
      database.runInTransaction(
        async (tx) => {
          const { outcome } = await runBeforeNextStatement(table.companyId, /CREATE INDEX/, () =>
            readOtherTable(tx, table),
          );
          expectRefused(await awaitAnswerInTime(() => table.index(['n'])));
          await outcome;
          expect(await listIndexes(table)).toEqual([]);
        },
        { isolation: 'repeatable read', idleTimeoutMs: 120_000 },
      ),
    );
  });

  // Alone: other tests would reset the clock of the sweep.
  it.sequential('is dropped by the sweep when another transaction also kept it from being dropped', async () => {
    const table = await createTableApart();
    await runInCompanyDatabase(table.companyId, (database) =>
      database.runInTransaction(
        async (tx) => {
          const { outcome } = await runBeforeNextStatement(table.companyId, /CREATE INDEX/, () =>
            writeTable(tx, table),
          );
          expectRefused(await awaitAnswerInTime(() => table.index(['n'])));
          await outcome;
          expect((await table.indexes()).body.records).toEqual([]);
        },
        { idleTimeoutMs: 120_000 },
      ),
    );
    await runSweep(createTestQueue(), 61_000);
    expect(await listIndexes(table)).toEqual([]);
  });
});
