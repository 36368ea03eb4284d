import { selectRows } from '../platform/objects.ts';
import {
  compareKeys,
  getDayRange,
  getKeyAfter,
  type Logged,
  type LogKey,
  type LogKind,
  toKey,
  toRange,
} from './log.ts';
import { readPart } from './part-file.ts';
import { findPart, findPartAfter, readLastMoved } from './parts.ts';
import { hasRecord, readNewestOrOldest, readRecordsIn } from './rows.ts';

/**
 * The next records for a follower of a log, which reads it in the log's order from a cursor on, including the files of days
 * that were moved meanwhile. If a record arrives late, with a time before the cursor or on a moved day, its key alone is noted,
 * so that it is delivered too without being written twice.
 */
export interface FollowedRecords {
  /** The number of times that somebody has begun to follow. */
  follows: number;
  records: Logged[];
  /** The key of the last record told: the next ones come after it. */
  upTo: LogKey;
  /** Records of before the cursor, and their keys. */
  lateRecords: Logged[];
  late: LogKey[];
  /** The number of persons who were taken out of the log: records that were read before must not be kept anywhere. */
  redactions: number;
}

interface Cursor extends Record<string, SqlStorageValue> {
  at: number;
  id: string;
  /** The key of the last record that was handed out and is not known to be kept. */
  upToAt: number | null;
  upToId: string | null;
  follows: number;
}

export function createFollowing(sql: SqlStorage): void {
  sql.exec(`
    CREATE TABLE IF NOT EXISTS followed (
      kind TEXT PRIMARY KEY, at INTEGER NOT NULL, id TEXT NOT NULL, upToAt INTEGER, upToId TEXT, follows INTEGER NOT NULL
    );
    CREATE TABLE IF NOT EXISTS followed_late (
      kind TEXT NOT NULL, at INTEGER NOT NULL, id TEXT NOT NULL, PRIMARY KEY (kind, at, id)
    ) WITHOUT ROWID;
  `);
}

/** Begins to follow at a place in the log; where it is followed already, it only counts. */
export function startFollowing(sql: SqlStorage, kinds: readonly LogKind[], { at, id }: LogKey): void {
  for (const kind of kinds) {
    sql.exec(
      'INSERT INTO followed (kind, at, id, follows) VALUES (?, ?, ?, 1) ON CONFLICT (kind) DO UPDATE SET follows = follows + 1',
      ...[kind, at, id],
    );
  }
}

export function stopFollowing(sql: SqlStorage, kinds: readonly LogKind[], follows: number): void {
  for (const kind of kinds) {
    const ended = sql.exec('DELETE FROM followed WHERE kind = ? AND follows = ? RETURNING 1', kind, follows).toArray();
    if (ended.length > 0) sql.exec('DELETE FROM followed_late WHERE kind = ?', kind);
  }
}

export const listFollowedKinds = (sql: SqlStorage): LogKind[] =>
  selectRows<{ kind: LogKind }>(sql, 'SELECT kind FROM followed').map(({ kind }) => kind);

const readCursor = (sql: SqlStorage, kind: LogKind): Cursor | undefined =>
  sql.exec<Cursor>('SELECT at, id, upToAt, upToId, follows FROM followed WHERE kind = ?', kind).toArray()[0];

const getReachedKey = ({ at, id, upToAt, upToId }: Cursor): LogKey =>
  upToAt === null ? { at, id } : { at: upToAt, id: upToId ?? '' };

/** Notes which of the records that are about to be kept are new, and of before the cursor or of a day in files. */
export function recordLate(sql: SqlStorage, kind: LogKind, records: readonly Logged[]): void {
  const cursor = readCursor(sql, kind);
  if (!cursor) return;
  const [until, moved] = [getReachedKey(cursor), readLastMoved(sql, kind)];
  const isPassed = (key: LogKey) =>
    compareKeys(key, until) <= 0 || (moved !== undefined && compareKeys(key, moved) <= 0);
  for (const record of records) {
    const key = toKey(record);
    if (!isPassed(key) || hasRecord(sql, kind, record)) continue;
    sql.exec('INSERT OR IGNORE INTO followed_late (kind, at, id) VALUES (?, ?, ?)', kind, key.at, key.id);
  }
}

