import { createDataView } from '../../kernel/bytes.ts';

/**
 * Reads the central directory of a zip file (PKWARE's APPNOTE 6.3) from the file's end, with ranged reads. A streaming
 * reader would not do: local headers may omit sizes, and may belong to entries that were deleted.
 */

/** Entry of a zip file, as the file itself describes it. */
export interface ZipEntry {
  /** Whole path, with `/` between its parts. */
  name: string;
  /** Compression method: 0 stored, 8 deflated; others are rare. */
  method: number;
  /** True if the data are encrypted. */
  encrypted: boolean;
  /** Number of packed bytes in the file. */
  compressed: number;
  /** Number of unpacked bytes. */
  size: number;
  /** CRC-32 checksum of the unpacked bytes. */
  crc: number;
  /** Offset of its local header, which precedes its data. */
  header: number;
}

/** Function that reads `length` bytes from `offset` on; fewer if the file ends. */
export type ReadRange = (offset: number, length: number) => Promise<Uint8Array>;

/** Error thrown when the bytes are not a zip file, or one that is cut off or damaged. */
export class ZipDamaged extends Error {}
/** Error thrown when the directory is larger than that of any ordinary file. */
export class ZipTooLarge extends Error {}

const END_SIGNATURE = 0x06054b50;
const END_BYTES = 22;
const MAX_COMMENT_BYTES = 65_535;
const ZIP64_LOCATOR_SIGNATURE = 0x07064b50;
const ZIP64_END_SIGNATURE = 0x06064b50;
const ZIP64_END_BYTES = 56;
const ENTRY_SIGNATURE = 0x02014b50;
const ENTRY_BYTES = 46;
const LOCAL_HEADER_SIGNATURE = 0x04034b50;
const LOCAL_HEADER_BYTES = 30;
/** Value which means that the number is in the entry's extra field. */
const ZIP64_MARKER = 0xffffffff;
const ZIP64_EXTRA_ID = 0x0001;
const MAX_DIRECTORY_BYTES = 8 * 1024 * 1024;

/** Reads the entries of a zip file, in the order of its directory. @throws ZipDamaged, ZipTooLarge */
export async function readDirectory(read: ReadRange, size: number): Promise<ZipEntry[]> {
  const { offset, length, count } = await findDirectory(read, size);
  if (length > MAX_DIRECTORY_BYTES) throw new ZipTooLarge();
  const bytes = await read(offset, length);
  if (bytes.length !== length) throw new ZipDamaged();
  const entries: ZipEntry[] = [];
  const view = createDataView(bytes);
  for (let at = 0; entries.length < count; ) {
    if (at + ENTRY_BYTES > length || view.getUint32(at, true) !== ENTRY_SIGNATURE) throw new ZipDamaged();
    const nameEnd = at + ENTRY_BYTES + view.getUint16(at + 28, true);
    const extraEnd = nameEnd + view.getUint16(at + 30, true);
    const end = extraEnd + view.getUint16(at + 32, true);
    if (end > length) throw new ZipDamaged();
    const entry = readEntry(view, at, bytes.subarray(at + ENTRY_BYTES, nameEnd), bytes.subarray(nameEnd, extraEnd));
    if (entry.header + LOCAL_HEADER_BYTES + entry.compressed > size) throw new ZipDamaged();
    entries.push(entry);
    at = end;
  }
  return entries;
}

/** Finds the offset at which an entry's data begin. @throws ZipDamaged */
export async function findDataOffset(read: ReadRange, entry: ZipEntry): Promise<number> {
  const bytes = await read(entry.header, LOCAL_HEADER_BYTES);
  if (bytes.length < LOCAL_HEADER_BYTES) throw new ZipDamaged();
  const view = createDataView(bytes);
  if (view.getUint32(0, true) !== LOCAL_HEADER_SIGNATURE) throw new ZipDamaged();
  return entry.header + LOCAL_HEADER_BYTES + view.getUint16(26, true) + view.getUint16(28, true);
}

/** Finds the end record, which a comment may follow; in larger files another record precedes it. */
async function findDirectory(read: ReadRange, size: number) {
  const from = Math.max(0, size - END_BYTES - MAX_COMMENT_BYTES);
  const tail = await read(from, size - from);
  const view = createDataView(tail);
  for (let at = tail.length - END_BYTES; at >= 0; at--) {
    if (view.getUint32(at, true) !== END_SIGNATURE) continue;
    if (at + END_BYTES + view.getUint16(at + 20, true) !== tail.length) continue;
    const count = view.getUint16(at + 10, true);
    const length = view.getUint32(at + 12, true);
    const offset = view.getUint32(at + 16, true);
    if (count !== 0xffff && length !== ZIP64_MARKER && offset !== ZIP64_MARKER) return { offset, length, count };
    return findZip64Directory(read, from + at);
  }
  throw new ZipDamaged();
}

async function findZip64Directory(read: ReadRange, end: number) {
  const locator = createDataView(await read(Math.max(0, end - 20), 20));
  if (locator.byteLength < 20 || locator.getUint32(0, true) !== ZIP64_LOCATOR_SIGNATURE) throw new ZipDamaged();
  const record = createDataView(await read(readNumber64(locator, 8), ZIP64_END_BYTES));
  if (record.byteLength < ZIP64_END_BYTES || record.getUint32(0, true) !== ZIP64_END_SIGNATURE) throw new ZipDamaged();
  return { count: readNumber64(record, 32), length: readNumber64(record, 40), offset: readNumber64(record, 48) };
}

function readEntry(view: DataView, at: number, name: Uint8Array, extra: Uint8Array): ZipEntry {
  const flags = view.getUint16(at + 8, true);
  const [size, compressed, header] = readExtendedNumbers(extra, [
    view.getUint32(at + 24, true),
    view.getUint32(at + 20, true),
    view.getUint32(at + 42, true),
  ]);
  return {
    name: decodeName(name),
    method: view.getUint16(at + 10, true),
    encrypted: (flags & 0x41) !== 0,
    compressed,
    size,
    crc: view.getUint32(at + 16, true),
    header,
  };
}

/** Replaces numbers by those in the extra field, which has only the numbers to be replaced, in the order of `numbers`. */
function readExtendedNumbers(extra: Uint8Array, numbers: [number, number, number]): [number, number, number] {
  const view = createDataView(extra);
  for (let at = 0; at + 4 <= extra.length; ) {
    const end = at + 4 + view.getUint16(at + 2, true);
    if (view.getUint16(at, true) === ZIP64_EXTRA_ID && end <= extra.length) {
      let field = at + 4;
      return numbers.map((number) => {
        if (number !== ZIP64_MARKER || field + 8 > end) return number;
        field += 8;
        return readNumber64(view, field - 8);
      }) as [number, number, number];
    }
    at = end;
  }
  return numbers;
}

/** Reads a number of 64 bits. @throws ZipDamaged for numbers beyond 2^53 */
function readNumber64(view: DataView, at: number): number {
  const number = Number(view.getBigUint64(at, true));
  if (!Number.isSafeInteger(number)) throw new ZipDamaged();
  return number;
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false });
const latin1Decoder = new TextDecoder('latin1');

/** Decodes a name, nearly always UTF-8, whether flagged or not. */
function decodeName(bytes: Uint8Array): string {
  let name: string;
  try {
    name = utf8.decode(bytes);
  } catch {
    name = latin1Decoder.decode(bytes);
  }
  return name.replaceAll('\\', '/');
}
