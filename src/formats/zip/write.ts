import { concatBytes, createDataView } from '../../kernel/bytes.ts';

/**
 * Makes the records of a zip file (PKWARE's APPNOTE 6.3) before, between and after the entries' data. Libraries write a file in
 * one go: this one is written by several invocations, and the known facts of the entries are stored between them.
 */

/** Entry as the directory names it. */
export interface WrittenEntry {
  /**
   * Path of the entry with `/` between its parts; the unpacked file stays beneath the target folder: see
   * `makePathPart`.
   */
  path: string;
  isDeflated: boolean;
  crc: number;
  /** Number of packed bytes in the file, below 4 GiB. */
  compressed: number;
  /** Number of unpacked bytes, below 4 GiB. */
  size: number;
  /** Offset of its local header. */
  offset: number;
}

/** Maximum size of an entry, with space for its last bytes. */
export const MAX_ENTRY_BYTES = 0xffff_ffff;

const LOCAL_HEADER_SIGNATURE = 0x04034b50;
const DESCRIPTOR_SIGNATURE = 0x08074b50;
const ENTRY_SIGNATURE = 0x02014b50;
const END_SIGNATURE = 0x06054b50;
const ZIP64_END_SIGNATURE = 0x06064b50;
const ZIP64_LOCATOR_SIGNATURE = 0x07064b50;
const ZIP64_END_BYTES = 56;
const ZIP64_MARKER = 0xffff_ffff;
const ZIP64_COUNT_MARKER = 0xffff;
/** Flags of an entry: sizes and checksum follow the data; the name is UTF-8. */
const ENTRY_FLAGS = 0x0808;
const [VERSION, VERSION_64] = [20, 45];
/** Date of all entries, 1980-01-01, the earliest possible: the manifest states when entries were packed. */
const EARLIEST_DATE = 0x21;

type RecordField = readonly [bytes: 2 | 4 | 8, value: number];

function makeRecord(...fields: RecordField[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(fields.reduce((sum, [length]) => sum + length, 0));
  const view = createDataView(bytes);
  let at = 0;
  for (const [length, value] of fields) {
    if (length === 2) view.setUint16(at, value, true);
    else if (length === 4) view.setUint32(at, value, true);
    else view.setBigUint64(at, BigInt(value), true);
    at += length;
  }
  return bytes;
}

/** Makes the bytes before the data of an entry. */
export function makeLocalHeader(entry: Pick<WrittenEntry, 'path' | 'isDeflated'>): Uint8Array<ArrayBuffer> {
  const name = new TextEncoder().encode(entry.path);
  const head = makeRecord(
    [4, LOCAL_HEADER_SIGNATURE],
    [2, VERSION],
    [2, ENTRY_FLAGS],
    [2, entry.isDeflated ? 8 : 0],
    [4, EARLIEST_DATE << 16],
    ...([0, 0, 0].map((zero) => [4, zero]) as RecordField[]),
    [2, name.length],
    [2, 0],
  );
  return concatBytes([head, name]);
}

/** Makes the bytes after the data of an entry. */
export function makeDescriptor({ crc, compressed, size }: WrittenEntry): Uint8Array<ArrayBuffer> {
  if (compressed > MAX_ENTRY_BYTES || size > MAX_ENTRY_BYTES) throw new Error('an entry is too large');
  return makeRecord([4, DESCRIPTOR_SIGNATURE], [4, crc], [4, compressed], [4, size]);
}

/** Makes the record of an entry in the directory. */
function makeDirectoryRecord(entry: WrittenEntry): Uint8Array<ArrayBuffer> {
  const { offset } = entry;
  const name = new TextEncoder().encode(entry.path);
  const isOffsetExtended = offset >= ZIP64_MARKER;
  const extra = isOffsetExtended ? makeRecord([2, 1], [2, 8], [8, offset]) : new Uint8Array();
  const head = makeRecord(
    [4, ENTRY_SIGNATURE],
    [2, VERSION],
    [2, isOffsetExtended ? VERSION_64 : VERSION],
    [2, ENTRY_FLAGS],
    [2, entry.isDeflated ? 8 : 0],
    [4, EARLIEST_DATE << 16],
    [4, entry.crc],
    [4, entry.compressed],
    [4, entry.size],
    [2, name.length],
    [2, extra.length],
    ...([0, 0, 0].map((zero) => [2, zero]) as RecordField[]),
    [4, 0],
    [4, isOffsetExtended ? ZIP64_MARKER : offset],
  );
  return concatBytes([head, name, extra]);
}

/** Number of entries whose directory records are made together. */
const RECORDS_PER_BATCH = 1_000;

/**
 * Writes the end of a zip file: its directory, some records at a time.
 * @param start the offset at which the directory begins
 */
export function* writeDirectory(entries: readonly WrittenEntry[], start: number): Generator<Uint8Array<ArrayBuffer>> {
  let length = 0;
  for (let at = 0; at < entries.length; at += RECORDS_PER_BATCH) {
    const lines = concatBytes(entries.slice(at, at + RECORDS_PER_BATCH).map(makeDirectoryRecord));
    length += lines.length;
    yield lines;
  }
  const count = entries.length;
  if (count >= ZIP64_COUNT_MARKER || start + length >= ZIP64_MARKER) {
    yield makeRecord(
      [4, ZIP64_END_SIGNATURE],
      [8, ZIP64_END_BYTES - 12],
      [2, VERSION_64],
      [2, VERSION_64],
      [4, 0],
      [4, 0],
      [8, count],
      [8, count],
      [8, length],
      [8, start],
      [4, ZIP64_LOCATOR_SIGNATURE],
      [4, 0],
      [8, start + length],
      [4, 1],
    );
  }
  const storedCount = Math.min(count, ZIP64_COUNT_MARKER);
  yield makeRecord(
    [4, END_SIGNATURE],
    [2, 0],
    [2, 0],
    [2, storedCount],
    [2, storedCount],
    [4, Math.min(length, ZIP64_MARKER)],
    [4, Math.min(start, ZIP64_MARKER)],
    [2, 0],
  );
}

const MAX_PART_LENGTH = 150;

/** Makes one part of a path from a name: characters with a meaning in file systems, and outer points, are percent-encoded. */
export function makePathPart(name: string): string {
  const encodedCharacters = [...name.toWellFormed()]
    .slice(0, MAX_PART_LENGTH)
    .join('')
    .replace(/[\p{Cc}\p{Cf}\\/:*?"<>|%]|^[. ]|[. ]$/gu, (character) =>
      encodeURIComponent(character).replace(/^[. *]$/, encodeCharacter),
    );
  return encodedCharacters || '%00';
}

const encodeCharacter = (character: string): string =>
  `%${(character.codePointAt(0) as number).toString(16).padStart(2, '0').toUpperCase()}`;
