import { GzipDamaged, gunzip } from '../../formats/gzip/unpack.ts';
import { bytesIn, type Segment, SegmentWriter } from '../../platform/segments.ts';
import { MAX_RATIO, RATIO_FROM_BYTES } from './archive.ts';
import { gzipDamaged, gzipOverRatio, gzipTooLarge, JobProblem } from './problems.ts';

/** The maximum number of bytes that a file may unpack to. */
const MAX_BYTES = 5 * 1024 ** 3;

/** The packed file and the storage for its unpacked bytes. */
export interface GzipEnvironment {
  bucket: R2Bucket;
  newKey(): string;
  /** The packed bytes. */
  stream(): ReadableStream<Uint8Array>;
  /** The number of bytes that one call unpacks, about. */
  budget: number;
}

/** The bytes that are unpacked so far. */
export interface UnpackedState {
  segments: Segment[];
  done: boolean;
}

/**
 * Continues unpacking a file, about `budget` bytes of it. Earlier bytes are unpacked again and dropped: no state of an
 * inflater survives a message.
 * @param size of the packed file
 * @throws JobProblem for one that is damaged, too large, or a bomb
 */
export async function continueUnpacking(
  { bucket, newKey, stream, budget }: GzipEnvironment,
  { name, size }: { name: string; size: number },
  before: Segment[],
  most = MAX_BYTES,
): Promise<UnpackedState> {
  const output = new SegmentWriter(bucket, newKey);
  const known = bytesIn(before);
  const all = () => [...before, ...output.segments];
  let length = 0;
  try {
    for await (const piece of gunzip(stream())) {
      const start = length;
      length += piece.length;
      if (length > most) throw new JobProblem(gzipTooLarge(name));
      if (length > RATIO_FROM_BYTES && length > size * MAX_RATIO) throw new JobProblem(gzipOverRatio(name));
      if (length <= known) continue;
      await output.write(piece.subarray(Math.max(0, known - start)));
      if (length - known < budget) continue;
      await output.flush();
      return { segments: all(), done: false };
    }
  } catch (error) {
    throw error instanceof GzipDamaged ? new JobProblem(gzipDamaged(name)) : error;
  }
  await output.flush();
  return { segments: all(), done: true };
}
