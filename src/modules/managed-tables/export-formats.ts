import { formatCsvLine } from '../../formats/csv/write.ts';
import { MAX_CELL_CHARACTERS, MAX_SHEET_ROWS, WorkbookWriter, type WrittenCell } from '../../formats/workbook/write.ts';
import { isTooLong, toWrittenCell } from '../../formats/workbook/written-cells.ts';
import { invalidInput } from '../../kernel/failure.ts';
import type { TenantTx } from '../../tenant-sql/client.ts';
import type { TableColumnDefinition } from '../../tenant-sql/columns.ts';
import { bindAsSettings, copyOut } from '../../tenant-sql/copy-out.ts';
import { LineBuffers } from '../../tenant-sql/line-buffers.ts';
import { createBindings, isSelective } from '../../tenant-sql/row-filters.ts';
import { toJsonValue } from '../../tenant-sql/values.ts';
import { createParquetWriter } from './export-parquet.ts';
import { findLongColumn } from './measure-columns.ts';
import { type RawRow, toRowRecord } from './page.ts';
import {
  BATCH_ROWS,
  declareIdCursor,
  FETCH_IDS_SQL,
  makeCsvSelectList,
  makeRowSelectList,
  type NextRows,
  selectBatch,
  selectRows,
} from './row-batches.ts';
import type { RowOrder, RowScan } from './row-pages.ts';

/** The formats of an export. */
export const EXPORT_FORMATS = ['csv', 'ndjson', 'xlsx', 'parquet'] as const;

export type ExportFormat = (typeof EXPORT_FORMATS)[number];

/** The formats whose first bytes depend on all rows, which are read beforehand. */
export const SURVEYED_FORMATS: ReadonlySet<ExportFormat> = new Set(['xlsx', 'parquet']);

/** The rows to write, their order and the settings for writing them. */
export interface ExportSelection extends RowScan {
  order: RowOrder | null;
  escapesFormulas: boolean;
  /** Whether single values may be long: a few of them may fill the memory. */
  hasLongValues: boolean;
}

/** A writer of the rows of an export, as they are read. */
export interface ExportWriter {
  /** The bytes before the first rows; available once the first rows are read. */
  header: Uint8Array;
  /** The maximum number of rows that the format can hold, if there is a limit. */
  maxRows?: number;
  /** Returns the bytes of the next rows; null when there are no more. */
  readNextBytes(tx: TenantTx, milliseconds: number): Promise<Uint8Array | null>;
}

/** The writer of each format, for rows of one transaction. */
export const EXPORT_WRITERS: Record<ExportFormat, (exportSelection: ExportSelection) => ExportWriter> = {
  csv: createCsvWriter,
  ndjson: createNdjsonWriter,
  xlsx: createXlsxWriter,
  parquet: (exportSelection) => createParquetWriter(exportSelection, createRowReader(exportSelection)),
};

const encoder = new TextEncoder();

/** Writes CSV: Postgres makes the lines itself, the Worker passes them on. */
function createCsvWriter(exportSelection: ExportSelection): ExportWriter {
  let parts: AsyncGenerator<Uint8Array> | undefined;
  return {
    header: encoder.encode(formatCsvLine(['id', ...exportSelection.shownColumns.map(({ name }) => name)])),
    async readNextBytes(tx, milliseconds) {
      parts ??= writeLines(exportSelection, tx, milliseconds);
      const { done, value } = await parts.next();
      return done ? null : value;
    },
  };
}

