import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { TenantTx } from '../../src/tenant-sql/client.ts';
import type { ApiResponse } from '../support/api.ts';
import { rivalBeforeStatement } from '../support/tunnel.ts';
import { aProvisionedCompany, type Company } from '../support/worlds.ts';
import { createHeldQueue, runSweep } from '../uploads/support.ts';
import { column, createTable, makeTableRoutes, runBehindApi } from './support.ts';

const ANSWERED_MS = 30_000;

let company: Company;
let name: string;
let table: ReturnType<typeof makeTableRoutes>;
let createdCount = 0;

beforeAll(async () => {
  company = await aProvisionedCompany();
});

beforeEach(async () => {
  name = `busy_${++createdCount}`;
  table = makeTableRoutes(company.as, await createTable(company.as, name, [column('n', 'integer')]));
  await table.insert([{ n: 1 }, { n: 2 }]);
});

const reads = (tx: TenantTx) => tx.query(`SELECT n FROM public.${name}`);
const writes = (tx: TenantTx) => tx.execute(`INSERT INTO public.${name} (n) VALUES (3)`);
/** It sees for as long as it goes on what there was when it began, in other tables too. */
const looksBack = (tx: TenantTx) => tx.query('SELECT count(*) FROM console.managed_tables');

/** Runs `work` while a transaction goes on that has done something. */
const runBesideTransaction = <T>(did: (tx: TenantTx) => Promise<unknown>, work: () => Promise<T>): Promise<T> =>
  runBehindApi(company.id, (database) =>
    database.transaction(
      async (tx) => {
        await did(tx);
        return work();
      },
      { isolation: 'repeatable read', idleTimeoutMs: 120_000 },
    ),
  );

/** What a request was answered, which came in time. */
async function awaitInTime(request: () => Promise<ApiResponse>): Promise<ApiResponse> {
  const began = Date.now();
  const answer = await request();
  expect(Date.now() - began).toBeLessThan(ANSWERED_MS);
  return answer;
}

function expectRefused({ status, body, headers }: ApiResponse): void {
  expect([status, body.error_code, headers.get('retry-after')]).toEqual([409, 'MANAGED_TABLE_BUSY', '5']);
}

/** The indexes that Postgres has of the table but its key, whether they can be used or not. */
const listIndexes = () =>
  runBehindApi(company.id, (database) =>
    database.query(`SELECT indisvalid FROM pg_index WHERE indrelid = 'public.${name}'::regclass AND NOT indisprimary`),
  );

describe('a change of a table that another transaction reads', () => {
  it.each<[string, () => Promise<ApiResponse>]>([
    ['renamed', () => table.put({ display_name: `${name}_renamed` })],
    ['retyped', () => table.put({ columns: [column('n', 'decimal')] })],
    ['truncated', () => table.truncate()],
    ['deleted', () => table.delete()],
  ])('is refused after a time limit with MANAGED_TABLE_BUSY, and changes nothing: %s', async (_what, change) => {
    const before = (await table.get()).body;
    expectRefused(await runBesideTransaction(reads, () => awaitInTime(change)));
    expect((await table.get()).body).toEqual(before);
    expect((await table.rows()).body.total).toBe(2);
    expect((await change()).status).toBeLessThan(300);
  });

  it('is refused after a time limit, and changes nothing, when it takes too long itself', async () => {
    // Only a change that is to be answered in time is slow.
    await runBehindApi(company.id, (database) =>
      database.query(`
        CREATE FUNCTION public.slow_${createdCount}(n numeric) RETURNS numeric IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN
          IF current_setting('transaction_timeout') <> '0' THEN PERFORM pg_sleep(60); END IF;
          RETURN n;
        END $$;
        CREATE INDEX ON public.${name} (public.slow_${createdCount}(n))`),
    );
    expectRefused(await awaitInTime(() => table.put({ columns: [column('n', 'decimal')] })));
    expect((await table.get()).body.columns).toEqual([column('n', 'integer')]);
  });
});

describe('an index', () => {
  it.each([
    ['write to the table', writes],
    ['keep an older snapshot', looksBack],
  ])('is refused as busy while other transactions are open that %s', async (_what, do_) => {
    await runBesideTransaction(do_, async () => {
      expectRefused(await awaitInTime(() => table.index(['n'])));
      expect(await listIndexes()).toEqual([]);
    });
    expect((await table.index(['n'])).status).toBe(201);
  });

  it('is not dropped while another transaction reads the table', async () => {
    const { body } = await table.index(['n']);
    expectRefused(await runBesideTransaction(reads, () => awaitInTime(() => table.deleteIndex(body.id))));
    expect((await table.indexes()).body.records).toEqual([body]);
    expect((await table.deleteIndex(body.id)).status).toBe(204);
  });

  it('is dropped when another transaction keeps its build from ending', async () => {
    await runBehindApi(company.id, (database) =>
      database.transaction(
        async (tx) => {
          const { outcome } = await rivalBeforeStatement(company.id, /CREATE INDEX/, () => looksBack(tx));
          expectRefused(await awaitInTime(() => table.index(['n'])));
          await outcome;
          expect(await listIndexes()).toEqual([]);
        },
        { isolation: 'repeatable read', idleTimeoutMs: 120_000 },
      ),
    );
  });

  it('is dropped by the sweep when another transaction also kept it from being dropped', async () => {
    await runBehindApi(company.id, (database) =>
      database.transaction(
        async (tx) => {
          const { outcome } = await rivalBeforeStatement(company.id, /CREATE INDEX/, () => writes(tx));
          expectRefused(await awaitInTime(() => table.index(['n'])));
          await outcome;
          expect((await table.indexes()).body.records).toEqual([]);
        },
        { idleTimeoutMs: 120_000 },
      ),
    );
    await runSweep(createHeldQueue(), 61_000);
    expect(await listIndexes()).toEqual([]);
  });
});
