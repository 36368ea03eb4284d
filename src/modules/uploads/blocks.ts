import type { Config } from '../../config.ts';
import { readSegments } from '../../platform/segments.ts';
import type { Source } from './job.ts';
import { fileMissing } from './problems.ts';

/** The size of a block, which is read, processed and saved at a time: COPY by blocks is as fast as of the whole text. */
const BLOCK_BYTES = 4 * 1024 * 1024;

/** Returns the usual size of a block: not more than one message may process. */
export const getBlockBytes = ({ UPLOAD_MESSAGE_BYTES }: Config): number => Math.min(BLOCK_BYTES, UPLOAD_MESSAGE_BYTES);

/**
 * Reads `size` bytes of a text from `offset` on; fewer where the text ends. @returns them, and whether the text ends with them
 * @throws JobProblem when the text no longer exists
 */
export async function readBlock(
  bucket: R2Bucket,
  { name, segments, size_bytes: total }: Source,
  offset: number,
  size: number,
): Promise<{ bytes: Uint8Array; isLast: boolean }> {
  const length = Math.min(size, total - offset);
  if (length <= 0) return { bytes: new Uint8Array(), isLast: true };
  const bytes = await readSegments(bucket, segments, offset, length);
  if (!bytes) throw fileMissing(name);
  return { bytes, isLast: offset + length >= total };
}
