import { isAllowed } from '../../access/requirements.ts';
import type { CompanyContext, PrincipalContext } from '../../context.ts';
import { isoTimestamp } from '../../kernel/fields.ts';
import type { UnreadObject } from '../../kernel/unread-json.ts';
import { isPostgresError, type TenantSql, type TenantTx } from '../../tenant-sql/client.ts';
import type { Column } from '../../tenant-sql/columns.ts';
import { formatDuplicate, toIndexRefusal } from '../../tenant-sql/indexes.ts';
import * as sql from '../../tenant-sql/rows.ts';
import { StaleTable, withCurrentTable } from './current-table.ts';
import { openCursor, sealCursor } from './cursor.ts';
import {
  duplicateValue,
  rowNotFound,
  rowNotStorable,
  rowTooLargeToReturn,
  tableNotFound,
  tooLongForIndex,
} from './failures.ts';
import { isRowId } from './filter-values.ts';
import { readIndexes } from './index-store.ts';
import { limitLargeRows } from './large-rows.ts';
import { MAX_PAGE_BYTES, type PageRequest, readPage } from './page.ts';
import { type EncodedRows, encodeChanges, encodeRows } from './row-input.ts';
import { type Row, toRow } from './row-view.ts';
import {
  type AnnounceTables,
  inTransaction,
  lockTable,
  requireTablesDatabase,
  requireTablesDatabaseToRead,
  runChange,
  toTableKey,
} from './service.ts';
import * as store from './store.ts';
import type { ManagedTable } from './table.ts';

/** The rows to list, by page or cursor. */
export interface RowsRequest extends Omit<PageRequest, 'at'> {
  page: number;
  /** The `next_cursor` of the page before, or an empty text for the first page; without it pages have numbers. */
  cursor?: string | undefined;
}

/** A page of rows. */
export interface RowsPage {
  records: Row[];
  /** The exact number of selected rows; undefined where they are not counted. */
  total: number | undefined;
  /** The cursor of the page after this one; null at the end, undefined where pages have numbers. */
  nextCursor: string | null | undefined;
}

/** Returns a page of the selected rows, in insertion order unless `sortBy` names another (see `parseSort`). */
export async function listRows(ctx: CompanyContext, tableId: string, request: RowsRequest): Promise<RowsPage> {
  const { cursor, page, rows: asked, sortBy } = request;
  const key = toTableKey(ctx, tableId);
  const place = { tableId, asked, sortBy };
  const at = cursor === undefined ? { page } : { after: cursor === '' ? null : await openCursor(ctx, place, cursor) };
  const database = await requireTablesDatabaseToRead(ctx);
  return withCurrentTable(database, key, async (_, saw) => {
    const found = await readPage(database, key, { ...request, at }, saw);
    if (!found) throw tableNotFound();
    if (found.isStale) throw new StaleTable();
    const next = found.last && (await sealCursor(ctx, place, found.last));
    return {
      records: found.rows.map((row) => toRow(found.shown, row)),
      total: found.total,
      nextCursor: cursor === undefined ? undefined : next,
    };
  });
}

/** One row with all columns. */
export async function getRow(ctx: CompanyContext, tableId: string, rowId: string): Promise<Row> {
  const key = toTableKey(ctx, tableId);
  const database = await requireTablesDatabaseToRead(ctx);
  return withCurrentTable(database, key, (readTable) =>
    inTransaction(
      database,
      async (tx) => {
        const table = await readTable(tx);
        if (!isRowId(rowId)) throw rowNotFound();
        const select = sql.selectRow(table.displayName, table.columns, rowId, MAX_PAGE_BYTES);
        const [[found], [now]] = await tx.finish<[sql.FoundRow, store.CatalogueRow]>([select, store.selectTable(key)]);
        // Values of a column that was converted in between would be read by its former type.
        if (now?.schema_version !== table.schemaVersion) throw new StaleTable();
        return toFoundRow(table, found);
      },
      { readOnly: true },
    ),
  );
}

/**
 * Inserts all rows or none, in their order.
 * @param rows JSON objects by column name, null for other values; `values.ts` describes the values of each type
 * @returns the number of rows
 */
export async function insertRows(
  ctx: PrincipalContext,
  tableId: string,
  rows: readonly (UnreadObject | null)[],
): Promise<number> {
  const key = toTableKey(ctx, tableId);
  const database = await requireTablesDatabase(ctx);
  const write = async (readTable: (tx: TenantTx) => Promise<ManagedTable>) => {
    const table = await readTable(database);
    const encoded = encodeRows(table.columns, rows);
    const insert = async (tx: TenantTx, changing: AnnounceTables) => {
      changing(table.displayName);
      const current = await lockTable(tx, ctx, tableId, 'row');
      if (current.schemaVersion !== table.schemaVersion) throw new StaleTable();
      const { columns, count, texts } = encoded;
      let counting = [store.countRows(key, count, isoTimestamp(ctx.now()))];
      for (const insert of sql.insertRows(table.displayName, columns, count, texts())) {
        await tx.queryAll([insert, ...counting]);
        counting = [];
      }
      return count;
    };
    return explainRefusal(ctx, database, key, encoded, () => runChange(ctx, database, insert, { room: 'adds' }));
  };
  return limitLargeRows(rows, () => withCurrentTable(database, key, write));
}

/**
 * Changes the given fields of a row.
 * @returns the whole row; for a caller who may not read rows of the table, its id and the given fields
 */
