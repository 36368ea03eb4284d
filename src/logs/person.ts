import { clock } from '../kernel/clock.ts';
import { selectRows } from '../platform/objects.ts';
import { deleteObjects } from '../platform/stored-files.ts';
import { LOG_KINDS, type Logged, type LogKey, type LogKind } from './log.ts';
import { type Mover, writeParts } from './mover.ts';
import { readPart } from './part-file.ts';
import { deletePart, findPartAfter, insertPart } from './parts.ts';
import { type Person, redactValue } from './redaction.ts';
import { formatLateTable, LOG_TABLES, listColumns, listTableNames } from './tables.ts';

/** Rows that are looked at before others get a turn. */
const ROWS_PER_BATCH = 1000;

/** Redacts the object's records, with those moved and not dropped yet. @returns how many named the person */
export async function redactRows(sql: SqlStorage, person: Person, pause: () => Promise<void>): Promise<number> {
  let changed = 0;
  for (const kind of LOG_KINDS) {
    for (const table of listTables(sql, kind)) changed += await redactTable(sql, kind, table, person, pause);
  }
  return changed;
}

function listTables(sql: SqlStorage, kind: LogKind): string[] {
  const { name } = LOG_TABLES[kind];
  return listTableNames(sql).filter(
    (table) => table === name || table.startsWith(`${name}_`) || table === formatLateTable(kind),
  );
}

async function redactTable(
  sql: SqlStorage,
  kind: LogKind,
  table: string,
  person: Person,
  pause: () => Promise<void>,
): Promise<number> {
  const fields = LOG_TABLES[kind].fields as readonly string[];
  const text = fields.map((field) => `coalesce(${field}, '')`).join(` || ' ' || `);
  let changed = 0;
  for (let after: LogKey = { at: Number.MIN_SAFE_INTEGER, id: '' }; ; await pause()) {
    const rows = selectRows<Record<string, SqlStorageValue>>(
      sql,
      `SELECT ${listColumns(kind)} FROM "${table}" WHERE (occurredAt, id) > (?, ?)
         AND EXISTS (SELECT 1 FROM json_each(?) AS mark WHERE instr(lower(${text}), mark.value))
         ORDER BY occurredAt, id LIMIT ${ROWS_PER_BATCH}`,
      ...[after.at, after.id, JSON.stringify([...person.ids, person.email, ...person.ips])],
    );
    for (const row of rows) {
      const { occurredAt, id, ...present } = row;
      const rest = redactValue(present, person) as Record<string, SqlStorageValue>;
      if (isSame(present, rest)) continue;
      const sets = Object.keys(rest).map((field) => `${field} = ?`);
      sql.exec(
        `UPDATE "${table}" SET ${sets.join(', ')} WHERE occurredAt = ? AND id = ?`,
        ...Object.values(rest),
        ...[occurredAt, id],
      );
      changed += 1;
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < ROWS_PER_BATCH) return changed;
    after = { at: Number(last.occurredAt), id: String(last.id) };
  }
}

const isSame = (row: Record<string, unknown>, rest: Record<string, unknown>): boolean =>
  Object.entries(rest).every(([field, value]) => row[field] === value);

/** Redacts the file after `after`. @returns how many records named them, and the next file; null after the last */
export async function redactPart(
  mover: Mover,
  kind: LogKind,
  person: Person,
  after: LogKey | null,
): Promise<{ changed: number; next: LogKey | null }> {
  const { sql } = mover.storage;
  const part = findPartAfter(sql, kind, after);
  if (!part) return { changed: 0, next: null };
  const records: Logged[] = [];
  let changed = 0;
  for await (const record of readPart(mover.files, part.file)) {
    const without = redactValue(record, person) as Logged;
    if (JSON.stringify(without) !== JSON.stringify(record)) changed += 1;
    records.push(without);
  }
  if (changed > 0) {
    const written = await writeParts(mover, kind, records.reverse(), part.version + 1);
    mover.storage.transactionSync(() => {
      deletePart(sql, kind, part);
      // Should the deletion fail, the object deletes it later.
      sql.exec('INSERT OR REPLACE INTO leftovers (file, deleteAt) VALUES (?, ?)', part.file, clock.now());
      for (const each of written) insertPart(sql, kind, each);
      mover.changed();
    });
    await deleteObjects(mover.files, [part.file]);
    sql.exec('DELETE FROM leftovers WHERE file = ?', part.file);
  }
  return { changed, next: part.last };
}
