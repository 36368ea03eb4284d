import type { CompanyContext } from '../../context.ts';
import { logError } from '../../platform/log.ts';
import { isTimeout, type TenantSql, type TenantTx } from '../../tenant-sql/client.ts';
import { isSelective } from '../../tenant-sql/row-filters.ts';
import { openLastingDatabase } from '../managed-database/service.ts';
import { StaleTable, withCurrentTable } from './current-table.ts';
import { type ExportFormat, SURVEYED_FORMATS, WRITERS } from './export-formats.ts';
import { ExportOutput, ReaderGone } from './export-output.ts';
import { enterExport } from './export-store.ts';
import { selectionTooSlow, tableNotFound, tooManyExports, tooManyRows } from './failures.ts';
import { countRows } from './row-pages.ts';
import { readSelection, type SentSelection } from './selection.ts';
import { inTransaction, toTableKey } from './service.ts';
import { parseSort } from './sort.ts';
import type { TableKey } from './store.ts';
import type { ManagedTable } from './table.ts';

/** The rows to export, with their order and format. */
export interface ExportRequest {
  rows: SentSelection;
  sortBy?: string | undefined;
  format: ExportFormat;
  /** Whether texts must be written so that a spreadsheet takes none for a formula. */
  safe: boolean;
}

/** An export that has begun. */
export interface Export {
  /** The name of the table. */
  name: string;
  /** The stream: it ends only if everything was exported; otherwise it fails. */
  body: ReadableStream<Uint8Array>;
}

/** The longest time for reading the rows of an export, during which the table cannot be changed. Milliseconds. */
export const MAX_EXPORT_MS = 15 * 60_000;
/** The longest time for a query of the next rows. Milliseconds. */
const STATEMENT_MS = 30_000;
/** A time that no pause between two reads exceeds. Milliseconds. */
const MAX_PAUSE_MS = 120_000;

/**
 * Exports the selected rows as they are at one moment. Only a few megabytes are read ahead of the caller; where the caller is
 * slow, the rest waits in R2. Until all are read nobody can change, empty or delete the table, while rows come and go.
 */
export async function exportRows(ctx: CompanyContext, tableId: string, request: ExportRequest): Promise<Export> {
  const key = toTableKey(ctx, tableId);
  const database = await openLastingDatabase(ctx);
  if (!database) throw tableNotFound();
  const { readable: body, writable } = new IdentityTransformStream();
  const output = new ExportOutput(ctx, writable);
  const begun = Promise.withResolvers<ManagedTable>();
  let hasBegun = false;
  ctx.defer(write());
  const { displayName: name } = await begun.promise;
  return { name, body };

  async function write(): Promise<void> {
    try {
      await read();
      await output.end();
    } catch (error) {
      begun.reject(error);
      const cause = error instanceof ExportInterrupted ? error.cause : error;
      if (hasBegun && !(cause instanceof ReaderGone)) logError('export_broke_off', error);
      await abort(error);
    }
  }

  async function abort(error: unknown): Promise<void> {
    await output.abort(error).catch((left: unknown) => logError('export_not_deleted', left));
  }

  async function read(): Promise<void> {
    const deadline = setTimeout(() => {
      void abort(new Error('read for too long'));
      database?.drop();
    }, MAX_EXPORT_MS);
    const begin = (table: ManagedTable) => {
      hasBegun = true;
      begun.resolve(table);
    };
    try {
      await readAll(database as TenantSql, key, request, output, begin);
    } finally {
      clearTimeout(deadline);
      await database?.close();
    }
  }
}

/** Thrown for an export that fails after its first rows were written: it cannot be tried again. */
class ExportInterrupted extends Error {}

/** Reads the rows into the output. @param begin called when the first rows were read */
function readAll(
  database: TenantSql,
  key: TableKey,
  request: ExportRequest,
  output: ExportOutput,
  begin: (table: ManagedTable) => void,
): Promise<ManagedTable> {
  return withCurrentTable(database, key, async (readTable) => {
    const table = await readTable(database);
    const { rows, shown } = readSelection(request.rows, table.columns);
    const order = parseSort(request.sortBy, table.columns);
    const { format, safe } = request;
    const countSelected = async (tx: TenantTx, all: number): Promise<number> => {
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
        const count = writer.maxRows === undefined ? 0 : await countSelected(tx, entered.rowCount);
        if (count > (writer.maxRows ?? 0)) throw tooManyRows(count, writer.maxRows as number);
        let next = await writer.next(tx, STATEMENT_MS);
        hasBegun = true;
        begin(table);
        output.write(writer.header);
        while (next !== null) {
          await output.ready();
          output.write(next);
          next = await writer.next(tx, STATEMENT_MS);
        }
      } catch (error) {
        if (hasBegun) throw new ExportInterrupted('the export broke off', { cause: error });
        throw (isSelective(rows) || SURVEYED_FORMATS.has(format)) && isTimeout(error) ? selectionTooSlow() : error;
      }
    };
    // The pause between two statements is as long as somebody takes for what the first one read, and R2 for the rest.
    await inTransaction(database, read, {
      readOnly: true,
      isolation: 'repeatable read',
      statementTimeoutMs: STATEMENT_MS,
      idleTimeoutMs: MAX_PAUSE_MS,
    });
    return table;
  });
}
