import { env } from 'cloudflare:test';
import { type LogFilter, type LogKind, type LogRecords, PLATFORM_LOG } from '../../src/kernel/log.ts';
import { exportLog, type LogReader } from '../../src/modules/company-log/service.ts';

/** What reads the log of a company, as a service of its caller does. */
export const readerOf = (companyId: string): LogReader =>
  ({ actor: { companyId }, bindings: env, files: env.FILES }) as unknown as LogReader;

/** All records of a log, the newest first. Without a company those that belong to none. */
export async function recordsOf<K extends LogKind>(
  kind: K,
  companyId: string = PLATFORM_LOG,
  filter: Partial<LogFilter> = {},
): Promise<LogRecords[K][]> {
  return Array.fromAsync(exportLog(readerOf(companyId), kind, { values: {}, ...filter }));
}
