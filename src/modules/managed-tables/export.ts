import type { CompanyContext } from '../../context.ts';
import { logError } from '../../platform/log.ts';
import { isStatementTimeout, type TenantSql, type TenantTx } from '../../tenant-sql/client.ts';
import { isSelective } from '../../tenant-sql/row-filters.ts';
import { openLastingDatabase } from '../managed-database/service.ts';
import { runWithCurrentTable, StaleTableError } from './current-table.ts';
import { EXPORT_WRITERS, type ExportFormat, SURVEYED_FORMATS } from './export-formats.ts';
import { ExportOutput, ReaderGoneError } from './export-output.ts';
import { beginExport } from './export-store.ts';
import { selectionTooSlow, tableNotFound, tooManyExports, tooManyRows } from './failures.ts';
import { countRows } from './row-pages.ts';
import { checkSelection, type SentSelection } from './selection.ts';
import { runTableTransaction, toTableKey } from './service.ts';
import { parseSort } from './sort.ts';
import type { TableKey } from './store.ts';
import type { ManagedTable } from './table.ts';

/** The rows to export, with their order and format. */
export interface ExportRequest {
  sentSelection: SentSelection;
  sortBy?: string | undefined;
  format: ExportFormat;
  /** Whether texts must be written so that a spreadsheet does not treat them as formulas. */
  escapesFormulas: boolean;
}

/** The longest time for reading the rows of an export, during which the table cannot be changed. Milliseconds. */
export const MAX_EXPORT_MS = 15 * 60_000;
/** The longest time for a query of the next rows. Milliseconds. */
const MAX_STATEMENT_MS = 30_000;
/** A time that no pause between two reads exceeds. Milliseconds. */
const MAX_PAUSE_MS = 120_000;

/**
 * Exports the selected rows from one snapshot. Only a few megabytes are read ahead of the caller; where the caller is slow, the
 * rest waits in R2. Until all rows are read nobody can change, empty or delete the table, while rows may be added and deleted.
 * @returns the name of the table, and a stream, which ends only if everything was exported, and fails otherwise
 */
export async function exportRows(ctx: CompanyContext, tableId: string, request: ExportRequest) {
  const key = toTableKey(ctx, tableId);
  const database = await openLastingDatabase(ctx);
  if (!database) throw tableNotFound();
  const { readable: body, writable } = new IdentityTransformStream();
  const output = new ExportOutput(ctx, writable);
  const firstTable = Promise.withResolvers<ManagedTable>();
  let hasBegun = false;
  ctx.defer(writeExport());
  const { displayName: name } = await firstTable.promise;
  return { name, body };

  async function writeExport(): Promise<void> {
    try {
      await readRows();
      await output.end();
    } catch (error) {
      firstTable.reject(error);
      const cause = error instanceof ExportInterruptedError ? error.cause : error;
      if (hasBegun && !(cause instanceof ReaderGoneError)) logError('export_broke_off', error);
      await abortExport(error);
    }
  }

  async function abortExport(error: unknown): Promise<void> {
    await output.abort(error).catch((abortError: unknown) => logError('export_not_deleted', abortError));
  }

  async function readRows(): Promise<void> {
    const deadline = setTimeout(() => {
      void abortExport(new Error('read for too long'));
      database?.drop();
    }, MAX_EXPORT_MS);
    const onBegin = (table: ManagedTable) => {
      hasBegun = true;
      firstTable.resolve(table);
    };
    try {
      await readAllRows(database as TenantSql, key, request, output, onBegin);
    } finally {
      clearTimeout(deadline);
      await database?.close();
    }
  }
}

/** The error for an export that fails after its first rows were written: it cannot be retried. */
class ExportInterruptedError extends Error {}

/** Reads the rows into the output. @param onBegin called when the first rows were read */
function readAllRows(
  database: TenantSql,
  key: TableKey,
  request: ExportRequest,
  output: ExportOutput,
  onBegin: (table: ManagedTable) => void,
): Promise<ManagedTable> {
  return runWithCurrentTable(database, key, async (readTable) => {
    const table = await readTable(database);
    const { rowSelection, shownColumns } = checkSelection(request.sentSelection, table.columns);
    const order = parseSort(request.sortBy, table.columns);
    const { format, escapesFormulas } = request;
    const countSelectedRows = async (tx: TenantTx, tableRowCount: number): Promise<number> => {
      if (!isSelective(rowSelection)) return tableRowCount;
      const { text, values } = countRows(table.displayName, rowSelection);
      const [counted] = await tx.query<{ total: string }>(text, values);
      return Number(counted?.total);
    };
    const read = async (tx: TenantTx) => {
      let hasBegun = false;
      try {
        const exportStart = await beginExport(tx, key, table.displayName);
        if (exportStart.schemaVersion !== table.schemaVersion) throw new StaleTableError();
        if (!exportStart.hasSlot) throw tooManyExports();
        const { hasLongValues } = exportStart;
        const rowScan = { table: table.displayName, rowSelection, shownColumns };
        const writer = EXPORT_WRITERS[format]({ ...rowScan, order, escapesFormulas, hasLongValues });
        const count = writer.maxRows === undefined ? 0 : await countSelectedRows(tx, exportStart.rowCount);
        if (count > (writer.maxRows ?? 0)) throw tooManyRows(count, writer.maxRows as number);
        let nextBytes = await writer.readNextBytes(tx, MAX_STATEMENT_MS);
        hasBegun = true;
        onBegin(table);
        output.write(writer.header);
        while (nextBytes !== null) {
          await output.awaitReady();
          output.write(nextBytes);
          nextBytes = await writer.readNextBytes(tx, MAX_STATEMENT_MS);
        }
      } catch (error) {
        if (hasBegun) throw new ExportInterruptedError('the export broke off', { cause: error });
        throw (isSelective(rowSelection) || SURVEYED_FORMATS.has(format)) && isStatementTimeout(error)
          ? selectionTooSlow()
          : error;
      }
    };
    // The pause between two statements is as long as somebody takes for what the first one read, and R2 for the rest.
    await runTableTransaction(database, read, {
      readOnly: true,
      isolation: 'repeatable read',
      statementTimeoutMs: MAX_STATEMENT_MS,
      idleTimeoutMs: MAX_PAUSE_MS,
    });
    return table;
  });
}
