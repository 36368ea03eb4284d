import { brotliDecompressSync, constants, gunzipSync, zstdDecompressSync } from 'node:zlib';
import type { PageHeader } from 'hyparquet';
import { parquetHeader } from 'hyparquet/src/column.js';
import { readDataPage, readDataPageV2 } from 'hyparquet/src/datapage.js';
import { deltaBinaryUnpack } from 'hyparquet/src/delta.js';
import { readPlain } from 'hyparquet/src/plain.js';
import { snappyUncompress } from 'hyparquet/src/snappy.js';
import { readVarInt } from 'hyparquet/src/thrift.js';
import { createDataView } from '../../kernel/bytes.ts';
import type { Leaf } from './footer.ts';
import { unpackLz4, unpackLz4Block } from './lz4.ts';
import { callParquetLibrary, ParquetProblem } from './problem.ts';

/** Maximum size of a page, which is held in memory as a whole. */
export const MAX_PAGE_BYTES = 16 * 1024 * 1024;
/** Maximum number of values of a page, nulls included. */
export const MAX_PAGE_VALUES = 2 ** 20;
const MAX_MINIBLOCKS = 4096;

/** Header of a page, and the number of its bytes. */
export interface SizedHeader {
  header: PageHeader;
  byteCount: number;
}

/** Reads the header of a page. @throws any error if the bytes do not hold all of it */
export function readHeader(bytes: Uint8Array): SizedHeader {
  const reader = createReader(bytes);
  const header = parquetHeader(reader);
  return { header, byteCount: reader.offset };
}

/** Checks the header of a page. @throws ParquetProblem if the page is too large to unpack, or its header is contradictory */
export function checkHeader(header: PageHeader, column: string): void {
  const { compressed_page_size: packed, uncompressed_page_size: unpacked } = header;
  const data = header.data_page_header ?? header.data_page_header_v2 ?? header.dictionary_page_header;
  const isCount = (count: unknown) => Number.isInteger(count) && (count as number) >= 0;
  if (!isCount(packed) || !isCount(unpacked)) throw new ParquetProblem('damaged', column);
  if (packed > MAX_PAGE_BYTES || unpacked > MAX_PAGE_BYTES) throw new ParquetProblem('page_too_large', column);
  if (!data) return;
  if (!isCount(data.num_values)) throw new ParquetProblem('damaged', column);
  if (data.num_values > MAX_PAGE_VALUES) throw new ParquetProblem('page_too_large', column);
  const headerV2 = header.data_page_header_v2;
  if (!headerV2) return;
  const levelBytes = headerV2.definition_levels_byte_length + headerV2.repetition_levels_byte_length;
  const isConsistent = [
    headerV2.num_nulls,
    headerV2.num_rows,
    headerV2.definition_levels_byte_length,
    headerV2.repetition_levels_byte_length,
  ].every(isCount);
  if (!isConsistent || headerV2.num_nulls > headerV2.num_values || levelBytes > packed || levelBytes > unpacked)
    throw new ParquetProblem('damaged', column);
}

type Unpack = (packedBytes: Uint8Array, length: number) => Uint8Array;

/**
 * Bytes that `maxOutputLength` leaves beyond a page: the runtime reserves 40 KB before each piece that it unpacks, even after the
 * last one, and refuses a page for which they are beyond the maximum.
 */
const RESERVED_BYTES = 64 * 1024;

const CODECS: Record<string, Unpack> = {
  UNCOMPRESSED: (packedBytes) => packedBytes,
  SNAPPY: (packedBytes, length) => {
    const outputBytes = new Uint8Array(length);
    snappyUncompress(packedBytes, outputBytes);
    return outputBytes;
  },
  GZIP: (packedBytes, length) => gunzipSync(packedBytes, { maxOutputLength: length + RESERVED_BYTES }),
  BROTLI: (packedBytes, length) => brotliDecompressSync(packedBytes, { maxOutputLength: length + RESERVED_BYTES }),
  // With the default, `ZSTD_e_end`, the runtime calls a whole page of 40 KB times a power of two incomplete; a page that is, is too
  // short.
  ZSTD: (packedBytes, length) =>
    zstdDecompressSync(packedBytes, {
      maxOutputLength: length + RESERVED_BYTES,
      finishFlush: constants.ZSTD_e_continue,
    }),
  LZ4: unpackLz4,
  LZ4_RAW: unpackLz4Block,
};

