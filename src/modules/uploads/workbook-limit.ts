import { type Release, Semaphore } from '../../platform/semaphore.ts';
import { LEASE_MS } from './work.ts';

/** The maximum number of bytes in memory of a workbook that is converted beside any others. */
const SMALL_BYTES = 8 * 1024 * 1024;

/**
 * Larger workbooks are converted one at a time in an isolate: shared texts of cells are held in memory, up to 48 MiB, of the
 * 128 MB that an isolate has; and so are the cells of an old workbook that are out of order, which take up to 64 MiB.
 */
const semaphore = new Semaphore({ permits: 1, maxWaiting: 100, waitMs: 20_000, holdMs: LEASE_MS });

/** Waits until `bytes` bytes of memory are free. */
export type Reserve = (bytes: number) => Promise<void>;

class NoRoom extends Error {}

/**
 * Runs work that holds the texts or cells of one workbook in memory.
 * @param work reserves memory before it reads them
 * @returns null if there was no room for a while, as others are at work
 */
export async function withWorkbookLimit<T>(work: (reserve: Reserve) => Promise<T>): Promise<T | null> {
  let release: Release | null = null;
  try {
    return await work(async (bytes) => {
      if (bytes <= SMALL_BYTES || release) return;
      release = await semaphore.acquire();
      if (!release) throw new NoRoom();
    });
  } catch (error) {
    if (error instanceof NoRoom) return null;
    throw error;
  } finally {
    (release as Release | null)?.();
  }
}
