import { createReadStream } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import type { Database } from '../database.ts';
import { Problem } from '../problem.ts';

/**
 * The tables of the control database with content that a company may want back; referenced tables come first. Not among
 * them are sessions, codes, keys and other data that must not become valid again, nor data that triggers derive.
 */
export const CONTENT_TABLES = [
  'visualizations',
  'dashboards',
  'dashboard_visualizations',
  'viz_api_endpoints',
  'schedules',
  'schedule_recipients',
  'knowledge_business_domains',
  'knowledge_resources',
  'knowledge_versions',
  'knowledge_suggestions',
  'knowledge_verified_questions',
] as const;

/** Tables that decide on access. Restoring them gives back access that was removed since then. */
export const ACCESS_TABLES = [
  'accounts',
  'service_accounts',
  'users',
  'policies',
  'permissions',
  'groups',
  'group_policies',
  'group_permissions',
  'group_bindings',
  'share_contexts',
  'share_grants',
  'share_members',
  'dashboard_shares',
] as const;

/** Columns that are neither saved nor restored: an old password, or a disabled second factor, must not come back. */
const EXCLUDED_COLUMNS: Record<string, readonly string[]> = {
  users: ['password_hash', 'mfa_enabled', 'session_epoch'],
  // Nobody who has unsubscribed since gets mails again.
  schedule_recipients: ['unsubscribed_at', 'last_value'],
};

/** SQL conditions of rows that are not saved: recipients who unsubscribed do not come back with a schedule. */
const EXCLUDED_ROWS: Record<string, string> = { schedule_recipients: 'unsubscribed_at IS NOT NULL' };

const ROWS_PER_BATCH = 500;
/** Maximum size of one statement: its rows' JSON is one bound value, which may have 2 MB. */
const MAX_WRITE_BATCH = { rows: 50, characters: 500_000 };

type Row = Record<string, unknown>;

/** Line of the file: first the company's id, then rows, last the number of rows. */
type FileLine = { company_id: string; exported_at: string } | { table: string; row: Row } | { end: { rows: number } };

/** Row that could not be restored, and the reason. */
export interface SkippedRow {
  table: string;
  row: Row;
  reason: string;
}

/** Writes a company's rows to a new file that only this user may read, one JSON a line. @returns their number */
export async function saveCompany(database: Database, companyId: string, file: string): Promise<number> {
  const knownCompanies = await database.query<{ id: string }>('SELECT id FROM companies WHERE id = ?', companyId);
  if (knownCompanies.length === 0) throw new Problem(`There is no company ${companyId}.`);
  const output = await open(file, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
    throw new Problem(error.code === 'EEXIST' ? `${file} is there already: choose another name.` : error.message);
  });
  try {
    let rowCount = 0;
    await writeLine(output, { company_id: companyId, exported_at: new Date().toISOString() });
    for (const table of [...ACCESS_TABLES, ...CONTENT_TABLES])
      rowCount += await saveTable(database, table, companyId, output);
    await writeLine(output, { end: { rows: rowCount } });
    return rowCount;
  } finally {
    await output.close();
  }
}

const writeLine = (output: FileHandle, line: FileLine) => output.write(`${JSON.stringify(line)}\n`);

async function saveTable(database: Database, table: string, companyId: string, output: FileHandle): Promise<number> {
  let count = 0;
  for (let lastRowNumber = 0; ; ) {
    const foundRows = await database.query<Row & { row_number: number }>(
      `SELECT rowid AS row_number, * FROM ${table} WHERE company_id = ? AND rowid > ? AND NOT (${EXCLUDED_ROWS[table] ?? '0'}) ORDER BY rowid LIMIT ${ROWS_PER_BATCH}`,
      companyId,
      String(lastRowNumber),
    );
    for (const { row_number, ...row } of foundRows) {
      for (const column of EXCLUDED_COLUMNS[table] ?? []) delete row[column];
      await writeLine(output, { table, row });
      lastRowNumber = row_number;
    }
    count += foundRows.length;
    if (foundRows.length < ROWS_PER_BATCH) return count;
  }
}

/** Lists the tables to restore: all or the named ones; tables that decide on access only if requested. @throws Problem */
export function listTables(requestedTables: readonly string[] | undefined, includesAccess: boolean): string[] {
  const knownTables: readonly string[] = [...ACCESS_TABLES, ...CONTENT_TABLES];
  const tables = requestedTables ?? (includesAccess ? knownTables : CONTENT_TABLES);
  const unknownTables = tables.filter((table) => !knownTables.includes(table));
  if (unknownTables.length > 0) {
    throw new Problem(`Not among what can be restored: ${unknownTables.join(', ')}. ${knownTables.join(', ')} are.`);
  }
  const accessTables = tables.filter((table) => ACCESS_TABLES.some((accessTable) => accessTable === table));
  if (accessTables.length > 0 && !includesAccess) {
    throw new Problem(
      `${accessTables.join(', ')} say who may do and see what: what was taken from somebody since then would be theirs again. ` +
        'Say --access if that is meant.',
    );
  }
  return [...tables];
}