export async function updateRow(
  ctx: PrincipalContext,
  tableId: string,
  rowId: string,
  changes: Record<string, unknown>,
): Promise<Row> {
  const database = await requireTablesDatabase(ctx);
  const written: WrittenValues = { columns: [], texts: () => [] };
  const row = await explainRefusal(ctx, database, toTableKey(ctx, tableId), written, () =>
    runChange(ctx, database, async (tx, changing) => {
      // The lock prevents a change of the column's type, after which Postgres might round the value.
      const table = await lockTable(tx, ctx, tableId, 'row');
      changing(table.displayName);
      const encoded = await encodeRowChanges(tx, table, rowId, changes);
      written.columns = encoded.map(({ column }) => column);
      written.texts = () => [Object.fromEntries(encoded.map(({ text }, index) => [index, text ?? '']))];
      await requireRowVersion(tx, ctx, table, rowId);
      const { text, values } = sql.updateRow(table.displayName, table.columns, rowId, encoded, MAX_PAGE_BYTES);
      const [found] = await tx.query<sql.FoundRow>(text, values);
      return toFoundRow(table, found);
    }),
  );
  if (mayReadRows(ctx, tableId)) return row;
  const isShown = ([name]: [string, unknown]) => name === 'id' || Object.hasOwn(changes, name);
  return Object.assign(Object.create(null), Object.fromEntries(Object.entries(row).filter(isShown)));
}

/** Encodes the values of a change. If both the row is missing and the change is invalid, the missing row is reported. */
async function encodeRowChanges(tx: TenantTx, table: ManagedTable, rowId: string, changes: Record<string, unknown>) {
  if (!isRowId(rowId)) throw rowNotFound();
  try {
    return encodeChanges(table.columns, rowId, changes);
  } catch (refusal) {
    const found = await lockRow(tx, table, rowId);
    throw isFound(found) ? refusal : rowNotFound();
  }
}

async function lockRow(tx: TenantTx, table: ManagedTable, rowId: string): Promise<sql.FoundRow | undefined> {
  const lock = sql.lockRow(table.displayName, table.columns, rowId, MAX_PAGE_BYTES);
  const [, [found]] = await tx.queryAll<[unknown, sql.FoundRow]>(lock);
  return found;
}

const isFound = (found: sql.FoundRow | undefined): found is sql.FoundRow => found !== undefined && found.bytes !== null;

/** Whether the caller may see values of the table's rows, in any answer. */
export const mayReadRows = (ctx: PrincipalContext, tableId: string): boolean =>
  isAllowed(ctx.actor, 'managed-tables:data-read', tableId);

export async function deleteRow(ctx: CompanyContext, tableId: string, rowId: string): Promise<void> {
  await runChange(
    ctx,
    await requireTablesDatabase(ctx),
    async (tx, changing) => {
      const table = await lockTable(tx, ctx, tableId, 'row');
      changing(table.displayName);
      if (!isRowId(rowId)) throw rowNotFound();
      await requireRowVersion(tx, ctx, table, rowId);
      const counting = store.countRows(toTableKey(ctx, tableId), -1, isoTimestamp(ctx.now()));
      const [deleted] = await tx.queryAll([sql.deleteRow(table.displayName, rowId), counting]);
      if (deleted.length === 0) throw rowNotFound();
    },
    DELETE_OPTIONS,
  );
}

/** Locks the row of a conditional write (`If-Match`), and refuses the write where the row has another version. */
async function requireRowVersion(tx: TenantTx, ctx: CompanyContext, table: ManagedTable, rowId: string): Promise<void> {
  if (!ctx.requireVersion) return;
  await ctx.requireVersion(toFoundRow(table, await lockRow(tx, table, rowId)));
}

/** The options of a delete, which is allowed even if the quota is exceeded. */
const DELETE_OPTIONS = { room: 'frees' } as const;

/** The row in an answer. @throws rowNotFound, rowTooLargeToReturn */
function toFoundRow({ columns }: ManagedTable, found: sql.FoundRow | undefined): Row {
  if (!isFound(found)) throw rowNotFound();
  const { id, bytes, ...values } = found;
  if (id === null) throw rowTooLargeToReturn(Number(bytes), MAX_PAGE_BYTES);
  return toRow(columns, { id, ...values });
}

/** The values that a statement writes: see `EncodedRows`. */
type WrittenValues = Pick<EncodedRows, 'columns' | 'texts'>;

/** Runs work that writes values of these columns, and turns Postgres's refusals into failures. */
async function explainRefusal<T>(
  ctx: PrincipalContext,
  database: TenantSql,
  key: store.TableKey,
  written: WrittenValues,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const refusal = toIndexRefusal(error);
    if (refusal?.why === 'duplicate') {
      if (!mayReadRows(ctx, key.id)) throw duplicateValue(refusal.columns, null);
      // An update knows the columns that it writes, and an index may be on others too.
      const table = await store.readTable(database, key);
      throw duplicateValue(refusal.columns, formatDuplicate(refusal, table?.columns ?? []));
    }
    if (refusal) throw tooLongForIndex(await findLongest(database, key, refusal.id, written));
    throw isPostgresError(error) && error.code === '54000' ? rowNotStorable() : error;
  }
}

/** The longest written value in an index's columns, or in those of all indexes. */
async function findLongest(
  database: TenantSql,
  key: store.TableKey,
  indexId: string | undefined,
  { columns, texts }: WrittenValues,
) {
  const { indexes = [] } = (await readIndexes(database, key)) ?? {};
  const meant = indexes.filter(({ id }) => indexId === undefined || id === indexId);
  const indexed = new Set(meant.flatMap((index) => index.columns));
  const positions = [...columns.keys()].filter((position) => indexed.has(columns[position]?.name ?? ''));
  let longest = { field: '', column: '', row: 0, length: -1 };
  let row = 0;
  for (const values of texts()) {
    for (const position of positions) {
      const { length } = values[position] ?? '';
      const { name } = columns[position] as Column;
      if (length > longest.length) longest = { field: name, column: name, row, length };
    }
    row += 1;
  }
  return longest;
}