/** Whether there is something that was not told. */
export function hasUnreadRecords(sql: SqlStorage, kind: LogKind): boolean {
  const cursor = readCursor(sql, kind);
  if (!cursor) return false;
  const range = { ...toRange({}), lower: getKeyAfter(cursor) };
  const late = () => sql.exec('SELECT 1 FROM followed_late WHERE kind = ? LIMIT 1', kind).toArray().length > 0;
  return (
    findPartAfter(sql, kind, cursor) !== undefined ||
    readNewestOrOldest(sql, kind, range, 'oldest') !== undefined ||
    late()
  );
}

/** The storage and files from which a follower reads a company's log. */
interface Followable {
  sql: SqlStorage;
  files: R2Bucket;
}

/** The next records after the cursor and late ones: the same until they are kept. No file may change meanwhile. */
export async function readFollowing(
  { sql, files }: Followable,
  kind: LogKind,
  limit: number,
): Promise<Omit<FollowedRecords, 'redactions'> | undefined> {
  const cursor = readCursor(sql, kind);
  if (!cursor) return undefined;
  const { at, id, upToAt, upToId, follows } = cursor;
  const { upper } = upToAt === null ? toRange({}) : { upper: getKeyAfter({ at: upToAt, id: upToId ?? '' }) };
  const records: Logged[] = [];
  let after: LogKey = { at, id };
  while (records.length < limit) {
    const part = findPartAfter(sql, kind, after);
    if (!part || compareKeys(part.first, upper) >= 0) break;
    records.push(...(await findOldest(files, part.file, { after, upper }, limit - records.length)));
    after = part.last;
  }
  // What a file has is before all that is in the object.
  const range = { lower: getKeyAfter(after), upper };
  records.push(...readRecordsIn(sql, kind, range, { limit: limit - records.length }));
  const last = records.at(-1);
  const upTo = last ? toKey(last) : { at, id };
  if (last) sql.exec('UPDATE followed SET upToAt = ?, upToId = ? WHERE kind = ?', upTo.at, upTo.id, kind);
  const late = selectRows<LogKey>(
    sql,
    'SELECT at, id FROM followed_late WHERE kind = ? ORDER BY at, id LIMIT ?',
    ...[kind, limit],
  );
  return { follows, records, upTo, lateRecords: await readRecords({ sql, files }, kind, late), late };
}

/** The oldest records of a file after a key, the oldest first. The file has the newest first. */
async function findOldest(
  files: R2Bucket,
  file: string,
  { after, upper }: { after: LogKey; upper: LogKey },
  limit: number,
): Promise<Logged[]> {
  const found: Logged[] = [];
  for await (const record of readPart(files, file)) {
    const key = toKey(record);
    if (compareKeys(key, upper) >= 0) continue;
    if (compareKeys(key, after) <= 0) break;
    found.push(record);
    if (found.length > limit) found.shift();
  }
  return found.reverse();
}

/** The records of keys, wherever they are by now. */
async function readRecords({ sql, files }: Followable, kind: LogKind, keys: readonly LogKey[]): Promise<Logged[]> {
  const found: Logged[] = [];
  const inFiles = new Map<string, LogKey[]>();
  for (const key of keys) {
    const range = { lower: key, upper: getKeyAfter(key) };
    const [own] = [...readRecordsIn(sql, kind, range), ...readRecordsIn(sql, kind, range, { late: true })];
    if (own) found.push(own);
    else {
      const file = findPart(sql, kind, key, getDayRange(key.at))?.file;
      if (file !== undefined) inFiles.set(file, [...(inFiles.get(file) ?? []), key]);
    }
  }
  for (const [file, wanted] of inFiles) {
    const [from, to] = [wanted[0]?.at, wanted.at(-1)?.at];
    const isWanted = new Set(wanted.map(({ at, id }) => `${at} ${id}`));
    for await (const record of readPart(files, file, { ...(from !== undefined && { from, to }), values: {} })) {
      if (isWanted.has(`${record.occurredAt} ${record.id}`)) found.push(record);
    }
  }
  return found.sort((one, other) => compareKeys(toKey(one), toKey(other)));
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
