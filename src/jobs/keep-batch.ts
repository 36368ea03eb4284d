import type { ZodType } from 'zod';
import type { Bindings } from '../config.ts';
import type { LogKind, LogRecords } from '../logs/log.ts';
import { appendToLog } from '../modules/company-log/service.ts';
import { logError } from '../platform/log.ts';

const RETRY_SECONDS = 5;
const MAX_RETRY_SECONDS = 300;

/** The time that a message waits after a number of attempts: twice as long each time. In seconds. */
export const retryDelay = (attempts: number, seconds: number): number =>
  Math.min(seconds * 2 ** attempts, MAX_RETRY_SECONDS);

/**
 * Brings the records of a batch into their logs; those of a log that is away are tried again, later each time, and so are
 * those that this version does not know. A record that comes twice, late or out of order is kept once.
 */
export async function keepBatch<K extends LogKind>(
  kind: K,
  batch: MessageBatch,
  schema: ZodType<LogRecords[K]>,
  env: Bindings,
): Promise<void> {
  const records = batch.messages.flatMap((message) => {
    const parsed = schema.safeParse(message.body);
    if (parsed.success) return [{ message, record: parsed.data }];
    // A newer version of the API may have sent it, while this version is still being replaced.
    logError('log_record_unknown', new Error('unknown record'), { kind, message_id: message.id });
    message.retry({ delaySeconds: MAX_RETRY_SECONDS });
    return [];
  });
  const byCompany = Map.groupBy(records, ({ record }) => record.companyId);
  await Promise.all(
    [...byCompany].map(async ([companyId, ofOne]) => {
      try {
        await appendToLog(env, { [kind]: ofOne.map(({ record }) => record) });
        for (const { message } of ofOne) message.ack();
      } catch (error) {
        const attempts = Math.max(...ofOne.map(({ message }) => message.attempts));
        logError('log_records_not_kept', error, { kind, company_id: companyId, records: ofOne.length, attempts });
        const delaySeconds = retryDelay(attempts, RETRY_SECONDS);
        for (const { message } of ofOne) message.retry({ delaySeconds });
      }
    }),
  );
}
