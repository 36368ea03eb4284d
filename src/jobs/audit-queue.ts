import { z } from 'zod';
import type { Bindings } from '../config.ts';
import type { AuditRecord } from '../kernel/audit-record.ts';
import { keepAuditRecords } from '../modules/audit/service.ts';
import { limiterOf } from '../objects/ip-limiter.ts';
import { callObject } from '../platform/objects.ts';
import { keepBatch } from './keep-batch.ts';

/** An audit record as it goes through the queue. */
const auditMessage = z.object({
  id: z.string(),
  correlationId: z.string(),
  occurredAt: z.int(),
  companyId: z.string().nullable(),
  principalType: z.enum(['user', 'service_account', 'outsider', 'operator', 'anonymous']),
  principalId: z.string().nullable(),
  credential: z.string().nullable(),
  method: z.string(),
  route: z.string().nullable(),
  action: z.string().nullable(),
  resourceId: z.string().nullable(),
  status: z.int(),
  ip: z.string().nullable(),
  durationMs: z.int(),
  // Messages of the version before have none.
  count: z.int().default(1),
}) satisfies z.ZodType<AuditRecord>;

/**
 * Puts a record into the queue. What belongs to nobody whom we know is counted first, by address and minute: strangers
 * fill no database.
 */
export async function queueAuditRecord({ AUDIT, IP_LIMITER }: Bindings, record: AuditRecord): Promise<void> {
  if (record.companyId !== null || record.principalType !== 'anonymous') await AUDIT.send(record);
  else await callObject(IP_LIMITER, limiterOf(record.ip), async (limiter) => await limiter.countStranger(record));
}

/** Keeps all records of a batch in one statement, or tries them all again. A record that comes twice is kept once. */
export const consumeAuditRecords = (batch: MessageBatch, env: Bindings): Promise<void> =>
  keepBatch('audit_record', batch, auditMessage, (records) => keepAuditRecords(env.AUDIT_DB, records));