/** Yields lines while Postgres sends the next ones, in batches as large as possible: it pauses between two of them. */
async function* writeLines(
  exportSelection: ExportSelection,
  tx: TenantTx,
  milliseconds: number,
): AsyncGenerator<Uint8Array> {
  const { shownColumns, rowSelection: selection, escapesFormulas, hasLongValues } = exportSelection;
  const steps = chooseSteps(exportSelection);
  const buffers = new LineBuffers(BUFFER_COUNT, BUFFER_BYTES);
  // To weigh rows or to look for them takes time, which is limited.
  const maxBatchRows = hasLongValues || isSelective(selection) ? BATCH_ROWS : Number.POSITIVE_INFINITY;
  let requestedRowCount = INITIAL_BATCH_ROWS;
  let size = MIN_BATCH_BYTES;
  let mayGrow = true;
  for (;;) {
    const nextRows = await steps.getNextRows(tx, requestedRowCount);
    if (nextRows === null) return;
    const values = bindAsSettings();
    const selectList = makeCsvSelectList(shownColumns, escapesFormulas, hasLongValues ? 'batch' : 'source');
    const select = hasLongValues ? selectBatch : selectRows;
    const selectSql = select(exportSelection, nextRows, selectList, values.bindValue);
    const startedAt = Date.now();
    const copyPromise = copyOut(tx, values.makeStatements(), selectSql, milliseconds, buffers);
    // It may fail while lines are written that came before.
    copyPromise.catch(() => {});
    for (let lines = await buffers.takeLines(copyPromise); lines !== null; lines = await buffers.takeLines(copyPromise))
      yield lines;
    const { rowCount, byteCount, lastLine, isCut } = await copyPromise;
    if (rowCount === 0) return;
    // Each line begins with the id, which needs no quotes.
    steps.onRowsRead(rowCount, () => new TextDecoder().decode(lastLine.subarray(0, ID_CHARACTERS)));
    // Whoever takes lines as fast as they come is sent more than fits, until some of it had to be dropped.
    const isBatchTooLarge = isCut || Date.now() - startedAt > SLOW_BATCH_MS;
    mayGrow &&= !isBatchTooLarge;
    if (isBatchTooLarge) size = Math.max(MIN_BATCH_BYTES, size / 2);
    else if (mayGrow && rowCount === requestedRowCount && byteCount > size / 2)
      size = Math.min(2 * size, MAX_BATCH_BYTES);
    requestedRowCount = Math.max(1, Math.min(maxBatchRows, 4 * rowCount, Math.floor((size * rowCount) / byteCount)));
  }
}

const ID_CHARACTERS = 36;
const INITIAL_BATCH_ROWS = 500;
/** The number of buffers in which complete lines wait for the reader. */
const BUFFER_COUNT = 16;
/** The size of one buffer, in bytes. */
const BUFFER_BYTES = 512 * 1024;
/** The smallest batch to request from Postgres: it fits into the buffers even if nothing is read meanwhile. */
const MIN_BATCH_BYTES = 12 * BUFFER_BYTES;
/** The largest batch to request from Postgres. */
const MAX_BATCH_BYTES = 8 * MIN_BATCH_BYTES;
/** The time after which a batch counts as slow: a batch of twice the size could come near a statement's limit. */
const SLOW_BATCH_MS = 2_000;

/** Writes rows as the list shows them, one per line. */
function createNdjsonWriter(exportSelection: ExportSelection): ExportWriter {
  const readNextRows = createRowReader(exportSelection);
  return {
    header: new Uint8Array(),
    async readNextBytes(tx) {
      const rows = await readNextRows(tx);
      if (rows.length === 0) return null;
      return encoder.encode(
        rows.map((row) => `${JSON.stringify(toRowRecord(exportSelection.shownColumns, row))}\n`).join(''),
      );
    },
  };
}

