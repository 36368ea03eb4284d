import { deleteObjects } from '../../platform/stored-files.ts';
import type { Try } from './job-store.ts';

const ROOT = 'data-results';

/** The prefix of the keys of all objects that a job has written. */
const ofJob = ({ companyId, id }: Pick<Try, 'companyId' | 'id'>): string => `${ROOT}/${companyId}/${id}/`;

const ofTry = (present: Try): string => `${ofJob(present)}${present.attempt}/`;

export const makePieceKey = (present: Try, piece: number): string => ofTry(present) + piece;

/** The keys of the objects of a result, in order. */
export const listPieceKeys = (present: Try, count: number): string[] =>
  Array.from({ length: count }, (_, piece) => makePieceKey(present, piece));

/** Deletes the objects of an attempt. */
export const deleteTry = (files: R2Bucket, present: Try): Promise<void> => deleteBeneath(files, ofTry(present));

/** Deletes the objects of all attempts of a job. */
export const deleteResult = (files: R2Bucket, job: Pick<Try, 'companyId' | 'id'>): Promise<void> =>
  deleteBeneath(files, ofJob(job));

async function deleteBeneath(files: R2Bucket, prefix: string): Promise<void> {
  for (;;) {
    const { objects, truncated } = await files.list({ prefix });
    await deleteObjects(
      files,
      objects.map(({ key }) => key),
    );
    if (!truncated) return;
  }
}
