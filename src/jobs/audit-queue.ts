import { z } from 'zod';
import type { Bindings } from '../config.ts';
import type { AuditRecord } from '../kernel/audit-record.ts';
import { keepAuditRecords } from '../modules/audit/service.ts';
import { log, logError } from '../platform/log.ts';

const RETRY_SECONDS = 5;
const LONGEST_RETRY_SECONDS = 300;

/** An audit record as it goes through the queue. */
const auditMessage = z.object({
  id: z.string(),
  correlationId: z.string(),
  occurredAt: z.int(),
  companyId: z.string().nullable(),
  principalType: z.enum(['user', 'service_account', 'operator', 'anonymous']),
  principalId: z.string().nullable(),
  credential: z.string().nullable(),
  method: z.string(),
  route: z.string().nullable(),
  action: z.string().nullable(),
  resourceId: z.string().nullable(),
  status: z.int(),
  ip: z.string().nullable(),
  durationMs: z.int(),
}) satisfies z.ZodType<AuditRecord>;

/** Puts a record into the queue. */
export async function queueAuditRecord({ AUDIT }: Bindings, record: AuditRecord): Promise<void> {
  await AUDIT.send(record);
}

/** Keeps all records of a batch in one statement, or tries them all again. A record that comes twice is kept once. */
export async function consumeAuditRecords(batch: MessageBatch, env: Bindings): Promise<void> {
  const records = batch.messages.flatMap(({ id, body }) => {
    const parsed = auditMessage.safeParse(body);
    // Trying again would not help.
    if (!parsed.success) log('audit_record_malformed', { message_id: id });
    return parsed.success ? [parsed.data] : [];
  });
  try {
    await keepAuditRecords(env.AUDIT_DB, records);
    batch.ackAll();
  } catch (error) {
    const attempts = Math.max(...batch.messages.map((message) => message.attempts));
    logError('audit_records_not_kept', error, { records: records.length, attempts });
    batch.retryAll({ delaySeconds: Math.min(RETRY_SECONDS * 2 ** attempts, LONGEST_RETRY_SECONDS) });
  }
}
