import { clock, HOUR_MS } from '../kernel/clock.ts';
import { selectRows } from '../platform/objects.ts';
import { deleteObjects } from '../platform/stored-files.ts';
import { summarizeContents } from './contents.ts';
import { dropMovedTables, forgetTables } from './day-tables.ts';
import { compareKeys, formatDay, getDayRange, getKeyAfter, type Logged, type LogKind, toKey, toRange } from './log.ts';
import { encodePart, readPart } from './part-file.ts';
import { deletePart, findPart, insertPart, isPartNamed, markMoved, type Part } from './parts.ts';
import { countRecordsIn, isFull, logSizes, readNewestOrOldest, readRecordsIn } from './rows.ts';
import { formatLateTable, LOG_TABLES } from './tables.ts';
import { countLate, countViews } from './view-counts.ts';

/** The time for which a file stays that no part names any more, so that whoever reads it now can end. */
const LEFTOVER_MS = HOUR_MS;

/** The storage and files with which a company's log moves its records. */
export interface Mover {
  storage: DurableObjectStorage;
  files: R2Bucket;
  /** The name of the log. */
  name: string;
  /** Called with each change of where records are, in the turn in which it is made. */
  changed(): void;
}

/**
 * Moves the oldest records, of one day at most, into a file. The file is written first; then, in one transaction, the part
 * is registered and the rows are deleted. Work that is interrupted before is repeated under the same file name.
 * @param before moves only days that have ended before (ms)
 * @returns whether anything was moved
 */
export async function moveOldest(mover: Mover, kind: LogKind, before: number): Promise<boolean> {
  const { sql } = mover.storage;
  const oldest = readNewestOrOldest(sql, kind, toRange({}), 'oldest');
  if (!oldest) return false;
  const day = getDayRange(oldest.at);
  if (day.upper.at > before) return false;
  const records = takeFirst(readRecordsIn(sql, kind, day));
  const part = await writePart(mover, kind, records, 1);
  return inTransaction(mover, () => {
    // What came in between stands among them or before them, and is not in the file: it is written anew.
    if (countRecordsIn(sql, kind, { ...toRange({}), upper: getKeyAfter(part.last) }) !== records.length) return true;
    while (kind === 'share' && countViews(sql));
    insertPart(sql, kind, part);
    markMoved(sql, kind, part.last);
    dropMovedTables(sql, kind, clock.now(), isFull(sql));
    sql.exec('DELETE FROM days WHERE kind = ? AND day = ?', kind, day.lower.at);
    mover.changed();
    return true;
  });
}

function inTransaction<T>({ storage }: Mover, work: () => T): T {
  try {
    return storage.transactionSync(work);
  } catch (error) {
    forgetTables(storage.sql);
    throw error;
  }
}

/** Writes files of moved days anew with late records, each once by its id. @returns whether there were any */
export async function mergeLate(mover: Mover, kind: LogKind): Promise<boolean> {
  const { storage, files, changed } = mover;
  const { sql } = storage;
  const oldest = readNewestOrOldest(sql, kind, toRange({}), 'oldest', true);
  if (!oldest) return false;
  const day = getDayRange(oldest.at);
  const old = findPart(sql, kind, oldest, day);
  const isBeforeEnd = old !== undefined && compareKeys(oldest, old.last) <= 0;
  const range = isBeforeEnd ? { lower: oldest, upper: getKeyAfter(old.last) } : { lower: oldest, upper: day.upper };
  const late = takeFirst(readRecordsIn(sql, kind, range, { late: true }));
  const known = new Map<string, Logged>();
  if (old) for await (const record of readPart(files, old.file)) known.set(record.id, record);
  const news = late.filter(({ id }) => !known.has(id));
  for (const record of news) known.set(record.id, record);
  const isNews = news.length > 0;
  const all = [...known.values()].sort((a, b) => compareKeys(toKey(a), toKey(b)));
  const parts = isNews ? await writeParts(mover, kind, all, (old?.version ?? 0) + 1) : [];
  storage.transactionSync(() => {
    if (isNews && old) {
      deletePart(sql, kind, old);
      sql.exec('INSERT OR REPLACE INTO leftovers (file, deleteAt) VALUES (?, ?)', old.file, clock.now() + LEFTOVER_MS);
    }
    for (const part of parts) insertPart(sql, kind, part);
    deleteLate(sql, kind, late);
    if (kind === 'share')
      countLate(sql, [...new Map(news.map((each) => [each.id, each])).values()] as Logged<'share'>[]);
    if (isNews) changed();
  });
  return true;
}

/** Deletes files that no part has named for a while. */
export async function deleteLeftovers({ storage: { sql }, files }: Mover): Promise<void> {
  const found = selectRows<{ file: string }>(
    sql,
    'SELECT file FROM leftovers WHERE deleteAt <= ? LIMIT 500',
    clock.now(),
  ).map(({ file }) => file);
  await deleteObjects(
    files,
    found.filter((file) => !isPartNamed(sql, file)),
  );
  for (const file of found) sql.exec('DELETE FROM leftovers WHERE file = ?', file);
}

/** Returns the first of the records, as many as one file holds. */
function takeFirst(records: Iterable<Logged>): Logged[] {
  const taken: Logged[] = [];
  let bytes = 0;
  for (const record of records) {
    taken.push(record);
    bytes += JSON.stringify(record).length;
    if (taken.length >= logSizes.partRows || bytes >= logSizes.partBytes) break;
  }
  return taken;
}

/** Writes records of a day, the oldest first, into as many files as they need. */
export async function writeParts(mover: Mover, kind: LogKind, all: Logged[], version: number): Promise<Part[]> {
  const parts: Part[] = [];
  while (all.length > 0) {
    const records = takeFirst(all);
    all.splice(0, records.length);
    parts.push(await writePart(mover, kind, records, version));
  }
  return parts;
}

/** `log/{company}/audit-events/2026-01-31/{time}-{id of its first record}.{version}.ndjson.gz` */
async function writePart({ files, name }: Mover, kind: LogKind, records: Logged[], version: number): Promise<Part> {
  const [first, last] = [toKey(records[0] as Logged), toKey(records.at(-1) as Logged)];
  const file = `log/${name}/${LOG_TABLES[kind].folder}/${formatDay(first.at)}/${first.at}-${first.id}.${version}.ndjson.gz`;
  await files.put(file, await encodePart(records));
  return { file, version, first, last, records: records.length, contents: summarizeContents(kind, records) };
}

function deleteLate(sql: SqlStorage, kind: LogKind, records: readonly Logged[]): void {
  const keys = JSON.stringify(records.map(({ occurredAt, id }) => [occurredAt, id]));
  sql.exec(
    `DELETE FROM ${formatLateTable(kind)} WHERE (occurredAt, id) IN (SELECT value ->> 0, value ->> 1 FROM json_each(?))`,
    keys,
  );
}
