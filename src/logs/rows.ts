import { momentOf } from '../kernel/ids.ts';
import {
  compareKeys,
  DAY_MS,
  keyOf,
  type LogFilter,
  type Logged,
  type LogKey,
  type LogKind,
  type LogRange,
} from '../kernel/log.ts';
import { columnsOf, TABLES, tableOf } from './tables.ts';

/** How much is done at once. One object of all isolates' own, so that tests can make it small. */
export const logSizes = {
  /** Rows read before others get a turn. */
  slice: 20_000,
  /** Most rows and bytes of one file. */
  partRows: 20_000,
  partBytes: 8 * 1024 * 1024,
  /** From this size on the oldest days move early. An object holds 10 GB. */
  fullBytes: 9_000_000_000,
};

/** Longest JSON of one statement. A value that is bound may have 2 MB. */
const STATEMENT_LENGTH = 500_000;

const IN_RANGE = '(occurredAt, id) >= (?, ?) AND (occurredAt, id) < (?, ?)';
const bound = ({ lower, upper }: LogRange) => [lower.at, lower.id, upper.at, upper.id];

/** Stores records that are not there yet. @returns how many were new */
export function insertRecords(sql: SqlStorage, kind: LogKind, records: readonly Logged[], late = false): number {
  const { members, json } = TABLES[kind];
  const extract = (member: string) => `value ${json.includes(member) ? '->' : '->>'} '${member}'`;
  const statement = `INSERT OR IGNORE INTO ${tableOf(kind, late)} (${columnsOf(kind)})
    SELECT ${['occurredAt', 'id', ...members].map(extract).join(', ')} FROM json_each(?)`;
  let written = 0;
  for (let from = 0; from < records.length; ) {
    const texts: string[] = [];
    for (let length = 0; from < records.length && length < STATEMENT_LENGTH; from += 1) {
      const text = JSON.stringify(records[from]);
      texts.push(text);
      length += text.length;
    }
    written += sql.exec(statement, `[${texts.join()}]`).rowsWritten;
  }
  return written;
}

/** Whether a record of this id is there with another time of the same minute, as what anybody can cause is told once. */
export function isKnownInMinute(sql: SqlStorage, kind: LogKind, { occurredAt, id }: Logged): boolean {
  const madeAt = momentOf(id);
  // Other ids are made when what they stand for happens.
  if (kind !== 'share' || madeAt % 60_000 !== 0 || occurredAt < madeAt || occurredAt >= madeAt + 60_000) return false;
  const range = { lower: { at: madeAt, id: '' }, upper: { at: madeAt + 60_000, id: '' } };
  return (
    sql.exec(`SELECT 1 FROM ${tableOf(kind)} WHERE ${IN_RANGE} AND id = ?`, ...bound(range), id).toArray().length > 0
  );
}

/** Whether a record of this key is there. */
export const isThere = (sql: SqlStorage, kind: LogKind, { occurredAt, id }: Logged): boolean =>
  sql.exec(`SELECT 1 FROM ${tableOf(kind)} WHERE occurredAt = ? AND id = ?`, occurredAt, id).toArray().length > 0;

/** The newest record of a range, or the oldest. */
export function endOf(sql: SqlStorage, kind: LogKind, range: LogRange, end: 'newest' | 'oldest', late = false) {
  const order = end === 'newest' ? 'DESC' : 'ASC';
  const found = sql.exec<{ at: number; id: string }>(
    `SELECT occurredAt AS at, id FROM ${tableOf(kind, late)} WHERE ${IN_RANGE}
     ORDER BY occurredAt ${order}, id ${order} LIMIT 1`,
    ...bound(range),
  );
  return found.toArray()[0];
}

/** The records of a range, one after another. */
export function* recordsIn(
  sql: SqlStorage,
  kind: LogKind,
  range: LogRange,
  { values = {}, newestFirst = false, late = false, limit = -1, offset = 0 }: Selection = {},
): Generator<Logged> {
  const order = newestFirst ? 'DESC' : 'ASC';
  const { json } = TABLES[kind];
  const found = sql.exec<Record<string, string | number | null>>(
    `SELECT ${columnsOf(kind)} FROM ${tableOf(kind, late)} WHERE ${IN_RANGE}${conditionsOf(values)}
     ORDER BY occurredAt ${order}, id ${order} LIMIT ? OFFSET ?`,
    ...bound(range),
    ...Object.values(values),
    limit,
    offset,
  );
  for (const row of found) {
    for (const member of json) row[member] = JSON.parse(row[member] as string);
    yield row as unknown as Logged;
  }
}

/** Which records of a range are read, and in which order: the oldest first, unless it is said. */
export interface Selection {
  values?: LogFilter['values'];
  newestFirst?: boolean;
  late?: boolean;
  limit?: number;
  offset?: number;
}

export function countIn(sql: SqlStorage, kind: LogKind, range: LogRange, values: LogFilter['values'] = {}): number {
  return sql
    .exec<{ n: number }>(
      `SELECT count(*) AS n FROM ${tableOf(kind)} WHERE ${IN_RANGE}${conditionsOf(values)}`,
      ...bound(range),
      ...Object.values(values),
    )
    .one().n;
}

/** The members are those of `TABLES`: who hands in the filter has made sure. */
const conditionsOf = (values: LogFilter['values']): string =>
  Object.keys(values)
    .map((member) => ` AND ${member} = ?`)
    .join('');

/** The days of a range that have records, the newest first, each as far as it lies within the range. */
export function* daysIn(sql: SqlStorage, kind: LogKind, range: LogRange): Generator<LogRange & { day: number }> {
  for (let { upper } = range; ; ) {
    const newest = endOf(sql, kind, { ...range, upper }, 'newest');
    if (!newest) return;
    const day = Math.floor(newest.at / DAY_MS) * DAY_MS;
    const ends = [range.lower, { at: day, id: '' }] as const;
    const lower = compareKeys(...ends) > 0 ? ends[0] : ends[1];
    const end = { at: day + DAY_MS, id: '' };
    yield { day, lower, upper: compareKeys(upper, end) < 0 ? upper : end };
    upper = lower;
  }
}

/** A range in slices of so many rows that others need not wait, the newest first. */
export function* slicesOf(sql: SqlStorage, kind: LogKind, range: LogRange): Generator<LogRange> {
  for (let { upper } = range; compareKeys(range.lower, upper) < 0; ) {
    const [first] = recordsIn(
      sql,
      kind,
      { ...range, upper },
      { newestFirst: true, limit: 1, offset: logSizes.slice - 1 },
    );
    const lower: LogKey = first ? keyOf(first) : range.lower;
    yield { lower, upper };
    upper = lower;
  }
}
