import { retryOnConcurrentChange } from '../../db/failures.ts';
import { isPostgresError, type TenantSql, type TenantTx } from '../../tenant-sql/client.ts';
import { tableNotFound } from './failures.ts';
import * as store from './store.ts';
import type { ManagedTable } from './table.ts';

/** Thrown by work of `withCurrentTable` where the table is not as it was read. */
export class StaleTable extends Error {}

/** SQLSTATE class 42: no such table, column, or operation on a column of its type. */
const SCHEMA_ERROR_STATE = /^42/;

/**
 * Repeats `work` if the table was changed after `work` read it. If Postgres reports a missing or changed name or type, the
 * table is compared; the error is rethrown if it has not changed.
 * @param work reads the table by the function passed to it, or reports by the other the table that it relies on
 */
export function withCurrentTable<T>(
  database: TenantSql,
  key: store.TableKey,
  work: (readTable: (tx: TenantTx) => Promise<ManagedTable>, saw: (table: ManagedTable) => void) => Promise<T>,
): Promise<T> {
  return retryOnConcurrentChange(async () => {
    let version: number | undefined;
    try {
      const saw = (table: ManagedTable) => {
        version = table.schemaVersion;
      };
      const readTable = async (tx: TenantTx) => {
        const table = await store.readTable(tx, key);
        if (!table) throw tableNotFound();
        saw(table);
        return table;
      };
      return await work(readTable, saw);
    } catch (error) {
      if (error instanceof StaleTable) return undefined;
      if (!isPostgresError(error) || !SCHEMA_ERROR_STATE.test(error.code)) throw error;
      if ((await store.readTable(database, key))?.schemaVersion === version) throw error;
      return undefined;
    }
  });
}
