import type { CloudflareAccount } from '../cloudflare.ts';
import type { Files } from '../files.ts';

/** Rows of one file. */
const ROWS_PER_FILE = 5000;

/** Tables of the database that all companies' records once stood in, and the folders that the Worker takes them from. */
const TABLES = {
  audit_events: 'archive/audit-events/former',
  share_events: 'archive/share-events/former',
  dead_letters: null,
} as const;

type Row = Record<string, string | number | null>;

/**
 * Moves what the audit database of earlier versions holds: records into files that the Worker's scheduled run brings into the
 * logs of their companies, dead letters to where they are kept now. How far it came is written down in that database, so that it
 * may break off and be run again; it deletes nothing.
 * @returns what came of it, for the report
 */
export async function moveFormerRecords(
  account: Pick<CloudflareAccount, 'database' | 'query'>,
  files: Pick<Files, 'list' | 'put'>,
  name: string,
): Promise<string> {
  const database = await account.database(name);
  if (!database) return 'there is no such database';
  const query = <R>(sql: string, ...values: string[]) => account.query<R>(database.id, sql, values);
  await query('CREATE TABLE IF NOT EXISTS moved_rows (source TEXT PRIMARY KEY, through INTEGER NOT NULL)');
  let moved = 0;
  for (const [table, folder] of Object.entries(TABLES)) {
    for (;;) {
      const rows = await readNextRows(query, table);
      const [first, last] = [rows[0], rows.at(-1)];
      if (!first || !last) break;
      if (folder === null) await putLetters(files, rows);
      else await files.put(`${folder}/${toNumber(first.row_number)}.ndjson`, toLines(rows));
      await query('INSERT OR REPLACE INTO moved_rows VALUES (?, ?)', table, String(last.row_number));
      moved += rows.length;
    }
  }
  await putViews(query, files);
  const waiting = (await files.list('archive/')).length;
  const done = `${moved} rows were moved`;
  return waiting > 0
    ? `${done}; ${waiting} files wait for the scheduled run, which takes some each minute: run this again to see`
    : `${done}, and all are in their logs: ${name} is not used any more, and may be deleted by hand`;
}

type Query = <R>(sql: string, ...values: string[]) => Promise<R[]>;

/** The next rows to move, in order of insertion. */
async function readNextRows(query: Query, table: string): Promise<Row[]> {
  const moved = '(SELECT through FROM moved_rows WHERE source = ?)';
  // Where a table was emptied, its rows are numbered anew.
  await query(
    `DELETE FROM moved_rows WHERE source = ? AND through > (SELECT coalesce(max(rowid), 0) FROM ${table})`,
    table,
  );
  return query<Row>(
    `SELECT rowid AS row_number, * FROM ${table} WHERE rowid > coalesce(${moved}, 0) ORDER BY rowid LIMIT ${ROWS_PER_FILE}`,
    table,
  );
}

/** Letters that were sent again already are left where they are. */
async function putLetters(files: Pick<Files, 'put'>, rows: readonly Row[]): Promise<void> {
  for (const { id, queue, body, attempts, died_at, replay_requested_at, replayed_at } of rows) {
    if (replayed_at !== null) continue;
    const letter = { id, queue, body: JSON.parse(String(body)), attempts, sentAt: died_at, diedAt: died_at };
    const place = `${queue}/${died_at}-${id}.json`;
    await files.put(`dead-letters/${place}`, JSON.stringify(letter));
    if (replay_requested_at !== null) await files.put(`dead-letters-wanted/${place}`, JSON.stringify(letter));
  }
}

/** Counts of views change in their rows: all are handed over anew as soon as there are more. */
async function putViews(query: Query, files: Pick<Files, 'put'>): Promise<void> {
  const [sum] = await query<{ views: number; moved: number }>(
    `SELECT coalesce(sum(view_count), 0) AS views,
       coalesce((SELECT through FROM moved_rows WHERE source = 'share_views'), 0) AS moved FROM share_views`,
  );
  if (!sum || sum.views === sum.moved) return;
  for (let behind = ''; ; ) {
    const rows = await query<Row>(
      `SELECT * FROM share_views WHERE share_id > ? ORDER BY share_id LIMIT ${ROWS_PER_FILE}`,
      behind,
    );
    const last = rows.at(-1);
    if (!last) break;
    await files.put(`archive/share-views/former/${last.share_id}.ndjson`, toLines(rows));
    behind = String(last.share_id);
  }
  await query("INSERT OR REPLACE INTO moved_rows VALUES ('share_views', ?)", String(sum.views));
}

const toLines = (rows: readonly Row[]): string =>
  rows.map(({ row_number: _, ...row }) => `${JSON.stringify(row)}\n`).join('');

const toNumber = (row: string | number | null | undefined): string => String(row).padStart(12, '0');
