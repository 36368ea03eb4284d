import { concatBytes } from '../kernel/bytes.ts';
/** A piece of a file, or of a text made for a job: each is an object, so that the work can stop after any of them. */
export interface Segment {
  /** The segment's key in R2. */
  key: string;
  bytes: number;
}

/** The size of one object; so much is held in memory while it is written. */
const SEGMENT_BYTES = 8 * 1024 * 1024;

/** Writes a stream of bytes as objects of R2, each under a new key of `newKey`. */
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

  /** Copies the bytes: they may be changed afterwards. */
  async write(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length; ) {
      const room = Math.min(SEGMENT_BYTES - this.#length, bytes.length - at);
      this.#buffer.set(bytes.subarray(at, at + room), this.#length);
      this.#length += room;
      at += room;
      if (this.#length === SEGMENT_BYTES) await this.flush();
    }
  }

  /** Writes the buffered bytes; to be called at the end. */
  async flush(): Promise<void> {
    if (this.#length === 0) return;
    const key = this.#newKey();
    await this.#bucket.put(key, this.#buffer.subarray(0, this.#length));
    this.segments.push({ key, bytes: this.#length });
    this.#length = 0;
  }
}

/** Reads `length` bytes from `offset` on, of segments in a row; fewer at the end, null when an object is gone. */
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
  return pieces.every((piece) => piece !== null) ? joined(pieces) : null;
}

async function readRange(bucket: R2Bucket, key: string, offset: number, length: number): Promise<Uint8Array | null> {
  const object = await bucket.get(key, { range: { offset, length } });
  return object && new Uint8Array(await object.arrayBuffer());
}

function joined(pieces: Uint8Array[]): Uint8Array {
  const [only] = pieces;
  return only && pieces.length === 1 ? only : concatBytes(pieces);
}

/** The size of all segments together. */
export const bytesIn = (segments: Segment[]): number => segments.reduce((sum, { bytes }) => sum + bytes, 0);
