import { pipeline, Readable } from 'node:stream';
import { crc32, createInflateRaw } from 'node:zlib';
import { dataOffset, type ReadRange, ZipDamaged, type ZipEntry } from './directory.ts';

/** Where a zip file's bytes come from. */
export interface ZipSource {
  read: ReadRange;
  /** A stream of `length` bytes from `offset` on. */
  stream(offset: number, length: number): ReadableStream<Uint8Array>;
}

/** A zip file that lies in memory. */
export const zipOf = (bytes: Uint8Array): ZipSource => ({
  read: async (offset, length) => bytes.subarray(offset, offset + length),
  stream: (offset, length) => new Blob([bytes.slice(offset, offset + length)]).stream() as ReadableStream<Uint8Array>,
});

const STORED = 0;
/** Unpacked bytes that are handed on at a time. `DecompressionStream` gives 4 KB, and takes three times as long. */
const PIECE_BYTES = 256 * 1024;

/**
 * Hands the unpacked bytes of an entry to `take`, piece by piece, and holds the entry to the size and checksum that the
 * archive claims.
 * @throws ZipDamaged when they differ, as soon as they do
 */
export async function unpack(
  zip: ZipSource,
  entry: ZipEntry,
  take: (bytes: Uint8Array) => void | Promise<void>,
): Promise<void> {
  const packed = zip.stream(await dataOffset(zip.read, entry), entry.compressed);
  let size = 0;
  let crc = 0;
  for await (const bytes of entry.method === STORED ? packed : inflated(packed)) {
    size += bytes.length;
    if (size > entry.size) throw new ZipDamaged();
    crc = crc32(bytes, crc);
    await take(bytes);
  }
  if (size !== entry.size || crc >>> 0 !== entry.crc) throw new ZipDamaged();
}

/** An entry that is small, as a whole. @throws ZipDamaged, also when it is larger than `limit` */
export async function unpackWhole(zip: ZipSource, entry: ZipEntry, limit: number): Promise<Uint8Array> {
  if (entry.size > limit) throw new ZipDamaged();
  const whole = new Uint8Array(entry.size);
  let at = 0;
  await unpack(zip, entry, (bytes) => {
    whole.set(bytes, at);
    at += bytes.length;
  });
  return whole;
}

/** What is wrong with the packed bytes is damage; what goes wrong on the way to them is not. */
async function* inflated(packed: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const inflate = createInflateRaw({ chunkSize: PIECE_BYTES });
  // Its callback hears of no failure that the loop does not hear of, too.
  pipeline(Readable.from(packed, { objectMode: false }), inflate, () => {});
  try {
    yield* inflate;
  } catch (error) {
    throw String((error as { code?: string }).code).startsWith('Z_') ? new ZipDamaged() : error;
  }
}
