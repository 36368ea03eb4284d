import { selectRows } from '../platform/objects.ts';
import {
  compareKeys,
  getDayRange,
  getKeyAfter,
  type LogKey,
  type LogKind,
  type LogRecord,
  toLogKey,
  toRange,
} from './log.ts';
import { readPart } from './part-file.ts';
import { findPart, findPartAfter, readLastMovedKey } from './parts.ts';
import { hasRecord, readNewestOrOldest, readRecordsInRange } from './rows.ts';

/**
 * The next records for a follower of a log, which reads it in order from a cursor, including the files of days that were moved
 * meanwhile. If a record arrives late, with a time before the cursor or on a moved day, only its key is stored, so that it is
 * delivered too without being written twice.
 */
export interface FollowedRecords {
  /** The number of times that following has begun. */
  follows: number;
  records: LogRecord[];
  /** The key of the last record delivered: the next ones come after it. */
  upTo: LogKey;
  /** Records from before the cursor. */
  lateRecords: LogRecord[];
  /** Keys of the records from before the cursor. */
  late: LogKey[];
  /** The number of persons erased from the log: records read before must not be stored anywhere. */
  redactions: number;
}

interface Cursor extends Record<string, SqlStorageValue> {
  at: number;
  id: string;
  /** Time of the last record that was handed out but not yet confirmed as stored; null if there is none. */
  upToAt: number | null;
  /** Id of the last record that was handed out but not yet confirmed as stored; null if there is none. */
  upToId: string | null;
  follows: number;
}

export function createFollowingTables(sql: SqlStorage): void {
  sql.exec(`
    CREATE TABLE IF NOT EXISTS followed (
      kind TEXT PRIMARY KEY, at INTEGER NOT NULL, id TEXT NOT NULL, upToAt INTEGER, upToId TEXT, follows INTEGER NOT NULL
    );
    CREATE TABLE IF NOT EXISTS followed_late (
      kind TEXT NOT NULL, at INTEGER NOT NULL, id TEXT NOT NULL, PRIMARY KEY (kind, at, id)
    ) WITHOUT ROWID;
  `);
}

/** Begins to follow a log at a key; where it is followed already, only counts the start. */
export function startFollowing(sql: SqlStorage, kinds: readonly LogKind[], { at, id }: LogKey): void {
  for (const kind of kinds) {
    sql.exec(
      'INSERT INTO followed (kind, at, id, follows) VALUES (?, ?, ?, 1) ON CONFLICT (kind) DO UPDATE SET follows = follows + 1',
      ...[kind, at, id],
    );
  }
}

export function stopFollowing(sql: SqlStorage, kinds: readonly LogKind[], followCount: number): void {
  for (const kind of kinds) {
    const endedFollows = sql
      .exec('DELETE FROM followed WHERE kind = ? AND follows = ? RETURNING 1', kind, followCount)
      .toArray();
    if (endedFollows.length > 0) sql.exec('DELETE FROM followed_late WHERE kind = ?', kind);
  }
}

export const listFollowedKinds = (sql: SqlStorage): LogKind[] =>
  selectRows<{ kind: LogKind }>(sql, 'SELECT kind FROM followed').map(({ kind }) => kind);

const readCursor = (sql: SqlStorage, kind: LogKind): Cursor | undefined =>
  sql.exec<Cursor>('SELECT at, id, upToAt, upToId, follows FROM followed WHERE kind = ?', kind).toArray()[0];

const getReachedKey = ({ at, id, upToAt, upToId }: Cursor): LogKey =>
  upToAt === null ? { at, id } : { at: upToAt, id: upToId ?? '' };

/** Stores the keys of new records from before the cursor, or of a moved day, before the records are stored. */
export function recordLateKeys(sql: SqlStorage, kind: LogKind, records: readonly LogRecord[]): void {
  const cursor = readCursor(sql, kind);
  if (!cursor) return;
  const [reachedKey, moved] = [getReachedKey(cursor), readLastMovedKey(sql, kind)];
  const isBehindCursor = (key: LogKey) =>
    compareKeys(key, reachedKey) <= 0 || (moved !== undefined && compareKeys(key, moved) <= 0);
  for (const record of records) {
    const key = toLogKey(record);
    if (!isBehindCursor(key) || hasRecord(sql, kind, record)) continue;
    sql.exec('INSERT OR IGNORE INTO followed_late (kind, at, id) VALUES (?, ?, ?)', kind, key.at, key.id);
  }
}

/** Tells whether records remain that were not delivered to the follower. */
export function hasUnreadRecords(sql: SqlStorage, kind: LogKind): boolean {
  const cursor = readCursor(sql, kind);
  if (!cursor) return false;
  const range = { ...toRange({}), lower: getKeyAfter(cursor) };
  const hasLateRecords = () =>
    sql.exec('SELECT 1 FROM followed_late WHERE kind = ? LIMIT 1', kind).toArray().length > 0;
  return (
    findPartAfter(sql, kind, cursor) !== undefined ||
    readNewestOrOldest(sql, kind, range, 'oldest') !== undefined ||
    hasLateRecords()
  );
}