/** Writes a workbook with one sheet, which has the name of the table. */
function createXlsxWriter(exportSelection: ExportSelection): ExportWriter {
  const { table, shownColumns, rowSelection: selection, escapesFormulas } = exportSelection;
  const readNextRows = createRowReader(exportSelection);
  const book = new WorkbookWriter(table, ['id', ...shownColumns.map(({ name }) => name)]);
  let isSurveyed = false;
  let isEnded = false;
  return {
    header: book.writeRows(),
    maxRows: MAX_SHEET_ROWS,
    async readNextBytes(tx) {
      if (isEnded) return null;
      if (!isSurveyed) {
        const longColumn = await findLongColumn(tx, table, shownColumns, selection, {
          maxCharacters: MAX_CELL_CHARACTERS,
          escapesFormulas,
        });
        if (longColumn !== undefined) throw makeTextTooLongFailure(longColumn);
        isSurveyed = true;
      }
      const rows = await readNextRows(tx);
      isEnded = rows.length === 0;
      return isEnded ? book.endFile() : book.writeRows(rows.map((row) => toCells(shownColumns, row, escapesFormulas)));
    },
  };
}

/**
 * Returns a row's cells: its id, then its columns. @param escapesFormulas whether texts are kept from being taken for formulas
 */
const toCells = (columns: TableColumnDefinition[], row: RawRow, escapesFormulas: boolean): WrittenCell[] => [
  row.id,
  ...columns.map(({ name, type }, at) => {
    const cell = toWrittenCell(toJsonValue(type, row[`c${at}`] ?? null), type, escapesFormulas);
    if (isTooLong(cell)) throw makeTextTooLongFailure(name);
    return cell;
  }),
];

/** Returns the failure for a column with a text that no cell can hold. */
const makeTextTooLongFailure = (column: string) =>
  invalidInput([
    {
      field: 'fields',
      message: `"${column}" has a text of more than ${MAX_CELL_CHARACTERS} characters, which no cell can hold`,
    },
  ]);

/** Returns a function that reads the next rows; no rows at the end. */
function createRowReader(exportSelection: ExportSelection): (tx: TenantTx) => Promise<RawRow[]> {
  const steps = chooseSteps(exportSelection);
  const selectList = makeRowSelectList(exportSelection.shownColumns);
  return async (tx) => {
    const nextRows = await steps.getNextRows(tx, BATCH_ROWS);
    if (nextRows === null) return [];
    const { values, bindValue } = createBindings();
    const rows = await tx.query<RawRow>(selectBatch(exportSelection, nextRows, selectList, bindValue), values);
    steps.onRowsRead(rows.length, () => rows.at(-1)?.id as string);
    return rows;
  };
}

/** The steps from one batch to the next. */
interface BatchSteps {
  /** Returns which rows the next batch selects, at most `rowCount`; null at the end. */
  getNextRows(tx: TenantTx, rowCount: number): Promise<NextRows | null>;
  /** Called after `rowCount` rows of the batch were read; `getLastId` returns the id of the last row. */
  onRowsRead(rowCount: number, getLastId: () => string): void;
}

const chooseSteps = (exportSelection: ExportSelection): BatchSteps =>
  exportSelection.order ? createCursorSteps(exportSelection, exportSelection.order) : createIdSteps();

/** Steps through rows in insertion order: each batch follows the last id of the previous batch. */
function createIdSteps(): BatchSteps {
  let afterId: string | null = null;
  return {
    getNextRows: async (_, rows) => ({ afterId, rowCount: rows }),
    onRowsRead(rows, getLastId) {
      if (rows > 0) afterId = getLastId();
    },
  };
}

/** Steps through rows in any other order: a cursor holds the ids, so that Postgres sorts once. */
function createCursorSteps(exportSelection: ExportSelection, order: RowOrder): BatchSteps {
  let ids: string[] | undefined;
  return {
    async getNextRows(tx, rows) {
      if (ids === undefined) {
        const { text, values } = declareIdCursor(exportSelection, order);
        await tx.query(text, values);
      }
      if (!ids?.length) ids = (await tx.query<{ id: string }>(FETCH_IDS_SQL)).map(({ id }) => id);
      return ids.length === 0 ? null : { ids: ids.slice(0, rows) };
    },
    onRowsRead(rows) {
      ids = ids?.slice(rows);
    },
  };
}
