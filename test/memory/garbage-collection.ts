const COLLECTION_INTERVAL_MS = 250;
let collectedAt = 0;

/** Runs V8's garbage collection, at most four times a second. Needs `--expose-gc`. */
function collectGarbage(): void {
  if (Date.now() - collectedAt < COLLECTION_INTERVAL_MS) return;
  globalThis.gc?.();
  collectedAt = Date.now();
}

/** Runs work, with garbage collections while it waits. */
export async function runCollecting<T>(work: () => T | Promise<T>): Promise<T> {
  const timer = setInterval(collectGarbage, COLLECTION_INTERVAL_MS);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}
