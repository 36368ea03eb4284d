import type { CompanyContext } from '../../context.ts';
import { type ParquetColumn, ParquetFile } from '../../formats/parquet/write.ts';
import type { TenantTx } from '../../tenant-sql/client.ts';
import { createBindings } from '../../tenant-sql/row-filters.ts';
import { openDatabaseToRead } from '../managed-database/service.ts';
import { isSchemaError } from './current-table.ts';
import { getColumnValues, readColumns } from './export-parquet.ts';
import { beginExport } from './export-store.ts';
import type { RawRow } from './page.ts';
import { BATCH_ROWS, makeRowSelectList, selectBatch } from './row-batches.ts';
import { requireTablesDatabase, runTableTransaction } from './service.ts';
import { readTableAfter } from './store.ts';
import type { ManagedTable } from './table.ts';

/** The last written row of a table, in the order of ids, and the columns of its files. */
export interface WrittenPosition {
  /** The id of the last written row. */
  after: string;
  /** The columns of the table's files. */
  columns: ParquetColumn[];
}

/** The error when the table has changed since its first rows were written: it must be written again completely. */
export class TableChangedError extends Error {}

const WHOLE_TABLE_LIMITS = {
  /** The longest time of a statement: to find the digits that a column needs, all rows are read at once. */
  statementTimeoutMs: 240_000,
  /** The longest wait for a lock. A load that replaces all rows may take longer; then the write is retried later. */
  lockTimeoutMs: 30_000,
  /** The longest pause between two reads, in which rows are written. */
  idleTimeoutMs: 120_000,
};

/** Reads the company's next table in the order of ids, skipping deleted tables; undefined at the end. */
export async function readNextTable(ctx: CompanyContext, id: string): Promise<ManagedTable | undefined> {
  const database = await openDatabaseToRead(ctx);
  return database && readTableAfter(database, ctx.actor.companyId, id);
}

/**
 * Writes the rows of a table, or the rows after `from`, as a Parquet file from one snapshot, until it is full. Other files of the
 * table have other snapshots; each row is in one of them. @returns the last written row, for the next file; null when all rows
 * are written @throws TableChangedError where the table has changed, so that this file cannot have the columns of the earlier
 * ones
 */
export async function writeParquetFile(
  ctx: CompanyContext,
  table: ManagedTable,
  from: WrittenPosition | null,
  sink: { write(bytes: Uint8Array, rowCount: number): Promise<void>; isFull(): boolean },
): Promise<WrittenPosition | null> {
  const { id, companyId, displayName, columns: shownColumns } = table;
  const rowScan = { table: displayName, shownColumns, rowSelection: { filters: [], search: '', textColumns: [] } };
  const database = await requireTablesDatabase(ctx);
  const writeRows = async (tx: TenantTx): Promise<WrittenPosition | null> => {
    const { schemaVersion } = await beginExport(tx, { id, companyId }, displayName);
    if (schemaVersion !== table.schemaVersion) throw new TableChangedError();
    const foundColumns = await readColumns(tx, rowScan);
    if (from && !canHoldColumns(from.columns, foundColumns)) throw new TableChangedError();
    const columns = from?.columns ?? foundColumns;
    const file = new ParquetFile(columns);
    await sink.write(file.writeRowGroup(), 0);
    let afterId = from?.after ?? null;
    const readNextRows = (maxRows: number): Promise<RawRow[]> => {
      const { values, bindValue } = createBindings();
      const selectSql = selectBatch(
        rowScan,
        { afterId, rowCount: maxRows },
        makeRowSelectList(shownColumns),
        bindValue,
      );
      return tx.query<RawRow>(selectSql, values);
    };
    for (;;) {
      const rows = await readNextRows(BATCH_ROWS);
      if (rows.length > 0) {
        afterId = rows.at(-1)?.id as string;
        await sink.write(
          file.writeRowGroup(columns.map(({ type }, at) => getColumnValues(rows, type, at))),
          rows.length,
        );
      }
      const isFull = rows.length > 0 && (sink.isFull() || file.isFull);
      if (rows.length > 0 && !isFull) continue;
      const isLast = !isFull || (await readNextRows(1)).length === 0;
      await sink.write(file.endFile(), 0);
      return isLast ? null : { after: afterId as string, columns };
    }
  };
  try {
    return await runTableTransaction(database, writeRows, {
      readOnly: true,
      isolation: 'repeatable read',
      ...WHOLE_TABLE_LIMITS,
    });
  } catch (error) {
    throw isSchemaError(error) ? new TableChangedError() : error;
  }
}

/** Tells whether the found columns fit into the written ones: the same columns, with no more digits after a point. */
const canHoldColumns = (columns: readonly ParquetColumn[], foundColumns: readonly ParquetColumn[]): boolean =>
  columns.length === foundColumns.length &&
  columns.every(({ name, type, nullable }, at) => {
    const foundColumn = foundColumns[at];
    if (name !== foundColumn?.name || nullable !== foundColumn.nullable) return false;
    if (type === foundColumn.type) return true;
    if (typeof foundColumn.type !== 'object') return false;
    return type === 'text' || (typeof type === 'object' && type.scale >= foundColumn.type.scale);
  });
