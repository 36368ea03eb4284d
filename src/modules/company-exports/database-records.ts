import type { CompanyContext } from '../../context.ts';
import { qualified } from '../../tenant-sql/identifiers.ts';
import { openDatabaseToRead } from '../managed-database/service.ts';

const TRANSIENT_REASON = 'of work under way, without meaning afterwards';

/**
 * The columns that an export shows of one of our tables in the company's own Postgres, and those it hides; or the reason why it
 * leaves the table out.
 */
type RecordKind = { shown: readonly string[]; hidden: Readonly<Record<string, string>> } | string;

/** Every table of the schema `console`. A test fails if a table is missing, or a column is neither shown nor hidden. */
export const DATABASE_KINDS: Readonly<Record<string, RecordKind>> = {
  managed_tables: {
    shown: [
      ...['id', 'company_id', 'display_name', 'columns', 'source', 'status', 'schema_version', 'created_by_user_id'],
      ...['created_at', 'updated_at', 'deleted_at', 'undo_ended_by'],
    ],
    hidden: {
      row_count: 'the rows themselves are exported',
      count_version: TRANSIENT_REASON,
      undoable_after: TRANSIENT_REASON,
    },
  },
  upload_jobs: {
    shown: [
      ...['id', 'company_id', 'user_table_id', 'created_by_user_id', 'mode', 'status', 'files', 'inferred_schema'],
      ...['confirmed_schema', 'progress', 'error', 'created_at', 'updated_at', 'key_columns', 'result', 'loaded_at'],
      ...['undone_at', 'undone_by', 'source_url', 'evolve', 'evolved'],
    ],
    hidden: {
      ...{
        reading: TRANSIENT_REASON,
        step: TRANSIENT_REASON,
        state: TRANSIENT_REASON,
        attempts: TRANSIENT_REASON,
        turn_until: TRANSIENT_REASON,
        load_number: TRANSIENT_REASON,
      },
      added_rows: TRANSIENT_REASON,
    },
  },
  migrations: 'of the release, not of the company',
  row_count_changes: TRANSIENT_REASON,
  events: 'of webhooks that are yet to be told',
  loaded_days: 'is in the days of use',
  resumable_uploads: TRANSIENT_REASON,
};

/** The names of those that are exported. */
export const EXPORTED_DATABASE_KINDS = Object.entries(DATABASE_KINDS).flatMap(([name, kind]) =>
  typeof kind === 'string' ? [] : [{ name, shown: kind.shown }],
);

/** The maximum number of rows that are read at once, and the bytes after which no further one is. */
const MAX_ROWS = 2_000;
const MAX_BYTES = 1_000_000;

/** Reads rows after an id, each as its JSON; none before provisioning. Together they fit into memory. */
export async function readDatabaseRecords(
  ctx: CompanyContext,
  { name, shown }: (typeof EXPORTED_DATABASE_KINDS)[number],
  after: string,
): Promise<{ id: string; line: string }[]> {
  const database = await openDatabaseToRead(ctx);
  if (!database) return [];
  return database.query(
    `SELECT id, line FROM (
       SELECT id, line, sum(octet_length(line)) OVER (ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
       FROM (
         SELECT id, (SELECT row_to_json(shown)::text FROM (SELECT ${shown.map((column) => `source.${column}`).join(', ')}) AS shown) AS line
         FROM ${qualified('console', name)} AS source
         WHERE company_id = $1 AND id > $2 ORDER BY id LIMIT ${MAX_ROWS}
       ) AS read
     ) AS weighed WHERE before IS NULL OR before < ${MAX_BYTES} ORDER BY id`,
    [ctx.actor.companyId, after],
  );
}
