import type { Attempt, JobKey } from '../../db/job-leases.ts';
import { deleteByPrefix } from '../../platform/stored-files.ts';

const RESULTS_PREFIX = 'data-results';

/** Returns the prefix of the keys of all objects that a job has written. */
const makeJobPrefix = ({ companyId, id }: JobKey): string => `${RESULTS_PREFIX}/${companyId}/${id}/`;

const makeAttemptPrefix = (attempt: Attempt): string => `${makeJobPrefix(attempt)}${attempt.attempt}/`;

export const makePieceKey = (attempt: Attempt, piece: number): string => makeAttemptPrefix(attempt) + piece;

/** Returns the keys of a result's objects, in order. */
export const listPieceKeys = (attempt: Attempt, count: number): string[] =>
  Array.from({ length: count }, (_, piece) => makePieceKey(attempt, piece));

/** Deletes the objects of an attempt. */
export const deleteAttemptObjects = (files: R2Bucket, attempt: Attempt): Promise<void> =>
  deleteByPrefix(files, makeAttemptPrefix(attempt));

/** Deletes the objects of all attempts of a job. */
export const deleteResult = (files: R2Bucket, job: JobKey): Promise<void> => deleteByPrefix(files, makeJobPrefix(job));
