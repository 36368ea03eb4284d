import { csvLine } from '../../formats/csv/write.ts';
import { MAX_CELL_TEXT, MAX_SHEET_ROWS, WorkbookWriter } from '../../formats/workbook/write.ts';
import type { TenantTx } from '../../tenant-sql/client.ts';
import { bindAsSettings, copyOut } from '../../tenant-sql/copy-out.ts';
import { LineBuffers } from '../../tenant-sql/line-buffers.ts';
import { bindings, isSelective } from '../../tenant-sql/row-filters.ts';
import { writeParquet } from './export-parquet.ts';
import type { RawRow } from './page.ts';
import {
  BATCH_ROWS,
  csvSelectList,
  declareIds,
  FETCH_IDS,
  type NextRows,
  type RowWalk,
  rowsSelectList,
  selectBatch,
  selectRows,
} from './row-batches.ts';
import type { RowOrder } from './row-pages.ts';
import { toRow } from './row-view.ts';
import { findLongColumn } from './surveys.ts';
import { textTooLong, toCells } from './workbook-cells.ts';

/** The formats of an export. */
export const EXPORT_FORMATS = ['csv', 'ndjson', 'xlsx', 'parquet'] as const;

export type ExportFormat = (typeof EXPORT_FORMATS)[number];

/** The formats whose first bytes depend on all rows, which are read before. */
export const SURVEYED_FORMATS: ReadonlySet<ExportFormat> = new Set(['xlsx', 'parquet']);

/** The rows to write, their order and the way to write them. */
export interface ExportSelection extends RowWalk {
  order: RowOrder | null;
  safe: boolean;
  /** Whether single values may be long: a few of them may fill the memory. */
  hasLongValues: boolean;
}

/** Writes rows as they are read. */
export interface Writer {
  /** The bytes before the first rows; known when these are. */
  header: Uint8Array;
  /** The maximum number of rows that the format can hold, if there is a limit. */
  maxRows?: number;
  /** The bytes of the next rows; null when there are no more. */
  next(tx: TenantTx, milliseconds: number): Promise<Uint8Array | null>;
}

/** The writer of each format, for rows of one transaction. */
export const WRITERS: Record<ExportFormat, (selected: ExportSelection) => Writer> = {
  csv: writeCsv,
  ndjson: writeNdjson,
  xlsx: writeXlsx,
  parquet: (selected) => writeParquet(selected, createRowReader(selected)),
};

const encoder = new TextEncoder();

/** Writes CSV: Postgres makes the lines itself, the Worker passes them on. */
function writeCsv(selected: ExportSelection): Writer {
  let parts: AsyncGenerator<Uint8Array> | undefined;
  return {
    header: encoder.encode(csvLine(['id', ...selected.shown.map(({ name }) => name)])),
    async next(tx, milliseconds) {
      parts ??= writeLines(selected, tx, milliseconds);
      const { done, value } = await parts.next();
      return done ? null : value;
    },
  };
}

/** Yields lines while Postgres sends more. It pauses between two batches: the larger they are, the less. */
async function* writeLines(selected: ExportSelection, tx: TenantTx, milliseconds: number): AsyncGenerator<Uint8Array> {
  const { shown, rows: selection, safe, hasLongValues } = selected;
  const steps = chooseSteps(selected);
  const buffers = new LineBuffers(BUFFER_COUNT, BUFFER_BYTES);
  // To weigh rows or to look for them takes time, which is limited.
  const most = hasLongValues || isSelective(selection) ? BATCH_ROWS : Number.POSITIVE_INFINITY;
  let asked = INITIAL_BATCH_ROWS;
  let size = MIN_BATCH_BYTES;
  let mayGrow = true;
  for (;;) {
    const next = await steps.next(tx, asked);
    if (next === null) return;
    const values = bindAsSettings();
    const select = hasLongValues
      ? selectBatch(selected, next, csvSelectList(shown, safe, 'batch'), values.bind)
      : selectRows(selected, next, csvSelectList(shown, safe, 'source'), values.bind);
    const began = Date.now();
    const copied = copyOut(tx, values.statement(), select, milliseconds, buffers);
    // It may fail while lines are written that came before.
    copied.catch(() => {});
    for (let lines = await buffers.take(copied); lines !== null; lines = await buffers.take(copied)) yield lines;
    const { rows, bytes, lastLine, isCut } = await copied;
    if (rows === 0) return;
    // Each line begins with the id, which needs no quotes.
    steps.took(rows, () => new TextDecoder().decode(lastLine.subarray(0, ID_LENGTH)));
    // Whoever takes lines as fast as they come is sent more than fits, until some of it had to be dropped.
    const isTooLarge = isCut || Date.now() - began > SLOW_BATCH_MS;
    mayGrow &&= !isTooLarge;
    if (isTooLarge) size = Math.max(MIN_BATCH_BYTES, size / 2);
    else if (mayGrow && rows === asked && bytes > size / 2) size = Math.min(2 * size, MAX_BATCH_BYTES);
    asked = Math.max(1, Math.min(most, 4 * rows, Math.floor((size * rows) / bytes)));
  }
}

