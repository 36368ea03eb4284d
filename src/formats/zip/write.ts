import { concatBytes, dataView } from '../../kernel/bytes.ts';

/**
 * The records of a zip file (PKWARE's APPNOTE 6.3) that stand before, between and after what the entries hold. Libraries write
 * a file in one go: this one is written by several invocations, and what is known of the entries by then is kept in between.
 */

/** An entry as the directory names it. */
export interface WrittenEntry {
  /** The parts of its path with `/` between them; unpacked, it stays beneath the folder: see `pathPart`. */
  path: string;
  isDeflated: boolean;
  crc: number;
  /** Bytes in the file, and unpacked: below 4 GiB. */
  compressed: number;
  size: number;
  /** The offset of its local header. */
  offset: number;
}

/** The largest entry, with what its last bytes may take besides. */
export const MAX_ENTRY_BYTES = 0xffff_ffff;

const LOCAL_SIGNATURE = 0x04034b50;
const DESCRIPTOR_SIGNATURE = 0x08074b50;
const ENTRY_SIGNATURE = 0x02014b50;
const END_SIGNATURE = 0x06054b50;
const END64_SIGNATURE = 0x06064b50;
const END64_LOCATOR = 0x07064b50;
const END64_BYTES = 56;
const IN_EXTRA = 0xffff_ffff;
const COUNT_IN_EXTRA = 0xffff;
/** Sizes and checksum come after the data; the name is UTF-8. */
const FLAGS = 0x0808;
const [VERSION, VERSION_64] = [20, 45];
/** 1980-01-01, the first day there is: the manifest tells when entries were packed. */
const NO_DATE = 0x21;

type Field = readonly [bytes: 2 | 4 | 8, value: number];

function record(...fields: Field[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(fields.reduce((sum, [length]) => sum + length, 0));
  const view = dataView(bytes);
  let at = 0;
  for (const [length, value] of fields) {
    if (length === 2) view.setUint16(at, value, true);
    else if (length === 4) view.setUint32(at, value, true);
    else view.setBigUint64(at, BigInt(value), true);
    at += length;
  }
  return bytes;
}

/** The bytes before the data of an entry. */
export function localHeader({ path, isDeflated }: Pick<WrittenEntry, 'path' | 'isDeflated'>): Uint8Array<ArrayBuffer> {
  const name = new TextEncoder().encode(path);
  const head = record(
    [4, LOCAL_SIGNATURE],
    [2, VERSION],
    [2, FLAGS],
    [2, isDeflated ? 8 : 0],
    [4, NO_DATE << 16],
    ...([0, 0, 0].map((none) => [4, none]) as Field[]),
    [2, name.length],
    [2, 0],
  );
  return concatBytes([head, name]);
}

/** The bytes after the data of an entry. */
export function makeDescriptor({ crc, compressed, size }: WrittenEntry): Uint8Array<ArrayBuffer> {
  if (compressed > MAX_ENTRY_BYTES || size > MAX_ENTRY_BYTES) throw new Error('an entry is too large');
  return record([4, DESCRIPTOR_SIGNATURE], [4, crc], [4, compressed], [4, size]);
}

/** The line of the directory about an entry. */
function makeDirectoryLine({ path, isDeflated, crc, compressed, size, offset }: WrittenEntry): Uint8Array<ArrayBuffer> {
  const name = new TextEncoder().encode(path);
  const isFar = offset >= IN_EXTRA;
  const extra = isFar ? record([2, 1], [2, 8], [8, offset]) : new Uint8Array();
  const head = record(
    [4, ENTRY_SIGNATURE],
    [2, VERSION],
    [2, isFar ? VERSION_64 : VERSION],
    [2, FLAGS],
    [2, isDeflated ? 8 : 0],
    [4, NO_DATE << 16],
    [4, crc],
    [4, compressed],
    [4, size],
    [2, name.length],
    [2, extra.length],
    ...([0, 0, 0].map((none) => [2, none]) as Field[]),
    [4, 0],
    [4, isFar ? IN_EXTRA : offset],
  );
  return concatBytes([head, name, extra]);
}

/** Entries whose lines are made together. */
const LINES_PER_BATCH = 1_000;

/** The end of a zip file: its directory, some lines at a time. @param start where it begins */
export function* writeDirectory(entries: readonly WrittenEntry[], start: number): Generator<Uint8Array<ArrayBuffer>> {
  let length = 0;
  for (let at = 0; at < entries.length; at += LINES_PER_BATCH) {
    const lines = concatBytes(entries.slice(at, at + LINES_PER_BATCH).map(makeDirectoryLine));
    length += lines.length;
    yield lines;
  }
  const count = entries.length;
  if (count >= COUNT_IN_EXTRA || start + length >= IN_EXTRA) {
    yield record(
      [4, END64_SIGNATURE],
      [8, END64_BYTES - 12],
      [2, VERSION_64],
      [2, VERSION_64],
      [4, 0],
      [4, 0],
      [8, count],
      [8, count],
      [8, length],
      [8, start],
      [4, END64_LOCATOR],
      [4, 0],
      [8, start + length],
      [4, 1],
    );
  }
  const counted = Math.min(count, COUNT_IN_EXTRA);
  yield record(
    [4, END_SIGNATURE],
    [2, 0],
    [2, 0],
    [2, counted],
    [2, counted],
    [4, Math.min(length, IN_EXTRA)],
    [4, Math.min(start, IN_EXTRA)],
    [2, 0],
  );
}

const MAX_PART = 150;

/** A name as one part of a path: characters with a meaning in file systems, and outer points, are percent-encoded. */
export function pathPart(name: string): string {
  const encoded = [...name.toWellFormed()]
    .slice(0, MAX_PART)
    .join('')
    .replace(/[\p{Cc}\p{Cf}\\/:*?"<>|%]|^[. ]|[. ]$/gu, (sign) => encodeURIComponent(sign).replace(/^[. *]$/, hex));
  return encoded || '%00';
}

const hex = (sign: string): string => `%${(sign.codePointAt(0) as number).toString(16).padStart(2, '0').toUpperCase()}`;
