import { parquetMetadata, parquetSchema, type SchemaElement, type SchemaTree } from 'hyparquet';
import { callParquetLibrary, ParquetProblem } from './problem.ts';
import { chooseFormatter, type ValueFormatter } from './values.ts';

/** Function that reads a number of bytes of the file from an offset on. */
export type ReadBytes = (offset: number, length: number) => Promise<Uint8Array>;

/** Leaf of the schema, whose values lie together in each row group. */
export interface Leaf {
  schemaElement: SchemaElement;
  /** Elements from the root to the leaf. */
  path: SchemaTree[];
  valueFormatter: ValueFormatter;
  /** Definition level at which a value is present. */
  valueLevel: number;
  /** Number of repeated elements in the path. */
  repetitionCount: number;
}

/** Column: a leaf, or a tree of several leaves. */
export interface Column {
  name: string;
  tree: SchemaTree;
  /** Indexes of the column's leaves among all leaves. */
  leafIndexes: number[];
  /** True if the column has one value a row. */
  isFlat: boolean;
}

/** Values of a leaf in a row group. */
export interface ColumnChunk {
  codec: string;
  start: number;
  end: number;
}

export interface RowGroup {
  rowCount: number;
  /** Chunk of each leaf. */
  chunks: ColumnChunk[];
}

/** Metadata of a Parquet file. */
export interface Footer {
  rowCount: number;
  columns: Column[];
  leaves: Leaf[];
  rowGroups: RowGroup[];
}

/** Maximum size of a footer: it is held in memory as objects, some ten times its size. */
const MAX_FOOTER_BYTES = 6 * 1024 * 1024;
const MAX_LEAVES = 2000;
const MAGIC = 'PAR1';
const ENCRYPTED_MAGIC = 'PARE';
const TAIL_BYTES = 8;

const returnUnchanged = (value: unknown) => value;
const RAW_VALUE_PARSERS = {
  timestampFromMilliseconds: returnUnchanged,
  timestampFromMicroseconds: returnUnchanged,
  timestampFromNanoseconds: returnUnchanged,
  dateFromDays: returnUnchanged,
  stringFromBytes: returnUnchanged,
  uuidFromBytes: returnUnchanged,
};

/** Reads the metadata of a Parquet file of at most `maxColumns` columns. @throws ParquetProblem */
export async function readFooter(read: ReadBytes, size: number, maxColumns: number): Promise<Footer> {
  if (size < 2 * TAIL_BYTES) throw new ParquetProblem('not_parquet');
  const tail = await read(size - TAIL_BYTES, TAIL_BYTES);
  const magic = new TextDecoder('latin1').decode(tail.subarray(4));
  if (magic === ENCRYPTED_MAGIC) throw new ParquetProblem('encrypted');
  if (magic !== MAGIC) throw new ParquetProblem('not_parquet');
  const length = new DataView(tail.buffer, tail.byteOffset).getUint32(0, true);
  if (length > size - TAIL_BYTES - MAGIC.length) throw new ParquetProblem('damaged');
  if (length > MAX_FOOTER_BYTES) throw new ParquetProblem('footer_too_large');
  const bytes = await read(size - TAIL_BYTES - length, length + TAIL_BYTES);
  return callParquetLibrary(() => parseFooter(bytes, size, maxColumns));
}

function parseFooter(bytes: Uint8Array, size: number, maxColumns: number): Footer {
  const metadata = parquetMetadata(bytes, { parsers: RAW_VALUE_PARSERS, geoparquet: false });
  const root = parquetSchema(metadata);
  if (root.children.length === 0) throw new ParquetProblem('no_columns');
  if (root.children.length > maxColumns) throw new ParquetProblem('too_many_columns');
  const leaves: Leaf[] = [];
  const columns = root.children.map((tree): Column => {
    const firstLeafIndex = leaves.length;
    addLeaves(leaves, tree, [root, tree], tree.element.name);
    const columnLeaves = leaves.slice(firstLeafIndex);
    return {
      name: tree.element.name.replaceAll('\0', '').toWellFormed(),
      tree,
      leafIndexes: columnLeaves.map((_, index) => firstLeafIndex + index),
      isFlat: tree.children.length === 0 && columnLeaves[0]?.repetitionCount === 0,
    };
  });
  const groups = metadata.row_groups.map((group): RowGroup => {
    if (group.columns.length !== leaves.length) throw new ParquetProblem('damaged');
    const chunks = group.columns.map(({ file_path, crypto_metadata, meta_data: data }) => {
      if (crypto_metadata) throw new ParquetProblem('encrypted');
      if (!data || file_path) throw new ParquetProblem('damaged');
      const { data_page_offset: first, dictionary_page_offset: dictionary, total_compressed_size: length } = data;
      const start = Number(dictionary && dictionary > 0n && dictionary < first ? dictionary : first);
      const end = start + Number(length);
      if (!(start >= 0 && end >= start && end <= size)) throw new ParquetProblem('damaged');
      return { codec: data.codec ?? '', start, end };
    });
    return { rowCount: toCount(group.num_rows), chunks };
  });
  const rows = toCount(metadata.num_rows);
  if (groups.reduce((sum, group) => sum + group.rowCount, 0) !== rows) throw new ParquetProblem('damaged');
  return { rowCount: rows, columns, leaves, rowGroups: groups.filter((group) => group.rowCount > 0) };
}

function toCount(count: bigint): number {
  const number = Number(count);
  if (!(Number.isSafeInteger(number) && number >= 0)) throw new ParquetProblem('damaged');
  return number;
}

function addLeaves(leaves: Leaf[], tree: SchemaTree, path: SchemaTree[], column: string): void {
  if (tree.element.type === undefined) {
    for (const child of tree.children) addLeaves(leaves, child, [...path, child], column);
    return;
  }
  if (leaves.length === MAX_LEAVES) throw new ParquetProblem('too_many_columns');
  const repetitionTypes = path.slice(1).map(({ element }) => element.repetition_type);
  leaves.push({
    schemaElement: tree.element,
    path,
    valueFormatter: chooseFormatter(tree.element, column),
    valueLevel: repetitionTypes.filter((repetition) => repetition !== 'REQUIRED').length,
    repetitionCount: repetitionTypes.filter((repetition) => repetition === 'REPEATED').length,
  });
}