function unpackPage(packedBytes: Uint8Array, length: number, codec: string, column: string): Uint8Array {
  const unpack = Object.hasOwn(CODECS, codec) ? CODECS[codec] : undefined;
  if (!unpack) throw new ParquetProblem('codec', column, codec);
  if (length === 0) return new Uint8Array();
  const bytes = unpack(packedBytes, length);
  if (bytes.length !== length) throw new ParquetProblem('damaged', column);
  return bytes;
}

/** Levels and values of a page as stored; of a page with a dictionary, indexes in the dictionary. */
export interface Page {
  /** Definition levels; empty if all values are present. */
  definitionLevels: ArrayLike<number>;
  /** Repetition levels; empty if nothing repeats. */
  repetitionLevels: ArrayLike<number>;
  values: ArrayLike<unknown>;
  /** Number of levels: values and nulls. */
  levelCount: number;
  usesDictionary: boolean;
}

/** Unpacks and reads a page of values. @param bytes the page without its header */
export const readPage = (bytes: Uint8Array, header: PageHeader, leaf: Leaf, codec: string, column: string): Page =>
  callParquetLibrary(() => decodePage(bytes, header, leaf, codec, column), column);

function decodePage(bytes: Uint8Array, header: PageHeader, leaf: Leaf, codec: string, column: string): Page {
  const { schemaElement, path: schemaPath, valueLevel, repetitionCount } = leaf;
  const { data_page_header: first, data_page_header_v2: second } = header;
  const type = schemaElement.type as NonNullable<typeof schemaElement.type>;
  const data = first ?? second;
  if (!data) throw new ParquetProblem('damaged', column);
  const size = Number(header.uncompressed_page_size);
  const count = data.num_values;
  let content: ReturnType<typeof readDataPage>;
  if (first) {
    const page = unpackPage(bytes, size, codec, column);
    let at = 0;
    let filledCount = count;
    for (const maxLevel of [repetitionCount, valueLevel])
      if (maxLevel > 0) ({ at, filledCount } = checkLevels(page, at, maxLevel, count));
    checkValues(page, at, first.encoding, type, valueLevel > 0 ? filledCount : count, column);
    content = readDataPage(page, first, { type, element: schemaElement, schemaPath } as never);
  } else {
    const page = second as NonNullable<typeof second>;
    const levelBytes = page.repetition_levels_byte_length + page.definition_levels_byte_length;
    const packedBytes = bytes.subarray(levelBytes);
    const valueBytes = page.is_compressed ? unpackPage(packedBytes, size - levelBytes, codec, column) : packedBytes;
    const wholePage = new Uint8Array(levelBytes + valueBytes.length);
    wholePage.set(bytes.subarray(0, levelBytes));
    wholePage.set(valueBytes, levelBytes);
    const repetitionLength = page.repetition_levels_byte_length;
    if (repetitionCount > 0)
      checkRuns(wholePage, 0, repetitionLength, countBits(repetitionCount), count, repetitionCount);
    const valueCount =
      valueLevel > 0
        ? checkRuns(wholePage, repetitionLength, levelBytes, countBits(valueLevel), count, valueLevel)
        : count;
    checkValues(wholePage, levelBytes, page.encoding, type, valueCount, column);
    // Arrow counts no nulls for the levels of empty and missing lists of groups: the levels say how many values there are.
    const plainPage = { ...page, is_compressed: false, num_nulls: count - valueCount };
    const plainHeader = { ...header, data_page_header_v2: plainPage };
    content = readDataPageV2(wholePage, plainHeader, {
      type,
      element: schemaElement,
      schemaPath,
      codec: 'UNCOMPRESSED',
    } as never);
  }
  return {
    definitionLevels: content.definitionLevels ?? [],
    repetitionLevels: content.repetitionLevels,
    values: content.dataPage,
    levelCount: count,
    usesDictionary: data.encoding.endsWith('_DICTIONARY'),
  };
}

/** Unpacks and reads the values of a dictionary. */
export const readDictionary = (
  bytes: Uint8Array,
  header: PageHeader,
  { schemaElement }: Leaf,
  codec: string,
  column: string,
): ArrayLike<unknown> =>
  callParquetLibrary(() => {
    const page = unpackPage(bytes, Number(header.uncompressed_page_size), codec, column);
    const count = header.dictionary_page_header?.num_values ?? 0;
    return readPlain(createReader(page), schemaElement.type as never, count, schemaElement.type_length);
  }, column);

const createReader = (bytes: Uint8Array) => ({ view: createDataView(bytes), offset: 0 });

