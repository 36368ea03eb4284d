import { z } from 'zod';
import { type Bindings, readConfig } from '../config.ts';
import type { AuditRecord } from '../logs/audit-record.ts';
import { storeInLog } from '../modules/company-log/service.ts';
import { formatLimiterName } from '../objects/ip-limiter.ts';
import { withinJurisdiction } from '../objects/jurisdiction.ts';
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
  used: z.object({ requests: z.int(), executions: z.int() }).optional(),
}) satisfies z.ZodType<AuditRecord>;

/** Keeps a record in its company's log. Those of unknown senders are counted by address and minute first. */
export async function keepAuditRecord(env: Bindings, record: AuditRecord): Promise<void> {
  if (record.companyId !== null || record.principalType !== 'anonymous') return storeInLog(env, 'audit', record);
  const { IP_LIMITER } = withinJurisdiction(env, readConfig(env).DATA_JURISDICTION);
  await callObject(IP_LIMITER, formatLimiterName(record.ip), async (limiter) => await limiter.countStranger(record));
}

/** Keeps records that their log did not take at once, those of each company by themselves. */
export const consumeAuditRecords = (batch: MessageBatch, env: Bindings): Promise<void> =>
  keepBatch('audit', batch, auditMessage, env);
