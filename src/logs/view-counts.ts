import { clock, MINUTE_MS } from '../kernel/clock.ts';
import { listTablesIn } from './day-tables.ts';
import { compareKeys, getKeyAfter, type Logged, type LogKey, toKey, toRange } from './log.ts';
import { hasRecord, logSizes, readNewestOrOldest, readRecordsIn } from './rows.ts';
import { addViews } from './views.ts';

/** Events that were old when their log was made have been counted by the version before. */
const COUNTED_BEFORE_MS = MINUTE_MS;

/** The last event of shares that is in their counts. Events before `since` are not counted here. */
type Mark = LogKey & { since: number };

export function createViewsMark(sql: SqlStorage): void {
  sql.exec('CREATE TABLE IF NOT EXISTS views_counted (since INTEGER NOT NULL, at INTEGER NOT NULL, id TEXT NOT NULL)');
  const since = clock.now() - COUNTED_BEFORE_MS;
  sql.exec("INSERT INTO views_counted SELECT ?, ?, '' WHERE NOT EXISTS (SELECT 1 FROM views_counted)", since, since);
}

const readMark = (sql: SqlStorage): Mark =>
  sql.exec<Mark & Record<string, number | string>>('SELECT since, at, id FROM views_counted').one();

/** The events that stand for one share seen: they name it. Events that stand for several are counted by `addViews` alone. */
const VIEW_EVENT_TYPES = ['share.resolved', 'share.executed'];

/** Adds a slice of events to the counts: on request, daily, and before they move. @returns whether more are left */
export function countViews(sql: SqlStorage): boolean {
  const { at, id } = readMark(sql);
  const range = { lower: getKeyAfter({ at, id }), upper: toRange({}).upper };
  const [full] = readRecordsIn(sql, 'share', range, { limit: 1, offset: logSizes.slice - 1 });
  const last = full ? toKey(full) : readNewestOrOldest(sql, 'share', range, 'newest');
  if (!last) return false;
  for (const { name, lower, upper } of listTablesIn(sql, 'share', { ...range, upper: getKeyAfter(last) })) {
    sql.exec(
      `INSERT INTO share_views (shareId, viewCount, before, lastAccessedAt)
         SELECT shareId, sum(type = 'share.executed'), 0, max(occurredAt) FROM ${name}
         WHERE (occurredAt, id) >= (?, ?) AND (occurredAt, id) < (?, ?) AND shareId IS NOT NULL
           AND type IN (SELECT value FROM json_each(?))
         GROUP BY shareId
       ON CONFLICT DO UPDATE SET viewCount = viewCount + excluded.viewCount,
         lastAccessedAt = max(lastAccessedAt, excluded.lastAccessedAt)`,
      ...[lower.at, lower.id, upper.at, upper.id, JSON.stringify(VIEW_EVENT_TYPES)],
    );
  }
  sql.exec('UPDATE views_counted SET at = ?, id = ?', last.at, last.id);
  return full !== undefined;
}

/** The events that come behind the mark's time and are not there yet: `countLate` counts them. */
export function findLateViews(sql: SqlStorage, events: readonly Logged<'share'>[]): Logged<'share'>[] {
  const mark = readMark(sql);
  return events.filter((event) => compareKeys(toKey(event), mark) <= 0 && !hasRecord(sql, 'share', event));
}

/** Counts events, each of which is kept now for the first time, and which `countViews` will not come by any more. */
export function countLate(sql: SqlStorage, events: readonly Logged<'share'>[]): void {
  const { since } = readMark(sql);
  for (const { shareId, type, occurredAt } of events) {
    if (shareId === null || !VIEW_EVENT_TYPES.includes(type) || occurredAt < since) continue;
    addViews(sql, { shareId, viewCount: type === 'share.executed' ? 1 : 0, lastAccessedAt: occurredAt });
  }
}
