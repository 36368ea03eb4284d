import { parquetMetadata, parquetSchema, type SchemaElement, type SchemaTree } from 'hyparquet';
import { guarded, ParquetProblem } from './problem.ts';
import { chooseTexts, type ValueTexts } from './values.ts';

/** Reads a number of bytes of the file from an offset on. */
export type ReadBytes = (offset: number, length: number) => Promise<Uint8Array>;

/** A leaf of the schema, whose values lie together in each group. */
export interface Leaf {
  element: SchemaElement;
  /** The elements from the root to it. */
  path: SchemaTree[];
  values: ValueTexts;
  /** The level at which a value is there, and how many of the elements repeat. */
  defined: number;
  repeated: number;
}

/** A column: a leaf, or a tree of several. */
export interface Column {
  name: string;
  tree: SchemaTree;
  /** The places of its leaves among all. */
  leaves: number[];
  /** Whether it has one value a row. */
  flat: boolean;
}

/** The values of a leaf in a group. */
export interface ColumnChunk {
  codec: string;
  start: number;
  end: number;
}

export interface RowGroup {
  rows: number;
  /** The chunk of each leaf. */
  chunks: ColumnChunk[];
}

/** The metadata of a Parquet file. */
export interface Footer {
  rows: number;
  columns: Column[];
  leaves: Leaf[];
  groups: RowGroup[];
}

/** The largest footer: it is held in memory as objects, some ten times its size. */
const MAX_FOOTER_BYTES = 6 * 1024 * 1024;
const MAX_LEAVES = 2000;
const MAGIC = 'PAR1';
const ENCRYPTED = 'PARE';
const TAIL_BYTES = 8;

const asIs = (value: unknown) => value;
const RAW_VALUE_PARSERS = {
  timestampFromMilliseconds: asIs,
  timestampFromMicroseconds: asIs,
  timestampFromNanoseconds: asIs,
  dateFromDays: asIs,
  stringFromBytes: asIs,
  uuidFromBytes: asIs,
};

/** Reads the metadata of a Parquet file, of at most `most` columns. @throws ParquetProblem */
export async function readFooter(read: ReadBytes, size: number, most: number): Promise<Footer> {
  if (size < 2 * TAIL_BYTES) throw new ParquetProblem('not_parquet');
  const tail = await read(size - TAIL_BYTES, TAIL_BYTES);
  const magic = new TextDecoder('latin1').decode(tail.subarray(4));
  if (magic === ENCRYPTED) throw new ParquetProblem('encrypted');
  if (magic !== MAGIC) throw new ParquetProblem('not_parquet');
  const length = new DataView(tail.buffer, tail.byteOffset).getUint32(0, true);
  if (length > size - TAIL_BYTES - MAGIC.length) throw new ParquetProblem('damaged');
  if (length > MAX_FOOTER_BYTES) throw new ParquetProblem('footer_too_large');
  const bytes = await read(size - TAIL_BYTES - length, length + TAIL_BYTES);
  return guarded(() => parsed(bytes, size, most));
}

function parsed(bytes: Uint8Array, size: number, most: number): Footer {
  const metadata = parquetMetadata(bytes, { parsers: RAW_VALUE_PARSERS, geoparquet: false });
  const root = parquetSchema(metadata);
  if (root.children.length === 0) throw new ParquetProblem('no_columns');
  if (root.children.length > most) throw new ParquetProblem('too_many_columns');
  const leaves: Leaf[] = [];
  const columns = root.children.map((tree): Column => {
    const first = leaves.length;
    addLeaves(leaves, tree, [root, tree], tree.element.name);
    const own = leaves.slice(first);
    return {
      name: tree.element.name.replaceAll('\0', '').toWellFormed(),
      tree,
      leaves: own.map((_, index) => first + index),
      flat: tree.children.length === 0 && own[0]?.repeated === 0,
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
    return { rows: toCount(group.num_rows), chunks };
  });
  const rows = toCount(metadata.num_rows);
  if (groups.reduce((sum, group) => sum + group.rows, 0) !== rows) throw new ParquetProblem('damaged');
  return { rows, columns, leaves, groups: groups.filter((group) => group.rows > 0) };
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
  const own = path.slice(1).map(({ element }) => element.repetition_type);
  leaves.push({
    element: tree.element,
    path,
    values: chooseTexts(tree.element, column),
    defined: own.filter((repetition) => repetition !== 'REQUIRED').length,
    repeated: own.filter((repetition) => repetition === 'REPEATED').length,
  });
}
