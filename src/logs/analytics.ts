import { selectRows } from '../platform/objects.ts';
import { clipTablesToRange, type DayTable, listTablesInRange } from './day-tables.ts';
import type { LogFieldFilter, LogKey, LogRange } from './log.ts';
import type { ListedPart } from './parts.ts';
import { makeConditions } from './rows.ts';
import { formatLateTable } from './tables.ts';

/** The event counts of the whole period, or of one interval of it. */
export interface Counts {
  /** Number of times that a viewer opened a share or an embed. */
  resolved: number;
  /** Number of executions for viewers. */
  executed: number;
  /** Number of refused requests of viewers. */
  denied: number;
  unique_viewers: number;
}

export interface TopEntry {
  key: string;
  /** The label stored in the events for the key. */
  label: string | null;
  count: number;
}

/** Totals, time series and top lists at one moment. Intervals without events are left out. */
export interface LogAnalytics {
  totals: Counts;
  series: (Counts & { start: number })[];
  top: Record<keyof typeof TOP_LISTS, TopEntry[]>;
}

/** The analytics of the events still in the Durable Object, and the files with older events, which have to be added. */
export interface StoredAnalytics extends LogAnalytics {
  parts: ListedPart[];
  /** The last event that was moved into a file: all events in the Durable Object are newer. */
  moved: LogKey | null;
}

/** A viewer who opened or executed a dashboard. */
export interface SeenViewer {
  viewer: string;
  executed: number;
  label: string | null;
  /** 1 if the viewer has an event before the `end` of `readViewers`, else 0. */
  early: number;
}

/** SQL for the outcome of an event, by the names of the analytics: executed, denied or resolved. */
const OUTCOME_SQL = `CASE
  WHEN type IN ('share.executed', 'embed.executed') THEN 'executed'
  WHEN type IN ('share.denied', 'embed.denied') THEN 'denied'
  WHEN type = 'share.resolved' THEN 'resolved' END`;

const COUNTS_SQL = `coalesce(sum(outcome = 'resolved'), 0) AS resolved, coalesce(sum(outcome = 'executed'), 0) AS executed,
  coalesce(sum(outcome = 'denied'), 0) AS denied,
  count(DISTINCT iif(outcome IN ('resolved', 'executed'), viewer, NULL)) AS unique_viewers`;

/** The top lists: the expression whose values are counted, and the label that the events store for each value. */
const TOP_LISTS = {
  shares: { key: 'shareId', label: 'NULL' },
  dashboards: { key: "iif(targetType = 'dashboard', targetId, NULL)", label: 'NULL' },
  viewers: { key: 'viewer', label: 'coalesce(actorEmail, actorId)' },
  countries: { key: 'ipCountry', label: 'ipCountry' },
} as const;

/** The maximum number of entries in a top list. */
export const MAX_TOP_ENTRIES = 10;
/** Value of `LIMIT` with which SQLite returns all rows. */
const NO_LIMIT = -1;

/** The maximum number of days that are counted: SQLite compiles no larger statement. */
const MAX_DAYS = 500;

/** The maximum number of SELECTs in one UNION that workerd's SQLite accepts. */
const MAX_UNIONS = 5;

/**
 * Reads the analytics of a range. @param intervalStarts where the intervals of the series begin, ascending, in milliseconds @param isPartial
 * older events will be added: the most frequent keys are not known yet, so that all keys except viewers are listed
 */
