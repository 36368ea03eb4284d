import { beforeEach, describe, expect, it } from 'vitest';
import type { TenantTx } from '../../src/tenant-sql/client.ts';
import type { ApiResponse } from '../support/api.ts';
import { createProvisionedCompany } from '../support/companies.ts';
import { runBeforeNextStatement } from '../support/tunnel.ts';
import { createTestQueue, runSweep } from '../uploads/support.ts';
import { column, createTable, createTableClient, runInCompanyDatabase } from './support.ts';

const MAX_ANSWER_MS = 30_000;

let name: string;
let table: ReturnType<typeof createTableClient>;
let createdCount = 0;

const company = await createProvisionedCompany();

beforeEach(async () => {
  name = `busy_${++createdCount}`;
  table = createTableClient(company.as, await createTable(company.as, name, [column('n', 'integer')]));
  await table.insert([{ n: 1 }, { n: 2 }]);
});

const readTable = (tx: TenantTx) => tx.query(`SELECT n FROM public.${name}`);
const writeTable = (tx: TenantTx) => tx.execute(`INSERT INTO public.${name} (n) VALUES (3)`);
/** Reads another table: the transaction sees the state at its beginning for as long as it is open. */
const readOtherTable = (tx: TenantTx) => tx.query('SELECT count(*) FROM console.managed_tables');

/** Runs `work` while another transaction is open that has first run `firstStep`. */
const runDuringTransaction = <T>(firstStep: (tx: TenantTx) => Promise<unknown>, work: () => Promise<T>): Promise<T> =>
  runInCompanyDatabase(company.id, (database) =>
    database.runInTransaction(
      async (tx) => {
        await firstStep(tx);
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
const listIndexes = () =>
  runInCompanyDatabase(company.id, (database) =>
    database.query(`SELECT indisvalid FROM pg_index WHERE indrelid = 'public.${name}'::regclass AND NOT indisprimary`),
  );

describe('a change of a table that another transaction reads', () => {
  it.each<[string, () => Promise<ApiResponse>]>([
    ['renamed', () => table.put({ display_name: `${name}_renamed` })],
    ['retyped', () => table.put({ columns: [column('n', 'decimal')] })],
    ['truncated', () => table.truncate()],
    ['deleted', () => table.delete()],
  ])('is refused after a time limit with MANAGED_TABLE_BUSY, and changes nothing: %s', async (_what, changeTable) => {
    const tableBefore = (await table.get()).body;
    expectRefused(await runDuringTransaction(readTable, () => awaitAnswerInTime(changeTable)));
    expect((await table.get()).body).toEqual(tableBefore);
    expect((await table.rows()).body.total).toBe(2);
    expect((await changeTable()).status).toBeLessThan(300);
  });

  it('is refused after a time limit, and changes nothing, when it takes too long itself', async () => {
    // Only a change that is to be answered in time is slow.
    await runInCompanyDatabase(company.id, (database) =>
      database.query(`
        CREATE FUNCTION public.slow_${createdCount}(n numeric) RETURNS numeric IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN
          IF current_setting('transaction_timeout') <> '0' THEN PERFORM pg_sleep(60); END IF;
          RETURN n;
        END $$;
        CREATE INDEX ON public.${name} (public.slow_${createdCount}(n))`),
    );
    expectRefused(await awaitAnswerInTime(() => table.put({ columns: [column('n', 'decimal')] })));
    expect((await table.get()).body.columns).toEqual([column('n', 'integer')]);
  });
});

describe('an index', () => {
  it.each([
    ['write to the table', writeTable],
    ['keep an older snapshot', readOtherTable],
  ])('is refused as busy while other transactions are open that %s', async (_what, firstStep) => {
    await runDuringTransaction(firstStep, async () => {
      expectRefused(await awaitAnswerInTime(() => table.index(['n'])));
      expect(await listIndexes()).toEqual([]);
    });
    expect((await table.index(['n'])).status).toBe(201);
  });

  it('is not dropped while another transaction reads the table', async () => {
    const { body } = await table.index(['n']);
    expectRefused(await runDuringTransaction(readTable, () => awaitAnswerInTime(() => table.deleteIndex(body.id))));
    expect((await table.indexes()).body.records).toEqual([body]);
    expect((await table.deleteIndex(body.id)).status).toBe(204);
  });

  it('is dropped when another transaction keeps its build from ending', async () => {
    await runInCompanyDatabase(company.id, (database) =>
      database.runInTransaction(
        async (tx) => {
          const { outcome } = await runBeforeNextStatement(company.id, /CREATE INDEX/, () => readOtherTable(tx));
          expectRefused(await awaitAnswerInTime(() => table.index(['n'])));
          await outcome;
          expect(await listIndexes()).toEqual([]);
        },
        { isolation: 'repeatable read', idleTimeoutMs: 120_000 },
      ),
    );
  });

  it('is dropped by the sweep when another transaction also kept it from being dropped', async () => {
    await runInCompanyDatabase(company.id, (database) =>
      database.runInTransaction(
        async (tx) => {
          const { outcome } = await runBeforeNextStatement(company.id, /CREATE INDEX/, () => writeTable(tx));
          expectRefused(await awaitAnswerInTime(() => table.index(['n'])));
          await outcome;
          expect((await table.indexes()).body.records).toEqual([]);
        },
        { idleTimeoutMs: 120_000 },
      ),
    );
    await runSweep(createTestQueue(), 61_000);
    expect(await listIndexes()).toEqual([]);
  });
});