/**
 * Restores rows of a saved file: missing rows are inserted, changed rows become as they were, newer ones stay. A row whose
 * unique values another row has taken is skipped. It may be repeated.
 * @param tables only rows of these
 * @returns how many rows were written, and which were skipped
 * @throws Problem before anything is written, if the file is incomplete
 */
export async function putBackRows(
  database: Database,
  file: string,
  tables: readonly string[],
): Promise<{ writtenCount: number; skippedRows: SkippedRow[] }> {
  const companyId = await readCompanyId(file);
  const skippedRows: SkippedRow[] = [];
  let writtenCount = 0;
  let pendingBatch: { table: string; rows: Row[]; characterCount: number } | undefined;
  const writePending = async () => {
    if (!pendingBatch) return;
    const { table, rows } = pendingBatch;
    const conflicts = await writeRows(database, table, rows);
    writtenCount += rows.length - conflicts.length;
    skippedRows.push(...conflicts);
    pendingBatch = undefined;
  };
  for await (const text of splitLines(file)) {
    const line = JSON.parse(text) as FileLine;
    if (!('table' in line) || !tables.includes(line.table)) continue;
    const { table, row } = line;
    if (row.company_id !== companyId)
      throw new Problem(`${file} holds a row of another company: it was changed by hand.`);
    for (const column of EXCLUDED_COLUMNS[table] ?? []) delete row[column];
    const isFull =
      pendingBatch &&
      (pendingBatch.rows.length === MAX_WRITE_BATCH.rows || pendingBatch.characterCount > MAX_WRITE_BATCH.characters);
    if (isFull || pendingBatch?.table !== table) await writePending();
    pendingBatch ??= { table, rows: [], characterCount: 0 };
    pendingBatch.rows.push(row);
    pendingBatch.characterCount += text.length;
  }
  await writePending();
  // A later row may have removed a conflict: a default account that moved, or two names that were exchanged.
  for (let skippedBefore = Number.POSITIVE_INFINITY; skippedRows.length > 0 && skippedRows.length < skippedBefore; ) {
    skippedBefore = skippedRows.length;
    for (const { table, row } of skippedRows.splice(0)) skippedRows.push(...(await writeRows(database, table, [row])));
    writtenCount += skippedBefore - skippedRows.length;
  }
  return { writtenCount, skippedRows };
}

/** Reads the company's id from a file. @throws Problem if the file is incomplete */
async function readCompanyId(file: string): Promise<string> {
  let firstLine: FileLine | undefined;
  let lastLine: FileLine | undefined;
  let rowCount = 0;
  for await (const text of splitLines(file)) {
    lastLine = parseLine(text, file);
    firstLine ??= lastLine;
    if ('table' in lastLine) rowCount += 1;
  }
  const isComplete = lastLine && 'end' in lastLine && lastLine.end.rows === rowCount;
  if (!firstLine || !('company_id' in firstLine) || !isComplete) {
    throw new Problem(
      `${file} is not a whole copy: it must begin with the company and end with the number of its rows.`,
    );
  }
  return firstLine.company_id;
}

function parseLine(text: string, file: string): FileLine {
  try {
    return JSON.parse(text) as FileLine;
  } catch {
    throw new Problem(`${file} is not a whole copy: a line of it is no JSON.`);
  }
}

/** Splits lines at LF only: `node:readline` also splits at U+2028, which JSON may contain. */
async function* splitLines(file: string): AsyncGenerator<string> {
  let remainder = '';
  for await (const chunk of createReadStream(file, 'utf8')) {
    const lines = `${remainder}${chunk}`.split('\n');
    remainder = lines.pop() ?? '';
    yield* lines;
  }
  if (remainder !== '') yield remainder;
}

/** Writes rows in one statement; if there is a conflict, each in its own. @returns the rows that cannot be written */
async function writeRows(database: Database, table: string, rows: Row[]): Promise<SkippedRow[]> {
  try {
    await upsertRows(database, table, rows);
    return [];
  } catch (error) {
    const reason = (error as Error).message;
    if (!/constraint failed/i.test(reason)) throw new Problem(`Rows of ${table} cannot be put back: ${reason}`);
    const [row, ...others] = rows;
    if (row && others.length === 0) return [{ table, row, reason }];
  }
  const skippedRows: SkippedRow[] = [];
  for (const row of rows) skippedRows.push(...(await writeRows(database, table, [row])));
  return skippedRows;
}

async function upsertRows(database: Database, table: string, rows: Row[]): Promise<void> {
  const columns = await database.query<{ name: string; pk: number }>(`PRAGMA table_info(${table})`);
  // Columns that the file lacks came with a later migration: they keep their values, or get their default.
  const names = columns.map(({ name }) => name).filter((name) => rows.some((row) => name in row));
  const key = columns.filter(({ pk }) => pk > 0).map(({ name }) => name);
  const changes = names.map((name) => `${name} = excluded.${name}`);
  await database.query(
    `INSERT INTO ${table} (${names.join(', ')})
     SELECT ${names.map((name) => `value ->> '${name}'`).join(', ')} FROM json_each(?) WHERE true
     ON CONFLICT (${key.join(', ')}) DO UPDATE SET ${changes.join(', ')} WHERE ${table}.company_id = excluded.company_id`,
    JSON.stringify(rows),
  );
}
