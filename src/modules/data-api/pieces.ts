import { deleteObjects } from '../../platform/stored-files.ts';
import type { Try } from './job-store.ts';

const ROOT = 'data-results';

/** What the keys of all that a job has written begin with. */
const ofJob = ({ companyId, id }: Pick<Try, 'companyId' | 'id'>): string => `${ROOT}/${companyId}/${id}/`;

const ofTry = (present: Try): string => `${ofJob(present)}${present.attempt}/`;

export const pieceOf = (present: Try, piece: number): string => ofTry(present) + piece;

/** The keys of the objects that a result consists of, in their order. */
export const piecesOf = (present: Try, count: number): string[] =>
  Array.from({ length: count }, (_, piece) => pieceOf(present, piece));

/** Deletes what a try has written. */
export const deleteTry = (files: R2Bucket, present: Try): Promise<void> => deleteBeneath(files, ofTry(present));

/** Deletes what all tries of a job have written. */
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
