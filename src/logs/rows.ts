import { MINUTE_MS } from '../kernel/clock.ts';
import { getCreatedAt } from '../kernel/ids.ts';
import { selectRows } from '../platform/objects.ts';
import { type DayTable, ensureTable, listTablesIn } from './day-tables.ts';
import {
  compareKeys,
  getDayRange,
  getKeyAfter,
  intersectRanges,
  type LogFieldFilter,
  type Logged,
  type LogKey,
  type LogKind,
  type LogRange,
  toKey,
} from './log.ts';
import { formatLateTable, LOG_TABLES, listColumns } from './tables.ts';

/** Limits of one piece of work; an object, so that tests can lower them. */
export const logSizes = {
  /** Rows read before others get a turn. */
  slice: 20_000,
  /** The maximum number of rows and bytes of one file. */
  partRows: 20_000,
  partBytes: 8 * 1024 * 1024,
  /** The size from which on the oldest days move early. An object holds 10 GB. */
  fullBytes: 9_000_000_000,
};

/** Whether the object has so little room left that its oldest days move early. */
export const isFull = (sql: SqlStorage): boolean => sql.databaseSize >= logSizes.fullBytes;

/** Rows that are read at once: no cursor stays open, which would keep its table from being dropped. */
const ROWS_PER_BATCH = 1000;

/** Longest JSON of one statement. A value that is bound may have 2 MB. */
const STATEMENT_LENGTH = 500_000;

const IN_RANGE = '(occurredAt, id) >= (?, ?) AND (occurredAt, id) < (?, ?)';
const toBoundValues = ({ lower, upper }: LogRange) => [lower.at, lower.id, upper.at, upper.id];

/** Stores records that are not there yet. @returns how many were new */
export function insertRecords(sql: SqlStorage, kind: LogKind, records: readonly Logged[], late = false): number {
  if (late) return insertInto(sql, kind, formatLateTable(kind), records);
  const byTable = Map.groupBy(records, ({ occurredAt }) => ensureTable(sql, kind, occurredAt));
  return [...byTable].reduce((sum, [table, ofOne]) => sum + insertInto(sql, kind, table, ofOne), 0);
}

function insertInto(sql: SqlStorage, kind: LogKind, table: string, records: readonly Logged[]): number {
  const { fields, json } = LOG_TABLES[kind];
  const extract = (field: string) => `value ${json.includes(field) ? '->' : '->>'} '${field}'`;
  const statement = `INSERT OR IGNORE INTO ${table} (${listColumns(kind)})
    SELECT ${['occurredAt', 'id', ...fields].map(extract).join(', ')} FROM json_each(?)`;
  // In their order they fill pages to the end; in any other, pages are split, and half of them stays empty.
  const ordered = records.toSorted((a, b) => compareKeys(toKey(a), toKey(b)));
  let written = 0;
  for (let from = 0; from < ordered.length; ) {
    const texts: string[] = [];
    for (let length = 0; from < ordered.length && length < STATEMENT_LENGTH; from += 1) {
      const text = JSON.stringify(ordered[from]);
      texts.push(text);
      length += text.length;
    }
    written += sql.exec(statement, `[${texts.join()}]`).rowsWritten;
  }
  return written;
}

/** Whether a record of this id, from the same minute, is stored: anybody's events have one id a minute. */
export function isKnownInMinute(sql: SqlStorage, kind: LogKind, { occurredAt, id }: Logged): boolean {
  const madeAt = getCreatedAt(id);
  // Other ids are made when what they stand for happens.
  if (kind !== 'share' || madeAt % MINUTE_MS !== 0 || occurredAt < madeAt || occurredAt >= madeAt + MINUTE_MS)
    return false;
  const range = { lower: { at: madeAt, id: '' }, upper: { at: madeAt + MINUTE_MS, id: '' } };
  return hasRecordOfId(sql, kind, range, id);
}

/** Whether a record of this key is there. @param late among those that wait to be put in their place */
export const hasRecord = (sql: SqlStorage, kind: LogKind, record: Logged, late = false): boolean =>
  hasRecordOfId(sql, kind, { lower: toKey(record), upper: getKeyAfter(toKey(record)) }, record.id, late);

const hasRecordOfId = (sql: SqlStorage, kind: LogKind, range: LogRange, id: string, late = false): boolean =>
  listTablesToRead(sql, kind, range, { newestFirst: false, late }).some(
    ({ name, ...own }) =>
      sql.exec(`SELECT 1 FROM ${name} WHERE ${IN_RANGE} AND id = ?`, ...toBoundValues(own), id).toArray().length > 0,
  );

/** The newest record of a range, or the oldest. */
export function readNewestOrOldest(
  sql: SqlStorage,
  kind: LogKind,
  range: LogRange,
  end: 'newest' | 'oldest',
  late = false,
) {
  const newestFirst = end === 'newest';
  const order = newestFirst ? 'DESC' : 'ASC';
  for (const { name, ...own } of listTablesToRead(sql, kind, range, { newestFirst, late })) {
    const found = sql.exec<{ at: number; id: string }>(
      `SELECT occurredAt AS at, id FROM ${name} WHERE ${IN_RANGE}
       ORDER BY occurredAt ${order}, id ${order} LIMIT 1`,
      ...toBoundValues(own),
    );
    const [key] = found.toArray();
    if (key) return key;
  }
  return undefined;
}

