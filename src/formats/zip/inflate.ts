import { pipeline, Readable } from 'node:stream';
import type { createGunzip, createInflateRaw } from 'node:zlib';

/** Bytes of unpacked data passed on at a time. `DecompressionStream` passes on 4 KB, and takes three times as long. */
const PIECE_BYTES = 256 * 1024;

/** Unpacks bytes piece by piece. @throws Damaged where they are; an error of reading them is thrown as it is */
export async function* inflate(
  packed: ReadableStream<Uint8Array>,
  open: typeof createGunzip | typeof createInflateRaw,
  Damaged: new () => Error,
): AsyncGenerator<Uint8Array> {
  const unpacked = open({ chunkSize: PIECE_BYTES });
  // The callback gets no error that the loop does not get as well.
  pipeline(Readable.from(packed, { objectMode: false }), unpacked, () => {});
  try {
    yield* unpacked;
  } catch (error) {
    throw String((error as { code?: string }).code).startsWith('Z_') ? new Damaged() : error;
  }
}
