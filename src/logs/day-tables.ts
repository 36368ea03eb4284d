import { DAY_MS } from '../kernel/clock.ts';
import { selectRows } from '../platform/objects.ts';
import {
  compareKeys,
  getDayRange,
  getKeyAfter,
  intersectRanges,
  LOG_KINDS,
  type LogKind,
  type LogRange,
  toRange,
} from './log.ts';
import { readLastMovedKey } from './parts.ts';
import { createTable, LOG_TABLES, listColumns, listTableNames } from './tables.ts';

/** A table of records, and the range of records stored in it. */
export interface DayTable extends LogRange {
  name: string;
}

/** The days that have a table, in order, and the end of the days in the table of the previous version. */
interface DayTables {
  days: number[];
  formerTableEnd: number;
}

const NO_DAY = Number.MIN_SAFE_INTEGER;

/** The cached tables of each database. Code that creates or drops a table updates or clears this cache. */
const cachedDayTables = new WeakMap<SqlStorage, Record<LogKind, DayTables>>();

const formatTableName = (kind: LogKind, day: number): string => `"${LOG_TABLES[kind].tablePrefix}_${day}"`;

function getDayTables(sql: SqlStorage): Record<LogKind, DayTables> {
  const cachedTables = cachedDayTables.get(sql);
  if (cachedTables) return cachedTables;
  const names = listTableNames(sql);
  const tablesByKind = {} as Record<LogKind, DayTables>;
  for (const kind of LOG_KINDS) {
    const { tablePrefix: formerName } = LOG_TABLES[kind];
    const namePrefix = `${formerName}_`;
    const days = names
      .filter((name) => name.startsWith(namePrefix))
      .map((name) => Number(name.slice(namePrefix.length)));
    const [end] = names.includes(formerName)
      ? sql.exec<{ at: number }>('SELECT endAt AS at FROM former_tables WHERE kind = ?', kind).toArray()
      : [];
    tablesByKind[kind] = { days: days.sort((a, b) => a - b), formerTableEnd: end?.at ?? NO_DAY };
  }
  cachedDayTables.set(sql, tablesByKind);
  return tablesByKind;
}

/** Returns the table for a record of this time, creating it where there is none. */
export function ensureTable(sql: SqlStorage, kind: LogKind, at: number): string {
  const { days, formerTableEnd: formerEnd } = getDayTables(sql)[kind];
  if (at < formerEnd) return LOG_TABLES[kind].tablePrefix;
  const day = Math.floor(at / DAY_MS);
  if (!days.includes(day)) {
    createTable(sql, kind, formatTableName(kind, day));
    days.push(day);
    days.sort((a, b) => a - b);
  }
  return formatTableName(kind, day);
}

function listTables(sql: SqlStorage, kind: LogKind): DayTable[] {
  const { days, formerTableEnd: formerEnd } = getDayTables(sql)[kind];
  const formerTable = {
    name: LOG_TABLES[kind].tablePrefix,
    lower: toRange({}).lower,
    upper: { at: formerEnd, id: '' },
  };
  return [formerTable, ...days.map((day) => ({ name: formatTableName(kind, day), ...getDayRange(day * DAY_MS) }))];
}

/** Lists the tables with records of a range, the oldest first, each with its part of the range; without moved records. */
export function listTablesInRange(sql: SqlStorage, kind: LogKind, range: LogRange): DayTable[] {
  const lastMovedKey = readLastMovedKey(sql, kind);
  const unmovedRange = lastMovedKey ? { lower: getKeyAfter(lastMovedKey), upper: toRange({}).upper } : toRange({});
  const requestedRange = intersectRanges(range, unmovedRange);
  return requestedRange ? clipTablesToRange(listTables(sql, kind), requestedRange) : [];
}

/** Returns the tables that overlap a range, each clipped to the range. */
export const clipTablesToRange = (tables: readonly DayTable[], range: LogRange): DayTable[] =>
  tables.flatMap(({ name, ...own }) => {
    const commonRange = intersectRanges(own, range);
    return commonRange ? [{ name, ...commonRange }] : [];
  });

