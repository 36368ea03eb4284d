import { type ReleasePermit, Semaphore } from '../../platform/semaphore.ts';
import { LEASE_MS } from './work.ts';

/** The maximum number of bytes in memory of a workbook that is converted at the same time as other workbooks. */
const MAX_SMALL_WORKBOOK_BYTES = 8 * 1024 * 1024;

/**
 * The semaphore for larger workbooks, which are converted one at a time in an isolate: shared texts of cells are held in memory,
 * up to 48 MiB, of the 128 MB that an isolate has; and so are the cells of an old workbook that are out of order, which take up
 * to 64 MiB.
 */
const largeWorkbookSemaphore = new Semaphore({ permitCount: 1, maxWaiting: 100, waitMs: 20_000, holdMs: LEASE_MS });

/** A function that waits until `bytes` bytes of memory are free. */
export type ReserveMemory = (bytes: number) => Promise<void>;

class MemoryUnavailableError extends Error {}

/**
 * Runs work that holds the texts or cells of one workbook in memory. @param work reserves memory before it reads them @returns
 * null if no memory became free in time, as other workbooks were being converted
 */
export async function runWithWorkbookLimit<T>(work: (reserveMemory: ReserveMemory) => Promise<T>): Promise<T | null> {
  let release: ReleasePermit | null = null;
  try {
    return await work(async (bytes) => {
      if (bytes <= MAX_SMALL_WORKBOOK_BYTES || release) return;
      release = await largeWorkbookSemaphore.acquire();
      if (!release) throw new MemoryUnavailableError();
    });
  } catch (error) {
    if (error instanceof MemoryUnavailableError) return null;
    throw error;
  } finally {
    (release as ReleasePermit | null)?.();
  }
}
