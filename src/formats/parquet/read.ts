import type { KnownType } from '../records/record-facts.ts';
import type { RecordWriter } from '../records/writer.ts';
import { type ColumnReader, FlatReader, NestedReader, type SliceLimits } from './columns.ts';
import type { Column, Footer, ReadBytes, RowGroup } from './footer.ts';
import { type LeafPosition, LeafReader } from './leaves.ts';

/** Progress of writing the rows of a file. Plain data. */
export interface ParquetState {
  /** Index of the current row group. */
  group: number;
  /** Number of the current row group's rows that were written. */
  row: number;
  /** Position of the next row, in each leaf: the offset of a page, and the number of its earlier rows; null at the beginning. */
  places: [offset: number, skip: number][] | null;
  /** For each column, the number of values that were no numbers (NaN, infinities). */
  notNumbers: number[];
}

export const beginParquet = (): ParquetState => ({ group: 0, row: 0, places: null, notNumbers: [] });

/** Lists the types of a file's columns, in their order. */
export const listTypes = ({ columns, leaves }: Footer): KnownType[] =>
  columns.map(
    ({ isFlat, leafIndexes: [leaf] }) =>
      (isFlat && leaf !== undefined ? leaves[leaf]?.valueFormatter.type : undefined) ?? 'text',
  );

/** Maximum number of texts of all columns that are held at a time. */
const MAX_BUFFERED_CELLS = 2 ** 20;
const MAX_BUFFERED_BYTES = 12 * 1024 * 1024;
/** Bytes of the file that are held at a time, for all leaves. */
const WINDOWS_BYTES = 8 * 1024 * 1024;
const MIN_WINDOW_BYTES = 16 * 1024;
const MAX_WINDOW_BYTES = 1024 * 1024;

/**
 * Continues to write the rows of a file as records, group by group and page by page, until `isFull` is true or the file ends.
 * @param isFull asked after some rows whether to stop there @throws ParquetProblem
 */
export async function readParquet(
  read: ReadBytes,
  footer: Footer,
  from: ParquetState,
  writer: RecordWriter,
  isFull: () => boolean | Promise<boolean>,
): Promise<{ state: ParquetState; isDone: boolean }> {
  const notNumbers = footer.columns.map((_, index) => from.notNumbers[index] ?? 0);
  let { group, row, places } = from;
  for (; group < footer.rowGroups.length; group++, row = 0, places = null) {
    const rowGroup = footer.rowGroups[group] as RowGroup;
    const readers = createReaders(read, footer, rowGroup, places);
    while (row < rowGroup.rowCount) {
      row += await writeReadyRows(footer.columns, readers, rowGroup.rowCount - row, writer, notNumbers);
      if (row < rowGroup.rowCount && (await isFull())) {
        return { state: { group, row, places: listPositions(footer.columns, readers), notNumbers }, isDone: false };
      }
    }
    if (group + 1 < footer.rowGroups.length && (await isFull()))
      return { state: { group: group + 1, row: 0, places: null, notNumbers }, isDone: false };
  }
  return { state: { group, row, places, notNumbers }, isDone: true };
}

function createReaders(
  read: ReadBytes,
  { columns, leaves }: Footer,
  { chunks }: RowGroup,
  positions: ParquetState['places'],
): ColumnReader[] {
  const window = Math.min(MAX_WINDOW_BYTES, Math.max(MIN_WINDOW_BYTES, Math.floor(WINDOWS_BYTES / leaves.length)));
  const memory = { dictionaryBytes: 0, pageBytes: 0 };
  return columns.map((column) => {
    const leafReaders = column.leafIndexes.map((leaf) => {
      const chunk = chunks[leaf] as RowGroup['chunks'][number];
      const [offset, skip] = positions?.[leaf] ?? [chunk.start, 0];
      const reader = new LeafReader(read, leaves[leaf] as Footer['leaves'][number], chunk, column.name, window, memory);
      return { reader, place: { offset, skippedRowCount: skip } };
    });
    const [first] = leafReaders;
    if (column.isFlat && first) return new FlatReader(first.reader, first.place);
    return new NestedReader(
      column,
      leafReaders.map(({ reader }) => reader),
      leafReaders.map(({ place }) => place),
    );
  });
}

function listPositions(columns: Column[], readers: ColumnReader[]): [number, number][] {
  const positions: [number, number][] = [];
  for (const [index, { leafIndexes }] of columns.entries()) {
    const columnPositions = readers[index]?.places ?? [];
    for (const [leafIndex, leaf] of leafIndexes.entries()) {
      const { offset, skippedRowCount: skip } = columnPositions[leafIndex] as LeafPosition;
      positions[leaf] = [offset, skip];
    }
  }
  return positions;
}

/** Number of rows that are written before the writer is asked whether it is full. */
const MAX_ROWS_AT_ONCE = 1024;

/** Writes as many rows as all columns have ready, up to {@link MAX_ROWS_AT_ONCE}. */
async function writeReadyRows(
  columns: Column[],
  readers: ColumnReader[],
  maxRows: number,
  writer: RecordWriter,
  notNumbers: number[],
): Promise<number> {
  const maxSliceRows = Math.max(256, Math.floor(MAX_BUFFERED_CELLS / columns.length));
  const leafCount = columns.reduce((sum, { leafIndexes }) => sum + leafIndexes.length, 0);
  let rows = Math.min(maxRows, MAX_ROWS_AT_ONCE);
  for (const [index, reader] of readers.entries()) {
    // A row of a group holds the values of all of its leaves.
    const share = (columns[index] as Column).leafIndexes.length / leafCount;
    const limits: SliceLimits = {
      maxRows: maxSliceRows,
      maxBytes: Math.max(8 * 1024, Math.floor(MAX_BUFFERED_BYTES * share)),
    };
    rows = Math.min(rows, await reader.countReadyRows(limits));
  }
  for (let row = 0; row < rows; row++) {
    for (const { texts, takenCount } of readers) {
      const index = takenCount + row;
      writer.writeUnquoted(
        texts.bytes,
        index === 0 ? 0 : (texts.endOffsets[index - 1] as number),
        texts.endOffsets[index] as number,
      );
    }
    writer.endRecord();
  }
  for (const [column, reader] of readers.entries()) {
    notNumbers[column] = (notNumbers[column] as number) + reader.takeRows(rows);
  }
  return rows;
}
