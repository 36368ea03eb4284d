import { MINUTE_MS } from '../kernel/clock.ts';
import { getCreatedAt } from '../kernel/ids.ts';
import { selectRows } from '../platform/objects.ts';
import { type DayTable, ensureTable, listTablesInRange } from './day-tables.ts';
import {
  compareKeys,
  getDayRange,
  getKeyAfter,
  intersectRanges,
  type LogFieldFilter,
  type LogKey,
  type LogKind,
  type LogRange,
  type LogRecord,
  toLogKey,
} from './log.ts';
import { formatLateTable, LOG_TABLES, listColumns } from './tables.ts';

/** Limits of one step; an object, so that tests can lower them. */
export const logLimits = {
  /** The number of rows read before yielding to other requests. */
  slice: 20_000,
  /** The maximum number of rows of one file. */
  partRows: 20_000,
  /** The maximum number of bytes of one file. */
  partBytes: 8 * 1024 * 1024,
  /** The database size from which the oldest days move early. A Durable Object holds 10 GB. */
  fullBytes: 9_000_000_000,
};

/** Tells whether the Durable Object has so little space left that its oldest days move early. */
export const isDatabaseFull = (sql: SqlStorage): boolean => sql.databaseSize >= logLimits.fullBytes;

/** The number of rows read at once: no cursor stays open, which would keep its table from being dropped. */
const ROWS_PER_BATCH = 1000;

/** The maximum length of one statement's JSON. A bound value may have 2 MB. */
const MAX_STATEMENT_LENGTH = 500_000;

const RANGE_CONDITION = '(occurredAt, id) >= (?, ?) AND (occurredAt, id) < (?, ?)';
const toBoundValues = ({ lower, upper }: LogRange) => [lower.at, lower.id, upper.at, upper.id];

/** Stores records that are not stored yet. @returns how many were new */
export function insertRecords(sql: SqlStorage, kind: LogKind, records: readonly LogRecord[], isLate = false): number {
  if (isLate) return insertIntoTable(sql, kind, formatLateTable(kind), records);
  const recordsByTable = Map.groupBy(records, ({ occurredAt }) => ensureTable(sql, kind, occurredAt));
  return [...recordsByTable].reduce((sum, [table, ofOne]) => sum + insertIntoTable(sql, kind, table, ofOne), 0);
}

function insertIntoTable(sql: SqlStorage, kind: LogKind, table: string, records: readonly LogRecord[]): number {
  const { fields, jsonFields } = LOG_TABLES[kind];
  const makeExtractSql = (field: string) => `value ${jsonFields.includes(field) ? '->' : '->>'} '${field}'`;
  const statement = `INSERT OR IGNORE INTO ${table} (${listColumns(kind)})
    SELECT ${['occurredAt', 'id', ...fields].map(makeExtractSql).join(', ')} FROM json_each(?)`;
  // In their order they fill pages to the end; in any other, pages are split, and half of them stays empty.
  const orderedRecords = records.toSorted((a, b) => compareKeys(toLogKey(a), toLogKey(b)));
  let insertedCount = 0;
  for (let from = 0; from < orderedRecords.length; ) {
    const texts: string[] = [];
    for (let length = 0; from < orderedRecords.length && length < MAX_STATEMENT_LENGTH; from += 1) {
      const text = JSON.stringify(orderedRecords[from]);
      texts.push(text);
      length += text.length;
    }
    insertedCount += sql.exec(statement, `[${texts.join()}]`).rowsWritten;
  }
  return insertedCount;
}

/** Tells whether a record of this id, from the same minute, is stored: anonymous events have one id a minute. */
export function isStoredInMinute(sql: SqlStorage, kind: LogKind, { occurredAt, id }: LogRecord): boolean {
  const createdAt = getCreatedAt(id);
  // Other ids are made when what they stand for happens.
  if (kind !== 'share' || createdAt % MINUTE_MS !== 0 || occurredAt < createdAt || occurredAt >= createdAt + MINUTE_MS)
    return false;
  const range = { lower: { at: createdAt, id: '' }, upper: { at: createdAt + MINUTE_MS, id: '' } };
  return hasRecordWithId(sql, kind, range, id);
}

