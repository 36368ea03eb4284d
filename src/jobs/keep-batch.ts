import type { ZodType } from 'zod';
import type { Bindings } from '../config.ts';
import type { LogKind, LogRecords } from '../logs/log.ts';
import { appendToLog } from '../modules/company-log/service.ts';
import { logError } from '../platform/log.ts';

const RETRY_SECONDS = 5;
const MAX_RETRY_SECONDS = 300;

/** Computes the seconds that a message waits after a number of attempts: twice as long each time. */
export const computeRetryDelay = (attemptCount: number, firstDelaySeconds: number): number =>
  Math.min(firstDelaySeconds * 2 ** attemptCount, MAX_RETRY_SECONDS);

/**
 * Stores the records of a batch in their logs; records of an unavailable log or of an unknown form are tried again, later each
 * time. A record that arrives twice, late or out of order is stored once.
 */
export async function storeBatch<K extends LogKind>(
  kind: K,
  batch: MessageBatch,
  schema: ZodType<LogRecords[K]>,
  env: Bindings,
): Promise<void> {
  const records = batch.messages.flatMap((message) => {
    const parsedRecord = schema.safeParse(message.body);
    if (parsedRecord.success) return [{ message, record: parsedRecord.data }];
    // A newer version of the API may have sent it, while this version is still being replaced.
    logError('log_record_unknown', new Error('unknown record'), { kind, message_id: message.id });
    message.retry({ delaySeconds: MAX_RETRY_SECONDS });
    return [];
  });
  const recordsByCompany = Map.groupBy(records, ({ record }) => record.companyId);
  await Promise.all(
    [...recordsByCompany].map(async ([companyId, ofOne]) => {
      try {
        await appendToLog(env, { [kind]: ofOne.map(({ record }) => record) });
        for (const { message } of ofOne) message.ack();
      } catch (error) {
        const attempts = Math.max(...ofOne.map(({ message }) => message.attempts));
        logError('log_records_not_kept', error, { kind, company_id: companyId, records: ofOne.length, attempts });
        const delaySeconds = computeRetryDelay(attempts, RETRY_SECONDS);
        for (const { message } of ofOne) message.retry({ delaySeconds });
      }
    }),
  );
}
