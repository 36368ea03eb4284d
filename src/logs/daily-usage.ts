import { DAY_MS } from '../kernel/clock.ts';
import { selectRows } from '../platform/objects.ts';
import type { LogRecord } from './log.ts';
import { hasRecord } from './rows.ts';

/** The usage of one day, which is counted from the epoch in UTC. */
export interface UsedDay {
  day: number;
  requests: number;
  executions: number;
}

export function createUsedDaysTable(sql: SqlStorage): void {
  sql.exec(`CREATE TABLE IF NOT EXISTS used_days (
    day INTEGER PRIMARY KEY, requests INTEGER NOT NULL, executions INTEGER NOT NULL) WITHOUT ROWID`);
}

/** Returns the records with usage that are not stored yet: call it before storing them, then count them. */
export const findNewUsageRecords = (
  sql: SqlStorage,
  records: readonly LogRecord<'audit'>[],
  isLate: boolean,
): LogRecord<'audit'>[] =>
  records.filter(
    (record) =>
      record.used && record.used.requests + record.used.executions > 0 && !hasRecord(sql, 'audit', record, isLate),
  );

/** Adds the records' usage to the days of their requests: one row for all records of a day that arrive together. */
export function addUsage(sql: SqlStorage, records: readonly LogRecord<'audit'>[]): void {
  const recordsByDay = Map.groupBy(records, ({ occurredAt }) => Math.floor(occurredAt / DAY_MS));
  for (const [day, ofDay] of recordsByDay) {
    const sumUsage = (field: 'requests' | 'executions') =>
      ofDay.reduce((total, { used }) => total + (used?.[field] ?? 0), 0);
    sql.exec(
      `INSERT INTO used_days (day, requests, executions) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET
         requests = requests + excluded.requests, executions = executions + excluded.executions`,
      day,
      sumUsage('requests'),
      sumUsage('executions'),
    );
  }
}

/** Returns the days in a range, both ends included, that have usage. */
export const readUsedDays = (sql: SqlStorage, from: number, to: number): UsedDay[] =>
  selectRows<UsedDay>(sql, 'SELECT day, requests, executions FROM used_days WHERE day BETWEEN ? AND ?', from, to);