/** Tells whether a record of this key is stored. @param isLate among late records, which are not merged yet */
export const hasRecord = (sql: SqlStorage, kind: LogKind, record: LogRecord, isLate = false): boolean =>
  hasRecordWithId(sql, kind, { lower: toLogKey(record), upper: getKeyAfter(toLogKey(record)) }, record.id, isLate);

const hasRecordWithId = (sql: SqlStorage, kind: LogKind, range: LogRange, id: string, isLate = false): boolean =>
  listTablesToRead(sql, kind, range, { isNewestFirst: false, isLate }).some(
    ({ name, ...own }) =>
      sql.exec(`SELECT 1 FROM ${name} WHERE ${RANGE_CONDITION} AND id = ?`, ...toBoundValues(own), id).toArray()
        .length > 0,
  );

/** Returns the newest or the oldest record of a range. */
export function readNewestOrOldest(
  sql: SqlStorage,
  kind: LogKind,
  range: LogRange,
  end: 'newest' | 'oldest',
  isLate = false,
) {
  const isNewestFirst = end === 'newest';
  const order = isNewestFirst ? 'DESC' : 'ASC';
  for (const { name, ...own } of listTablesToRead(sql, kind, range, { isNewestFirst, isLate })) {
    const foundRows = sql.exec<{ at: number; id: string }>(
      `SELECT occurredAt AS at, id FROM ${name} WHERE ${RANGE_CONDITION}
       ORDER BY occurredAt ${order}, id ${order} LIMIT 1`,
      ...toBoundValues(own),
    );
    const [key] = foundRows.toArray();
    if (key) return key;
  }
  return undefined;
}

/** Yields the records of a range, one after another. */
export function* readRecordsInRange(
  sql: SqlStorage,
  kind: LogKind,
  range: LogRange,
  selection: RecordSelection = {},
): Generator<LogRecord> {
  const { fieldFilter = ALL_RECORDS, isLate = false, isNewestFirst = false } = selection;
  let { limit = Number.POSITIVE_INFINITY, offset = 0 } = selection;
  for (const table of listTablesToRead(sql, kind, range, { isNewestFirst, isLate })) {
    let isEmpty = true;
    for (const record of readRecords(sql, kind, table, { fieldFilter, isNewestFirst, limit, offset })) {
      isEmpty = false;
      yield record;
      limit -= 1;
    }
    if (limit <= 0) return;
    // What was passed over may reach into the next table.
    if (offset > 0) offset = isEmpty ? offset - countRows(sql, table, fieldFilter) : 0;
  }
}

function* readRecords(
  sql: SqlStorage,
  kind: LogKind,
  { name, ...range }: DayTable,
  { fieldFilter, isNewestFirst, limit, offset }: Required<Omit<RecordSelection, 'isLate'>>,
): Generator<LogRecord> {
  const order = isNewestFirst ? 'DESC' : 'ASC';
  const { jsonFields } = LOG_TABLES[kind];
  const { text, boundValues } = makeConditions(fieldFilter);
  for (let { lower, upper } = range, remainingCount = limit, skipCount = offset; remainingCount > 0; skipCount = 0) {
    const batchSize = Math.min(remainingCount, ROWS_PER_BATCH);
    const rows = selectRows<Record<string, string | number | null>>(
      sql,
      `SELECT ${listColumns(kind)} FROM ${name} WHERE ${RANGE_CONDITION}${text}
         ORDER BY occurredAt ${order}, id ${order} LIMIT ? OFFSET ?`,
      ...toBoundValues({ lower, upper }),
      ...boundValues,
      batchSize,
      skipCount,
    );
    for (const row of rows) {
      for (const field of jsonFields) row[field] = JSON.parse(row[field] as string);
      yield row as unknown as LogRecord;
    }
    const lastRecord = rows.at(-1) as unknown as LogRecord | undefined;
    if (lastRecord === undefined || rows.length < batchSize) return;
    remainingCount -= rows.length;
    if (isNewestFirst) upper = toLogKey(lastRecord);
    else lower = getKeyAfter(toLogKey(lastRecord));
  }
}

