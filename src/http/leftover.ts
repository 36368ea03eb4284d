/** A body of so many bytes is read to its end, whatever became of its request. */
const LEFTOVER_BYTES = 64 * 1024;
/** How long a sender may take for it. */
const TIMEOUT_MS = 2_000;

/**
 * Reads what is left of a body that nobody wanted: a connection whose request was not read to its end is closed after the
 * answer, and the next request on it is lost. Never throws.
 */
export async function readLeftover({ body, bodyUsed, headers }: Request): Promise<void> {
  if (body === null || bodyUsed || body.locked || Number(headers.get('content-length')) > LEFTOVER_BYTES) return;
  const reader = body.getReader();
  const timer = setTimeout(() => void reader.cancel().catch(() => {}), TIMEOUT_MS);
  try {
    let bytes = 0;
    for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
      bytes += chunk.value.byteLength;
      if (bytes > LEFTOVER_BYTES) return;
    }
  } catch {
    // The sender has gone: nobody waits for the answer either.
  } finally {
    clearTimeout(timer);
  }
}
