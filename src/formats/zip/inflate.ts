import { pipeline, Readable } from 'node:stream';
import type { createGunzip, createInflateRaw } from 'node:zlib';

/** Number of unpacked bytes passed on at a time. `DecompressionStream` passes on 4 KB, and takes three times as long. */
const PIECE_BYTES = 256 * 1024;

/** Unpacks bytes piece by piece. @throws DamagedError if the bytes are damaged; errors of reading them unchanged */
export async function* inflate(
  packedStream: ReadableStream<Uint8Array>,
  createUnpacker: typeof createGunzip | typeof createInflateRaw,
  DamagedError: new () => Error,
): AsyncGenerator<Uint8Array> {
  const unpacker = createUnpacker({ chunkSize: PIECE_BYTES });
  // The callback gets no error that the loop does not get as well.
  pipeline(Readable.from(packedStream, { objectMode: false }), unpacker, () => {});
  try {
    yield* unpacker;
  } catch (error) {
    throw String((error as { code?: string }).code).startsWith('Z_') ? new DamagedError() : error;
  }
}