export function readAnalytics(
  sql: SqlStorage,
  range: LogRange,
  fieldFilter: LogFieldFilter,
  intervalStarts: readonly number[],
  isPartial: boolean,
): LogAnalytics {
  const tables = listTablesInRange(sql, 'share', range).slice(-MAX_DAYS);
  const { text, boundValues } = makeEventsSql(tables, fieldFilter);
  const selectTopEntries = (
    { key, label }: { key: string; label: string },
    limit = isPartial ? NO_LIMIT : MAX_TOP_ENTRIES,
  ) =>
    selectRows<TopEntry>(
      sql,
      `SELECT ${key} AS key, max(${label}) AS label, count(*) AS count FROM ${text}
         WHERE outcome = 'executed' AND ${key} IS NOT NULL GROUP BY 1 ORDER BY 3 DESC, 1 LIMIT ${limit}`,
      ...boundValues,
    );
  return {
    totals: countInTables(sql, tables, fieldFilter),
    // Records stand in the order of their times: each is read once for all intervals together.
    series: intervalStarts.flatMap((start, n) => {
      const end = intervalStarts[n + 1] ?? Number.MAX_SAFE_INTEGER;
      const parts = clipTablesToRange(tables, { lower: { at: start, id: '' }, upper: { at: end, id: '' } });
      return parts.length > 0 ? [{ start, ...countInTables(sql, parts, fieldFilter) }] : [];
    }),
    top: {
      shares: selectTopEntries(TOP_LISTS.shares),
      dashboards: selectTopEntries(TOP_LISTS.dashboards),
      viewers: selectTopEntries(TOP_LISTS.viewers, MAX_TOP_ENTRIES),
      countries: selectTopEntries(TOP_LISTS.countries),
    },
  };
}

/** Reads viewers in the order of their ids, starting after one; a viewer seen before `end` (ms) counts as early. */
export function readViewers(
  sql: SqlStorage,
  range: LogRange,
  fieldFilter: LogFieldFilter,
  { end, after, limit }: { end: number; after: string; limit: number },
): SeenViewer[] {
  const { text, boundValues } = makeEventsSql(listTablesInRange(sql, 'share', range).slice(-MAX_DAYS), fieldFilter);
  return selectRows<SeenViewer>(
    sql,
    `SELECT viewer, sum(outcome = 'executed') AS executed, max(occurredAt < ?) AS early,
         max(iif(outcome = 'executed', ${TOP_LISTS.viewers.label}, NULL)) AS label
       FROM ${text} WHERE outcome IN ('resolved', 'executed') AND viewer > ?
       GROUP BY viewer ORDER BY viewer LIMIT ?`,
    ...[end, ...boundValues, after, limit],
  );
}

function countInTables(sql: SqlStorage, tables: readonly DayTable[], fieldFilter: LogFieldFilter): Counts {
  const { text, boundValues } = makeEventsSql(tables, fieldFilter);
  type Row = Counts & Record<string, SqlStorageValue>;
  return sql.exec<Row>(`SELECT ${COUNTS_SQL} FROM ${text} WHERE outcome IS NOT NULL`, ...boundValues).one();
}

/** Returns SQL for the events of some tables with their outcome, and its bound values. */
function makeEventsSql(
  tables: readonly DayTable[],
  fieldFilter: LogFieldFilter,
): { text: string; boundValues: SqlStorageValue[] } {
  const boundValues: SqlStorageValue[] = [];
  const selectStatements = tables.map(({ name, lower, upper }, n) => {
    // What a range cuts is at its ends: of the days between, all events are meant.
    if (n > 0 && n < tables.length - 1) return `SELECT * FROM ${name}`;
    boundValues.push(lower.at, lower.id, upper.at, upper.id);
    return `SELECT * FROM ${name} WHERE (occurredAt, id) >= (?, ?) AND (occurredAt, id) < (?, ?)`;
  });
  if (tables.length === 0) selectStatements.push(`SELECT * FROM ${formatLateTable('share')} WHERE false`);
  const conditions = makeConditions(fieldFilter);
  boundValues.push(...conditions.boundValues);
  return {
    text: `(SELECT *, ${OUTCOME_SQL} AS outcome FROM (${uniteSelects(selectStatements)}) WHERE true${conditions.text})`,
    boundValues,
  };
}

function uniteSelects(selectStatements: readonly string[]): string {
  if (selectStatements.length <= MAX_UNIONS) return selectStatements.join(' UNION ALL ');
  const groups = Array.from({ length: Math.ceil(selectStatements.length / MAX_UNIONS) }, (_, n) =>
    selectStatements.slice(n * MAX_UNIONS, (n + 1) * MAX_UNIONS),
  );
  return uniteSelects(groups.map((group) => `SELECT * FROM (${uniteSelects(group)})`));
}
