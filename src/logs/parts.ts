import type { LogFilter, LogKey, LogKind, LogRange } from '../kernel/log.ts';
import { countFrom } from './contents.ts';

/** A file of R2 with records of one day. */
export interface Part {
  file: string;
  /** Counts how often its records were written anew, with late ones among them: no name of a file comes twice. */
  version: number;
  first: LogKey;
  last: LogKey;
  records: number;
  contents: string;
}

/** A file as a list needs it. */
export interface ListedPart {
  file: string;
  /** Its oldest record. */
  first: LogKey;
  /** How many of its records the filter lets through; null where it has to be read to know. */
  matching: number | null;
}

type Row = {
  file: string;
  version: number;
  firstAt: number;
  firstId: string;
  lastAt: number;
  lastId: string;
  records: number;
  contents: string;
};

const partOf = ({ firstAt, firstId, lastAt, lastId, ...rest }: Row): Part => ({
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

/** The parts that reach into a range, the newest first. Those of a kind do not overlap. */
function* partsIn(sql: SqlStorage, kind: LogKind, { lower, upper }: LogRange): Generator<Part> {
  const found = sql.exec<Row>(
    `SELECT * FROM parts WHERE kind = ? AND (lastAt, lastId) >= (?, ?) AND (firstAt, firstId) < (?, ?)
     ORDER BY lastAt DESC, lastId DESC`,
    ...[kind, lower.at, lower.id, upper.at, upper.id],
  );
  for (const row of found) yield partOf(row);
}

/** The same with how many of their records a filter lets through, as far as that is known. */
export function listParts(sql: SqlStorage, kind: LogKind, range: LogRange, filter: LogFilter): ListedPart[] {
  const { from = Number.NEGATIVE_INFINITY, to = Number.POSITIVE_INFINITY, values } = filter;
  return [...partsIn(sql, kind, range)].map(({ file, first, last, records, contents }) => {
    const matching = countFrom(contents, records, values);
    const isPartly = first.at < from || last.at > to || filter.denied !== undefined;
    return { file, first, matching: isPartly && matching !== 0 ? null : matching };
  });
}

/** The part that a late record goes into: of its day the first one that does not end before it, else the day's last. */
export function partFor(sql: SqlStorage, kind: LogKind, key: LogKey, day: LogRange): Part | undefined {
  const endOf = (lower: LogKey, order: 'ASC' | 'DESC') =>
    sql
      .exec<Row>(
        `SELECT * FROM parts WHERE kind = ? AND (lastAt, lastId) >= (?, ?) AND (lastAt, lastId) < (?, ?)
         ORDER BY lastAt ${order}, lastId ${order} LIMIT 1`,
        ...[kind, lower.at, lower.id, day.upper.at, day.upper.id],
      )
      .toArray()[0];
  const row = endOf(key, 'ASC') ?? endOf(day.lower, 'DESC');
  return row && partOf(row);
}

export const isNamed = (sql: SqlStorage, file: string): boolean =>
  sql.exec('SELECT 1 FROM parts WHERE file = ?', file).toArray().length > 0;

/** The last record that was moved to R2, if any was. */
export const lastMoved = (sql: SqlStorage, kind: LogKind): LogKey | undefined =>
  sql.exec<{ at: number; id: string }>('SELECT at, id FROM moved WHERE kind = ?', kind).toArray()[0];

export function markMoved(sql: SqlStorage, kind: LogKind, { at, id }: LogKey): void {
  sql.exec('INSERT OR REPLACE INTO moved (kind, at, id) VALUES (?, ?, ?)', kind, at, id);
}
