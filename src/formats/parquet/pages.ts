import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib';
import type { PageHeader } from 'hyparquet';
import { parquetHeader } from 'hyparquet/src/column.js';
import { readDataPage, readDataPageV2 } from 'hyparquet/src/datapage.js';
import { deltaBinaryUnpack } from 'hyparquet/src/delta.js';
import { readPlain } from 'hyparquet/src/plain.js';
import { snappyUncompress } from 'hyparquet/src/snappy.js';
import { readVarInt } from 'hyparquet/src/thrift.js';
import type { Leaf } from './footer.ts';
import { unpackLz4, unpackLz4Block } from './lz4.ts';
import { guarded, ParquetProblem } from './problem.ts';

/** A page is held in memory as a whole. */
export const MAX_PAGE_BYTES = 16 * 1024 * 1024;
/** Values of a page, nulls included. */
export const MAX_PAGE_VALUES = 2 ** 20;
const MAX_MINIBLOCKS = 4096;

/** The header of a page, and how many bytes it takes. */
export interface FoundHeader {
  header: PageHeader;
  length: number;
}

/** Reads the header of a page. @throws any error, where the bytes do not hold all of it */
export function headerAt(bytes: Uint8Array): FoundHeader {
  const reader = createReader(bytes);
  const header = parquetHeader(reader);
  return { header, length: reader.offset };
}

/** @throws ParquetProblem for a page that is too large to be made, or whose header is contradictory */
export function checkHeader(header: PageHeader, column: string): void {
  const { compressed_page_size: packed, uncompressed_page_size: unpacked } = header;
  const data = header.data_page_header ?? header.data_page_header_v2 ?? header.dictionary_page_header;
  const isCount = (count: unknown) => Number.isInteger(count) && (count as number) >= 0;
  if (!isCount(packed) || !isCount(unpacked)) throw new ParquetProblem('damaged', column);
  if (packed > MAX_PAGE_BYTES || unpacked > MAX_PAGE_BYTES) throw new ParquetProblem('page_too_large', column);
  if (!data) return;
  if (!isCount(data.num_values)) throw new ParquetProblem('damaged', column);
  if (data.num_values > MAX_PAGE_VALUES) throw new ParquetProblem('page_too_large', column);
  const second = header.data_page_header_v2;
  if (!second) return;
  const levels = second.definition_levels_byte_length + second.repetition_levels_byte_length;
  const isWhole = [
    second.num_nulls,
    second.num_rows,
    second.definition_levels_byte_length,
    second.repetition_levels_byte_length,
  ].every(isCount);
  if (!isWhole || second.num_nulls > second.num_values || levels > packed || levels > unpacked)
    throw new ParquetProblem('damaged', column);
}

type Unpack = (packed: Uint8Array, length: number) => Uint8Array;

const CODECS: Record<string, Unpack> = {
  UNCOMPRESSED: (packed) => packed,
  SNAPPY: (packed, length) => {
    const out = new Uint8Array(length);
    snappyUncompress(packed, out);
    return out;
  },
  GZIP: (packed, length) => gunzipSync(packed, { maxOutputLength: Math.max(1, length) }),
  BROTLI: (packed, length) => brotliDecompressSync(packed, { maxOutputLength: Math.max(1, length) }),
  ZSTD: (packed, length) => zstdDecompressSync(packed, { maxOutputLength: Math.max(1, length) }),
  LZ4: unpackLz4,
  LZ4_RAW: unpackLz4Block,
};

function unpacked(packed: Uint8Array, length: number, codec: string, column: string): Uint8Array {
  const unpack = Object.hasOwn(CODECS, codec) ? CODECS[codec] : undefined;
  if (!unpack) throw new ParquetProblem('codec', column, codec);
  if (length === 0) return new Uint8Array();
  const bytes = unpack(packed, length);
  if (bytes.length !== length) throw new ParquetProblem('damaged', column);
  return bytes;
}

