import { env, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { clock, DAY_MS } from '../../src/kernel/clock.ts';
import { newId } from '../../src/kernel/ids.ts';
import { type LogFilter, type LogKind, type LogRecord, toRange } from '../../src/logs/log.ts';
import { countRecordsInRange, logLimits } from '../../src/logs/rows.ts';
import { readLog } from '../../src/modules/company-log/service.ts';
import { createLogReader } from '../support/log.ts';

export const getLog = (company: string) => env.COMPANY_LOG.getByName(company);

/** Makes an audit record of a request at the given time (ms). */
export const makeRecord = (occurredAt: number, overrides: Partial<LogRecord<'audit'>> = {}): LogRecord<'audit'> => ({
  id: newId(occurredAt),
  correlationId: crypto.randomUUID(),
  occurredAt,
  principalType: 'user',
  principalId: 'p1',
  credential: null,
  method: 'GET',
  route: '/groups',
  action: 'groups:ListGroups',
  resourceId: null,
  status: 200,
  ip: '203.0.113.1',
  durationMs: 3,
  count: 1,
  ...overrides,
});

export const getTimeDaysAgo = (days: number): number => clock.now() - days * DAY_MS;

export const appendRecords = (company: string, records: LogRecord[]) =>
  getLog(company).append(company, 'audit', records);

/** Runs the alarms of the log object until none is left. */
export async function settleLog(company: string): Promise<void> {
  for (let runCount = 0; runCount < 20; runCount += 1) {
    await runDurableObjectAlarm(getLog(company));
    const next = await runInDurableObject(getLog(company), (_, state) => state.storage.getAlarm());
    if (next === null || next > clock.now() + 10_000) return;
  }
  throw new Error('The log does not come to rest.');
}

/** Reads a page of audit records. */
export const readPage = (company: string, filter: Partial<LogFilter>, number = 1, size = 20) =>
  readLog(createLogReader(company), 'audit', { values: {}, ...filter }, number, size);

/** Reads one value from the object's database. */
export const queryLog = (company: string, sql: string): Promise<unknown> =>
  runInDurableObject(getLog(company), (_, state) => Object.values(state.storage.sql.exec(sql).one())[0]);

/** Counts the records that are still in the object. */
export const countStored = (company: string, kind: LogKind = 'audit'): Promise<number> =>
  runInDurableObject(getLog(company), (_, { storage }) => countRecordsInRange(storage.sql, kind, toRange({})));

/** Lists the tables of records in the object, one per day. */
export const listTables = (
  company: string,
  kind: 'audit_records' | 'share_events' = 'audit_records',
): Promise<string[]> =>
  runInDurableObject(getLog(company), (_, { storage }) =>
    storage.sql
      .exec<{ name: string }>('SELECT name FROM sqlite_master WHERE name GLOB ? ORDER BY name', `${kind}*`)
      .toArray()
      .map(({ name }) => name),
  );

/** Lists the files of a company's log. */
export async function listFiles(company: string): Promise<string[]> {
  const { objects } = await env.FILES.list({ prefix: `log/${company}/` });
  return objects.map(({ key }) => key);
}

const STANDARD_SIZES = { ...logLimits };

/** Sets small sizes of slices and files; `resetSizes` restores the standard sizes. */
export const setSizes = (sizes: Partial<typeof logLimits>): void => void Object.assign(logLimits, sizes);
export const resetSizes = (): void => setSizes(STANDARD_SIZES);
