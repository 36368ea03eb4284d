import { selectRows } from '../platform/objects.ts';
import { readCount } from './contents.ts';
import type { LogFilter, LogKey, LogKind, LogRange } from './log.ts';

/** The range of a file's records: the records of one day from the first to the last. */
interface PartRange {
  file: string;
  /** The key of the file's oldest record. */
  first: LogKey;
  /** The key of the file's newest record. */
  last: LogKey;
  /** The number of the file's records. */
  records: number;
}

/** A file of R2 with records of one day. */
export interface Part extends PartRange {
  /** Counts how often the file was rewritten with late records: no file name is used twice. */
  version: number;
  /** The counts of the records' field values, as JSON (see `Contents`). */
  contents: string;
}

/** A file as listing records needs it. */
export interface ListedPart {
  file: string;
  /** The key of the file's oldest record. */
  first: LogKey;
  /** The number of the file's records that match the filter; null where the file has to be read to know. */
  matching: number | null;
}

type PartRangeRow = { file: string; firstAt: number; firstId: string; lastAt: number; lastId: string; records: number };
type PartRow = PartRangeRow & { version: number; contents: string };

const toPart = <R extends PartRangeRow>({ firstAt, firstId, lastAt, lastId, ...rest }: R) => ({
  ...rest,
  first: { at: firstAt, id: firstId },
  last: { at: lastAt, id: lastId },
});

export function insertPart(
  sql: SqlStorage,
  kind: LogKind,
  { file, version, first, last, records, contents }: Part,
): void {
  sql.exec(
    `INSERT INTO parts (kind, lastAt, lastId, firstAt, firstId, file, version, records, contents)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ...[kind, last.at, last.id, first.at, first.id, file, version, records, contents],
  );
}

export function deletePart(sql: SqlStorage, kind: LogKind, { last }: Part): void {
  sql.exec('DELETE FROM parts WHERE kind = ? AND lastAt = ? AND lastId = ?', kind, last.at, last.id);
}

/** Lists the parts that overlap a range, the newest first, without their contents. Parts of a kind do not overlap. */
export function listPartsInRange(sql: SqlStorage, kind: LogKind, { lower, upper }: LogRange): PartRange[] {
  const rangeRows = sql.exec<PartRangeRow>(
    `SELECT file, firstAt, firstId, lastAt, lastId, records FROM parts
     WHERE kind = ? AND (lastAt, lastId) >= (?, ?) AND (firstAt, firstId) < (?, ?)
     ORDER BY lastAt DESC, lastId DESC`,
    ...[kind, lower.at, lower.id, upper.at, upper.id],
  );
  return [...rangeRows].map(toPart);
}

/** The number of contents read before yielding: each is of 100 KB, and takes a millisecond. */
const CONTENTS_PER_BATCH = 20;

/**
 * Counts the records of each part that match a filter, as far as that is known. Contents are read only where the filter needs
 * them, and one at a time: those of all files of an old log are more than a Durable Object can hold. @param pause yields to other
 * requests
 */
export async function countParts(
  sql: SqlStorage,
  kind: LogKind,
  parts: readonly PartRange[],
  { from = Number.NEGATIVE_INFINITY, to = Number.POSITIVE_INFINITY, values, denied: deniedRecords }: LogFilter,
  pause: () => Promise<void>,
): Promise<ListedPart[]> {
  const countedParts: ListedPart[] = [];
  let readContentsCount = 0;
  for (const part of parts) {
    const { file, first, last, records } = part;
    let matchingCount: number | null = records;
    if (Object.keys(values).length > 0) {
      if (readContentsCount > 0 && readContentsCount % CONTENTS_PER_BATCH === 0) await pause();
      readContentsCount += 1;
      const contents = readPartContents(sql, kind, part);
      matchingCount = contents === undefined ? null : readCount(contents, values);
    }
    const isPartlyMatching = first.at < from || last.at > to || deniedRecords !== undefined;
    countedParts.push({ file, first, matching: isPartlyMatching && matchingCount !== 0 ? null : matchingCount });
  }
  return countedParts;
}

/** Reads a part's contents; undefined where the file was rewritten meanwhile. The file stays long enough to be read. */
const readPartContents = (sql: SqlStorage, kind: LogKind, { file, last }: PartRange): string | undefined =>
  selectRows<{ contents: string }>(
    sql,
    'SELECT contents FROM parts WHERE kind = ? AND lastAt = ? AND lastId = ? AND file = ?',
    ...[kind, last.at, last.id, file],
  )[0]?.contents;

/** Finds the part for a late record: its day's first part that does not end before it, else the day's last part. */
export function findPart(sql: SqlStorage, kind: LogKind, key: LogKey, day: LogRange): Part | undefined {
  const selectPartByEnd = (lowerKey: LogKey, order: 'ASC' | 'DESC') =>
    selectRows<PartRow>(
      sql,
      `SELECT * FROM parts WHERE kind = ? AND (lastAt, lastId) >= (?, ?) AND (lastAt, lastId) < (?, ?)
         ORDER BY lastAt ${order}, lastId ${order} LIMIT 1`,
      ...[kind, lowerKey.at, lowerKey.id, day.upper.at, day.upper.id],
    )[0];
  const row = selectPartByEnd(key, 'ASC') ?? selectPartByEnd(day.lower, 'DESC');
  return row && toPart(row);
}

/** Finds the part that comes after a record, or the first one. */
export function findPartAfter(sql: SqlStorage, kind: LogKind, afterKey: LogKey | null): Part | undefined {
  const { at, id } = afterKey ?? { at: Number.MIN_SAFE_INTEGER, id: '' };
  const [row] = selectRows<PartRow>(
    sql,
    'SELECT * FROM parts WHERE kind = ? AND (lastAt, lastId) > (?, ?) ORDER BY lastAt, lastId LIMIT 1',
    ...[kind, at, id],
  );
  return row && toPart(row);
}

export const hasPartWithFile = (sql: SqlStorage, file: string): boolean =>
  sql.exec('SELECT 1 FROM parts WHERE file = ?', file).toArray().length > 0;

/** Returns the key of the last record that was moved to R2, if any was. */
export const readLastMovedKey = (sql: SqlStorage, kind: LogKind): LogKey | undefined =>
  sql.exec<{ at: number; id: string }>('SELECT at, id FROM moved WHERE kind = ?', kind).toArray()[0];

export function recordLastMovedKey(sql: SqlStorage, kind: LogKind, { at, id }: LogKey): void {
  sql.exec('INSERT OR REPLACE INTO moved (kind, at, id) VALUES (?, ?, ?)', kind, at, id);
}
