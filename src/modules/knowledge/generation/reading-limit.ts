import { Semaphore } from '../../../platform/semaphore.ts';
import { tooManyFiles } from './failures.ts';

/**
 * The limit for reading files: one of 10 MiB takes some 70 MB while its text is extracted and stored, of the 128 MB of an
 * isolate, so one is read at a time. Waiting requests hold their forms in memory, of 11 MiB each at most.
 */
const readingSemaphore = new Semaphore({ permitCount: 1, maxWaiting: 3, waitMs: 20_000, holdMs: 60_000 });

/** Runs `work`, which holds the text of a file in memory, when its turn comes. @throws tooManyFiles */
export const runWithReadingLimit = <T>(work: () => Promise<T>): Promise<T> =>
  readingSemaphore.runWithPermit(work, tooManyFiles);
