import { Failure } from '../../kernel/failure.ts';
import { RecentlyUsed } from '../../kernel/recently-used.ts';
import { isTimeout, type TenantSql, type TenantTx } from '../../tenant-sql/client.ts';
import type { Column } from '../../tenant-sql/columns.ts';
import { isSelective } from '../../tenant-sql/row-filters.ts';
import type { Statement } from '../../tenant-sql/rows.ts';
import type { CursorPosition } from './cursor.ts';
import { badCursor, keyTooLong, pageTooLarge, selectionTooSlow } from './failures.ts';
import * as sql from './row-pages.ts';
import { readSelection, type SentSelection } from './selection.ts';
import { inTransaction } from './service.ts';
import { parseSort } from './sort.ts';
import * as store from './store.ts';
import type { ManagedTable } from './table.ts';

/** The maximum number of bytes of the values of one page as text: a page of long texts must not exhaust the Worker's memory. */
export const MAX_PAGE_BYTES = 16 * 1024 * 1024;

/** The page of a table's rows that is asked for, and their order (see `parseSort`). */
export interface PageRequest {
  rows: SentSelection;
  sortBy?: string | undefined;
  /** The start of the page: the page of this number, the row after a position, or with null the first row. */
  at: { page: number } | { after: CursorPosition | null };
  perPage: number;
  /** Whether the selected rows are counted. */
  counted: boolean;
}

/** A row as the database sends it: `id`, and the columns as `c0`, `c1`, … */
export type RawRow = { id: string | null } & Record<string, string | boolean | null>;

/** A page as it was read. */
export interface FoundPage {
  table: ManagedTable;
  /** The columns of the rows. */
  shown: Column[];
  rows: RawRow[];
  /** The number of selected rows; undefined where they are not counted. */
  total: number | undefined;
  /** The position of the last row, if others come after it. */
  last: CursorPosition | null;
  /** Whether the table has rows of which the transaction sees none, as it began before the table was rewritten. */
  isStale: boolean;
}

/** The maximum number of tables that an isolate remembers. */
const MAX_KNOWN_TABLES = 500;
/** Tables as this isolate read them last. */
const knownTables = new RecentlyUsed<string, ManagedTable>(MAX_KNOWN_TABLES);

const formatTableKey = ({ companyId, id }: store.TableKey): string => `${companyId} ${id}`;

/**
 * A table and a page of its rows, undefined when there is no such table. If this isolate has read the table before, both are
 * read in one round trip, and the page is used if it is the one that the table, read with it, needs.
 * @param onTable called with the table that the page is read by
 * @throws PostgresError where the table has changed since this isolate read it; the caller tries again
 */
export async function readPage(
  database: TenantSql,
  key: store.TableKey,
  request: PageRequest,
  onTable: (table: ManagedTable) => void,
): Promise<FoundPage | undefined> {
  const before = knownTables.get(formatTableKey(key));
  const guess = guessPage(before, request);
  if (before && guess) {
    onTable(before);
    knownTables.delete(formatTableKey(key));
    const [[row], ...answers] = await runReading(database, request, (tx) =>
      tx.finish<[store.CatalogueRow, ...PageResults]>([store.selectTable(key), ...guess.statements]),
    );
    if (!row) return undefined;
    const table = store.toTable(row);
    onTable(table);
    const asked = preparePage(table, request);
    if (isSamePage(guess, asked)) return toFoundPage(key, asked, answers);
  }
  return runReading(database, request, async (tx) => {
    const table = await store.readTable(tx, key);
    if (!table) return undefined;
    onTable(table);
    const asked = preparePage(table, request);
    return toFoundPage(key, asked, await tx.finish<PageResults>(asked.statements));
  });
}

interface Count {
  total: string;
}

/** The rows that the statements of a `PreparedPage` select. */
type PageResults = [sql.PageRow, Count?];

/** A page request, read by the columns of a table. */
interface PreparedPage {
  table: ManagedTable;
  shown: Column[];
  order: sql.RowOrder | null;
  counted: boolean;
  /** Select the page and, where the catalogue does not have it, the number of selected rows. */
  statements: [Statement] | [Statement, Statement];
}

