import type { JobKey } from '../../db/job-leases.ts';
import { readAll } from '../../platform/bounded.ts';
import { beginMultipartUpload, deleteByPrefix, deleteObjects } from '../../platform/stored-files.ts';
import type { ArchiveState } from './archive.ts';

const makePrefix = ({ companyId, id }: JobKey): string => `company-exports/${companyId}/${id}/`;

/** Returns the key of a complete archive. */
export const makeArchiveKey = (key: JobKey): string => `${makePrefix(key)}archive.zip`;

/** The progress of an export. */
export interface Checkpoint {
  /** The state of the archive: what of it is written. */
  written: ArchiveState;
  /** The stage to run next, and its position; null when only the manifest and zip directory remain to be written. */
  next: { stage: string; from: unknown } | null;
}

const makeCheckpointPrefix = (key: JobKey): string => `${makePrefix(key)}checkpoints`;

const makeCheckpointKey = (key: JobKey, name: string, suffix: 'state' | 'tail'): string =>
  `${makeCheckpointPrefix(key)}/${name}/${suffix}`;

/** Begins an archive. @returns the id of its upload, which is stored beside the checkpoints */
export async function beginArchive(files: R2Bucket, key: JobKey): Promise<string> {
  const options = { httpMetadata: { contentType: 'application/zip' } };
  return (await beginMultipartUpload(files, makeCheckpointPrefix(key), makeArchiveKey(key), options)).uploadId;
}

/** Stores the progress of an export under a new name. */
export async function putCheckpoint(
  files: R2Bucket,
  key: JobKey,
  name: string,
  { tail, ...checkpoint }: Checkpoint & { tail: Uint8Array },
): Promise<void> {
  await Promise.all([
    files.put(makeCheckpointKey(key, name, 'tail'), tail),
    files.put(makeCheckpointKey(key, name, 'state'), JSON.stringify(checkpoint)),
  ]);
}

export async function getCheckpoint(
  files: R2Bucket,
  key: JobKey,
  name: string,
): Promise<Checkpoint & { tail: Uint8Array }> {
  const [state, tail] = await Promise.all([
    files.get(makeCheckpointKey(key, name, 'state')),
    files.get(makeCheckpointKey(key, name, 'tail')),
  ]);
  if (!state || !tail) throw new Error('a checkpoint is gone');
  return { ...(await state.json<Checkpoint>()), tail: await readAll(tail.body) };
}

/** Deletes a checkpoint that a later one has replaced. */
export const deleteCheckpoint = (files: R2Bucket, key: JobKey, name: string): Promise<void> =>
  deleteObjects(
    files,
    (['state', 'tail'] as const).map((suffix) => makeCheckpointKey(key, name, suffix)),
  );

/** Deletes all checkpoints of an export. */
export const deleteCheckpoints = (files: R2Bucket, key: JobKey): Promise<void> =>
  deleteByPrefix(files, `${makeCheckpointPrefix(key)}/`);

/** Deletes all objects of an export, including an incomplete archive. */
export const deleteExportObjects = (files: R2Bucket, key: JobKey): Promise<void> =>
  deleteByPrefix(files, makePrefix(key));
