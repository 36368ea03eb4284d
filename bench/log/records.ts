import { clock, DAY_MS } from '../../src/kernel/clock.ts';
import type { LogRecord } from '../../src/logs/log.ts';

/** Makes an audit record, one of a thousand people and forty actions, with a request id of its own. */
const makeRecord = (occurredAt: number, n: number): LogRecord<'audit'> => ({
  id: Math.floor(occurredAt / 1000).toString(16) + n.toString(16).padStart(16, '0'),
  correlationId: `00000000-0000-4000-8000-${n.toString(16).padStart(12, '0')}`,
  occurredAt,
  principalType: 'user',
  principalId: (n % 1000).toString(16).padStart(24, '0'),
  credential: (n % 1000).toString(16).padStart(24, '0'),
  method: 'GET',
  route: '/v1/managed-tables/{id}/rows',
  action: `managed-tables:action-${n % 40}`,
  resourceId: (n % 5000).toString(16).padStart(24, '0'),
  status: 200,
  ip: '203.0.113.1',
  durationMs: n % 300,
  count: 1,
});

/** Number of records in one call of the Durable Object. */
const BATCH_SIZE = 2000;

/** Fills a day of a log with records, evenly spaced, numbered from `firstNumber`. @returns how many rows were written */
export async function fillDay(
  log: { append(name: string, kind: 'audit', records: LogRecord<'audit'>[]): Promise<number> },
  name: string,
  { daysAgo, firstNumber, count }: { daysAgo: number; firstNumber: number; count: number },
): Promise<number> {
  const start = Math.floor(clock.now() / DAY_MS - daysAgo) * DAY_MS;
  let writtenRowCount = 0;
  for (let n = 0; n < count; n += BATCH_SIZE) {
    const records = Array.from({ length: Math.min(BATCH_SIZE, count - n) }, (_, m) =>
      makeRecord(start + Math.floor(((n + m) / count) * DAY_MS), firstNumber + n + m),
    );
    writtenRowCount += await log.append(name, 'audit', records);
  }
  return writtenRowCount;
}
