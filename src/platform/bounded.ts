import { concatBytes } from '../kernel/bytes.ts';

/** Reads a stream up to `limit` bytes, or null. @param options `leavesRest` of a longer one: else it is cancelled */
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

/** All of a stream that ours wrote, which has its bounds already. */
export const readAll = (stream: ReadableStream<Uint8Array>): Promise<Uint8Array<ArrayBuffer>> =>
  new Response(stream).bytes() as Promise<Uint8Array<ArrayBuffer>>;

/** The whole text of a body of ours, which may come as a stream. */
export const readText = (body: BodyInit | null): Promise<string> => new Response(body).text();
