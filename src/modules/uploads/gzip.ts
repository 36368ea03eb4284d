import { GzipDamaged, gunzip } from '../../formats/gzip/unpack.ts';
import { type Segment, SegmentWriter, sumSegmentBytes } from '../../platform/segments.ts';
import { MAX_RATIO, MIN_RATIO_CHECK_BYTES } from './archive.ts';
import { packedFileDamaged, unpackedOverRatio, unpackedTooLarge } from './problems.ts';

/** The maximum number of bytes that a file may unpack to. */
const MAX_UNPACKED_BYTES = 5 * 1024 ** 3;

/** The packed file and the storage for its unpacked bytes. */
export interface GzipEnvironment {
  bucket: R2Bucket;
  newKey(): string;
  /** Opens a stream of the packed bytes. */
  stream(): ReadableStream<Uint8Array>;
  /** The approximate number of bytes that one call unpacks. */
  bytesPerCall: number;
}

/** The segments that are unpacked so far, and whether the file is complete. */
export interface UnpackedState {
  segments: Segment[];
  done: boolean;
}

/**
 * Continues unpacking a file, about `bytesPerCall` bytes of it. Earlier bytes are unpacked again and dropped: no state of an inflater
 * survives a message. @param size of the packed file @throws JobProblem for a file that is damaged, too large, or a zip bomb
 */
export async function continueUnpacking(
  { bucket, newKey, stream, bytesPerCall }: GzipEnvironment,
  { name, size }: { name: string; size: number },
  earlierSegments: Segment[],
  maxBytes = MAX_UNPACKED_BYTES,
): Promise<UnpackedState> {
  const output = new SegmentWriter(bucket, newKey);
  const knownBytes = sumSegmentBytes(earlierSegments);
  const listSegments = () => [...earlierSegments, ...output.segments];
  let length = 0;
  try {
    for await (const piece of gunzip(stream())) {
      const start = length;
      length += piece.length;
      if (length > maxBytes) throw unpackedTooLarge('GZIP', name);
      if (length > MIN_RATIO_CHECK_BYTES && length > size * MAX_RATIO) throw unpackedOverRatio('GZIP', name);
      if (length <= knownBytes) continue;
      await output.write(piece.subarray(Math.max(0, knownBytes - start)));
      if (length - knownBytes < bytesPerCall) continue;
      await output.flush();
      return { segments: listSegments(), done: false };
    }
  } catch (error) {
    throw error instanceof GzipDamaged ? packedFileDamaged('GZIP', name) : error;
  }
  await output.flush();
  return { segments: listSegments(), done: true };
}
