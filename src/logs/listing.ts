import { clock, DAY_MS } from '../kernel/clock.ts';
import { compareKeys, type LogFilter, type Logged, type LogKind, type LogRange, toRange } from './log.ts';
import { countParts, type ListedPart, listPartsIn } from './parts.ts';
import { countRecordsIn, listDaysIn, readRecordsIn, splitRange } from './rows.ts';

/** The newer end of a list: its records that are still in the object, and the files with the rest, the newest first. */
export interface LogPage {
  /** The number of the object's own records. */
  total: number;
  /** The records of the page that are in the object. */
  records: Logged[];
  parts: ListedPart[];
}

/** The means to read a log while others write. */
export interface LogReadSource {
  sql: SqlStorage;
  /** Changes whenever records are moved. */
  state(): number;
  /** Lets others have a turn. */
  pause(): Promise<void>;
}

/** The number of times that a list is restarted because records were moved, before moving is paused while it is read. */
const MAX_TRIES = 3;

/** Reads `limit` records behind the first `skip`, the newest first, with the exact number of all. */
export async function listRecords(
  { sql, state, pause }: LogReadSource,
  kind: LogKind,
  filter: LogFilter,
  skip: number,
  limit: number,
): Promise<LogPage> {
  const range = toRange(filter);
  for (let tries = 1; ; tries += 1) {
    const before = state();
    const records: Logged[] = [];
    let total = 0;
    let isMoved = false;
    for (const piece of listPieces(sql, kind, range, filter)) {
      const count = piece.count ?? countRecordsIn(sql, kind, piece, filter);
      if (records.length < limit && total + count > skip) {
        const offset = Math.max(0, skip - total);
        records.push(
          ...readRecordsIn(sql, kind, piece, {
            wanted: filter,
            newestFirst: true,
            limit: limit - records.length,
            offset,
          }),
        );
      }
      total += count;
      if (piece.count !== undefined || tries > MAX_TRIES) continue;
      await pause();
      isMoved = state() !== before;
      if (isMoved) break;
    }
    if (isMoved) continue;
    // The last piece and the parts are read in one turn: no record is in both or in neither.
    const parts = listPartsIn(sql, kind, range);
    return { total, records, parts: await countParts(sql, kind, parts, filter, pause) };
  }
}

/** The range in pieces that are read at once, with the number of their records where that is known. */
function* listPieces(
  sql: SqlStorage,
  kind: LogKind,
  range: LogRange,
  { values, denied }: LogFilter,
): Generator<LogRange & { count?: number }> {
  const isEverything = Object.keys(values).length === 0 && denied === undefined;
  for (const piece of listDaysIn(sql, kind, range)) {
    const isWhole = compareKeys(piece.lower, { at: piece.day, id: '' }) === 0 && piece.upper.at === piece.day + DAY_MS;
    // Days that are over change seldom.
    const isOver = piece.day + 2 * DAY_MS < clock.now();
    if (isEverything && isWhole && isOver) yield { ...piece, count: countDay(sql, kind, piece) };
    else yield* splitRange(sql, kind, piece);
  }
}

/** Returns the number of records of a day that is over; counted once, until a late one comes. */
function countDay(sql: SqlStorage, kind: LogKind, { day, lower, upper }: LogRange & { day: number }): number {
  const known = sql.exec<{ records: number }>('SELECT records FROM days WHERE kind = ? AND day = ?', kind, day);
  const [found] = known.toArray();
  if (found) return found.records;
  const records = countRecordsIn(sql, kind, { lower, upper });
  sql.exec('INSERT INTO days (kind, day, records) VALUES (?, ?, ?)', kind, day, records);
  return records;
}

/** Forgets the counts of the days of records that come now. */
export function forgetCounts(sql: SqlStorage, kind: LogKind, records: readonly Logged[]): void {
  const days = new Set(records.map(({ occurredAt }) => Math.floor(occurredAt / DAY_MS) * DAY_MS));
  for (const day of days) {
    if (day + DAY_MS < clock.now()) sql.exec('DELETE FROM days WHERE kind = ? AND day = ?', kind, day);
  }
}
