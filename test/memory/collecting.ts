const EVERY_MS = 250;
let collectedAt = 0;

/** Has V8 collect, at most four times a second. Needs `--expose-gc`. */
function collectGarbage(): void {
  if (Date.now() - collectedAt < EVERY_MS) return;
  globalThis.gc?.();
  collectedAt = Date.now();
}

/** Does work, and has V8 collect while it waits for something. */
export async function runCollecting<T>(work: () => T | Promise<T>): Promise<T> {
  const timer = setInterval(collectGarbage, EVERY_MS);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}
