import type { CloudflareAccount } from '../cloudflare.ts';
import type { Files } from '../files.ts';

/** Maximum number of rows in one file. */
const ROWS_PER_FILE = 5000;

/** Tables of the former database with all companies' records, and the folders from which the Worker imports them. */
const FORMER_TABLES = {
  audit_events: 'archive/audit-events/former',
  share_events: 'archive/share-events/former',
  dead_letters: null,
} as const;

type Row = Record<string, string | number | null>;

/**
 * Moves what the audit database of earlier versions holds: records into files that the Worker's scheduled run imports into the
 * companies' logs, dead letters into their current folder. The progress is stored in that database, so that an interrupted run
 * can be repeated; nothing is deleted. @returns a summary for the report
 */
export async function moveFormerRecords(
  account: Pick<CloudflareAccount, 'findDatabase' | 'query'>,
  files: Pick<Files, 'list' | 'put'>,
  name: string,
): Promise<string> {
  const database = await account.findDatabase(name);
  if (!database) return 'there is no such database';
  const runQuery = <R>(sql: string, ...values: string[]) => account.query<R>(database.id, sql, values);
  await runQuery('CREATE TABLE IF NOT EXISTS moved_rows (source TEXT PRIMARY KEY, through INTEGER NOT NULL)');
  let movedRowCount = 0;
  for (const [table, folder] of Object.entries(FORMER_TABLES)) {
    for (;;) {
      const rows = await readNextRows(runQuery, table);
      const [firstRow, lastRow] = [rows[0], rows.at(-1)];
      if (!firstRow || !lastRow) break;
      if (folder === null) await putLetters(files, rows);
      else await files.put(`${folder}/${padNumber(firstRow.row_number)}.ndjson`, formatNdjson(rows));
      await runQuery('INSERT OR REPLACE INTO moved_rows VALUES (?, ?)', table, String(lastRow.row_number));
      movedRowCount += rows.length;
    }
  }
  await putViews(runQuery, files);
  const waitingFileCount = (await files.list('archive/')).length;
  const summary = `${movedRowCount} rows were moved`;
  return waitingFileCount > 0
    ? `${summary}; ${waitingFileCount} files wait for the scheduled run, which takes some each minute: run this again to see`
    : `${summary}, and all are in their logs: ${name} is not used any more, and may be deleted by hand`;
}

type Query = <R>(sql: string, ...values: string[]) => Promise<R[]>;

/** Reads the next rows to move, in order of insertion. */
async function readNextRows(query: Query, table: string): Promise<Row[]> {
  const movedThroughSql = '(SELECT through FROM moved_rows WHERE source = ?)';
  // Where a table was emptied, its rows are numbered anew.
  await query(
    `DELETE FROM moved_rows WHERE source = ? AND through > (SELECT coalesce(max(rowid), 0) FROM ${table})`,
    table,
  );
  return query<Row>(
    `SELECT rowid AS row_number, * FROM ${table} WHERE rowid > coalesce(${movedThroughSql}, 0) ORDER BY rowid LIMIT ${ROWS_PER_FILE}`,
    table,
  );
}

/** Stores dead letters, except those that were already sent again. */
async function putLetters(files: Pick<Files, 'put'>, rows: readonly Row[]): Promise<void> {
  for (const { id, queue, body, attempts, died_at, replay_requested_at, replayed_at } of rows) {
    if (replayed_at !== null) continue;
    const letter = { id, queue, body: JSON.parse(String(body)), attempts, sentAt: died_at, diedAt: died_at };
    const fileName = `${queue}/${died_at}-${id}.json`;
    await files.put(`dead-letters/${fileName}`, JSON.stringify(letter));
    if (replay_requested_at !== null) await files.put(`dead-letters-wanted/${fileName}`, JSON.stringify(letter));
  }
}

/** Stores all view counts anew as soon as there are more views: their rows change in place. */
async function putViews(query: Query, files: Pick<Files, 'put'>): Promise<void> {
  const [sum] = await query<{ views: number; moved: number }>(
    `SELECT coalesce(sum(view_count), 0) AS views,
       coalesce((SELECT through FROM moved_rows WHERE source = 'share_views'), 0) AS moved FROM share_views`,
  );
  if (!sum || sum.views === sum.moved) return;
  for (let lastKey = ''; ; ) {
    const rows = await query<Row>(
      `SELECT * FROM share_views WHERE share_id > ? ORDER BY share_id LIMIT ${ROWS_PER_FILE}`,
      lastKey,
    );
    const lastRow = rows.at(-1);
    if (!lastRow) break;
    await files.put(`archive/share-views/former/${lastRow.share_id}.ndjson`, formatNdjson(rows));
    lastKey = String(lastRow.share_id);
  }
  await query("INSERT OR REPLACE INTO moved_rows VALUES ('share_views', ?)", String(sum.views));
}

const formatNdjson = (rows: readonly Row[]): string =>
  rows.map(({ row_number: _, ...row }) => `${JSON.stringify(row)}\n`).join('');

const padNumber = (row: string | number | null | undefined): string => String(row).padStart(12, '0');