/** The levels and values of a page as they lie in it; of a page with a dictionary, places in that. */
export interface Page {
  /** Empty where all values are there. */
  definitions: ArrayLike<number>;
  /** Empty where nothing repeats. */
  repetitions: ArrayLike<number>;
  values: ArrayLike<unknown>;
  /** Levels: values and nulls. */
  count: number;
  byDictionary: boolean;
}

/** Unpacks and reads a page of values. @param bytes the page without its header */
export const readPage = (bytes: Uint8Array, header: PageHeader, leaf: Leaf, codec: string, column: string): Page =>
  guarded(() => decodePage(bytes, header, leaf, codec, column), column);

function decodePage(bytes: Uint8Array, header: PageHeader, leaf: Leaf, codec: string, column: string): Page {
  const { element, path: schemaPath, defined, repeated } = leaf;
  const { data_page_header: first, data_page_header_v2: second } = header;
  const type = element.type as NonNullable<typeof element.type>;
  const data = first ?? second;
  if (!data) throw new ParquetProblem('damaged', column);
  const size = Number(header.uncompressed_page_size);
  const count = data.num_values;
  let values: ArrayLike<unknown>;
  let definitions: ArrayLike<number>;
  let repetitions: ArrayLike<number>;
  if (first) {
    const page = unpacked(bytes, size, codec, column);
    let at = 0;
    let filled = count;
    for (const most of [repeated, defined]) if (most > 0) ({ at, filled } = checkLevels(page, at, most, count));
    checkValues(page, at, first.encoding, type, defined > 0 ? filled : count, column);
    const read = readDataPage(page, first, { type, element, schemaPath } as never);
    ({ dataPage: values, repetitionLevels: repetitions } = read);
    definitions = read.definitionLevels ?? [];
  } else {
    const page = second as NonNullable<typeof second>;
    const levels = page.repetition_levels_byte_length + page.definition_levels_byte_length;
    const packed = bytes.subarray(levels);
    const own = page.is_compressed ? unpacked(packed, size - levels, codec, column) : packed;
    const whole = new Uint8Array(levels + own.length);
    whole.set(bytes.subarray(0, levels));
    whole.set(own, levels);
    const split = page.repetition_levels_byte_length;
    if (repeated > 0) checkRuns(whole, 0, split, countBits(repeated), count, repeated);
    const filled = defined > 0 ? checkRuns(whole, split, levels, countBits(defined), count, defined) : count;
    if (filled !== count - page.num_nulls) throw new ParquetProblem('damaged', column);
    checkValues(whole, levels, page.encoding, type, filled, column);
    const plain = { ...header, data_page_header_v2: { ...page, is_compressed: false } };
    const read = readDataPageV2(whole, plain, { type, element, schemaPath, codec: 'UNCOMPRESSED' } as never);
    ({ dataPage: values, repetitionLevels: repetitions } = read);
    definitions = read.definitionLevels ?? [];
  }
  return { definitions, repetitions, values, count, byDictionary: data.encoding.endsWith('_DICTIONARY') };
}

/** Unpacks and reads the values of a dictionary. */
export const readDictionary = (
  bytes: Uint8Array,
  header: PageHeader,
  { element }: Leaf,
  codec: string,
  column: string,
): ArrayLike<unknown> =>
  guarded(() => {
    const page = unpacked(bytes, Number(header.uncompressed_page_size), codec, column);
    const count = header.dictionary_page_header?.num_values ?? 0;
    return readPlain(createReader(page), element.type as never, count, element.type_length);
  }, column);

const createReader = (bytes: Uint8Array) => ({
  view: new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength),
  offset: 0,
});

const countBits = (most: number): number => 32 - Math.clz32(most);

/** Levels of the first version of pages stand behind their length. @returns where they end, and how many are the highest */
function checkLevels(bytes: Uint8Array, at: number, most: number, count: number): { at: number; filled: number } {
  const end = at + 4 + createReader(bytes).view.getUint32(at, true);
  if (end > bytes.length) throw new ParquetProblem('damaged');
  return { at: end, filled: checkRuns(bytes, at + 4, end, countBits(most), count, most) };
}

