import { crc32 } from 'node:zlib';
import { dataOffset, type ReadRange, ZipDamaged, type ZipEntry } from './directory.ts';

/** Where a zip file's bytes come from. */
export interface ZipSource {
  read: ReadRange;
  /** A stream of `length` bytes from `offset` on. */
  stream(offset: number, length: number): ReadableStream<Uint8Array>;
}

const STORED = 0;

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
  const reader = (entry.method === STORED ? packed : packed.pipeThrough(inflation())).getReader();
  let size = 0;
  let crc = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read().catch(() => {
        throw new ZipDamaged();
      });
      if (done) break;
      size += value.length;
      if (size > entry.size) throw new ZipDamaged();
      crc = crc32(value, crc);
      await take(value);
    }
  } finally {
    await reader.cancel().catch(() => undefined);
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

const inflation = () => new DecompressionStream('deflate-raw') as ReadableWritablePair<Uint8Array, Uint8Array>;
