import { Semaphore } from '../../../platform/semaphore.ts';
import { tooManyFiles } from './failures.ts';

/**
 * A file of 10 MiB takes some 70 MB while its text is taken out and stored, of the 128 MB that an isolate has: one is read at
 * a time. Requests that wait hold their forms in memory, of 11 MiB each at most.
 */
const semaphore = new Semaphore({ permits: 1, maxWaiting: 3, waitMs: 20_000, holdMs: 60_000 });

/** Runs `work`, which holds the text of a file in memory, when its turn comes. @throws tooManyFiles */
export const withReadingLimit = <T>(work: () => Promise<T>): Promise<T> => semaphore.run(work, tooManyFiles);
