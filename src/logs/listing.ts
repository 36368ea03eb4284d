import { clock, DAY_MS } from '../kernel/clock.ts';
import { compareKeys, type LogFilter, type LogKind, type LogRange, type LogRecord, toRange } from './log.ts';
import { countParts, type ListedPart, listPartsInRange } from './parts.ts';
import { countRecordsInRange, listDaysInRange, readRecordsInRange, splitRange } from './rows.ts';

/** The newer end of a list: its records still in the Durable Object, and the files with the rest, the newest first. */
export interface LogPage {
  /** The number of matching records in the Durable Object. */
  total: number;
  /** The records of the page that are in the Durable Object. */
  records: LogRecord[];
  parts: ListedPart[];
}

/** The means to read a log while records are written. */
export interface LogReadSource {
  sql: SqlStorage;
  /** Returns a value that changes whenever records are moved. */
  getMoveCount(): number;
  /** Yields to other requests. */
  pause(): Promise<void>;
}

/** The number of times a list is restarted because records moved, before moving is paused while it is read. */
const MAX_TRIES = 3;

/** Reads `limit` records after skipping `skipCount`, the newest first, with the exact total. */
export async function listRecords(
  { sql, getMoveCount: state, pause }: LogReadSource,
  kind: LogKind,
  filter: LogFilter,
  skipCount: number,
  limit: number,
): Promise<LogPage> {
  const range = toRange(filter);
  for (let tryCount = 1; ; tryCount += 1) {
    const stateBefore = state();
    const records: LogRecord[] = [];
    let total = 0;
    let isMoved = false;
    for (const piece of listRangePieces(sql, kind, range, filter)) {
      const count = piece.count ?? countRecordsInRange(sql, kind, piece, filter);
      if (records.length < limit && total + count > skipCount) {
        const offset = Math.max(0, skipCount - total);
        records.push(
          ...readRecordsInRange(sql, kind, piece, {
            fieldFilter: filter,
            isNewestFirst: true,
            limit: limit - records.length,
            offset,
          }),
        );
      }
      total += count;
      if (piece.count !== undefined || tryCount > MAX_TRIES) continue;
      await pause();
      isMoved = state() !== stateBefore;
      if (isMoved) break;
    }
    if (isMoved) continue;
    // The last piece and the parts are read in one turn: no record is in both or in neither.
    const parts = listPartsInRange(sql, kind, range);
    return { total, records, parts: await countParts(sql, kind, parts, filter, pause) };
  }
}

/** Yields the pieces of a range that are read at once, with the number of their records where it is known. */
function* listRangePieces(
  sql: SqlStorage,
  kind: LogKind,
  range: LogRange,
  { values, denied: deniedRecords }: LogFilter,
): Generator<LogRange & { count?: number }> {
  const isUnfiltered = Object.keys(values).length === 0 && deniedRecords === undefined;
  for (const piece of listDaysInRange(sql, kind, range)) {
    const isWholeDay =
      compareKeys(piece.lower, { at: piece.day, id: '' }) === 0 && piece.upper.at === piece.day + DAY_MS;
    // Days that are over change seldom.
    const isDayOver = piece.day + 2 * DAY_MS < clock.now();
    if (isUnfiltered && isWholeDay && isDayOver) yield { ...piece, count: countDayRecords(sql, kind, piece) };
    else yield* splitRange(sql, kind, piece);
  }
}

/** Returns the number of records of a day that is over; counted once, until a late record arrives. */
function countDayRecords(sql: SqlStorage, kind: LogKind, { day, lower, upper }: LogRange & { day: number }): number {
  const storedCount = sql.exec<{ records: number }>('SELECT records FROM days WHERE kind = ? AND day = ?', kind, day);
  const [found] = storedCount.toArray();
  if (found) return found.records;
  const records = countRecordsInRange(sql, kind, { lower, upper });
  sql.exec('INSERT INTO days (kind, day, records) VALUES (?, ?, ?)', kind, day, records);
  return records;
}

/** Deletes the stored counts of the days of records that arrive now. */
export function deleteDayCounts(sql: SqlStorage, kind: LogKind, records: readonly LogRecord[]): void {
  const days = new Set(records.map(({ occurredAt }) => Math.floor(occurredAt / DAY_MS) * DAY_MS));
  for (const day of days) {
    if (day + DAY_MS < clock.now()) sql.exec('DELETE FROM days WHERE kind = ? AND day = ?', kind, day);
  }
}
