import type { CompanyContext } from '../../context.ts';
import { logError } from '../../platform/log.ts';
import { isTimeout, type TenantSql, type TenantTx } from '../../tenant-sql/client.ts';
import { isSelective } from '../../tenant-sql/row-filters.ts';
import { countRows } from '../../tenant-sql/row-pages.ts';
import { openLastingDatabase } from '../managed-database/service.ts';
import { StaleTable, withCurrentTable } from './current-table.ts';
import { type ExportFormat, SURVEYED, WRITERS } from './export-formats.ts';
import { enterExport } from './export-store.ts';
import { selectionTooSlow, tableNotFound, tooManyExports, tooManyRows } from './failures.ts';
import { type AskedRows, readSelection } from './selection.ts';
import { inTransaction, keyOf } from './service.ts';
import { parseSort } from './sort.ts';
import type { TableKey } from './store.ts';
import type { ManagedTable } from './table.ts';

/** Which rows are exported, and how. */
export interface ExportRequest {
  rows: AskedRows;
  sortBy?: string | undefined;
  format: ExportFormat;
  /** Whether a spreadsheet must take no text for a formula. */
  safe: boolean;
}

/** An export that has begun. */
export interface Export {
  /** The name of the table. */
  name: string;
  /** What comes to its end was exported whole; else it fails as a stream. */
  body: ReadableStream<Uint8Array>;
}

/** How long an export may take, and whoever takes it. It keeps the table as it is. Milliseconds. */
export const MAX_EXPORT_MS = 15 * 60_000;
/** How long the next rows may be looked for. Milliseconds. */
const STATEMENT_MS = 30_000;

/** Whoever took the export takes no more. */
class TakenNoMore extends Error {}

/**
 * Exports the selected rows as they are at one moment. They are read as fast as they are taken: what is read ahead is a few
 * megabytes. Until it ends nobody can change, empty or delete the table, while rows come and go.
 */
export async function exportRows(ctx: CompanyContext, tableId: string, request: ExportRequest): Promise<Export> {
  const key = keyOf(ctx, tableId);
  const database = await openLastingDatabase(ctx);
  if (!database) throw tableNotFound();
  const { readable: body, writable } = new IdentityTransformStream();
  const output = writable.getWriter();
  const begun = Promise.withResolvers<ManagedTable>();
  ctx.defer(write());
  const { displayName: name } = await begun.promise;
  return { name, body };

  async function write(): Promise<void> {
    const isOver = (error: unknown) => output.abort(error).catch(() => {});
    const deadline = setTimeout(() => {
      void isOver(new TakenNoMore());
      database?.drop();
    }, MAX_EXPORT_MS);
    try {
      await readAll(database as TenantSql, key, request, {
        begin: begun.resolve,
        write: (bytes) =>
          output.write(bytes).catch((error) => {
            throw new TakenNoMore('nobody takes the export any more', { cause: error });
          }),
      });
      await output.close();
    } catch (error) {
      begun.reject(error);
      await isOver(error);
      if (error instanceof BrokenOff && !(error.cause instanceof TakenNoMore)) logError('export_broke_off', error);
    } finally {
      clearTimeout(deadline);
      await database?.close();
    }
  }
}

/** Where an export is written to. */
interface Output {
  /** The first rows were read. */
  begin(table: ManagedTable): void;
  /** Resolves when the bytes were taken. */
  write(bytes: Uint8Array): Promise<void>;
}

/** What ended an export whose first rows were written: it cannot be tried again. */
class BrokenOff extends Error {}

function readAll(database: TenantSql, key: TableKey, request: ExportRequest, output: Output): Promise<ManagedTable> {
  return withCurrentTable(database, key, async (readTable) => {
    const table = await readTable(database);
    const { rows, shown } = readSelection(request.rows, table.columns);
    const order = parseSort(request.sortBy, table.columns);
    const { format, safe } = request;
    const countOf = async (tx: TenantTx, all: number): Promise<number> => {
      if (!isSelective(rows)) return all;
      const { text, values } = countRows(table.displayName, rows);
      const [counted] = await tx.query<{ total: string }>(text, values);
      return Number(counted?.total);
    };
    const read = async (tx: TenantTx) => {
      let hasBegun = false;
      try {
        const entered = await enterExport(tx, key, table.displayName);
        if (entered.schemaVersion !== table.schemaVersion) throw new StaleTable();
        if (!entered.hasPlace) throw tooManyExports();
        const { hasLongValues } = entered;
        const writer = WRITERS[format]({ table: table.displayName, rows, shown, order, safe, hasLongValues });
        const count = writer.maxRows === undefined ? 0 : await countOf(tx, entered.rowCount);
        if (count > (writer.maxRows ?? 0)) throw tooManyRows(count, writer.maxRows as number);
        let next = await writer.next(tx, STATEMENT_MS);
        hasBegun = true;
        output.begin(table);
        await output.write(writer.header);
        while (next !== null) {
          const taken = output.write(next);
          const [ahead] = await Promise.all([writer.next(tx, STATEMENT_MS), taken]);
          next = ahead;
        }
      } catch (error) {
        if (hasBegun) throw new BrokenOff('the export broke off', { cause: error });
        throw (isSelective(rows) || SURVEYED.has(format)) && isTimeout(error) ? selectionTooSlow() : error;
      }
    };
    // The pause between two statements is as long as somebody takes for what the first one read.
    await inTransaction(database, read, {
      readOnly: true,
      isolation: 'repeatable read',
      statementTimeoutMs: STATEMENT_MS,
      idleTimeoutMs: MAX_EXPORT_MS,
    });
    return table;
  });
}