/** The storage and files from which a follower reads a company's log. */
interface FollowedLog {
  sql: SqlStorage;
  files: R2Bucket;
}

/**
 * Reads the next records after the cursor, and late records, up to `limit` of each; undefined if nobody follows the log. The
 * next records stay the same until the follower confirms them. No file may change during the call.
 */
export async function readFollowedRecords(
  { sql, files }: FollowedLog,
  kind: LogKind,
  limit: number,
): Promise<Omit<FollowedRecords, 'redactions'> | undefined> {
  const cursor = readCursor(sql, kind);
  if (!cursor) return undefined;
  const { at, id, upToAt, upToId, follows } = cursor;
  const { upper } = upToAt === null ? toRange({}) : { upper: getKeyAfter({ at: upToAt, id: upToId ?? '' }) };
  const records: LogRecord[] = [];
  let afterKey: LogKey = { at, id };
  while (records.length < limit) {
    const part = findPartAfter(sql, kind, afterKey);
    if (!part || compareKeys(part.first, upper) >= 0) break;
    records.push(...(await readOldestRecords(files, part.file, { afterKey, upper }, limit - records.length)));
    afterKey = part.last;
  }
  // What a file has is before all that is in the object.
  const range = { lower: getKeyAfter(afterKey), upper };
  records.push(...readRecordsInRange(sql, kind, range, { limit: limit - records.length }));
  const lastRecord = records.at(-1);
  const upToKey = lastRecord ? toLogKey(lastRecord) : { at, id };
  if (lastRecord) sql.exec('UPDATE followed SET upToAt = ?, upToId = ? WHERE kind = ?', upToKey.at, upToKey.id, kind);
  const lateKeys = selectRows<LogKey>(
    sql,
    'SELECT at, id FROM followed_late WHERE kind = ? ORDER BY at, id LIMIT ?',
    ...[kind, limit],
  );
  return {
    follows,
    records,
    upTo: upToKey,
    lateRecords: await readRecords({ sql, files }, kind, lateKeys),
    late: lateKeys,
  };
}

/** Returns the oldest records of a file after a key, the oldest first. The file has the newest first. */
async function readOldestRecords(
  files: R2Bucket,
  file: string,
  { afterKey, upper }: { afterKey: LogKey; upper: LogKey },
  limit: number,
): Promise<LogRecord[]> {
  const foundRecords: LogRecord[] = [];
  for await (const record of readPart(files, file)) {
    const key = toLogKey(record);
    if (compareKeys(key, upper) >= 0) continue;
    if (compareKeys(key, afterKey) <= 0) break;
    foundRecords.push(record);
    if (foundRecords.length > limit) foundRecords.shift();
  }
  return foundRecords.reverse();
}

/** Reads the records of keys, wherever they are stored by now. */
async function readRecords({ sql, files }: FollowedLog, kind: LogKind, keys: readonly LogKey[]): Promise<LogRecord[]> {
  const foundRecords: LogRecord[] = [];
  const keysByFile = new Map<string, LogKey[]>();
  for (const key of keys) {
    const range = { lower: key, upper: getKeyAfter(key) };
    const [ownRecord] = [
      ...readRecordsInRange(sql, kind, range),
      ...readRecordsInRange(sql, kind, range, { isLate: true }),
    ];
    if (ownRecord) foundRecords.push(ownRecord);
    else {
      const file = findPart(sql, kind, key, getDayRange(key.at))?.file;
      if (file !== undefined) keysByFile.set(file, [...(keysByFile.get(file) ?? []), key]);
    }
  }
  for (const [file, wantedKeys] of keysByFile) {
    const [from, to] = [wantedKeys[0]?.at, wantedKeys.at(-1)?.at];
    const isWanted = new Set(wantedKeys.map(({ at, id }) => `${at} ${id}`));
    for await (const record of readPart(files, file, { ...(from !== undefined && { from, to }), values: {} })) {
      if (isWanted.has(`${record.occurredAt} ${record.id}`)) foundRecords.push(record);
    }
  }
  return foundRecords.sort((first, other) => compareKeys(toLogKey(first), toLogKey(other)));
}

export function advanceCursor(
  sql: SqlStorage,
  kind: LogKind,
  { upTo, late }: Pick<FollowedRecords, 'upTo' | 'late'>,
): void {
  sql.exec(
    'UPDATE followed SET at = ?, id = ?, upToAt = NULL, upToId = NULL WHERE kind = ? AND (at, id) <= (?, ?)',
    ...[upTo.at, upTo.id, kind, upTo.at, upTo.id],
  );
  for (const key of late)
    sql.exec('DELETE FROM followed_late WHERE kind = ? AND at = ? AND id = ?', kind, key.at, key.id);
}
