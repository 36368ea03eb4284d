import { compareKeys, keyAfter, keyOf, type Logged, type LogKey, type LogKind, rangeOf } from './log.ts';
import { isThere, recordsIn } from './rows.ts';

/**
 * Who follows a log reads it by its own order up to a cursor. What is kept later of a time before the cursor is noted by its key
 * alone, so that it is told too, and no record is written twice.
 */
export interface Followed {
  /** How often somebody has begun to follow. */
  follows: number;
  records: Logged[];
  /** Where the next records begin after. */
  upTo: LogKey;
  /** Records of before the cursor, and their keys. */
  lateRecords: Logged[];
  late: LogKey[];
}

interface Cursor extends Record<string, SqlStorageValue> {
  at: number;
  id: string;
  /** Up to where records were handed out that are not known to be kept. */
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

/** Begins to follow at a place; where it is followed already, it only counts. */
export function follow(sql: SqlStorage, kinds: readonly LogKind[], { at, id }: LogKey): void {
  for (const kind of kinds) {
    sql.exec(
      'INSERT INTO followed (kind, at, id, follows) VALUES (?, ?, ?, 1) ON CONFLICT (kind) DO UPDATE SET follows = follows + 1',
      ...[kind, at, id],
    );
  }
}

export function unfollow(sql: SqlStorage, kinds: readonly LogKind[], follows: number): void {
  for (const kind of kinds) {
    const ended = sql.exec('DELETE FROM followed WHERE kind = ? AND follows = ? RETURNING 1', kind, follows).toArray();
    if (ended.length > 0) sql.exec('DELETE FROM followed_late WHERE kind = ?', kind);
  }
}

export const followedKinds = (sql: SqlStorage): LogKind[] =>
  sql
    .exec<{ kind: LogKind }>('SELECT kind FROM followed')
    .toArray()
    .map(({ kind }) => kind);

const cursorOf = (sql: SqlStorage, kind: LogKind): Cursor | undefined =>
  sql.exec<Cursor>('SELECT at, id, upToAt, upToId, follows FROM followed WHERE kind = ?', kind).toArray()[0];

const reached = ({ at, id, upToAt, upToId }: Cursor): LogKey =>
  upToAt === null ? { at, id } : { at: upToAt, id: upToId ?? '' };

/** Notes which of the records that are about to be kept are new, and of before the cursor. */
export function noteLate(sql: SqlStorage, kind: LogKind, records: readonly Logged[]): void {
  const cursor = cursorOf(sql, kind);
  if (!cursor) return;
  const until = reached(cursor);
  for (const record of records) {
    const key = keyOf(record);
    if (compareKeys(key, until) > 0 || isThere(sql, kind, record)) continue;
    sql.exec('INSERT OR IGNORE INTO followed_late (kind, at, id) VALUES (?, ?, ?)', kind, key.at, key.id);
  }
}

/** Whether there is something that was not told. */
export function isBehind(sql: SqlStorage, kind: LogKind): boolean {
  const found = readFollowing(sql, kind, 1, false);
  return found !== undefined && found.records.length + found.late.length > 0;
}

/**
 * The next records after the cursor, and those that came late.
 * @param holds whether the same are answered until they are said to be kept
 */
export function readFollowing(sql: SqlStorage, kind: LogKind, limit: number, holds = true): Followed | undefined {
  const cursor = cursorOf(sql, kind);
  if (!cursor) return undefined;
  const { at, id, upToAt, upToId, follows } = cursor;
  const { upper } = upToAt === null ? rangeOf({}) : { upper: keyAfter({ at: upToAt, id: upToId ?? '' }) };
  const records = [...recordsIn(sql, kind, { lower: keyAfter({ at, id }), upper }, { limit })];
  const last = records.at(-1);
  const upTo = last ? keyOf(last) : { at, id };
  if (holds && last) sql.exec('UPDATE followed SET upToAt = ?, upToId = ? WHERE kind = ?', upTo.at, upTo.id, kind);
  const late = sql
    .exec<LogKey & Record<string, SqlStorageValue>>(
      'SELECT at, id FROM followed_late WHERE kind = ? ORDER BY at, id LIMIT ?',
      ...[kind, limit],
    )
    .toArray();
  const lateRecords = late.flatMap((key) => {
    const range = { lower: key, upper: keyAfter(key) };
    return [...recordsIn(sql, kind, range), ...recordsIn(sql, kind, range, { late: true })].slice(0, 1);
  });
  return { follows, records, upTo, lateRecords, late };
}

export function followed(sql: SqlStorage, kind: LogKind, { upTo, late }: Pick<Followed, 'upTo' | 'late'>): void {
  sql.exec(
    'UPDATE followed SET at = ?, id = ?, upToAt = NULL, upToId = NULL WHERE kind = ? AND (at, id) <= (?, ?)',
    ...[upTo.at, upTo.id, kind, upTo.at, upTo.id],
  );
  for (const key of late)
    sql.exec('DELETE FROM followed_late WHERE kind = ? AND at = ? AND id = ?', kind, key.at, key.id);
}
