import type { CompanyContext } from '../../context.ts';
import { quoteQualified } from '../../tenant-sql/identifiers.ts';
import { openDatabaseToRead } from '../managed-database/service.ts';

const TRANSIENT_DATA_REASON = 'of work under way, without meaning afterwards';

/** The columns of a table of ours in the company's Postgres that an export shows and hides, or why it leaves the table out. */
type TableExport = { shownColumns: readonly string[]; hiddenColumns: Readonly<Record<string, string>> } | string;

/** The export of every table of the schema `console`. A test fails if a table or a column is missing. */
export const DATABASE_TABLE_EXPORTS: Readonly<Record<string, TableExport>> = {
  managed_tables: {
    shownColumns: [
      ...['id', 'company_id', 'display_name', 'columns', 'source', 'status', 'schema_version', 'created_by_user_id'],
      ...['created_at', 'updated_at', 'deleted_at', 'undo_ended_by'],
    ],
    hiddenColumns: {
      row_count: 'the rows themselves are exported',
      count_version: TRANSIENT_DATA_REASON,
      undoable_after: TRANSIENT_DATA_REASON,
    },
  },
  upload_jobs: {
    shownColumns: [
      ...['id', 'company_id', 'user_table_id', 'created_by_user_id', 'mode', 'status', 'files', 'inferred_schema'],
      ...['confirmed_schema', 'progress', 'error', 'created_at', 'updated_at', 'key_columns', 'result', 'loaded_at'],
      ...['undone_at', 'undone_by', 'source_url', 'evolve', 'evolved'],
    ],
    hiddenColumns: {
      reading: TRANSIENT_DATA_REASON,
      step: TRANSIENT_DATA_REASON,
      state: TRANSIENT_DATA_REASON,
      attempts: TRANSIENT_DATA_REASON,
      turn_until: TRANSIENT_DATA_REASON,
      load_number: TRANSIENT_DATA_REASON,
      added_rows: TRANSIENT_DATA_REASON,
    },
  },
  migrations: 'of the release, not of the company',
  row_count_changes: TRANSIENT_DATA_REASON,
  events: 'of webhooks that are yet to be told',
  loaded_days: 'is in the days of use',
  resumable_uploads: TRANSIENT_DATA_REASON,
};

/** The names of the exported tables. */
export const EXPORTED_DATABASE_TABLES = Object.entries(DATABASE_TABLE_EXPORTS).flatMap(([name, kind]) =>
  typeof kind === 'string' ? [] : [{ name, shownColumns: kind.shownColumns }],
);

/** The maximum number of rows that are read at once. */
const MAX_ROWS_PER_READ = 2_000;
/** The number of bytes of rows after which no further row is read at once. */
const MAX_BYTES_PER_READ = 1_000_000;

/** Reads rows after an id, each as its JSON; none before provisioning. One batch fits into memory. */
export async function readDatabaseRecords(
  ctx: CompanyContext,
  { name, shownColumns }: (typeof EXPORTED_DATABASE_TABLES)[number],
  afterId: string,
): Promise<{ id: string; line: string }[]> {
  const database = await openDatabaseToRead(ctx);
  if (!database) return [];
  return database.query(
    `SELECT id, line FROM (
       SELECT id, line, sum(octet_length(line)) OVER (ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
       FROM (
         SELECT id, (SELECT row_to_json(shown)::text FROM (SELECT ${shownColumns.map((column) => `source.${column}`).join(', ')}) AS shown) AS line
         FROM ${quoteQualified('console', name)} AS source
         WHERE company_id = $1 AND id > $2 ORDER BY id LIMIT ${MAX_ROWS_PER_READ}
       ) AS read
     ) AS weighed WHERE before IS NULL OR before < ${MAX_BYTES_PER_READ} ORDER BY id`,
    [ctx.actor.companyId, afterId],
  );
}
