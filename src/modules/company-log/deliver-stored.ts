import type { Context } from '../../context.ts';
import { MINUTE_MS } from '../../kernel/clock.ts';
import { type LogKind, type LogRecords, PLATFORM_LOG } from '../../logs/log.ts';
import { logError } from '../../platform/log.ts';
import { callObject } from '../../platform/objects.ts';
import { deleteObjects } from '../../platform/stored-files.ts';
import { appendToLog } from './feed.ts';

/** The number of files per page. A file that fails stays, and does not block the others. */
const FILES_PER_PAGE = 20;
/** The maximum number of pages per source that one scheduled run reads. */
const MAX_PAGES_PER_RUN = 10;
/** The maximum number of files per source that one scheduled run delivers. */
const MAX_FILES_PER_RUN = 20;
/** The maximum number of calls of logs that one scheduled run makes. */
const MAX_CALLS_PER_RUN = 400;
/** The maximum time of one run: an unavailable log takes seconds to fail. */
const MAX_RUN_MS = 2 * MINUTE_MS;
/** The maximum number of records in one call. */
const RECORDS_PER_CALL = 1000;

/** A prefix of files, and the function that stores their lines in the logs and returns the number of calls of logs. */
interface RecordSource {
  prefix: string;
  keep(ctx: Context, lines: readonly string[]): Promise<number>;
}

const RECORD_SOURCES: readonly RecordSource[] = [
  { prefix: 'undelivered/audit/', keep: makeRecordImporter('audit', JSON.parse) },
  { prefix: 'undelivered/share/', keep: makeRecordImporter('share', JSON.parse) },
  // What the version before kept in a database of all companies and in files of its own.
  { prefix: 'archive/audit-events/', keep: makeRecordImporter('audit', (line) => parseRecord('audit', line)) },
  { prefix: 'archive/share-events/', keep: makeRecordImporter('share', (line) => parseRecord('share', line)) },
  { prefix: 'archive/share-views/', keep: importFormerViews },
];

/**
 * Stores records in their logs that neither a log nor a queue accepted, and records of versions before the logs existed. A file
 * is deleted once all of it is stored; an interrupted one is processed again, and each record is stored once.
 * @returns the number of completed files
 */
export async function deliverStoredRecords(ctx: Context): Promise<number> {
  const end = ctx.now() + MAX_RUN_MS;
  let callCount = 0;
  let completedFileCount = 0;
  for (const { prefix, keep } of RECORD_SOURCES) {
    let remainingCount = MAX_FILES_PER_RUN;
    for await (const key of listFileKeys(ctx, prefix)) {
      if (callCount >= MAX_CALLS_PER_RUN || ctx.now() >= end) return completedFileCount;
      try {
        const text = (await (await ctx.files.get(key))?.text()) ?? '';
        callCount += await keep(
          ctx,
          text.split('\n').filter((line) => line !== ''),
        );
        await deleteObjects(ctx.files, [key]);
        completedFileCount += 1;
        remainingCount -= 1;
      } catch (error) {
        logError('undelivered_not_kept', error, { file: key });
      }
      if (remainingCount === 0) break;
    }
  }
  return completedFileCount;
}

async function* listFileKeys({ files }: Context, prefix: string): AsyncGenerator<string> {
  let cursor: string | undefined;
  for (let pageCount = 0; pageCount < MAX_PAGES_PER_RUN; pageCount += 1) {
    const page = await files.list({ prefix, limit: FILES_PER_PAGE, cursor });
    for (const { key } of page.objects) yield key;
    if (!page.truncated) return;
    cursor = page.cursor;
  }
}

/** Makes a function that stores lines as records. @param parseLine parses a record from a line: null where it is none */
function makeRecordImporter<K extends LogKind>(
  kind: K,
  parseLine: (line: string) => LogRecords[K] | null,
): RecordSource['keep'] {
  return async (ctx, lines) => {
    const recordsByCompany = Map.groupBy(
      lines.flatMap((line) => parseLine(line) ?? []),
      ({ companyId }) => companyId,
    );
    let callCount = 0;
    for (const records of recordsByCompany.values()) {
      for (let from = 0; from < records.length; from += RECORDS_PER_CALL, callCount += 1) {
        await appendToLog(ctx.bindings, { [kind]: records.slice(from, from + RECORDS_PER_CALL) });
      }
    }
    return callCount;
  };
}

/** Stores the view counts of shares from files of an earlier version. @returns the number of calls of logs */
async function importFormerViews(ctx: Context, lines: readonly string[]): Promise<number> {
  const rows = lines.map((line) => JSON.parse(line) as FormerViews);
  const rowsByCompany = Map.groupBy(rows, ({ company_id }) => company_id);
  for (const [companyId, ofOne] of rowsByCompany) {
    const views = ofOne.map(({ share_id, view_count, last_accessed_at }) => ({
      shareId: share_id,
      viewCount: view_count,
      lastAccessedAt: last_accessed_at,
    }));
    await callObject(
      ctx.bindings.COMPANY_LOG,
      companyId ?? PLATFORM_LOG,
      async (log) => await log.putViewsBefore(views),
    );
  }
  return rowsByCompany.size;
}

interface FormerViews {
  share_id: string;
  company_id: string;
  view_count: number;
  last_accessed_at: number;
}

/** A row of the former database that held all companies' records. Columns are in snake case. */
type FormerRow = Record<string, string | number | null>;

/** Columns that later versions added, with the values for rows of earlier ones, which lack them. */
const ADDED_COLUMN_VALUES: Record<LogKind, FormerRow> = { audit: { count: 1 }, share: {} };

/** Parses a line of a file of rows of the former database into a record. @returns null where the line is not a row */
function parseRecord<K extends LogKind>(kind: K, line: string): LogRecords[K] | null {
  const row = { ...ADDED_COLUMN_VALUES[kind], ...(JSON.parse(line) as FormerRow) };
  if (typeof row.id !== 'string' || typeof row.occurred_at !== 'number') return null;
  const fields = Object.entries(row).map(([column, value]) => [
    column.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase()),
    column === 'details' && typeof value === 'string' ? JSON.parse(value) : value,
  ]);
  return Object.fromEntries(fields) as LogRecords[K];
}