const ID_LENGTH = 36;
const INITIAL_BATCH_ROWS = 500;
/** The number of buffers in which lines wait for the reader, and the bytes of each; no line is split. */
const BUFFER_COUNT = 16;
const BUFFER_BYTES = 512 * 1024;
/** The smallest batch to ask Postgres for: it fits into the buffers, even if nothing is read meanwhile. Below, the largest. */
const MIN_BATCH_BYTES = 12 * BUFFER_BYTES;
const MAX_BATCH_BYTES = 8 * MIN_BATCH_BYTES;
/** The time after which a batch counts as slow: one twice as long could come near a statement's limit. */
const SLOW_BATCH_MS = 2_000;

/** Writes rows as the list shows them, one a line. */
function writeNdjson(selected: ExportSelection): Writer {
  const nextRows = createRowReader(selected);
  return {
    header: new Uint8Array(),
    async next(tx) {
      const rows = await nextRows(tx);
      if (rows.length === 0) return null;
      return encoder.encode(rows.map((row) => `${JSON.stringify(toRow(selected.shown, row))}\n`).join(''));
    },
  };
}

/** Writes a workbook with one sheet, which has the name of the table. */
function writeXlsx(selected: ExportSelection): Writer {
  const { table, shown, rows: selection, safe } = selected;
  const nextRows = createRowReader(selected);
  const book = new WorkbookWriter(table, ['id', ...shown.map(({ name }) => name)]);
  let isSurveyed = false;
  let isEnded = false;
  return {
    header: book.write(),
    maxRows: MAX_SHEET_ROWS,
    async next(tx) {
      if (isEnded) return null;
      if (!isSurveyed) {
        const long = await findLongColumn(tx, table, shown, selection, { characters: MAX_CELL_TEXT, safe });
        if (long !== undefined) throw textTooLong(long);
        isSurveyed = true;
      }
      const rows = await nextRows(tx);
      isEnded = rows.length === 0;
      return isEnded ? book.end() : book.write(rows.map((row) => toCells(shown, row, safe)));
    },
  };
}

/** Returns a function that reads the next rows; none at the end. */
function createRowReader(selected: ExportSelection): (tx: TenantTx) => Promise<RawRow[]> {
  const steps = chooseSteps(selected);
  const list = rowsSelectList(selected.shown);
  return async (tx) => {
    const next = await steps.next(tx, BATCH_ROWS);
    if (next === null) return [];
    const { values, bind } = bindings();
    const rows = await tx.query<RawRow>(selectBatch(selected, next, list, bind), values);
    steps.took(rows.length, () => rows.at(-1)?.id as string);
    return rows;
  };
}

/** The steps from one batch to the next. */
interface BatchSteps {
  /** The next batch, of at most `rows` rows; null at the end. */
  next(tx: TenantTx, rows: number): Promise<NextRows | null>;
  /** Called after `rows` rows of it were read; `lastId` returns the id of the last one. */
  took(rows: number, lastId: () => string): void;
}

const chooseSteps = (selected: ExportSelection): BatchSteps =>
  selected.order ? stepByCursor(selected, selected.order) : stepByIds();

/** The steps in insertion order: each batch follows the last id of the one before. */
function stepByIds(): BatchSteps {
  let after: string | null = null;
  return {
    next: async (_, rows) => ({ after, rows }),
    took(rows, lastId) {
      if (rows > 0) after = lastId();
    },
  };
}

/** The steps in any other order: a cursor holds the ids, so that Postgres sorts once. */
function stepByCursor(selected: ExportSelection, order: RowOrder): BatchSteps {
  let ids: string[] | undefined;
  return {
    async next(tx, rows) {
      if (ids === undefined) {
        const { text, values } = declareIds(selected, order);
        await tx.query(text, values);
      }
      if (!ids?.length) ids = (await tx.query<{ id: string }>(FETCH_IDS)).map(({ id }) => id);
      return ids.length === 0 ? null : { ids: ids.slice(0, rows) };
    },
    took(rows) {
      ids = ids?.slice(rows);
    },
  };
}
