import { Failure } from '../../kernel/failure.ts';
import type { TenantSql, TenantTx } from '../../tenant-sql/client.ts';
import * as sql from '../../tenant-sql/rows.ts';
import { pageTooLarge } from './failures.ts';
import { inTransaction } from './service.ts';
import { parseSort } from './sort.ts';
import * as store from './store.ts';
import type { ManagedTable } from './table.ts';

/** The values of one page as text: a page of long texts must not exhaust the Worker's memory. */
const MAX_PAGE_BYTES = 16 * 1024 * 1024;

/** Which page of a table's rows is asked for, and in what order (see `parseSort`). */
export interface PageRequest {
  page: number;
  perPage: number;
  sortBy?: string | undefined;
}

/** `id` and the columns as `c0`, `c1`, … */
export type RawRow = { id: string | null } & Record<string, string | boolean | null>;

type PageRow = RawRow & { bytes: string };

/** How many tables an isolate remembers. */
const MAX_KNOWN = 500;
/** Tables as this isolate saw them last, the longest unseen first. */
const known = new Map<string, ManagedTable>();

const nameOf = ({ companyId, id }: store.TableKey): string => `${companyId} ${id}`;

function remember(key: store.TableKey, table: ManagedTable): void {
  known.delete(nameOf(key));
  known.set(nameOf(key), table);
  for (const oldest of known.keys()) {
    if (known.size <= MAX_KNOWN) break;
    known.delete(oldest);
  }
}

const READ_TIMEOUT_MS = 20_000;
const OPTIONS = { readOnly: true, isolation: 'repeatable read', statementTimeoutMs: READ_TIMEOUT_MS } as const;

/**
 * A table and a page of its rows, undefined when there is no such table. Where this isolate has seen the table, both are
 * asked for in one round trip, and the page holds when it is what the table, read along with it, asks for.
 * @param saw is told which table the page is asked of
 * @throws PostgresError where the table is not any more what this isolate had seen; to be tried again
 */
export async function readPage(
  database: TenantSql,
  key: store.TableKey,
  request: PageRequest,
  saw: (table: ManagedTable) => void,
): Promise<{ table: ManagedTable; rows: RawRow[] } | undefined> {
  const before = known.get(nameOf(key));
  const guess = guessOf(before, request);
  if (before && guess) {
    saw(before);
    known.delete(nameOf(key));
    const read = (tx: TenantTx) => tx.finish<[store.CatalogueRow, PageRow]>([store.selectTable(key), guess]);
    const [[row], page] = await inTransaction(database, read, OPTIONS);
    if (!row) return undefined;
    const table = store.tableOf(row);
    saw(table);
    if (isSame(guess, pageOf(table, request))) return found(key, table, page);
  }
  return inTransaction(
    database,
    async (tx) => {
      const table = await store.readTable(tx, key);
      if (!table) return undefined;
      saw(table);
      const [page] = await tx.finish<[PageRow]>([pageOf(table, request)]);
      return found(key, table, page);
    },
    OPTIONS,
  );
}

/** Remembers the table, since the page that was asked of it came. */
function found(key: store.TableKey, table: ManagedTable, page: PageRow[]): { table: ManagedTable; rows: RawRow[] } {
  remember(key, table);
  return { table, rows: rowsOf(page) };
}

function rowsOf(page: PageRow[]): RawRow[] {
  const bytes = Number(page[0]?.bytes ?? 0);
  if (bytes > MAX_PAGE_BYTES) throw pageTooLarge(bytes, MAX_PAGE_BYTES);
  return page.filter(({ id }) => id !== null);
}

/** The page as it would be of the table as it is known; undefined where that has no such column to sort by. */
function guessOf(table: ManagedTable | undefined, request: PageRequest): sql.Statement | undefined {
  try {
    return table && pageOf(table, request);
  } catch (error) {
    if (error instanceof Failure) return undefined;
    throw error;
  }
}

const isSame = (one: sql.Statement | undefined, other: sql.Statement): boolean =>
  one?.text === other.text && one.values.every((value, index) => value === other.values[index]);

function pageOf(table: ManagedTable, { page, perPage, sortBy }: PageRequest): sql.Statement {
  const order = parseSort(sortBy, table.columns);
  const window = sql.nearerWindow(table.rowCount, (page - 1) * perPage, perPage);
  return sql.selectRows(table.displayName, table.columns, order, window, MAX_PAGE_BYTES);
}
