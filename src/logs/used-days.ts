import { DAY_MS } from '../kernel/clock.ts';
import { selectRows } from '../platform/objects.ts';
import type { Logged } from './log.ts';
import { hasRecord } from './rows.ts';

/** The use of a day, counted from the epoch in UTC. */
export interface UsedDay {
  day: number;
  requests: number;
  executions: number;
}

export function createUsedDays(sql: SqlStorage): void {
  sql.exec(`CREATE TABLE IF NOT EXISTS used_days (
    day INTEGER PRIMARY KEY, requests INTEGER NOT NULL, executions INTEGER NOT NULL) WITHOUT ROWID`);
}

/** Returns the records that tell of a use and are not kept yet: to be asked before they are, and counted with them. */
export const findNewlyUsed = (sql: SqlStorage, records: readonly Logged<'audit'>[], late: boolean): Logged<'audit'>[] =>
  records.filter(
    (record) =>
      record.used && record.used.requests + record.used.executions > 0 && !hasRecord(sql, 'audit', record, late),
  );

/** Adds the use that records tell to the days of their requests: one row for all of a day that come together. */
export function countUsed(sql: SqlStorage, records: readonly Logged<'audit'>[]): void {
  const byDay = Map.groupBy(records, ({ occurredAt }) => Math.floor(occurredAt / DAY_MS));
  for (const [day, ofDay] of byDay) {
    const sum = (field: 'requests' | 'executions') => ofDay.reduce((all, { used }) => all + (used?.[field] ?? 0), 0);
    sql.exec(
      `INSERT INTO used_days (day, requests, executions) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET
         requests = requests + excluded.requests, executions = executions + excluded.executions`,
      day,
      sum('requests'),
      sum('executions'),
    );
  }
}

/** The days from one to another, both included, on which something was used. */
export const readUsedDays = (sql: SqlStorage, from: number, to: number): UsedDay[] =>
  selectRows<UsedDay>(sql, 'SELECT day, requests, executions FROM used_days WHERE day BETWEEN ? AND ?', from, to);