function listTablesToRead(
  sql: SqlStorage,
  kind: LogKind,
  range: LogRange,
  { isNewestFirst, isLate }: { isNewestFirst: boolean; isLate: boolean },
): DayTable[] {
  if (isLate) return [{ name: formatLateTable(kind), ...range }];
  const tables = listTablesInRange(sql, kind, range);
  return isNewestFirst ? tables.reverse() : tables;
}

/** The selection of a range's records, and their order: the oldest first by default. */
export interface RecordSelection {
  fieldFilter?: LogFieldFilter;
  isNewestFirst?: boolean;
  isLate?: boolean;
  limit?: number;
  offset?: number;
}

export const countRecordsInRange = (
  sql: SqlStorage,
  kind: LogKind,
  range: LogRange,
  fieldFilter: LogFieldFilter = ALL_RECORDS,
): number => listTablesInRange(sql, kind, range).reduce((sum, table) => sum + countRows(sql, table, fieldFilter), 0);

function countRows(sql: SqlStorage, { name, ...range }: DayTable, fieldFilter: LogFieldFilter): number {
  const { text, boundValues } = makeConditions(fieldFilter);
  const statement = `SELECT count(*) AS n FROM ${name} WHERE ${RANGE_CONDITION}${text}`;
  return sql.exec<{ n: number }>(statement, ...toBoundValues(range), ...boundValues).one().n;
}

/** Makes SQL conditions from a filter. The caller has checked that the fields are those of `LOG_TABLES`. */
export function makeConditions({ values, denied: deniedRecords = [] }: LogFieldFilter): {
  text: string;
  boundValues: string[];
} {
  const valueConditions = Object.entries(values).map(([field, value]) => ({
    text: ` AND ${field} = ?`,
    given: [value],
  }));
  const denialConditions = deniedRecords.map(({ field, where, denied: { everything, ids, patterns } }) => {
    const id = toColumn(field);
    return {
      text: ` AND NOT (${id} IS NOT NULL${where ? ` AND ${toColumn(where.field)} IS ?` : ''} AND (
      ${id} IN (SELECT value FROM json_each(?))
      OR EXISTS (SELECT 1 FROM json_each(?) AS denied WHERE ${id} GLOB denied.value)))`,
      given: [...(where ? [where.value] : []), JSON.stringify(ids), JSON.stringify(everything ? ['*'] : patterns)],
    };
  });
  const allConditions = [...valueConditions, ...denialConditions];
  return {
    text: allConditions.map(({ text }) => text).join(''),
    boundValues: allConditions.flatMap(({ given }) => given),
  };
}

/** Returns the SQL for a field, or for a field of `details`. */
function toColumn(field: string): string {
  const [column, member] = field.split('.');
  return member === undefined ? field : `(${column} ->> '$.${member}')`;
}

const ALL_RECORDS: LogFieldFilter = { values: {} };

/** Yields the days of a range that have records, the newest first, each clipped to the range. */
export function* listDaysInRange(
  sql: SqlStorage,
  kind: LogKind,
  range: LogRange,
): Generator<LogRange & { day: number }> {
  for (let { upper } = range; ; ) {
    const newest = readNewestOrOldest(sql, kind, { ...range, upper }, 'newest');
    if (!newest) return;
    const day = getDayRange(newest.at);
    const piece = intersectRanges(day, { ...range, upper }) as LogRange;
    yield { day: day.lower.at, ...piece };
    upper = piece.lower;
  }
}

/** Splits a range into slices with few enough rows not to delay other requests, the newest first. */
export function* splitRange(sql: SqlStorage, kind: LogKind, range: LogRange): Generator<LogRange> {
  for (let { upper } = range; compareKeys(range.lower, upper) < 0; ) {
    const [first] = readRecordsInRange(
      sql,
      kind,
      { ...range, upper },
      { isNewestFirst: true, limit: 1, offset: logLimits.slice - 1 },
    );
    const lowerKey: LogKey = first ? toLogKey(first) : range.lower;
    yield { lower: lowerKey, upper };
    upper = lowerKey;
  }
}