/** A run may claim two thousand million values. @returns how many of the page's values are `most` */
function checkRuns(bytes: Uint8Array, start: number, end: number, width: number, count: number, most = -1): number {
  const reader = createReader(bytes);
  reader.offset = start;
  let found = 0;
  for (let seen = 0; seen < count; ) {
    if (reader.offset >= end) throw new ParquetProblem('damaged');
    const header = readVarInt(reader) >>> 0;
    const run = header >>> 1;
    const from = reader.offset;
    if (header & 1) {
      if (run > count) throw new ParquetProblem('damaged');
      reader.offset += run * width;
      const values = Math.min(run * 8, count - seen);
      if (most >= 0) for (let at = 0; at < values; at++) if (bitsAt(bytes, from, at * width, width) === most) found++;
      seen += values;
    } else {
      if (run > count - seen) throw new ParquetProblem('damaged');
      reader.offset += (width + 7) >> 3;
      if (most >= 0 && bitsAt(bytes, from, 0, width) === most) found += run;
      seen += run;
    }
  }
  return found;
}

function bitsAt(bytes: Uint8Array, from: number, start: number, width: number): number {
  let value = 0;
  for (let bit = 0; bit < width; bit++) {
    const place = start + bit;
    value |= (((bytes[from + (place >> 3)] ?? 0) >> (place & 7)) & 1) << bit;
  }
  return value;
}

/** Checks the claims of a page about its values against its bytes. */
function checkValues(
  bytes: Uint8Array,
  at: number,
  encoding: string | undefined,
  type: string,
  count: number,
  column: string,
): void {
  const reader = createReader(bytes);
  reader.offset = at;
  switch (encoding) {
    case 'PLAIN':
    case 'BYTE_STREAM_SPLIT':
      return;
    case 'RLE':
      if (type !== 'BOOLEAN') throw new ParquetProblem('encoding', column, encoding);
      if (count > 0) checkRuns(bytes, at + 4, bytes.length, 1, count);
      return;
    case 'PLAIN_DICTIONARY':
    case 'RLE_DICTIONARY':
      if (count > 0) checkRuns(bytes, at + 1, bytes.length, checkedWidth(bytes[at]), count);
      return;
    case 'DELTA_BINARY_PACKED':
    case 'DELTA_LENGTH_BYTE_ARRAY':
      if (at < bytes.length) checkDelta(reader, count);
      return;
    case 'DELTA_BYTE_ARRAY': {
      if (at >= bytes.length) return;
      const own = checkDelta(reader, count);
      reader.offset = at;
      const prefixes = new Int32Array(own);
      deltaBinaryUnpack(reader, own, prefixes);
      checkDelta({ ...reader }, count);
      // Each value begins with bytes of the one before: together they may be much more than the page.
      let sum = bytes.length;
      let most = 0;
      for (const prefix of prefixes) {
        if (prefix < 0) throw new ParquetProblem('damaged', column);
        sum += prefix;
        most = Math.max(most, prefix);
      }
      if (most > MAX_PAGE_BYTES || sum > 2 * MAX_PAGE_BYTES) throw new ParquetProblem('page_too_large', column);
      return;
    }
    default:
      throw new ParquetProblem('encoding', column, encoding);
  }
}

function checkedWidth(width = 255): number {
  if (width > 32) throw new ParquetProblem('damaged');
  return width;
}

/** Checks the header of delta-encoded values. @returns the number of values that it claims */
function checkDelta(reader: ReturnType<typeof createReader>, count: number): number {
  const block = readVarInt(reader);
  const miniblocks = readVarInt(reader);
  const own = readVarInt(reader);
  const isWhole = block > 0 && miniblocks > 0 && miniblocks <= MAX_MINIBLOCKS && block % miniblocks === 0;
  if (!isWhole || own < 0 || own > count) throw new ParquetProblem('damaged');
  return own;
}