/** The records of a range, one after another. */
export function* readRecordsIn(
  sql: SqlStorage,
  kind: LogKind,
  range: LogRange,
  selection: Selection = {},
): Generator<Logged> {
  const { wanted = ALL_RECORDS, late = false, newestFirst = false } = selection;
  let { limit = Number.POSITIVE_INFINITY, offset = 0 } = selection;
  for (const table of listTablesToRead(sql, kind, range, { newestFirst, late })) {
    let isEmpty = true;
    for (const record of readRecords(sql, kind, table, { wanted, newestFirst, limit, offset })) {
      isEmpty = false;
      yield record;
      limit -= 1;
    }
    if (limit <= 0) return;
    // What was passed over may reach into the next table.
    if (offset > 0) offset = isEmpty ? offset - countRows(sql, table, wanted) : 0;
  }
}

function* readRecords(
  sql: SqlStorage,
  kind: LogKind,
  { name, ...range }: DayTable,
  { wanted, newestFirst, limit, offset }: Required<Omit<Selection, 'late'>>,
): Generator<Logged> {
  const order = newestFirst ? 'DESC' : 'ASC';
  const { json } = LOG_TABLES[kind];
  const { text, given } = makeConditions(wanted);
  for (let { lower, upper } = range, left = limit, skip = offset; left > 0; skip = 0) {
    const atOnce = Math.min(left, ROWS_PER_BATCH);
    const rows = selectRows<Record<string, string | number | null>>(
      sql,
      `SELECT ${listColumns(kind)} FROM ${name} WHERE ${IN_RANGE}${text}
         ORDER BY occurredAt ${order}, id ${order} LIMIT ? OFFSET ?`,
      ...toBoundValues({ lower, upper }),
      ...given,
      atOnce,
      skip,
    );
    for (const row of rows) {
      for (const field of json) row[field] = JSON.parse(row[field] as string);
      yield row as unknown as Logged;
    }
    const last = rows.at(-1) as unknown as Logged | undefined;
    if (last === undefined || rows.length < atOnce) return;
    left -= rows.length;
    if (newestFirst) upper = toKey(last);
    else lower = getKeyAfter(toKey(last));
  }
}

function listTablesToRead(
  sql: SqlStorage,
  kind: LogKind,
  range: LogRange,
  { newestFirst, late }: { newestFirst: boolean; late: boolean },
): DayTable[] {
  if (late) return [{ name: formatLateTable(kind), ...range }];
  const tables = listTablesIn(sql, kind, range);
  return newestFirst ? tables.reverse() : tables;
}

/** The records of a range to read, and their order: the oldest first by default. */
export interface Selection {
  wanted?: LogFieldFilter;
  newestFirst?: boolean;
  late?: boolean;
  limit?: number;
  offset?: number;
}

export const countRecordsIn = (
  sql: SqlStorage,
  kind: LogKind,
  range: LogRange,
  wanted: LogFieldFilter = ALL_RECORDS,
): number => listTablesIn(sql, kind, range).reduce((sum, table) => sum + countRows(sql, table, wanted), 0);

function countRows(sql: SqlStorage, { name, ...range }: DayTable, wanted: LogFieldFilter): number {
  const { text, given } = makeConditions(wanted);
  const statement = `SELECT count(*) AS n FROM ${name} WHERE ${IN_RANGE}${text}`;
  return sql.exec<{ n: number }>(statement, ...toBoundValues(range), ...given).one().n;
}

/** The fields are those of `TABLES`: who hands in the filter has made sure. */
export function makeConditions({ values, denied = [] }: LogFieldFilter): { text: string; given: string[] } {
  const asked = Object.entries(values).map(([field, value]) => ({ text: ` AND ${field} = ?`, given: [value] }));
  const refused = denied.map(({ field, where, denied: { everything, ids, patterns } }) => {
    const id = toColumn(field);
    return {
      text: ` AND NOT (${id} IS NOT NULL${where ? ` AND ${toColumn(where.field)} IS ?` : ''} AND (
      ${id} IN (SELECT value FROM json_each(?))
      OR EXISTS (SELECT 1 FROM json_each(?) AS denied WHERE ${id} GLOB denied.value)))`,
      given: [...(where ? [where.value] : []), JSON.stringify(ids), JSON.stringify(everything ? ['*'] : patterns)],
    };
  });
  const all = [...asked, ...refused];
  return { text: all.map(({ text }) => text).join(''), given: all.flatMap(({ given }) => given) };
}

/** The SQL for a field, or for one of `details`. */
function toColumn(field: string): string {
  const [column, member] = field.split('.');
  return member === undefined ? field : `(${column} ->> '$.${member}')`;
}

const ALL_RECORDS: LogFieldFilter = { values: {} };

/** The days of a range that have records, the newest first, each as far as it lies within the range. */
export function* listDaysIn(sql: SqlStorage, kind: LogKind, range: LogRange): Generator<LogRange & { day: number }> {
  for (let { upper } = range; ; ) {
    const newest = readNewestOrOldest(sql, kind, { ...range, upper }, 'newest');
    if (!newest) return;
    const day = getDayRange(newest.at);
    const piece = intersectRanges(day, { ...range, upper }) as LogRange;
    yield { day: day.lower.at, ...piece };
    upper = piece.lower;
  }
}

/** A range in slices of few enough rows that others need not wait, the newest first. */
export function* splitRange(sql: SqlStorage, kind: LogKind, range: LogRange): Generator<LogRange> {
  for (let { upper } = range; compareKeys(range.lower, upper) < 0; ) {
    const [first] = readRecordsIn(
      sql,
      kind,
      { ...range, upper },
      { newestFirst: true, limit: 1, offset: logSizes.slice - 1 },
    );
    const lower: LogKey = first ? toKey(first) : range.lower;
    yield { lower, upper };
    upper = lower;
  }
}