function preparePage(table: ManagedTable, { rows: asked, sortBy, at, perPage, counted }: PageRequest): PreparedPage {
  const { rows, shown } = readSelection(asked, table.columns);
  const order = parseSort(sortBy, table.columns);
  const page = { table: table.displayName, shown, rows, order, maxBytes: MAX_PAGE_BYTES };
  const select = 'after' in at ? selectPageAfter(page, at.after, perPage) : pageNumber(at.page);
  return {
    table,
    shown,
    order,
    counted,
    statements: counted && isSelective(rows) ? [select, sql.countRows(table.displayName, rows)] : [select],
  };

  function pageNumber(number: number): Statement {
    const offset = (number - 1) * perPage;
    // Without a selection the number of rows is known, and with it which end is nearer.
    const window = isSelective(rows)
      ? { limit: perPage, offset, fromEnd: false }
      : sql.chooseNearerWindow(table.rowCount, offset, perPage);
    return sql.selectWindow(page, window);
  }
}

function selectPageAfter(page: sql.PageSource, after: CursorPosition | null, limit: number): Statement {
  // Of a column that was converted since, the value means nothing.
  if (after && after.type !== getOrderType(page.order)) throw badCursor();
  return sql.selectFollowing(page, { limit, after });
}

const getOrderType = (order: sql.RowOrder | null): string => order?.type ?? 'uuid';

/** Prepares the page by the cached version of the table; undefined if none is cached, or it lacks the requested columns. */
function guessPage(table: ManagedTable | undefined, request: PageRequest): PreparedPage | undefined {
  try {
    return table && preparePage(table, request);
  } catch (error) {
    if (error instanceof Failure) return undefined;
    throw error;
  }
}

const isSamePage = (one: PreparedPage, other: PreparedPage): boolean =>
  JSON.stringify(one.statements) === JSON.stringify(other.statements);

/** Makes a page of the answers, and remembers the table, since its statements worked. */
function toFoundPage(
  key: store.TableKey,
  { table, shown, order, counted }: PreparedPage,
  [page, count]: StatementResults,
): FoundPage {
  knownTables.set(formatTableKey(key), table);
  const [first] = page;
  const bytes = Number(first?.bytes ?? 0);
  if (bytes > MAX_PAGE_BYTES) throw pageTooLarge(bytes, MAX_PAGE_BYTES);
  return {
    table,
    shown,
    rows: page.filter(({ id }) => id !== null),
    total: counted ? Number(count?.[0]?.total ?? table.rowCount) : undefined,
    last: first?.has_more ? toPosition(page.at(-1) as sql.PageRow, order) : null,
    // A transaction that began before the table was emptied or rewritten sees no rows.
    isStale: first?.has_rows === false && table.rowCount > 0,
  };
}

type StatementResults = [sql.PageRow[], (Count | undefined)[]?];

function toPosition({ id, key, key_bytes: bytes }: sql.PageRow, order: sql.RowOrder | null): CursorPosition {
  if (key === null && bytes !== null) throw keyTooLong(order?.column ?? 'id', sql.MAX_KEY_BYTES);
  return { id: id as string, key, type: getOrderType(order) };
}

/** The longest time for reading rows, and for finding them by a filter, as for people's own SQL. Milliseconds. */
const READ_TIMEOUTS_MS = { all: 20_000, selected: 10_000 };

async function runReading<T>(
  database: TenantSql,
  { rows: { filter, search } }: PageRequest,
  read: (tx: TenantTx) => Promise<T>,
): Promise<T> {
  const selects = filter.length > 0 || search !== '';
  const statementTimeoutMs = selects ? READ_TIMEOUTS_MS.selected : READ_TIMEOUTS_MS.all;
  const reading = async (tx: TenantTx) => {
    try {
      return await read(tx);
    } catch (error) {
      throw selects && isTimeout(error) ? selectionTooSlow() : error;
    }
  };
  return inTransaction(database, reading, { readOnly: true, isolation: 'repeatable read', statementTimeoutMs });
}
