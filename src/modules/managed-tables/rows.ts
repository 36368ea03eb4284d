import { isAllowed } from '../../access/requirements.ts';
import type { CompanyContext, PrincipalContext } from '../../context.ts';
import { formatIsoTimestamp } from '../../kernel/fields.ts';
import type { UnreadObject } from '../../kernel/unread-json.ts';
import { isPostgresError, type TenantSql, type TenantTx } from '../../tenant-sql/client.ts';
import type { TableColumnDefinition } from '../../tenant-sql/columns.ts';
import { formatDuplicate, toIndexRefusal } from '../../tenant-sql/indexes.ts';
import * as sql from '../../tenant-sql/rows.ts';
import { runWithCurrentTable, StaleTableError } from './current-table.ts';
import { decryptCursor, encryptCursor } from './cursor.ts';
import {
  duplicateValue,
  makeTooLongForIndexFailure,
  rowNotFound,
  rowNotStorable,
  rowTooLargeToReturn,
  tableNotFound,
} from './failures.ts';
import { isRowId } from './filter-values.ts';
import { readIndexes } from './index-store.ts';
import { runWithLargeRowLimit } from './large-rows.ts';
import { MAX_PAGE_BYTES, type PageRequest, type RowRecord, readPage, toRowRecord } from './page.ts';
import { type EncodedRows, encodeChanges, encodeRows } from './row-input.ts';
import {
  type AnnounceTables,
  lockTable,
  requireTablesDatabase,
  requireTablesDatabaseToRead,
  runChange,
  runTableTransaction,
  toTableKey,
} from './service.ts';
import * as store from './store.ts';
import type { ManagedTable } from './table.ts';

/** The rows to list, by page or cursor. */
export interface RowsRequest extends Omit<PageRequest, 'at'> {
  page: number;
  /** The `next_cursor` of the previous page, or an empty text for the first page; without it pages have numbers. */
  cursor?: string | undefined;
}

/** Returns a page of the selected rows, in insertion order unless `sortBy` names another (see `parseSort`). */
export async function listRows(ctx: CompanyContext, tableId: string, request: RowsRequest) {
  const { cursor, page, sentSelection, sortBy } = request;
  const key = toTableKey(ctx, tableId);
  const cursorScope = { tableId, selection: sentSelection, sortBy };
  const at =
    cursor === undefined
      ? { page }
      : { afterPosition: cursor === '' ? null : await decryptCursor(ctx, cursorScope, cursor) };
  const database = await requireTablesDatabaseToRead(ctx);
  return runWithCurrentTable(database, key, async (_, reportTable) => {
    const rowPage = await readPage(database, key, { ...request, at }, reportTable);
    if (!rowPage) throw tableNotFound();
    if (rowPage.isStale) throw new StaleTableError();
    const nextCursor = rowPage.lastPosition && (await encryptCursor(ctx, cursorScope, rowPage.lastPosition));
    return {
      records: rowPage.rows.map((row) => toRowRecord(rowPage.shownColumns, row)),
      total: rowPage.total,
      /** The cursor of the next page; null at the end, undefined where pages have numbers. */
      nextCursor: cursor === undefined ? undefined : nextCursor,
    };
  });
}

/** Returns one row with all columns. */
export async function getRow(ctx: CompanyContext, tableId: string, rowId: string): Promise<RowRecord> {
  const key = toTableKey(ctx, tableId);
  const database = await requireTablesDatabaseToRead(ctx);
  return runWithCurrentTable(database, key, (readTable) =>
    runTableTransaction(
      database,
      async (tx) => {
        const table = await readTable(tx);
        if (!isRowId(rowId)) throw rowNotFound();
        const [[found], [now]] = await tx.finish<[sql.FoundRow, store.CatalogueRow]>([
          sql.buildSelectRow(table.displayName, table.columns, rowId, MAX_PAGE_BYTES),
          store.makeTableQuery(key),
        ]);
        // Values of a column that was converted in between would be read by its former type.
        if (now?.schema_version !== table.schemaVersion) throw new StaleTableError();
        return toRowOrFail(table, found);
      },
      { readOnly: true },
    ),
  );
}

