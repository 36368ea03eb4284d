import type { KnownType } from '../records/facts.ts';
import type { RecordWriter } from '../records/writer.ts';
import { type ColumnReader, FlatReader, NestedReader, type SliceLimits } from './columns.ts';
import type { Column, Footer, ReadBytes, RowGroup } from './footer.ts';
import { type LeafPlace, LeafReader } from './leaves.ts';

/** The progress of writing the rows of a file. Plain data. */
export interface ParquetState {
  /** The group that is being read, and rows of it that are written. */
  group: number;
  row: number;
  /** The place of the next row, in each leaf: the offset of a page, and rows in it that come before; null at its beginning. */
  places: [offset: number, skip: number][] | null;
  /** For each column, the number of values that were no numbers. */
  notNumbers: number[];
}

export const beginParquet = (): ParquetState => ({ group: 0, row: 0, places: null, notNumbers: [] });

/** The types of a file's columns, in their order. */
export const listTypes = ({ columns, leaves }: Footer): KnownType[] =>
  columns.map(
    ({ flat, leaves: [leaf] }) => (flat && leaf !== undefined ? leaves[leaf]?.values.type : undefined) ?? 'text',
  );

/** The number of texts of all columns that are held at a time, and of their bytes. */
const HELD_CELLS = 2 ** 20;
const HELD_BYTES = 12 * 1024 * 1024;
/** Bytes of the file that are held at a time, of all leaves, and the least of one. */
const WINDOWS_BYTES = 8 * 1024 * 1024;
const MIN_WINDOW = 16 * 1024;
const MAX_WINDOW = 1024 * 1024;

/**
 * Goes on writing the rows of a file as records, group by group and page by page, until the writer holds `full` bytes of
 * them, or `full` is false for the rest.
 * @param isFull asked after some rows: whether to stop there
 * @throws ParquetProblem
 */
export async function readParquet(
  read: ReadBytes,
  footer: Footer,
  from: ParquetState,
  writer: RecordWriter,
  isFull: () => boolean | Promise<boolean>,
): Promise<{ state: ParquetState; done: boolean }> {
  const notNumbers = footer.columns.map((_, index) => from.notNumbers[index] ?? 0);
  let { group, row, places } = from;
  for (; group < footer.groups.length; group++, row = 0, places = null) {
    const own = footer.groups[group] as RowGroup;
    const readers = openReaders(read, footer, own, places);
    while (row < own.rows) {
      row += await writeSome(footer.columns, readers, own.rows - row, writer, notNumbers);
      if (row < own.rows && (await isFull())) {
        return { state: { group, row, places: listPlaces(footer.columns, readers), notNumbers }, done: false };
      }
    }
    if (group + 1 < footer.groups.length && (await isFull()))
      return { state: { group: group + 1, row: 0, places: null, notNumbers }, done: false };
  }
  return { state: { group, row, places, notNumbers }, done: true };
}

function openReaders(
  read: ReadBytes,
  { columns, leaves }: Footer,
  { chunks }: RowGroup,
  places: ParquetState['places'],
): ColumnReader[] {
  const window = Math.min(MAX_WINDOW, Math.max(MIN_WINDOW, Math.floor(WINDOWS_BYTES / leaves.length)));
  const held = { bytes: 0 };
  return columns.map((column) => {
    const own = column.leaves.map((leaf) => {
      const chunk = chunks[leaf] as RowGroup['chunks'][number];
      const [offset, skip] = places?.[leaf] ?? [chunk.start, 0];
      const reader = new LeafReader(read, leaves[leaf] as Footer['leaves'][number], chunk, column.name, window, held);
      return { reader, place: { offset, skip } };
    });
    const [first] = own;
    if (column.flat && first) return new FlatReader(first.reader, first.place);
    return new NestedReader(
      column,
      own.map(({ reader }) => reader),
      own.map(({ place }) => place),
    );
  });
}

function listPlaces(columns: Column[], readers: ColumnReader[]): [number, number][] {
  const places: [number, number][] = [];
  for (const [index, { leaves }] of columns.entries()) {
    const own = readers[index]?.places ?? [];
    for (const [place, leaf] of leaves.entries()) {
      const { offset, skip } = own[place] as LeafPlace;
      places[leaf] = [offset, skip];
    }
  }
  return places;
}

/** Rows that are written before the writer is asked whether it is full. */
const MAX_ROWS = 1024;

/** Writes as many rows as all columns have at hand, up to {@link MAX_ROWS}. */
async function writeSome(
  columns: Column[],
  readers: ColumnReader[],
  most: number,
  writer: RecordWriter,
  notNumbers: number[],
): Promise<number> {
  const limits: SliceLimits = {
    rows: Math.max(256, Math.floor(HELD_CELLS / columns.length)),
    bytes: Math.max(8 * 1024, Math.floor(HELD_BYTES / columns.length)),
  };
  let rows = Math.min(most, MAX_ROWS);
  for (const reader of readers) rows = Math.min(rows, await reader.ready(limits));
  for (let row = 0; row < rows; row++) {
    for (const { texts, taken } of readers) {
      const index = taken + row;
      writer.writeBare(texts.bytes, index === 0 ? 0 : (texts.ends[index - 1] as number), texts.ends[index] as number);
    }
    writer.end();
  }
  for (const [column, reader] of readers.entries()) {
    notNumbers[column] = (notNumbers[column] as number) + reader.take(rows);
  }
  return rows;
}
