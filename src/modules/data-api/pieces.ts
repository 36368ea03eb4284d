import type { Attempt, JobKey } from '../../db/job-leases.ts';
import { deleteObjects } from '../../platform/stored-files.ts';

const ROOT = 'data-results';

/** The prefix of the keys of all objects that a job has written. */
const jobPrefix = ({ companyId, id }: JobKey): string => `${ROOT}/${companyId}/${id}/`;

const attemptPrefix = (attempt: Attempt): string => `${jobPrefix(attempt)}${attempt.attempt}/`;

export const makePieceKey = (attempt: Attempt, piece: number): string => attemptPrefix(attempt) + piece;

/** The keys of the objects of a result, in order. */
export const listPieceKeys = (attempt: Attempt, count: number): string[] =>
  Array.from({ length: count }, (_, piece) => makePieceKey(attempt, piece));

/** Deletes the objects of an attempt. */
export const deleteAttempt = (files: R2Bucket, attempt: Attempt): Promise<void> =>
  deleteByPrefix(files, attemptPrefix(attempt));

/** Deletes the objects of all attempts of a job. */
export const deleteResult = (files: R2Bucket, job: JobKey): Promise<void> => deleteByPrefix(files, jobPrefix(job));

async function deleteByPrefix(files: R2Bucket, prefix: string): Promise<void> {
  for (;;) {
    const { objects, truncated } = await files.list({ prefix });
    await deleteObjects(
      files,
      objects.map(({ key }) => key),
    );
    if (!truncated) return;
  }
}
