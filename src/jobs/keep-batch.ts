import type { ZodType } from 'zod';
import { log, logError } from '../platform/log.ts';

const RETRY_SECONDS = 5;
const LONGEST_RETRY_SECONDS = 300;

/**
 * Hands all well-formed messages of a batch to `keep` at once; when it throws, all are tried again, later each time.
 * @param name of what is kept, for the log
 */
export async function keepBatch<T>(
  name: string,
  batch: MessageBatch,
  schema: ZodType<T>,
  keep: (records: T[]) => Promise<void>,
): Promise<void> {
  const records = batch.messages.flatMap(({ id, body }) => {
    const parsed = schema.safeParse(body);
    // Trying again would not help.
    if (!parsed.success) log(`${name}_malformed`, { message_id: id });
    return parsed.success ? [parsed.data] : [];
  });
  try {
    await keep(records);
    batch.ackAll();
  } catch (error) {
    const attempts = Math.max(...batch.messages.map((message) => message.attempts));
    logError(`${name}s_not_kept`, error, { records: records.length, attempts });
    batch.retryAll({ delaySeconds: Math.min(RETRY_SECONDS * 2 ** attempts, LONGEST_RETRY_SECONDS) });
  }
}
