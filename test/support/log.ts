import { env } from 'cloudflare:test';
import { expect, vi } from 'vitest';
import { newId } from '../../src/kernel/ids.ts';
import type { AuditRecord } from '../../src/logs/audit-record.ts';
import { type LogFilter, type LogKind, type LogRecords, PLATFORM_LOG } from '../../src/logs/log.ts';
import { exportLog, type LogReader } from '../../src/modules/company-log/service.ts';
import type { ApiResponse } from './api.ts';
import type { Company } from './companies.ts';

/** Creates a reader of a company's log, as a service has for its caller. */
export const createLogReader = (companyId: string): LogReader =>
  ({ actor: { companyId }, bindings: env, files: env.FILES }) as unknown as LogReader;

/** Reads all records of a log, the newest first; without a company, the records that belong to none. */
export async function readRecords<K extends LogKind>(
  kind: K,
  companyId: string = PLATFORM_LOG,
  filter: Partial<LogFilter> = {},
): Promise<LogRecords[K][]> {
  return Array.fromAsync(exportLog(createLogReader(companyId), kind, { values: {}, ...filter }));
}

/** Waits for the audit record of a company's request, and returns it. */
export const waitForAuditRecord = ({ id }: Pick<Company, 'id'>, { headers }: Pick<ApiResponse, 'headers'>) =>
  vi.waitFor(
    async () => {
      const values = { correlationId: headers.get('x-correlation-id') as string };
      const [record, ...more] = await readRecords('audit', id, { values });
      expect([record === undefined, more]).toEqual([false, []]);
      return record as AuditRecord;
    },
    { timeout: 15_000, interval: 50 },
  );

/** Returns an audit record of an unauthenticated request. */
export const makeAuditRecord = (otherFields: Partial<AuditRecord> = {}): AuditRecord => ({
  id: newId(Date.now()),
  correlationId: crypto.randomUUID(),
  occurredAt: Date.now(),
  companyId: null,
  principalType: 'anonymous',
  principalId: null,
  credential: null,
  method: 'GET',
  route: '/health',
  action: null,
  resourceId: null,
  status: 200,
  ip: null,
  durationMs: 1,
  count: 1,
  ...otherFields,
});
