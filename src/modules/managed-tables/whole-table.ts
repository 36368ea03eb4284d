import type { CompanyContext } from '../../context.ts';
import { type ParquetColumn, ParquetFile } from '../../formats/parquet/write.ts';
import { isPostgresError, type TenantTx } from '../../tenant-sql/client.ts';
import { bindings } from '../../tenant-sql/row-filters.ts';
import { openDatabaseToRead } from '../managed-database/service.ts';
import { readColumns, readValues } from './export-parquet.ts';
import { enterExport } from './export-store.ts';
import type { RawRow } from './page.ts';
import { BATCH_ROWS, rowsSelectList, selectBatch } from './row-batches.ts';
import { inTransaction, requireTablesDatabase } from './service.ts';
import { readTableAfter } from './store.ts';
import type { ManagedTable } from './table.ts';

/** The last row of a table that is written, in the order of ids, and the columns of its files. */
export interface WrittenPosition {
  after: string;
  columns: ParquetColumn[];
}

/** The receiver of a file's bytes. */
export interface RowSink {
  write(bytes: Uint8Array, rows: number): Promise<void>;
  /** Whether the file is large enough: the rest goes into another one. */
  isFull(): boolean;
}

/** Thrown where the table has changed since its first rows were written: all of it must be written anew. */
export class TableChanged extends Error {}

const WHOLE_TABLE_LIMITS = {
  /** The longest time of a statement: to find the digits that a column needs, all rows are read at once. */
  statementTimeoutMs: 240_000,
  /** The longest wait for a lock. A load that replaces all rows may take longer; then the write is tried again later. */
  lockTimeoutMs: 30_000,
  /** The longest pause between two reads, in which rows are written. */
  idleTimeoutMs: 120_000,
};

/** SQLSTATE class 42: no such table, column, or operation on a column of its type. */
const SCHEMA_ERROR_STATE = /^42/;

/** The company's next living table in the order of ids; undefined at the end. */
export async function tableAfter(ctx: CompanyContext, id: string): Promise<ManagedTable | undefined> {
  const database = await openDatabaseToRead(ctx);
  return database && readTableAfter(database, ctx.actor.companyId, id);
}

/**
 * Writes the rows of a table as a Parquet file, or those after `from`, as they are at one moment, while they fit. Other
 * files of the table show other moments; each row is in one of them.
 * @returns the last written row, for the next file; null when all rows are written
 * @throws TableChanged where another file of the table was written by other columns
 */
export async function writeParquetFile(
  ctx: CompanyContext,
  table: ManagedTable,
  from: WrittenPosition | null,
  sink: RowSink,
): Promise<WrittenPosition | null> {
  const { id, companyId, displayName, columns: shown } = table;
  const walk = { table: displayName, shown, rows: { filters: [], search: '', texts: [] } };
  const database = await requireTablesDatabase(ctx);
  const write = async (tx: TenantTx): Promise<WrittenPosition | null> => {
    const { schemaVersion } = await enterExport(tx, { id, companyId }, displayName);
    if (schemaVersion !== table.schemaVersion) throw new TableChanged();
    const found = await readColumns(tx, walk);
    if (from && !canHoldColumns(from.columns, found)) throw new TableChanged();
    const columns = from?.columns ?? found;
    const file = new ParquetFile(columns);
    await sink.write(file.write(), 0);
    let after = from?.after ?? null;
    const next = async (most: number): Promise<RawRow[]> => {
      const { values, bind } = bindings();
      const select = selectBatch(walk, { after, rows: most }, rowsSelectList(shown), bind);
      return tx.query<RawRow>(select, values);
    };
    for (;;) {
      const rows = await next(BATCH_ROWS);
      if (rows.length > 0) {
        after = rows.at(-1)?.id as string;
        await sink.write(file.write(columns.map(({ type }, at) => readValues(rows, type, at))), rows.length);
      }
      const isFull = rows.length > 0 && (sink.isFull() || file.isFull);
      if (rows.length > 0 && !isFull) continue;
      const isLast = !isFull || (await next(1)).length === 0;
      await sink.write(file.end(), 0);
      return isLast ? null : { after: after as string, columns };
    }
  };
  try {
    return await inTransaction(database, write, {
      readOnly: true,
      isolation: 'repeatable read',
      ...WHOLE_TABLE_LIMITS,
    });
  } catch (error) {
    throw isPostgresError(error) && SCHEMA_ERROR_STATE.test(error.code) ? new TableChanged() : error;
  }
}

/** Whether the found columns fit into these: the same ones, with no more digits after a point. */
const canHoldColumns = (columns: readonly ParquetColumn[], found: readonly ParquetColumn[]): boolean =>
  columns.length === found.length &&
  columns.every(({ name, type, nullable }, at) => {
    const other = found[at];
    if (name !== other?.name || nullable !== other.nullable) return false;
    if (type === other.type) return true;
    if (typeof other.type !== 'object') return false;
    return type === 'text' || (typeof type === 'object' && type.scale >= other.type.scale);
  });
