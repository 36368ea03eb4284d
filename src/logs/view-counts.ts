import { clock, MINUTE_MS } from '../kernel/clock.ts';
import { listTablesInRange } from './day-tables.ts';
import { compareKeys, getKeyAfter, type LogKey, type LogRecord, toLogKey, toRange } from './log.ts';
import { hasRecord, logLimits, readNewestOrOldest, readRecordsInRange } from './rows.ts';
import { addViews } from './views.ts';

/** Age above which an event was counted by the previous version, if the event was that old when its log was created. */
const COUNTED_BEFORE_MS = MINUTE_MS;

/** The last share event included in the view counts. Events before `since` are not counted here. */
type ViewsCursor = LogKey & { since: number };

export function createViewsCursorTable(sql: SqlStorage): void {
  sql.exec('CREATE TABLE IF NOT EXISTS views_counted (since INTEGER NOT NULL, at INTEGER NOT NULL, id TEXT NOT NULL)');
  const since = clock.now() - COUNTED_BEFORE_MS;
  sql.exec("INSERT INTO views_counted SELECT ?, ?, '' WHERE NOT EXISTS (SELECT 1 FROM views_counted)", since, since);
}

const readViewsCursor = (sql: SqlStorage): ViewsCursor =>
  sql.exec<ViewsCursor & Record<string, number | string>>('SELECT since, at, id FROM views_counted').one();

/** The events that stand for one view of the share that they name. Events for several views are counted by `addViews` alone. */
const VIEW_EVENT_TYPES = ['share.resolved', 'share.executed'];

/**
 * Adds the next events, at most `logLimits.slice`, to the counts: on request, daily, and before events move.
 * @returns whether more are left
 */
export function countViews(sql: SqlStorage): boolean {
  const { at, id } = readViewsCursor(sql);
  const range = { lower: getKeyAfter({ at, id }), upper: toRange({}).upper };
  const [full] = readRecordsInRange(sql, 'share', range, { limit: 1, offset: logLimits.slice - 1 });
  const lastKey = full ? toLogKey(full) : readNewestOrOldest(sql, 'share', range, 'newest');
  if (!lastKey) return false;
  for (const { name, lower, upper } of listTablesInRange(sql, 'share', { ...range, upper: getKeyAfter(lastKey) })) {
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
  sql.exec('UPDATE views_counted SET at = ?, id = ?', lastKey.at, lastKey.id);
  return full !== undefined;
}

/** Returns the events that are not stored yet and lie at or before the cursor of `countViews`, for `countLateViews`. */
export function findLateViews(sql: SqlStorage, events: readonly LogRecord<'share'>[]): LogRecord<'share'>[] {
  const viewsCursor = readViewsCursor(sql);
  return events.filter((event) => compareKeys(toLogKey(event), viewsCursor) <= 0 && !hasRecord(sql, 'share', event));
}

/** Counts late events, each stored now for the first time, that `countViews` has passed already. */
export function countLateViews(sql: SqlStorage, events: readonly LogRecord<'share'>[]): void {
  const { since } = readViewsCursor(sql);
  for (const { shareId, type, occurredAt } of events) {
    if (shareId === null || !VIEW_EVENT_TYPES.includes(type) || occurredAt < since) continue;
    addViews(sql, { shareId, viewCount: type === 'share.executed' ? 1 : 0, lastAccessedAt: occurredAt });
  }
}
