import type { LogFilter, LogKind, LogRecord } from './log.ts';
import { LOG_TABLES } from './tables.ts';

/**
 * A summary of a file, from which many reads are answered without the file: for each filterable field, the number of
 * records with each value. A field with too many values has a Bloom filter instead, which can only show that a value is
 * absent.
 */
type Contents = Record<string, { counts: Record<string, number> } | { bloom: string }> & {
  [COMBINATIONS_KEY]?: CombinationCounts;
};

/** The number of records for each combination of values of the counted fields: for a filter by several fields. */
interface CombinationCounts {
  /** The field names as they stand in stored contents. */
  members: string[];
  /** The values, followed by the number of records that have them. */
  rows: (string | number | null)[][];
}

/** A key that no field name can equal. */
const COMBINATIONS_KEY = '';

/** The maximum number of values of a field that are counted. */
const MAX_COUNTED_VALUES = 1000;
/** The maximum number of combinations of values that are counted. */
const MAX_COUNTED_COMBINATIONS = 2000;

/** Bits of a Bloom filter for each value: with `HASH_COUNT` hashes, one lookup in a hundred is a false positive. */
const BITS_PER_VALUE = 10;
const HASH_COUNT = 7;

export function summarizeContents(kind: LogKind, records: readonly LogRecord[]): string {
  const contents: Contents = {};
  const countedFields: string[] = [];
  for (const field of LOG_TABLES[kind].filterFields) {
    const counts = new Map<string, number>();
    for (const record of records) {
      const value = (record as unknown as Record<string, string | null>)[field];
      if (value != null) counts.set(value, (counts.get(value) ?? 0) + 1);
    }
    const isCounted = counts.size <= MAX_COUNTED_VALUES;
    if (isCounted) countedFields.push(field);
    contents[field] = isCounted
      ? { counts: Object.fromEntries(counts) }
      : { bloom: makeBloomFilter([...counts.keys()]) };
  }
  const combinations = countedFields.length > 1 ? countCombinations(countedFields, records) : null;
  return JSON.stringify({ ...contents, ...(combinations && { [COMBINATIONS_KEY]: combinations }) });
}

function countCombinations(fields: string[], records: readonly LogRecord[]): CombinationCounts | null {
  const counts = new Map<string, number>();
  for (const record of records) {
    const values = JSON.stringify(fields.map((field) => (record as unknown as Record<string, unknown>)[field] ?? null));
    counts.set(values, (counts.get(values) ?? 0) + 1);
    if (counts.size > MAX_COUNTED_COMBINATIONS) return null;
  }
  return { members: fields, rows: [...counts].map(([values, count]) => [...JSON.parse(values), count]) };
}

/** Counts a file's records that have all these values from its contents; null where the file has to be read. */
export function readCount(text: string, values: LogFilter['values']): number | null {
  const filterEntries = Object.entries(values);
  const contents = JSON.parse(text) as Contents;
  const knownCounts = filterEntries.map(([field, value]) => {
    const content = contents[field];
    if (content === undefined) return null;
    if ('counts' in content) return Object.hasOwn(content.counts, value) ? (content.counts[value] as number) : 0;
    return mayContainValue(content.bloom, value) ? null : 0;
  });
  if (knownCounts.includes(0)) return 0;
  return knownCounts.length === 1
    ? (knownCounts[0] as number | null)
    : readCombinedCount(contents[COMBINATIONS_KEY], filterEntries);
}

function readCombinedCount(
  combinations: CombinationCounts | undefined,
  filterEntries: [field: string, value: string][],
): number | null {
  if (!combinations) return null;
  const { members, rows } = combinations;
  const fieldPositions = filterEntries.map(([field, value]) => [members.indexOf(field), value] as const);
  if (fieldPositions.some(([columnIndex]) => columnIndex === -1)) return null;
  return rows
    .filter((row) => fieldPositions.every(([columnIndex, value]) => row[columnIndex] === value))
    .reduce((sum, row) => sum + Number(row.at(-1)), 0);
}

function makeBloomFilter(values: readonly string[]): string {
  const bytes = new Uint8Array(Math.ceil((values.length * BITS_PER_VALUE) / 8));
  for (const value of values) {
    for (const bit of chooseBitPositions(value, bytes.length * 8))
      bytes[bit >> 3] = (bytes[bit >> 3] as number) | (1 << (bit & 7));
  }
  return bytes.toBase64();
}

function mayContainValue(bloomFilter: string, value: string): boolean {
  const bytes = Uint8Array.fromBase64(bloomFilter);
  return chooseBitPositions(value, bytes.length * 8).every((bit) => ((bytes[bit >> 3] as number) >> (bit & 7)) & 1);
}

/** Returns the bits that stand for a value: combinations of two hashes (FNV-1a, with two offset bases). */
function chooseBitPositions(value: string, bitCount: number): number[] {
  const [first, second] = [computeHash(value, 0x811c9dc5), computeHash(value, 0x9747b28c) | 1];
  return Array.from({ length: HASH_COUNT }, (_, n) => ((first + Math.imul(n, second)) >>> 0) % bitCount);
}

function computeHash(value: string, offsetBasis: number): number {
  let hash = offsetBasis;
  for (let at = 0; at < value.length; at += 1) hash = Math.imul(hash ^ value.charCodeAt(at), 0x01000193);
  hash ^= hash >>> 15;
  return Math.imul(hash, 0x2c1b3c6d) >>> 0;
}
