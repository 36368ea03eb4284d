import { retryOnConcurrentChange } from '../../db/failures.ts';
import { isPostgresError, type TenantSql, type TenantTx } from '../../tenant-sql/client.ts';
import { tableNotFound } from './failures.ts';
import * as store from './store.ts';
import type { ManagedTable } from './table.ts';

/** The error thrown in `runWithCurrentTable` where the table differs from the version that was read. */
export class StaleTableError extends Error {}

/** Tells whether an error is of SQLSTATE class 42: no such table, column, or operation on a column of its type. */
export const isSchemaError = (error: unknown): boolean => isPostgresError(error) && error.code.startsWith('42');

/**
 * Repeats `work` if the table was changed after `work` read it. If Postgres reports a missing or changed name or type,
 * the table is compared; the error is rethrown if the table has not changed. @param work calls its first argument to
 * read the table, or its second to report a table that it has read otherwise
 */
export function runWithCurrentTable<T>(
  database: TenantSql,
  key: store.TableKey,
  work: (readTable: (tx: TenantTx) => Promise<ManagedTable>, reportTable: (table: ManagedTable) => void) => Promise<T>,
): Promise<T> {
  return retryOnConcurrentChange(async () => {
    let version: number | undefined;
    try {
      const reportTable = (table: ManagedTable) => {
        version = table.schemaVersion;
      };
      const readTable = async (tx: TenantTx) => {
        const table = await store.readTable(tx, key);
        if (!table) throw tableNotFound();
        reportTable(table);
        return table;
      };
      return await work(readTable, reportTable);
    } catch (error) {
      if (error instanceof StaleTableError) return undefined;
      if (!isSchemaError(error)) throw error;
      if ((await store.readTable(database, key))?.schemaVersion === version) throw error;
      return undefined;
    }
  });
}