/**
 * Inserts all rows or none, in order. @param rows JSON objects by column name, null for other values; `values.ts` describes the
 * values of each type @returns the number of rows
 */
export async function insertRows(
  ctx: PrincipalContext,
  tableId: string,
  rows: readonly (UnreadObject | null)[],
): Promise<number> {
  const key = toTableKey(ctx, tableId);
  const database = await requireTablesDatabase(ctx);
  const writeRows = async (readTable: (tx: TenantTx) => Promise<ManagedTable>) => {
    const table = await readTable(database);
    const encodedRows = encodeRows(table.columns, rows);
    const insertInTransaction = async (tx: TenantTx, announceTables: AnnounceTables) => {
      announceTables(table.displayName);
      const currentTable = await lockTable(tx, ctx, tableId, 'row');
      if (currentTable.schemaVersion !== table.schemaVersion) throw new StaleTableError();
      const { columns, count, encodeTexts } = encodedRows;
      let countStatements = [store.makeRowCountChange(key, count, formatIsoTimestamp(ctx.now()))];
      for (const insertStatement of sql.makeInsertStatements(table.displayName, columns, count, encodeTexts())) {
        await tx.queryAll([insertStatement, ...countStatements]);
        countStatements = [];
      }
      return count;
    };
    return runWithIndexFailures(ctx, database, key, encodedRows, () =>
      runChange(ctx, database, insertInTransaction, { spaceEffect: 'adds' }),
    );
  };
  return runWithLargeRowLimit(rows, () => runWithCurrentTable(database, key, writeRows));
}

/** Changes fields of a row. @returns the whole row; for a caller who may not read the table's rows, its id and the given fields */
export async function updateRow(
  ctx: PrincipalContext,
  tableId: string,
  rowId: string,
  changes: Record<string, unknown>,
): Promise<RowRecord> {
  const database = await requireTablesDatabase(ctx);
  const writtenValues: WrittenValues = { columns: [], encodeTexts: () => [] };
  const row = await runWithIndexFailures(ctx, database, toTableKey(ctx, tableId), writtenValues, () =>
    runChange(ctx, database, async (tx, announceTables) => {
      // The lock prevents a change of the column's type, after which Postgres might round the value.
      const table = await lockTable(tx, ctx, tableId, 'row');
      announceTables(table.displayName);
      const encodedChanges = await encodeRowChanges(tx, table, rowId, changes);
      writtenValues.columns = encodedChanges.map(({ column }) => column);
      writtenValues.encodeTexts = () => [
        Object.fromEntries(encodedChanges.map(({ text }, index) => [index, text ?? ''])),
      ];
      await requireRowVersion(tx, ctx, table, rowId);
      const { displayName, columns } = table;
      const { text, values } = sql.buildUpdateRow(displayName, columns, rowId, encodedChanges, MAX_PAGE_BYTES);
      const [found] = await tx.query<sql.FoundRow>(text, values);
      return toRowOrFail(table, found);
    }),
  );
  if (mayReadRows(ctx, tableId)) return row;
  const isVisibleField = ([name]: [string, unknown]) => name === 'id' || Object.hasOwn(changes, name);
  return Object.assign(Object.create(null), Object.fromEntries(Object.entries(row).filter(isVisibleField)));
}

/** Encodes the values of a change. If both the row is missing and the change is invalid, the missing row is reported. */
async function encodeRowChanges(tx: TenantTx, table: ManagedTable, rowId: string, changes: Record<string, unknown>) {
  if (!isRowId(rowId)) throw rowNotFound();
  try {
    return encodeChanges(table.columns, rowId, changes);
  } catch (refusal) {
    throw isFoundRow(await lockRow(tx, table, rowId)) ? refusal : rowNotFound();
  }
}

async function lockRow(tx: TenantTx, table: ManagedTable, rowId: string): Promise<sql.FoundRow | undefined> {
  const lockStatement = sql.buildLockRow(table.displayName, table.columns, rowId, MAX_PAGE_BYTES);
  const [, [found]] = await tx.queryAll<[unknown, sql.FoundRow]>(lockStatement);
  return found;
}

