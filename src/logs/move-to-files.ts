import { clock, HOUR_MS } from '../kernel/clock.ts';
import { selectRows } from '../platform/objects.ts';
import { deleteObjects } from '../platform/stored-files.ts';
import { summarizeContents } from './contents.ts';
import { clearCachedTables, dropMovedTables } from './day-tables.ts';
import {
  compareKeys,
  formatDay,
  getDayRange,
  getKeyAfter,
  type LogKind,
  type LogRecord,
  toLogKey,
  toRange,
} from './log.ts';
import { encodePart, readPart } from './part-file.ts';
import { deletePart, findPart, hasPartWithFile, insertPart, type Part, recordLastMovedKey } from './parts.ts';
import { countRecordsInRange, isDatabaseFull, logLimits, readNewestOrOldest, readRecordsInRange } from './rows.ts';
import { formatLateTable, LOG_TABLES } from './tables.ts';
import { countLateViews, countViews } from './view-counts.ts';

/** The time for which a file that no part names any more is kept, so that current readers can finish. */
const LEFTOVER_RETENTION_MS = HOUR_MS;

/** The storage and files with which a company's log moves its records. */
export interface Mover {
  storage: DurableObjectStorage;
  files: R2Bucket;
  /** The name of the company's log. */
  name: string;
  /** Called with each change of where records are stored, in the same turn. */
  reportChange(): void;
}

/**
 * Moves the oldest records, of one day at most, into a file. The file is written first; then, in one transaction, the part
 * is registered and the rows are deleted. Work that is interrupted before is repeated under the same file name.
 * @param cutoff moves only days that have ended before (ms)
 * @returns whether anything was moved
 */
export async function moveOldestRecords(mover: Mover, kind: LogKind, cutoff: number): Promise<boolean> {
  const { sql } = mover.storage;
  const oldestRecord = readNewestOrOldest(sql, kind, toRange({}), 'oldest');
  if (!oldestRecord) return false;
  const day = getDayRange(oldestRecord.at);
  if (day.upper.at > cutoff) return false;
  const records = takeFirstRecords(readRecordsInRange(sql, kind, day));
  const part = await writePart(mover, kind, records, 1);
  return runInTransaction(mover, () => {
    // What came in between stands among them or before them, and is not in the file: it is written anew.
    if (countRecordsInRange(sql, kind, { ...toRange({}), upper: getKeyAfter(part.last) }) !== records.length)
      return true;
    while (kind === 'share' && countViews(sql));
    insertPart(sql, kind, part);
    recordLastMovedKey(sql, kind, part.last);
    dropMovedTables(sql, kind, clock.now(), isDatabaseFull(sql));
    sql.exec('DELETE FROM days WHERE kind = ? AND day = ?', kind, day.lower.at);
    mover.reportChange();
    return true;
  });
}

function runInTransaction<T>({ storage }: Mover, work: () => T): T {
  try {
    return storage.transactionSync(work);
  } catch (error) {
    clearCachedTables(storage.sql);
    throw error;
  }
}

