import type { Config } from '../../config.ts';
import type { Source } from './job.ts';
import { fileMissing, JobProblem } from './problems.ts';
import { readSegments } from './segments.ts';

/** How much of a text is read, worked on and recorded at a time. One COPY of so much is as fast as a single big one. */
const BLOCK_BYTES = 4 * 1024 * 1024;

/** A stretch of a text. */
export interface TextBlock {
  bytes: Uint8Array;
  /** The text ends with it. */
  last: boolean;
}

/** The usual size of a block: what a message may work through, if that is less. */
export const blockBytes = ({ UPLOAD_MESSAGE_BYTES }: Config): number => Math.min(BLOCK_BYTES, UPLOAD_MESSAGE_BYTES);

/**
 * The bytes of a text from `offset` on, `size` of them unless it ends before.
 * @throws JobProblem when it is gone
 */
export async function readBlock(
  bucket: R2Bucket,
  { name, segments, size_bytes: total }: Source,
  offset: number,
  size: number,
): Promise<TextBlock> {
  const length = Math.min(size, total - offset);
  if (length <= 0) return { bytes: new Uint8Array(), last: true };
  const bytes = await readSegments(bucket, segments, offset, length);
  if (!bytes) throw new JobProblem(fileMissing(name));
  return { bytes, last: offset + length >= total };
}
