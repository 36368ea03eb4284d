import { env, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { clock, DAY_MS } from '../../src/kernel/clock.ts';
import { newId } from '../../src/kernel/ids.ts';
import { type LogFilter, type Logged, type LogKind, toRange } from '../../src/logs/log.ts';
import { countRecordsIn, logSizes } from '../../src/logs/rows.ts';
import { readLog } from '../../src/modules/company-log/service.ts';
import { createLogReader } from '../support/log.ts';

export const getLog = (company: string) => env.COMPANY_LOG.getByName(company);

/** A record of a request at a time (ms). */
export const makeRecord = (occurredAt: number, more: Partial<Logged<'audit'>> = {}): Logged<'audit'> => ({
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
  ...more,
});

export const daysAgo = (days: number): number => clock.now() - days * DAY_MS;

export const appendRecords = (company: string, records: Logged[]) => getLog(company).append(company, 'audit', records);

/** Lets the object do all that it has to: alarms follow each other until there is nothing left. */
export async function settleLog(company: string): Promise<void> {
  for (let runs = 0; runs < 20; runs += 1) {
    await runDurableObjectAlarm(getLog(company));
    const next = await runInDurableObject(getLog(company), (_, state) => state.storage.getAlarm());
    if (next === null || next > clock.now() + 10_000) return;
  }
  throw new Error('The log does not come to rest.');
}

/** A page of audit records. */
export const readPage = (company: string, filter: Partial<LogFilter>, number = 1, size = 20) =>
  readLog(createLogReader(company), 'audit', { values: {}, ...filter }, number, size);

/** One value of the object's database. */
export const queryLog = (company: string, sql: string): Promise<unknown> =>
  runInDurableObject(getLog(company), (_, state) => Object.values(state.storage.sql.exec(sql).one())[0]);

/** How many records are still in the object. */
export const countLeft = (company: string, kind: LogKind = 'audit'): Promise<number> =>
  runInDurableObject(getLog(company), (_, { storage }) => countRecordsIn(storage.sql, kind, toRange({})));

/** The tables of records that the object has, one a day. */
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

/** The files of a company's log. */
export async function listFiles(company: string): Promise<string[]> {
  const { objects } = await env.FILES.list({ prefix: `log/${company}/` });
  return objects.map(({ key }) => key);
}

const STANDARD_SIZES = { ...logSizes };

/** Makes slices and files small; `resetSizes` makes them as they were. */
export const setSizes = (sizes: Partial<typeof logSizes>): void => void Object.assign(logSizes, sizes);
export const resetSizes = (): void => setSizes(STANDARD_SIZES);
