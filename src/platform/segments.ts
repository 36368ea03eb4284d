import { concatBytes } from '../kernel/bytes.ts';
/** A piece of a file, or of a text made for a job: each is an R2 object, so that the work can stop after any of them. */
export interface Segment {
  /** The segment's key in R2. */
  key: string;
  /** The number of the segment's bytes. */
  bytes: number;
}

/** The size of one object; this much is held in memory while it is written. */
const SEGMENT_BYTES = 8 * 1024 * 1024;

/** A writer of bytes to objects of R2, each under a new key of `newKey`. */
export class SegmentWriter {
  readonly segments: Segment[] = [];
  readonly #bucket: R2Bucket;
  readonly #newKey: () => string;
  readonly #buffer = new Uint8Array(SEGMENT_BYTES);
  #length = 0;

  constructor(bucket: R2Bucket, newKey: () => string) {
    this.#bucket = bucket;
    this.#newKey = newKey;
  }

  /** Writes bytes, which are copied, so that the caller may change them afterwards. */
  async write(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length; ) {
      const copiedBytes = Math.min(SEGMENT_BYTES - this.#length, bytes.length - at);
      this.#buffer.set(bytes.subarray(at, at + copiedBytes), this.#length);
      this.#length += copiedBytes;
      at += copiedBytes;
      if (this.#length === SEGMENT_BYTES) await this.flush();
    }
  }

  /** Writes the buffered bytes; must be called at the end. */
  async flush(): Promise<void> {
    if (this.#length === 0) return;
    const key = this.#newKey();
    await this.#bucket.put(key, this.#buffer.subarray(0, this.#length));
    this.segments.push({ key, bytes: this.#length });
    this.#length = 0;
  }
}

/** Reads `length` bytes from `offset` on, across consecutive segments; fewer at the end, null when an object does not exist. */
export async function readSegments(
  bucket: R2Bucket,
  segments: Segment[],
  offset: number,
  length: number,
): Promise<Uint8Array | null> {
  const reads: Promise<Uint8Array | null>[] = [];
  let start = 0;
  for (const { key, bytes } of segments) {
    const from = Math.max(offset, start);
    const to = Math.min(offset + length, start + bytes);
    if (from < to) reads.push(readRange(bucket, key, from - start, to - from));
    start += bytes;
  }
  const pieces = await Promise.all(reads);
  return pieces.every((piece) => piece !== null) ? joinPieces(pieces) : null;
}

async function readRange(bucket: R2Bucket, key: string, offset: number, length: number): Promise<Uint8Array | null> {
  const object = await bucket.get(key, { range: { offset, length } });
  return object && new Uint8Array(await object.arrayBuffer());
}

function joinPieces(pieces: Uint8Array[]): Uint8Array {
  const [only] = pieces;
  return only && pieces.length === 1 ? only : concatBytes(pieces);
}

/** Sums the sizes of all segments. */
export const sumSegmentBytes = (segments: Segment[]): number => segments.reduce((sum, { bytes }) => sum + bytes, 0);
