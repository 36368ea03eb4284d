import { Failure } from '../../kernel/failure.ts';
import { RecentlyUsed } from '../../kernel/recently-used.ts';
import { isStatementTimeout, type TenantSql, type TenantTx } from '../../tenant-sql/client.ts';
import type { TableColumnDefinition } from '../../tenant-sql/columns.ts';
import { isSelective } from '../../tenant-sql/row-filters.ts';
import type { Statement } from '../../tenant-sql/rows.ts';
import { toJsonValue } from '../../tenant-sql/values.ts';
import type { CursorPosition } from './cursor.ts';
import { makeCursorFailure, makeKeyTooLongFailure, pageTooLarge, selectionTooSlow } from './failures.ts';
import * as sql from './row-pages.ts';
import { checkSelection, type SentSelection } from './selection.ts';
import { runTableTransaction } from './service.ts';
import { parseSort } from './sort.ts';
import * as store from './store.ts';
import type { ManagedTable } from './table.ts';

/** The maximum number of bytes of one page's values as text: a page of long texts must not exhaust the Worker's memory. */
export const MAX_PAGE_BYTES = 16 * 1024 * 1024;

/** The requested page of a table's rows, and their order (see `parseSort`). */
export interface PageRequest {
  sentSelection: SentSelection;
  sortBy?: string | undefined;
  /** The start of the page: a page number, the position before its first row, or null for the first row. */
  at: { page: number } | { afterPosition: CursorPosition | null };
  perPage: number;
  /** Whether the selected rows are counted. */
  isCounted: boolean;
}

/** A row as the database sends it: `id`, and the columns as `c0`, `c1`, … */
export type RawRow = { id: string | null } & Record<string, string | boolean | null>;

/** A row in the API: `id` and the table's columns. It has no prototype, so that a column may have any name. */
export type RowRecord = Record<string, string | number | boolean | null>;

/** Converts a row to the form that the API shows. */
export function toRowRecord(columns: TableColumnDefinition[], rawRow: RawRow): RowRecord {
  const row: RowRecord = Object.create(null);
  row.id = rawRow.id;
  for (const [index, { name, type }] of columns.entries()) row[name] = toJsonValue(type, rawRow[`c${index}`] ?? null);
  return row;
}

/** A page of rows that was read. */
export interface RowPage {
  table: ManagedTable;
  /** The columns of the rows. */
  shownColumns: TableColumnDefinition[];
  rows: RawRow[];
  /** The number of selected rows; undefined where they are not counted. */
  total: number | undefined;
  /** The position of the last row, if more rows follow. */
  lastPosition: CursorPosition | null;
  /** Whether the table has rows that the transaction cannot see, as it began before the table was rewritten. */
  isStale: boolean;
}

/** The maximum number of columns in all tables that an isolate caches: with the longest names and labels some 12 MB. */
const MAX_CACHED_COLUMNS = 20_000;
/** The tables as this isolate read them last. */
const cachedTables = new RecentlyUsed<string, ManagedTable>(MAX_CACHED_COLUMNS, (_, { columns }) => 1 + columns.length);

const formatTableKey = ({ companyId, id }: store.TableKey): string => `${companyId} ${id}`;

/**
 * Reads a table and a page of its rows; undefined when there is no such table. If this isolate has cached the table,
 * the table and the page for the cached version are read in one round trip; if the table as read needs another page,
 * that page is read afterwards. @param onTableRead called with the table by which the page is read @throws PostgresError
 * where the table has changed since this isolate read it; the caller tries again
 */
export async function readPage(
  database: TenantSql,
  key: store.TableKey,
  request: PageRequest,
  onTableRead: (table: ManagedTable) => void,
): Promise<RowPage | undefined> {
  const cachedTable = cachedTables.get(formatTableKey(key));
  const guessedPage = guessPage(cachedTable, request);
  if (cachedTable && guessedPage) {
    onTableRead(cachedTable);
    cachedTables.delete(formatTableKey(key));
    const [[row], ...answers] = await runReadTransaction(database, request, (tx) =>
      tx.finish<[store.CatalogueRow, ...PageResults]>([store.makeTableQuery(key), ...guessedPage.statements]),
    );
    if (!row) return undefined;
    const table = store.toTable(row);
    onTableRead(table);
    const preparedPage = preparePage(table, request);
    const isSamePage = JSON.stringify(guessedPage.statements) === JSON.stringify(preparedPage.statements);
    if (isSamePage) return toRowPage(key, preparedPage, answers);
  }
  return runReadTransaction(database, request, async (tx) => {
    const table = await store.readTable(tx, key);
    if (!table) return undefined;
    onTableRead(table);
    const preparedPage = preparePage(table, request);
    return toRowPage(key, preparedPage, await tx.finish<PageResults>(preparedPage.statements));
  });
}

