import type { ZipSource } from './unpack.ts';

/** A zip file that lies in memory. */
export const zipOf = (bytes: Uint8Array): ZipSource => ({
  read: async (offset, length) => bytes.subarray(offset, offset + length),
  stream: (offset, length) => new Blob([bytes.slice(offset, offset + length)]).stream() as ReadableStream<Uint8Array>,
});
