import { logError } from './log.ts';

/** How work that concerns several is done: at most `lanes` at once, each for at most `milliseconds`. */
export interface Lanes {
  lanes: number;
  milliseconds: number;
  /** Name of the log's line about one that failed or took too long. */
  failed: string;
}

/**
 * Does `work` for each, side by side. One that fails or takes too long is logged and holds up none of the others. What
 * took too long is not waited for, so it must stop by itself sooner or later.
 * @param told what the log says of one
 */
export async function sideBySide<T>(
  all: readonly T[],
  { lanes, milliseconds, failed }: Lanes,
  told: (one: T) => Record<string, string>,
  work: (one: T) => Promise<unknown>,
): Promise<void> {
  const waiting = [...all];
  const lane = async () => {
    for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) {
      try {
        await within(milliseconds, work(one));
      } catch (error) {
        logError(failed, error, told(one));
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(lanes, all.length) }, lane));
}

async function within(milliseconds: number, work: Promise<unknown>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const tooLong = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not done within ${milliseconds} ms`)), milliseconds);
  });
  try {
    await Promise.race([work, tooLong]);
  } finally {
    clearTimeout(timer);
  }
}
