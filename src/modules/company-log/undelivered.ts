import type { Context } from '../../context.ts';
import { type LogKind, type LogRecords, PLATFORM_LOG } from '../../kernel/log.ts';
import { logError } from '../../platform/log.ts';
import { callObject } from '../../platform/objects.ts';
import { appendToLog } from './feed.ts';

/** Files that one scheduled run takes up, and calls of logs that it makes for them, at the most. */
const FILES_A_RUN = 20;
const CALLS_A_RUN = 400;
/** Records of one call. */
const RECORDS_A_CALL = 1000;

/** What lies below a prefix, and how a line of it becomes a record: null where it is none. */
const SOURCES: { prefix: string; kind: LogKind; read(line: string): LogRecords[LogKind] | null }[] = [
  { prefix: 'undelivered/audit/', kind: 'audit', read: JSON.parse },
  { prefix: 'undelivered/share/', kind: 'share', read: JSON.parse },
  // What the version before kept in a database of all companies and in files of its own.
  { prefix: 'archive/audit-events/', kind: 'audit', read: (line) => recordOf('audit', line) },
  { prefix: 'archive/share-events/', kind: 'share', read: (line) => recordOf('share', line) },
];

/**
 * Brings records that no log and no queue took into their logs, and so those of the time before there were logs. A file goes
 * once all of it is kept; broken off in between, it is taken up again, and each record is kept once.
 * @returns how many files were done
 */
export async function keepUndelivered(ctx: Context): Promise<number> {
  let done = 0;
  let calls = 0;
  for (const { prefix, kind, read } of SOURCES) {
    const { objects } = await ctx.files.list({ prefix, limit: FILES_A_RUN });
    for (const { key } of objects) {
      if (calls >= CALLS_A_RUN) return done;
      try {
        const text = (await (await ctx.files.get(key))?.text()) ?? '';
        const records = text.split('\n').flatMap((line) => (line === '' ? [] : (read(line) ?? [])));
        const byCompany = Map.groupBy(records, ({ companyId }) => companyId);
        for (const ofOne of byCompany.values()) {
          for (let from = 0; from < ofOne.length; from += RECORDS_A_CALL, calls += 1) {
            await appendToLog(ctx.bindings, { [kind]: ofOne.slice(from, from + RECORDS_A_CALL) });
          }
        }
        await ctx.files.delete(key);
        done += 1;
      } catch (error) {
        logError('undelivered_not_kept', error, { file: key });
      }
    }
  }
  return done + (await keepFormerViews(ctx));
}

/** The same for what was counted of shares. */
async function keepFormerViews(ctx: Context): Promise<number> {
  const { objects } = await ctx.files.list({ prefix: 'archive/share-views/', limit: FILES_A_RUN });
  for (const { key } of objects) {
    const text = (await (await ctx.files.get(key))?.text()) ?? '';
    const rows = text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as FormerViews]));
    for (const [companyId, ofOne] of Map.groupBy(rows, ({ company_id }) => company_id)) {
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
    await ctx.files.delete(key);
  }
  return objects.length;
}

interface FormerViews {
  share_id: string;
  company_id: string;
  view_count: number;
  last_accessed_at: number;
}

/** A row of the database that all companies' records once stood in. Columns are in snake case. */
type Row = Record<string, string | number | null>;

/** What later versions added: rows of earlier ones lack it. */
const ADDED: Record<LogKind, Row> = { audit: { count: 1 }, share: {} };

/**
 * The record that a line of a file of such rows stands for.
 * @returns null where it is no row
 */
function recordOf<K extends LogKind>(kind: K, line: string): LogRecords[K] | null {
  const row = { ...ADDED[kind], ...(JSON.parse(line) as Row) };
  if (typeof row.id !== 'string' || typeof row.occurred_at !== 'number') return null;
  const members = Object.entries(row).map(([column, value]) => [
    column.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase()),
    column === 'details' && typeof value === 'string' ? JSON.parse(value) : value,
  ]);
  return Object.fromEntries(members) as LogRecords[K];
}