/** Drops the tables of moved records: this writes no row, unlike deleting. @param needsSpace space is needed at once */
export function dropMovedTables(sql: SqlStorage, kind: LogKind, now: number, needsSpace: boolean): void {
  const lastMovedKey = readLastMovedKey(sql, kind);
  if (!lastMovedKey) return;
  for (const { name, upper, lower } of listTables(sql, kind)) {
    if (compareKeys(lower, lastMovedKey) > 0 || upper.at === NO_DAY) continue;
    const [left] = selectRows(
      sql,
      `SELECT 1 FROM ${name} WHERE (occurredAt, id) > (?, ?) LIMIT 1`,
      lastMovedKey.at,
      lastMovedKey.id,
    );
    const isFormerTable = name === LOG_TABLES[kind].tablePrefix;
    if (!left) {
      sql.exec(`DROP TABLE ${name}`);
      if (isFormerTable) sql.exec('UPDATE former_tables SET endAt = ? WHERE kind = ?', NO_DAY, kind);
      cachedDayTables.delete(sql);
    } else if (isFormerTable || (needsSpace && upper.at > now)) {
      sql.exec(`DELETE FROM ${name} WHERE (occurredAt, id) <= (?, ?)`, lastMovedKey.at, lastMovedKey.id);
    }
  }
}

/** Clears the cached tables, so that they are read again, where a transaction may have been rolled back. */
export const clearCachedTables = (sql: SqlStorage): boolean => cachedDayTables.delete(sql);

/**
 * Takes over the single table for all days from the previous version of the service. It remains the table of the days that it
 * covers, until they are moved: nothing is copied. If the previous version runs again after a rollback, the records that it adds
 * go into the tables of their days. May be repeated.
 */
export function takeOverFormerTables(sql: SqlStorage): void {
  sql.exec('CREATE TABLE IF NOT EXISTS former_tables (kind TEXT PRIMARY KEY, endAt INTEGER NOT NULL) WITHOUT ROWID');
  for (const kind of LOG_KINDS) {
    const { tablePrefix } = LOG_TABLES[kind];
    if (sql.exec("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", tablePrefix).toArray().length === 0)
      continue;
    const { newest } = sql
      .exec<{ newest: number | null }>(`SELECT max(occurredAt) AS newest FROM ${tablePrefix}`)
      .one();
    const isFirstTakeover = newest !== null && getDayTables(sql)[kind].days.length === 0;
    const end = isFirstTakeover ? getDayRange(newest).upper.at : NO_DAY;
    sql.exec('INSERT OR IGNORE INTO former_tables (kind, endAt) VALUES (?, ?)', kind, end);
    cachedDayTables.delete(sql);
    const { formerTableEnd: formerEnd } = getDayTables(sql)[kind];
    const nextRecordSql = `SELECT occurredAt AS at FROM ${tablePrefix} WHERE occurredAt >= ? ORDER BY occurredAt LIMIT 1`;
    for (;;) {
      const [addedRecord] = sql.exec<{ at: number }>(nextRecordSql, formerEnd).toArray();
      if (!addedRecord) break;
      const { lower, upper } = getDayRange(addedRecord.at);
      const dayCondition = 'WHERE occurredAt >= ? AND occurredAt < ?';
      sql.exec(
        `INSERT OR IGNORE INTO ${ensureTable(sql, kind, addedRecord.at)} (${listColumns(kind)})
         SELECT ${listColumns(kind)} FROM ${tablePrefix} ${dayCondition}`,
        lower.at,
        upper.at,
      );
      sql.exec(`DELETE FROM ${tablePrefix} ${dayCondition}`, lower.at, upper.at);
    }
    if (sql.exec(`SELECT 1 FROM ${tablePrefix} LIMIT 1`).toArray().length > 0) continue;
    sql.exec(`DROP TABLE ${tablePrefix}`);
    sql.exec('UPDATE former_tables SET endAt = ? WHERE kind = ?', NO_DAY, kind);
    cachedDayTables.delete(sql);
  }
}