const isFoundRow = (foundRow: sql.FoundRow | undefined): foundRow is sql.FoundRow =>
  foundRow !== undefined && foundRow.bytes !== null;

/** Tells whether the caller may see values of the table's rows, in any response. */
export const mayReadRows = (ctx: PrincipalContext, tableId: string): boolean =>
  isAllowed(ctx.actor, 'managed-tables:data-read', tableId);

export async function deleteRow(ctx: CompanyContext, tableId: string, rowId: string): Promise<void> {
  await runChange(
    ctx,
    await requireTablesDatabase(ctx),
    async (tx, announceTables) => {
      const table = await lockTable(tx, ctx, tableId, 'row');
      announceTables(table.displayName);
      if (!isRowId(rowId)) throw rowNotFound();
      await requireRowVersion(tx, ctx, table, rowId);
      const countStatement = store.makeRowCountChange(toTableKey(ctx, tableId), -1, formatIsoTimestamp(ctx.now()));
      const [deleted] = await tx.queryAll([sql.buildDeleteRow(table.displayName, rowId), countStatement]);
      if (deleted.length === 0) throw rowNotFound();
    },
    // A delete is allowed even if the quota is exceeded.
    { spaceEffect: 'frees' },
  );
}

/** Locks the row of a conditional write (`If-Match`), and throws where the row has another version. */
async function requireRowVersion(tx: TenantTx, ctx: CompanyContext, table: ManagedTable, rowId: string): Promise<void> {
  if (!ctx.requireVersion) return;
  await ctx.requireVersion(toRowOrFail(table, await lockRow(tx, table, rowId)));
}

/** Converts a found row for a response. @throws rowNotFound, rowTooLargeToReturn */
function toRowOrFail({ columns }: ManagedTable, foundRow: sql.FoundRow | undefined): RowRecord {
  if (!isFoundRow(foundRow)) throw rowNotFound();
  const { id, bytes, ...values } = foundRow;
  if (id === null) throw rowTooLargeToReturn(Number(bytes), MAX_PAGE_BYTES);
  return toRowRecord(columns, { id, ...values });
}

/** The values that a statement writes: see `EncodedRows`. */
type WrittenValues = Pick<EncodedRows, 'columns' | 'encodeTexts'>;

/** Runs `work`, which writes values of these columns, and converts Postgres's rejections into failures. */
async function runWithIndexFailures<T>(
  ctx: PrincipalContext,
  database: TenantSql,
  key: store.TableKey,
  writtenValues: WrittenValues,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const refusal = toIndexRefusal(error);
    if (refusal?.reason === 'duplicate') {
      if (!mayReadRows(ctx, key.id)) throw duplicateValue(refusal.columns, null);
      // An update knows the columns that it writes, and an index may be on others too.
      const table = await store.readTable(database, key);
      throw duplicateValue(refusal.columns, formatDuplicate(refusal, table?.columns ?? []));
    }
    if (refusal) throw makeTooLongForIndexFailure(await findLongestValue(database, key, refusal.id, writtenValues));
    throw isPostgresError(error) && error.code === '54000' ? rowNotStorable() : error;
  }
}

/** Finds the longest written value in an index's columns, or in those of all indexes. */
async function findLongestValue(
  database: TenantSql,
  key: store.TableKey,
  indexId: string | undefined,
  { columns, encodeTexts }: WrittenValues,
) {
  const { indexes = [] } = (await readIndexes(database, key)) ?? {};
  const relevantIndexes = indexes.filter(({ id }) => indexId === undefined || id === indexId);
  const indexedColumns = new Set(relevantIndexes.flatMap((index) => index.columns));
  const positions = [...columns.keys()].filter((position) => indexedColumns.has(columns[position]?.name ?? ''));
  let longestValue = { field: '', column: '', row: 0, length: -1 };
  let row = 0;
  for (const values of encodeTexts()) {
    for (const position of positions) {
      const { length } = values[position] ?? '';
      const { name } = columns[position] as TableColumnDefinition;
      if (length > longestValue.length) longestValue = { field: name, column: name, row, length };
    }
    row += 1;
  }
  return longestValue;
}
