import type { CompanyContext } from '../../context.ts';
import { retryOnConcurrentChange } from '../../db/failures.ts';
import { isPostgresError, type TenantSql, type TenantTx } from '../../tenant-sql/client.ts';
import type { Column } from '../../tenant-sql/columns.ts';
import * as sql from '../../tenant-sql/rows.ts';
import { toJsonValue } from '../../tenant-sql/values.ts';
import { rowNotFound, rowTooBig, tableNotFound } from './failures.ts';
import { type PageRequest, type RawRow, readPage } from './page.ts';
import { encodeChanges, encodeRows } from './row-input.ts';
import { databaseOfTables, inTransaction, keyOf, lockTable, setRowCount } from './service.ts';
import * as store from './store.ts';
import type { ManagedTable } from './table.ts';

/** A row in the API: `id` and the table's columns. It has no prototype, so that a column may have any name. */
export type Row = Record<string, string | number | boolean | null>;

/** A page of rows with the exact total, in insertion order unless `sortBy` asks for another (see `parseSort`). */
export async function listRows(
  ctx: CompanyContext,
  tableId: string,
  request: PageRequest,
): Promise<{ total: number; records: Row[] }> {
  const key = keyOf(ctx, tableId);
  const database = await databaseOfTables(ctx);
  return withCurrentTable(database, key, async (_, saw) => {
    const found = await readPage(database, key, request, saw);
    if (!found) throw tableNotFound();
    const { table, rows } = found;
    const records = rows.map((row) => rowOf(table.columns, row));
    // Truncating or rewriting a table makes it look empty to transactions that began before.
    if (records.length === 0 && (request.page - 1) * request.perPage < table.rowCount) throw new StaleTable();
    return { total: table.rowCount, records };
  });
}

/**
 * Inserts all rows or none, in their order.
 * @param rows JSON objects by column name; `values.ts` describes the values of each type
 * @returns the number of rows
 */
export async function insertRows(ctx: CompanyContext, tableId: string, rows: unknown[]): Promise<number> {
  const key = keyOf(ctx, tableId);
  const database = await databaseOfTables(ctx);
  return withCurrentTable(database, key, async (readTable) => {
    const table = await readTable(database);
    const encoded = encodeRows(table.columns, rows);
    const insert = async (tx: TenantTx) => {
      const current = await store.addToRowCount(tx, key, rows.length, new Date(ctx.now()).toISOString());
      if (!current) throw tableNotFound();
      if (current.schemaVersion !== table.schemaVersion) throw new StaleTable();
      const { text, values } = sql.insertRows(table.displayName, encoded.columns, encoded.rows);
      return tx.execute(text, values);
    };
    return refuseTooBig(() => inTransaction(database, insert));
  });
}

/** Changes the given fields of a row. @returns the whole row */
export async function updateRow(
  ctx: CompanyContext,
  tableId: string,
  rowId: string,
  changes: Record<string, unknown>,
): Promise<Row> {
  const database = await databaseOfTables(ctx);
  return refuseTooBig(() =>
    inTransaction(database, async (tx) => {
      // The lock prevents a change of the column's type, after which Postgres might round the value.
      const table = await lockTable(tx, ctx, tableId, 'row');
      const encoded = encodeChanges(table.columns, changes);
      if (!isUuid(rowId)) throw rowNotFound();
      const { text, values } = sql.updateRow(table.displayName, table.columns, rowId, encoded);
      const [row] = await tx.query<RawRow>(text, values);
      if (!row) throw rowNotFound();
      return rowOf(table.columns, row);
    }),
  );
}

export async function deleteRow(ctx: CompanyContext, tableId: string, rowId: string): Promise<void> {
  await inTransaction(await databaseOfTables(ctx), async (tx) => {
    const table = await lockTable(tx, ctx, tableId);
    if (!isUuid(rowId)) throw rowNotFound();
    const { text, values } = sql.deleteRow(table.displayName, rowId);
    if ((await tx.execute(text, values)) === 0) throw rowNotFound();
    await setRowCount(tx, ctx, tableId, table.rowCount - 1);
  });
}

function rowOf(columns: Column[], raw: RawRow): Row {
  const row: Row = Object.create(null);
  row.id = raw.id;
  for (const [index, { name, type }] of columns.entries()) row[name] = toJsonValue(type, raw[`c${index}`] ?? null);
  return row;
}

const isUuid = (text: string): boolean => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);

/** The table is not as it was read: rolls back what was begun. */
class StaleTable extends Error {}

/** SQLSTATE class 42: no such table, column, or operation on a column of its type. */
const NO_SUCH_THING = /^42/;

/**
 * Repeats work on a table that was changed after the work read it. Postgres, too, reports a changed name or type; its
 * error is rethrown if the table has not changed.
 * @param work reads the table by the function passed to it, or says by the other which table it takes for granted
 */
function withCurrentTable<T>(
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
      if (!isPostgresError(error) || !NO_SUCH_THING.test(error.code)) throw error;
      if ((await store.readTable(database, key))?.schemaVersion === version) throw error;
      return undefined;
    }
  });
}

/** Runs work whose rows may be too large for Postgres. */
async function refuseTooBig<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw isPostgresError(error) && error.code === '54000' ? rowTooBig() : error;
  }
}
