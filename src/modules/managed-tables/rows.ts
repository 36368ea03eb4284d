import type { CompanyContext } from '../../context.ts';
import { retryOnConcurrentChange } from '../../db/failures.ts';
import { isPostgresError, type TenantSql, type TenantTx } from '../../tenant-sql/client.ts';
import type { Column } from '../../tenant-sql/columns.ts';
import * as sql from '../../tenant-sql/rows.ts';
import { toJsonValue } from '../../tenant-sql/values.ts';
import { pageTooLarge, rowNotFound, rowTooBig, tableNotFound } from './failures.ts';
import { encodeChanges, encodeRows } from './row-input.ts';
import { databaseOfTables, inTransaction, keyOf, lockTable, setRowCount } from './service.ts';
import { parseSort } from './sort.ts';
import * as store from './store.ts';
import type { ManagedTable } from './table.ts';

/** A row as the API shows it: `id` and the table's columns. It has no prototype, so that a column may have any name. */
export type Row = Record<string, string | number | boolean | null>;

/** The values of one page as text: a page of long texts must not exhaust the Worker's memory. */
const MAX_PAGE_BYTES = 16 * 1024 * 1024;
const READ_TIMEOUT_MS = 20_000;

/** A page of rows with their exact number, in insertion order unless `sortBy` says otherwise (see `parseSort`). */
export async function listRows(
  ctx: CompanyContext,
  tableId: string,
  { page, perPage, sortBy }: { page: number; perPage: number; sortBy?: string | undefined },
): Promise<{ total: number; records: Row[] }> {
  const key = keyOf(ctx, tableId);
  const database = await databaseOfTables(ctx);
  return withCurrentTable(database, key, (readTable) =>
    inTransaction(
      database,
      async (tx) => {
        const table = await readTable(tx);
        const order = parseSort(sortBy, table.columns);
        const window = sql.nearerWindow(table.rowCount, (page - 1) * perPage, perPage);
        const { text, values } = sql.selectRows(table.displayName, table.columns, order, window, MAX_PAGE_BYTES);
        const found = await tx.query<RawRow & { bytes: string }>(text, values);
        const bytes = Number(found[0]?.bytes ?? 0);
        if (bytes > MAX_PAGE_BYTES) throw pageTooLarge(bytes, MAX_PAGE_BYTES);
        const records = found.flatMap((row) => (row.id === null ? [] : [rowOf(table.columns, row)]));
        // Truncating or rewriting a table empties it for transactions that began before.
        if (records.length === 0 && (page - 1) * perPage < table.rowCount) throw new StaleTable();
        return { total: table.rowCount, records };
      },
      { readOnly: true, isolation: 'repeatable read', statementTimeoutMs: READ_TIMEOUT_MS },
    ),
  );
}

/**
 * Inserts all rows or none, in their order.
 * @param rows JSON objects by column name; `values.ts` says what each type takes
 * @returns how many
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
      // Locked, because Postgres would round a value that was meant for the column as it was.
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

/** `id` and the columns as `c0`, `c1`, … */
type RawRow = { id: string | null } & Record<string, string | boolean | null>;

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
 * Runs work on a table until what it read of the table has not changed in between. Postgres notices too, when a name or type
 * is no longer as it was read; its error is passed on when the table is still the same.
 * @param work reads the table with the function that it gets
 */
function withCurrentTable<T>(
  database: TenantSql,
  key: store.TableKey,
  work: (readTable: (tx: TenantTx) => Promise<ManagedTable>) => Promise<T>,
): Promise<T> {
  return retryOnConcurrentChange(async () => {
    let version: number | undefined;
    try {
      return await work(async (tx) => {
        const table = await store.readTable(tx, key);
        if (!table) throw tableNotFound();
        version = table.schemaVersion;
        return table;
      });
    } catch (error) {
      if (error instanceof StaleTable) return undefined;
      if (!isPostgresError(error) || !NO_SUCH_THING.test(error.code)) throw error;
      if ((await store.readTable(database, key))?.schemaVersion === version) throw error;
      return undefined;
    }
  });
}

/** Runs work whose rows may be too big for Postgres to store. */
async function refuseTooBig<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw isPostgresError(error) && error.code === '54000' ? rowTooBig() : error;
  }
}