/** The rows that the statements of a `PreparedPage` select. */
type PageResults = [sql.PageRow, { total: string }?];

/** A page request, prepared for the columns of a table. */
interface PreparedPage {
  table: ManagedTable;
  shownColumns: TableColumnDefinition[];
  order: sql.RowOrder | null;
  isCounted: boolean;
  /** The statements that select the page and, where the catalogue lacks it, the number of selected rows. */
  statements: [Statement] | [Statement, Statement];
}

function preparePage(
  table: ManagedTable,
  { sentSelection, sortBy, at, perPage, isCounted }: PageRequest,
): PreparedPage {
  const { rowSelection, shownColumns } = checkSelection(sentSelection, table.columns);
  const order = parseSort(sortBy, table.columns);
  const page = { table: table.displayName, shownColumns, rowSelection, order, maxBytes: MAX_PAGE_BYTES };
  const isSelected = isSelective(rowSelection);
  const selectPageByNumber = (number: number): Statement => {
    const offset = (number - 1) * perPage;
    // Without a selection the number of rows is known, and with it which end is nearer.
    const window = isSelected
      ? { limit: perPage, offset, isFromEnd: false }
      : sql.chooseNearerWindow(table.rowCount, offset, perPage);
    return sql.selectRowWindow(page, window);
  };
  const selectStatement =
    'afterPosition' in at ? selectPageAfter(page, at.afterPosition, perPage) : selectPageByNumber(at.page);
  const countStatement = isCounted && isSelected && sql.countRows(table.displayName, rowSelection);
  const statements: PreparedPage['statements'] = countStatement ? [selectStatement, countStatement] : [selectStatement];
  return { table, shownColumns, order, isCounted, statements };
}

function selectPageAfter(page: sql.PageSource, afterPosition: CursorPosition | null, limit: number): Statement {
  // Of a column that was converted since, the value means nothing.
  if (afterPosition && afterPosition.type !== getOrderType(page.order)) throw makeCursorFailure();
  return sql.selectFollowingRows(page, limit, afterPosition);
}

const getOrderType = (order: sql.RowOrder | null): string => order?.type ?? 'uuid';

/** Prepares the page for the cached version of the table; undefined if none is cached, or it lacks the requested columns. */
function guessPage(table: ManagedTable | undefined, request: PageRequest): PreparedPage | undefined {
  try {
    return table && preparePage(table, request);
  } catch (error) {
    if (error instanceof Failure) return undefined;
    throw error;
  }
}

/** Makes a page of the results, and caches the table, since its statements worked. */
function toRowPage(
  key: store.TableKey,
  { table, shownColumns, order, isCounted }: PreparedPage,
  [page, count]: [sql.PageRow[], ({ total: string } | undefined)[]?],
): RowPage {
  cachedTables.set(formatTableKey(key), table);
  const [first] = page;
  const bytes = Number(first?.bytes ?? 0);
  if (bytes > MAX_PAGE_BYTES) throw pageTooLarge(bytes, MAX_PAGE_BYTES);
  return {
    table,
    shownColumns,
    rows: page.filter(({ id }) => id !== null),
    total: isCounted ? Number(count?.[0]?.total ?? table.rowCount) : undefined,
    lastPosition: first?.has_more ? toPosition(page.at(-1) as sql.PageRow, order) : null,
    // A transaction that began before the table was emptied or rewritten sees no rows.
    isStale: first?.has_rows === false && table.rowCount > 0,
  };
}

function toPosition({ id, key, key_bytes: bytes }: sql.PageRow, order: sql.RowOrder | null): CursorPosition {
  if (key === null && bytes !== null) throw makeKeyTooLongFailure(order?.column ?? 'id', sql.MAX_KEY_BYTES);
  return { id: id as string, key, type: getOrderType(order) };
}

/** The longest time for reading rows, and for finding them by a filter, the same as for user SQL. Milliseconds. */
const READ_TIMEOUTS_MS = { all: 20_000, selected: 10_000 };

async function runReadTransaction<T>(
  database: TenantSql,
  { sentSelection: { filter, search } }: PageRequest,
  read: (tx: TenantTx) => Promise<T>,
): Promise<T> {
  const hasSelection = filter.length > 0 || search !== '';
  const statementTimeoutMs = hasSelection ? READ_TIMEOUTS_MS.selected : READ_TIMEOUTS_MS.all;
  const readInTransaction = async (tx: TenantTx) => {
    try {
      return await read(tx);
    } catch (error) {
      throw hasSelection && isStatementTimeout(error) ? selectionTooSlow() : error;
    }
  };
  return runTableTransaction(database, readInTransaction, {
    readOnly: true,
    isolation: 'repeatable read',
    statementTimeoutMs,
  });
}