const countBits = (maxLevel: number): number => 32 - Math.clz32(maxLevel);

/**
 * Checks the levels of a version 1 page, which follow their length.
 * @returns the offset after the levels, and how many levels are `maxLevel`
 */
function checkLevels(
  bytes: Uint8Array,
  at: number,
  maxLevel: number,
  count: number,
): { at: number; filledCount: number } {
  const end = at + 4 + createReader(bytes).view.getUint32(at, true);
  if (end > bytes.length) throw new ParquetProblem('damaged');
  return { at: end, filledCount: checkRuns(bytes, at + 4, end, countBits(maxLevel), count, maxLevel) };
}

/**
 * Checks that the runs of a page stay within its bytes and its number of values: the header of a run may claim two thousand
 * million values. @returns how many of the page's values are `highestLevel`
 */
function checkRuns(
  bytes: Uint8Array,
  start: number,
  end: number,
  width: number,
  count: number,
  highestLevel = -1,
): number {
  const reader = createReader(bytes);
  reader.offset = start;
  let foundCount = 0;
  for (let seenCount = 0; seenCount < count; ) {
    if (reader.offset >= end) throw new ParquetProblem('damaged');
    const header = readVarInt(reader) >>> 0;
    const run = header >>> 1;
    const from = reader.offset;
    if (header & 1) {
      // DuckDB fills up the last run to 256 values.
      const values = Math.min(run * 8, count - seenCount);
      if (run > MAX_PAGE_VALUES || from + Math.ceil((values * width) / 8) > end) throw new ParquetProblem('damaged');
      reader.offset += run * width;
      if (highestLevel >= 0)
        for (let at = 0; at < values; at++) if (readBits(bytes, from, at * width, width) === highestLevel) foundCount++;
      seenCount += values;
    } else {
      if (run > count - seenCount) throw new ParquetProblem('damaged');
      reader.offset += (width + 7) >> 3;
      if (highestLevel >= 0 && readBits(bytes, from, 0, width) === highestLevel) foundCount += run;
      seenCount += run;
    }
  }
  return foundCount;
}

function readBits(bytes: Uint8Array, from: number, start: number, width: number): number {
  let value = 0;
  for (let bit = 0; bit < width; bit++) {
    const bitOffset = start + bit;
    value |= (((bytes[from + (bitOffset >> 3)] ?? 0) >> (bitOffset & 7)) & 1) << bit;
  }
  return value;
}

/** Checks the page's claims about its values against its bytes. */
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
      if (count > 0) checkRuns(bytes, at + 1, bytes.length, readCheckedWidth(bytes[at]), count);
      return;
    case 'DELTA_BINARY_PACKED':
    case 'DELTA_LENGTH_BYTE_ARRAY':
      if (at < bytes.length) checkDelta(reader, count);
      return;
    case 'DELTA_BYTE_ARRAY': {
      if (at >= bytes.length) return;
      const claimedCount = checkDelta(reader, count);
      reader.offset = at;
      const prefixes = new Int32Array(claimedCount);
      deltaBinaryUnpack(reader, claimedCount, prefixes);
      checkDelta({ ...reader }, count);
      // Each value begins with bytes of the one before: together they may be much more than the page.
      let sum = bytes.length;
      let longestPrefix = 0;
      for (const prefix of prefixes) {
        if (prefix < 0) throw new ParquetProblem('damaged', column);
        sum += prefix;
        longestPrefix = Math.max(longestPrefix, prefix);
      }
      if (longestPrefix > MAX_PAGE_BYTES || sum > 2 * MAX_PAGE_BYTES)
        throw new ParquetProblem('page_too_large', column);
      return;
    }
    default:
      throw new ParquetProblem('encoding', column, encoding);
  }
}

function readCheckedWidth(width = 255): number {
  if (width > 32) throw new ParquetProblem('damaged');
  return width;
}

/** Checks the header of delta-encoded values. @returns the number of values that it claims */
function checkDelta(reader: ReturnType<typeof createReader>, count: number): number {
  const block = readVarInt(reader);
  const miniblocks = readVarInt(reader);
  const claimedCount = readVarInt(reader);
  const isConsistent = block > 0 && miniblocks > 0 && miniblocks <= MAX_MINIBLOCKS && block % miniblocks === 0;
  if (!isConsistent || claimedCount < 0 || claimedCount > count) throw new ParquetProblem('damaged');
  return claimedCount;
}
