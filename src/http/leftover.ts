/** The largest body that the edge lets through. A larger one is not waited for. */
const LEFTOVER_BYTES = 100 * 1024 * 1024;
/** The longest time between two pieces of a body, and for all of it. Milliseconds. */
const PAUSE_MS = 2_000;
const TOTAL_MS = 30_000;

/** Discards the rest of a body: unread, the connection is closed and the next request on it is lost. Never throws. */
export async function readLeftover({ body, headers }: Request): Promise<void> {
  if (body === null || body.locked || Number(headers.get('content-length')) > LEFTOVER_BYTES) return;
  const reader = body.getReader();
  const giveUp = () => void reader.cancel().catch(() => {});
  const total = setTimeout(giveUp, TOTAL_MS);
  let pause = setTimeout(giveUp, PAUSE_MS);
  try {
    let bytes = 0;
    for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
      bytes += chunk.value.byteLength;
      if (bytes > LEFTOVER_BYTES) return;
      clearTimeout(pause);
      pause = setTimeout(giveUp, PAUSE_MS);
    }
  } catch {
    // The sender has gone: nobody waits for the answer either.
  } finally {
    clearTimeout(total);
    clearTimeout(pause);
  }
}
