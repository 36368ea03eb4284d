import type { Context } from '../../context.ts';
import { MINUTE_MS } from '../../kernel/clock.ts';
import { type LogKind, type LogRecords, PLATFORM_LOG } from '../../logs/log.ts';
import { logError } from '../../platform/log.ts';
import { callObject } from '../../platform/objects.ts';
import { deleteObjects } from '../../platform/stored-files.ts';
import { appendToLog } from './feed.ts';

/**
 * Files of a page, and pages of each source that one scheduled run looks through: a file that fails stays, and keeps no
 * other from being delivered.
 */
const FILES_A_PAGE = 20;
const PAGES_A_RUN = 10;
/** Files of each source that one run delivers, and calls of logs that it makes for all of them, at the most. */
const FILES_A_RUN = 20;
const CALLS_A_RUN = 400;
/** A log that is away takes seconds to say so. */
const RUN_MS = 2 * MINUTE_MS;
/** Records of one call. */
const RECORDS_A_CALL = 1000;

/** Files below a prefix, with a function that puts their lines into the logs. @returns the calls made */
interface Source {
  prefix: string;
  keep(ctx: Context, lines: readonly string[]): Promise<number>;
}

const SOURCES: readonly Source[] = [
  { prefix: 'undelivered/audit/', keep: keepRecords('audit', JSON.parse) },
  { prefix: 'undelivered/share/', keep: keepRecords('share', JSON.parse) },
  // What the version before kept in a database of all companies and in files of its own.
  { prefix: 'archive/audit-events/', keep: keepRecords('audit', (line) => parseRecord('audit', line)) },
  { prefix: 'archive/share-events/', keep: keepRecords('share', (line) => parseRecord('share', line)) },
  { prefix: 'archive/share-views/', keep: keepFormerViews },
];

/**
 * Brings records that no log and no queue took into their logs, and those of the time before there were logs. A file is deleted
 * once all of it is kept; broken off in between, it is taken up again, and each record is kept once.
 * @returns how many files were done
 */
export async function deliverStoredRecords(ctx: Context): Promise<number> {
  const end = ctx.now() + RUN_MS;
  let calls = 0;
  let done = 0;
  for (const { prefix, keep } of SOURCES) {
    let left = FILES_A_RUN;
    for await (const key of filesBelow(ctx, prefix)) {
      if (calls >= CALLS_A_RUN || ctx.now() >= end) return done;
      try {
        const text = (await (await ctx.files.get(key))?.text()) ?? '';
        calls += await keep(
          ctx,
          text.split('\n').filter((line) => line !== ''),
        );
        await deleteObjects(ctx.files, [key]);
        done += 1;
        left -= 1;
      } catch (error) {
        logError('undelivered_not_kept', error, { file: key });
      }
      if (left === 0) break;
    }
  }
  return done;
}

async function* filesBelow({ files }: Context, prefix: string): AsyncGenerator<string> {
  let cursor: string | undefined;
  for (let pages = 0; pages < PAGES_A_RUN; pages += 1) {
    const page = await files.list({ prefix, limit: FILES_A_PAGE, cursor });
    for (const { key } of page.objects) yield key;
    if (!page.truncated) return;
    cursor = page.cursor;
  }
}

/** @param read makes a record of a line: null where it is none */
function keepRecords<K extends LogKind>(kind: K, read: (line: string) => LogRecords[K] | null): Source['keep'] {
  return async (ctx, lines) => {
    const byCompany = Map.groupBy(
      lines.flatMap((line) => read(line) ?? []),
      ({ companyId }) => companyId,
    );
    let calls = 0;
    for (const records of byCompany.values()) {
      for (let from = 0; from < records.length; from += RECORDS_A_CALL, calls += 1) {
        await appendToLog(ctx.bindings, { [kind]: records.slice(from, from + RECORDS_A_CALL) });
      }
    }
    return calls;
  };
}

/** Keeps the counts of shares that an earlier version stored. @returns the calls made */
async function keepFormerViews(ctx: Context, lines: readonly string[]): Promise<number> {
  const rows = lines.map((line) => JSON.parse(line) as FormerViews);
  const byCompany = Map.groupBy(rows, ({ company_id }) => company_id);
  for (const [companyId, ofOne] of byCompany) {
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
  return byCompany.size;
}

interface FormerViews {
  share_id: string;
  company_id: string;
  view_count: number;
  last_accessed_at: number;
}

/** A row of the database that all companies' records once stood in. Columns are in snake case. */
type Row = Record<string, string | number | null>;

/** Columns that later versions added, with the values for rows of earlier ones, which lack them. */
const ADDED: Record<LogKind, Row> = { audit: { count: 1 }, share: {} };

/**
 * The record that a line of a file of such rows stands for.
 * @returns null where it is no row
 */
function parseRecord<K extends LogKind>(kind: K, line: string): LogRecords[K] | null {
  const row = { ...ADDED[kind], ...(JSON.parse(line) as Row) };
  if (typeof row.id !== 'string' || typeof row.occurred_at !== 'number') return null;
  const fields = Object.entries(row).map(([column, value]) => [
    column.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase()),
    column === 'details' && typeof value === 'string' ? JSON.parse(value) : value,
  ]);
  return Object.fromEntries(fields) as LogRecords[K];
}