/** Rewrites files of moved days with late records added, each once by its id. @returns whether there were any */
export async function mergeLateRecords(mover: Mover, kind: LogKind): Promise<boolean> {
  const { storage, files, reportChange } = mover;
  const { sql } = storage;
  const oldestRecord = readNewestOrOldest(sql, kind, toRange({}), 'oldest', true);
  if (!oldestRecord) return false;
  const day = getDayRange(oldestRecord.at);
  const oldPart = findPart(sql, kind, oldestRecord, day);
  const isBeforePartEnd = oldPart !== undefined && compareKeys(oldestRecord, oldPart.last) <= 0;
  const range = isBeforePartEnd
    ? { lower: oldestRecord, upper: getKeyAfter(oldPart.last) }
    : { lower: oldestRecord, upper: day.upper };
  const lateRecords = takeFirstRecords(readRecordsInRange(sql, kind, range, { isLate: true }));
  const recordsById = new Map<string, LogRecord>();
  if (oldPart) for await (const record of readPart(files, oldPart.file)) recordsById.set(record.id, record);
  const newRecords = lateRecords.filter(({ id }) => !recordsById.has(id));
  for (const record of newRecords) recordsById.set(record.id, record);
  const hasNewRecords = newRecords.length > 0;
  const allRecords = [...recordsById.values()].sort((a, b) => compareKeys(toLogKey(a), toLogKey(b)));
  const parts = hasNewRecords ? await writeDayFiles(mover, kind, allRecords, (oldPart?.version ?? 0) + 1) : [];
  storage.transactionSync(() => {
    if (hasNewRecords && oldPart) {
      deletePart(sql, kind, oldPart);
      sql.exec(
        'INSERT OR REPLACE INTO leftovers (file, deleteAt) VALUES (?, ?)',
        oldPart.file,
        clock.now() + LEFTOVER_RETENTION_MS,
      );
    }
    for (const part of parts) insertPart(sql, kind, part);
    deleteLateRecords(sql, kind, lateRecords);
    if (kind === 'share')
      countLateViews(sql, [
        ...new Map(newRecords.map((newRecord) => [newRecord.id, newRecord])).values(),
      ] as LogRecord<'share'>[]);
    if (hasNewRecords) reportChange();
  });
  return true;
}

/** Deletes files that no part has named for `LEFTOVER_RETENTION_MS`. */
export async function deleteLeftovers({ storage: { sql }, files }: Mover): Promise<void> {
  const leftoverFiles = selectRows<{ file: string }>(
    sql,
    'SELECT file FROM leftovers WHERE deleteAt <= ? LIMIT 500',
    clock.now(),
  ).map(({ file }) => file);
  await deleteObjects(
    files,
    leftoverFiles.filter((file) => !hasPartWithFile(sql, file)),
  );
  for (const file of leftoverFiles) sql.exec('DELETE FROM leftovers WHERE file = ?', file);
}

/** Returns the first records, as many as one file holds. */
function takeFirstRecords(records: Iterable<LogRecord>): LogRecord[] {
  const takenRecords: LogRecord[] = [];
  let takenBytes = 0;
  for (const record of records) {
    takenRecords.push(record);
    takenBytes += JSON.stringify(record).length;
    if (takenRecords.length >= logLimits.partRows || takenBytes >= logLimits.partBytes) break;
  }
  return takenRecords;
}

/** Writes records of a day, the oldest first, into as many files as they need. */
export async function writeDayFiles(
  mover: Mover,
  kind: LogKind,
  dayRecords: LogRecord[],
  version: number,
): Promise<Part[]> {
  const parts: Part[] = [];
  while (dayRecords.length > 0) {
    const records = takeFirstRecords(dayRecords);
    dayRecords.splice(0, records.length);
    parts.push(await writePart(mover, kind, records, version));
  }
  return parts;
}

/** Writes one file: `log/{company}/audit-events/2026-01-31/{time}-{id of its first record}.{version}.ndjson.gz` */
async function writePart({ files, name }: Mover, kind: LogKind, records: LogRecord[], version: number): Promise<Part> {
  const [firstKey, lastKey] = [toLogKey(records[0] as LogRecord), toLogKey(records.at(-1) as LogRecord)];
  const file = `log/${name}/${LOG_TABLES[kind].folder}/${formatDay(firstKey.at)}/${firstKey.at}-${firstKey.id}.${version}.ndjson.gz`;
  await files.put(file, await encodePart(records));
  return {
    file,
    version,
    first: firstKey,
    last: lastKey,
    records: records.length,
    contents: summarizeContents(kind, records),
  };
}

function deleteLateRecords(sql: SqlStorage, kind: LogKind, records: readonly LogRecord[]): void {
  const keys = JSON.stringify(records.map(({ occurredAt, id }) => [occurredAt, id]));
  sql.exec(
    `DELETE FROM ${formatLateTable(kind)} WHERE (occurredAt, id) IN (SELECT value ->> 0, value ->> 1 FROM json_each(?))`,
    keys,
  );
}
