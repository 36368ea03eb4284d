import { crc32, createInflateRaw } from 'node:zlib';
import { findDataOffset, type ReadRange, ZipDamaged, type ZipEntry } from './directory.ts';
import { inflate } from './inflate.ts';

/** Source of a zip file's bytes. */
export interface ZipSource {
  read: ReadRange;
  /** Opens a stream of `length` bytes from `offset` on. */
  stream(offset: number, length: number): ReadableStream<Uint8Array>;
}

/** Opens a zip file in memory. */
export const createZipSource = (bytes: Uint8Array): ZipSource => ({
  read: async (offset, length) => bytes.subarray(offset, offset + length),
  stream: (offset, length) => new Blob([bytes.slice(offset, offset + length)]).stream() as ReadableStream<Uint8Array>,
});

const STORED_METHOD = 0;

/** Passes an entry's bytes to `takePiece` and checks size and checksum. @throws ZipDamaged as soon as they differ */
export async function unpackZipEntry(
  zip: ZipSource,
  entry: ZipEntry,
  takePiece: (bytes: Uint8Array) => void | Promise<void>,
): Promise<void> {
  const packedStream = zip.stream(await findDataOffset(zip.read, entry), entry.compressed);
  let size = 0;
  let crc = 0;
  for await (const bytes of entry.method === STORED_METHOD
    ? packedStream
    : inflate(packedStream, createInflateRaw, ZipDamaged)) {
    size += bytes.length;
    if (size > entry.size) throw new ZipDamaged();
    crc = crc32(bytes, crc);
    await takePiece(bytes);
  }
  if (size !== entry.size || crc >>> 0 !== entry.crc) throw new ZipDamaged();
}

/** Unpacks a small entry as a whole. @throws ZipDamaged, also when it is larger than `limit` */
export async function unpackWhole(zip: ZipSource, entry: ZipEntry, limit: number): Promise<Uint8Array> {
  if (entry.size > limit) throw new ZipDamaged();
  const wholeBytes = new Uint8Array(entry.size);
  let at = 0;
  await unpackZipEntry(zip, entry, (bytes) => {
    wholeBytes.set(bytes, at);
    at += bytes.length;
  });
  return wholeBytes;
}
