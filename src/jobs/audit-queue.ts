import { type Bindings, readConfig } from '../config.ts';
import type { AuditRecord } from '../logs/audit-record.ts';
import { storeInLog } from '../modules/company-log/service.ts';
import { formatLimiterName } from '../objects/ip-limiter.ts';
import { limitToJurisdiction } from '../objects/jurisdiction.ts';
import { callObject } from '../platform/objects.ts';

/** Stores a record in its company's log. Records of unknown senders are counted by address and minute first. */
export async function storeAuditRecord(env: Bindings, record: AuditRecord): Promise<void> {
  if (record.companyId !== null || record.principalType !== 'anonymous') return storeInLog(env, 'audit', record);
  const { IP_LIMITER } = limitToJurisdiction(env, readConfig(env).DATA_JURISDICTION);
  await callObject(IP_LIMITER, formatLimiterName(record.ip), async (limiter) => await limiter.countStranger(record));
}
