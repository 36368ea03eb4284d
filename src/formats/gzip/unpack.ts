import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';

/** The file is damaged, incomplete, or no gzip file. */
export class GzipDamaged extends Error {}

/** Bytes of unpacked data passed on at a time. */
const PIECE_BYTES = 256 * 1024;

/** Whether the bytes begin a gzip file. */
export const isGzip = (head: Uint8Array): boolean => head[0] === 0x1f && head[1] === 0x8b;

/**
 * The unpacked bytes of all members of a gzip file, piece by piece, checked against their checksums.
 * @throws GzipDamaged; an error while the packed bytes are read is thrown as it is
 */
export async function* gunzip(packed: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const unpacked = createGunzip({ chunkSize: PIECE_BYTES });
  // The callback gets no error that the loop does not get as well.
  pipeline(Readable.from(packed, { objectMode: false }), unpacked, () => {});
  try {
    yield* unpacked;
  } catch (error) {
    throw String((error as { code?: string }).code).startsWith('Z_') ? new GzipDamaged() : error;
  }
}
