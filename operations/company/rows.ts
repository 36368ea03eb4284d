import { createReadStream } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import type { Database } from '../database.ts';
import { Problem } from '../problem.ts';

/**
 * Tables of the control database with what a company makes and may want back, those that others refer to first. Sessions,
 * codes, keys and whatever else must not come to life again are not among them, nor what triggers derive.
 */
export const RESTORABLE = [
  'accounts',
  'service_accounts',
  'users',
  'policies',
  'permissions',
  'groups',
  'group_policies',
  'group_permissions',
  'group_bindings',
  'visualizations',
  'dashboards',
  'dashboard_visualizations',
  'share_contexts',
  'share_grants',
  'share_members',
  'dashboard_shares',
  'knowledge_business_domains',
  'knowledge_resources',
  'knowledge_versions',
  'knowledge_suggestions',
] as const;

const ROWS_AT_ONCE = 500;
/** Rows of one statement: their JSON is one bound value, which may have 2 MB. */
const WRITTEN_AT_ONCE = 50;

/** A line of the file. */
interface Line {
  table: string;
  row: Record<string, unknown>;
}

/** Writes all restorable rows of a company to a new file, one JSON a line, that only we may read. @returns how many */
export async function exportCompany(database: Database, companyId: string, file: string): Promise<number> {
  const known = await database.query<{ id: string }>('SELECT id FROM companies WHERE id = ?', companyId);
  if (known.length === 0) throw new Problem(`There is no company ${companyId}.`);
  const output = await open(file, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
    throw new Problem(error.code === 'EEXIST' ? `${file} is there already: choose another name.` : error.message);
  });
  try {
    let count = 0;
    for (const table of RESTORABLE) count += await exportTable(database, table, companyId, output);
    return count;
  } finally {
    await output.close();
  }
}

async function exportTable(database: Database, table: string, companyId: string, output: FileHandle): Promise<number> {
  let count = 0;
  for (let after = 0; ; ) {
    const found = await database.query<Record<string, unknown> & { row_number: number }>(
      `SELECT rowid AS row_number, * FROM ${table} WHERE company_id = ? AND rowid > ? ORDER BY rowid LIMIT ${ROWS_AT_ONCE}`,
      companyId,
      String(after),
    );
    for (const { row_number, ...row } of found) {
      await output.write(`${JSON.stringify({ table, row } satisfies Line)}\n`);
      after = row_number;
    }
    count += found.length;
    if (found.length < ROWS_AT_ONCE) return count;
  }
}

/**
 * Puts rows of such a file back: those that are missing come again, those that differ become as they were, newer ones stay.
 * @param tables only of these
 * @returns how many rows of the file were written
 * @throws Problem where a row's name is taken by a newer one; what was written before stays
 */
export async function importRows(database: Database, file: string, tables: readonly string[]): Promise<number> {
  const unknown = tables.filter((table) => !RESTORABLE.some((known) => known === table));
  if (unknown.length > 0)
    throw new Problem(`Not among what can be restored: ${unknown.join(', ')}. ${RESTORABLE.join(', ')} are.`);
  let count = 0;
  let waiting: Line[] = [];
  const flush = async () => {
    const [first] = waiting;
    if (first)
      await write(
        database,
        first.table,
        waiting.map(({ row }) => row),
      );
    count += waiting.length;
    waiting = [];
  };
  for await (const text of createInterface({ input: createReadStream(file) })) {
    const line = JSON.parse(text) as Line;
    if (!tables.includes(line.table)) continue;
    if (waiting.length === WRITTEN_AT_ONCE || waiting[0]?.table !== line.table) await flush();
    waiting.push(line);
  }
  await flush();
  return count;
}

async function write(database: Database, table: string, rows: Record<string, unknown>[]): Promise<void> {
  const columns = await database.query<{ name: string; pk: number }>(`PRAGMA table_info(${table})`);
  // Columns that the file does not know came with a later migration: they keep what they have, or their default.
  const names = columns.map(({ name }) => name).filter((name) => rows.some((row) => name in row));
  const key = columns.filter(({ pk }) => pk > 0).map(({ name }) => name);
  const changes = names.map((name) => `${name} = excluded.${name}`);
  await database
    .query(
      `INSERT INTO ${table} (${names.join(', ')})
       SELECT ${names.map((name) => `value ->> '${name}'`).join(', ')} FROM json_each(?) WHERE true
       ON CONFLICT (${key.join(', ')}) DO UPDATE SET ${changes.join(', ')}`,
      JSON.stringify(rows),
    )
    .catch((error: Error) => {
      throw new Problem(`Rows of ${table} cannot be put back: ${error.message}`);
    });
}
