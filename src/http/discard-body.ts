/** Maximum size of a body that the edge lets through. A larger one is not waited for. */
const MAX_LEFTOVER_BYTES = 100 * 1024 * 1024;
/** Maximum milliseconds between two pieces of a body. */
const MAX_PAUSE_MS = 2_000;
const MAX_TOTAL_MS = 30_000;

/** Discards the rest of a body: if unread, the connection closes and the next request on it is lost. Never throws. */
export async function discardBody({ body, headers }: Request): Promise<void> {
  if (body === null || body.locked || Number(headers.get('content-length')) > MAX_LEFTOVER_BYTES) return;
  const reader = body.getReader();
  const cancelReading = () => void reader.cancel().catch(() => {});
  const totalTimer = setTimeout(cancelReading, MAX_TOTAL_MS);
  let pauseTimer = setTimeout(cancelReading, MAX_PAUSE_MS);
  try {
    let discardedBytes = 0;
    for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
      discardedBytes += chunk.value.byteLength;
      if (discardedBytes > MAX_LEFTOVER_BYTES) return;
      clearTimeout(pauseTimer);
      pauseTimer = setTimeout(cancelReading, MAX_PAUSE_MS);
    }
  } catch {
    // The sender has gone: nobody waits for the answer either.
  } finally {
    clearTimeout(totalTimer);
    clearTimeout(pauseTimer);
  }
}
