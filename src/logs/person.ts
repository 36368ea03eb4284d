import { clock } from '../kernel/clock.ts';
import { selectRows } from '../platform/objects.ts';
import { deleteObjects } from '../platform/stored-files.ts';
import { LOG_KINDS, type LogKey, type LogKind, type LogRecord } from './log.ts';
import { type Mover, writeDayFiles } from './move-to-files.ts';
import { readPart } from './part-file.ts';
import { deletePart, findPartAfter, insertPart } from './parts.ts';
import { type Person, redactValue } from './redaction.ts';
import { formatLateTable, LOG_TABLES, listColumns, listTableNames } from './tables.ts';

/** The number of rows processed before yielding to other requests. */
const ROWS_PER_BATCH = 1000;

/** Redacts all records in the Durable Object, also those already copied to files. @returns how many named the person */
export async function redactRows(sql: SqlStorage, person: Person, pause: () => Promise<void>): Promise<number> {
  let changedCount = 0;
  for (const kind of LOG_KINDS) {
    for (const table of listRecordTables(sql, kind)) changedCount += await redactTable(sql, kind, table, person, pause);
  }
  return changedCount;
}

function listRecordTables(sql: SqlStorage, kind: LogKind): string[] {
  const { tablePrefix } = LOG_TABLES[kind];
  return listTableNames(sql).filter(
    (table) => table === tablePrefix || table.startsWith(`${tablePrefix}_`) || table === formatLateTable(kind),
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
  let changedCount = 0;
  for (let afterKey: LogKey = { at: Number.MIN_SAFE_INTEGER, id: '' }; ; await pause()) {
    const rows = selectRows<Record<string, SqlStorageValue>>(
      sql,
      `SELECT ${listColumns(kind)} FROM "${table}" WHERE (occurredAt, id) > (?, ?)
         AND EXISTS (SELECT 1 FROM json_each(?) AS mark WHERE instr(lower(${text}), mark.value))
         ORDER BY occurredAt, id LIMIT ${ROWS_PER_BATCH}`,
      ...[afterKey.at, afterKey.id, JSON.stringify([...person.ids, person.email, ...person.ips])],
    );
    for (const row of rows) {
      const { occurredAt, id, ...present } = row;
      const redactedFields = redactValue(present, person) as Record<string, SqlStorageValue>;
      if (isUnchanged(present, redactedFields)) continue;
      const assignments = Object.keys(redactedFields).map((field) => `${field} = ?`);
      sql.exec(
        `UPDATE "${table}" SET ${assignments.join(', ')} WHERE occurredAt = ? AND id = ?`,
        ...Object.values(redactedFields),
        ...[occurredAt, id],
      );
      changedCount += 1;
    }
    const lastRow = rows.at(-1);
    if (lastRow === undefined || rows.length < ROWS_PER_BATCH) return changedCount;
    afterKey = { at: Number(lastRow.occurredAt), id: String(lastRow.id) };
  }
}

const isUnchanged = (row: Record<string, unknown>, redactedFields: Record<string, unknown>): boolean =>
  Object.entries(redactedFields).every(([field, value]) => row[field] === value);

/**
 * Redacts the file that follows `afterKey`.
 * @returns how many records named the person, and the key after which the next file follows; null after the last file
 */
export async function redactPart(
  mover: Mover,
  kind: LogKind,
  person: Person,
  afterKey: LogKey | null,
): Promise<{ changedCount: number; nextKey: LogKey | null }> {
  const { sql } = mover.storage;
  const part = findPartAfter(sql, kind, afterKey);
  if (!part) return { changedCount: 0, nextKey: null };
  const records: LogRecord[] = [];
  let changedCount = 0;
  for await (const record of readPart(mover.files, part.file)) {
    const redactedRecord = redactValue(record, person) as LogRecord;
    if (JSON.stringify(redactedRecord) !== JSON.stringify(record)) changedCount += 1;
    records.push(redactedRecord);
  }
  if (changedCount > 0) {
    const writtenParts = await writeDayFiles(mover, kind, records.reverse(), part.version + 1);
    mover.storage.transactionSync(() => {
      deletePart(sql, kind, part);
      // Should the deletion fail, the object deletes it later.
      sql.exec('INSERT OR REPLACE INTO leftovers (file, deleteAt) VALUES (?, ?)', part.file, clock.now());
      for (const writtenPart of writtenParts) insertPart(sql, kind, writtenPart);
      mover.reportChange();
    });
    await deleteObjects(mover.files, [part.file]);
    sql.exec('DELETE FROM leftovers WHERE file = ?', part.file);
  }
  return { changedCount, nextKey: part.last };
}
