import { concatBytes } from '../kernel/bytes.ts';

/** Reads a stream up to `limit` bytes; null if it is longer: it is cancelled then, unless `leavesRest`. */
export async function readBounded(
  stream: ReadableStream<Uint8Array> | null,
  limit: number,
  { leavesRest = false } = {},
): Promise<Uint8Array<ArrayBuffer> | null> {
  if (stream === null) return new Uint8Array();
  const reader = stream.getReader();
  const chunks: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    length += value.length;
    if (length > limit) {
      if (leavesRest) reader.releaseLock();
      else await reader.cancel();
      return null;
    }
    chunks.push(value);
  }
  return concatBytes(chunks);
}

/** Reads all of a stream that our own code wrote, which is bounded already. */
export const readAll = (stream: ReadableStream<Uint8Array>): Promise<Uint8Array<ArrayBuffer>> =>
  new Response(stream).bytes() as Promise<Uint8Array<ArrayBuffer>>;

/** Reads the whole text of a body of our own, which may be a stream. */
export const readText = (body: BodyInit | null): Promise<string> => new Response(body).text();
