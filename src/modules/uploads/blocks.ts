import type { Config } from '../../config.ts';
import type { Source } from './job.ts';
import { fileMissing, JobProblem } from './problems.ts';

/** How much of a file is read, worked on and recorded at a time. One COPY of so much is as fast as a single big one. */
const BLOCK_BYTES = 4 * 1024 * 1024;

/** A stretch of a file. */
export interface FileBlock {
  bytes: Uint8Array;
  /** The file ends with it. */
  last: boolean;
}

/** The usual size of a block: what a message may work through, if that is less. */
export const blockBytes = ({ UPLOAD_MESSAGE_BYTES }: Config): number => Math.min(BLOCK_BYTES, UPLOAD_MESSAGE_BYTES);

/**
 * The bytes of a stored text from `offset` on, `size` of them unless it ends before.
 * @throws JobProblem when the file is gone
 */
export async function readBlock(
  bucket: R2Bucket,
  { name, storage_path, size_bytes }: Source,
  offset: number,
  size: number,
): Promise<FileBlock> {
  const length = Math.min(size, size_bytes - offset);
  if (length <= 0) return { bytes: new Uint8Array(), last: true };
  const object = await bucket.get(storage_path, { range: { offset, length } });
  if (!object) throw new JobProblem(fileMissing(name));
  return { bytes: new Uint8Array(await object.arrayBuffer()), last: offset + length >= size_bytes };
}
