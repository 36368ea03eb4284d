import type { CompanyContext } from '../../context.ts';
import type { Page } from '../../db/page.ts';
import {
  compareKeys,
  type LogFilter,
  type LogKey,
  type LogKind,
  type LogRecord,
  type LogRecords,
  toLogKey,
} from '../../logs/log.ts';
import { MissingPartError, readPart } from '../../logs/part-file.ts';
import type { ListedPart } from '../../logs/parts.ts';
import { callObject } from '../../platform/objects.ts';

/** The parts of a context that reading a log needs. */
export type LogReader = Pick<CompanyContext, 'actor' | 'bindings' | 'files'>;

/** A record that belongs to a company. */
export type CompanyRecord<K extends LogKind> = LogRecords[K] & { companyId: string };

/** The number of records that an export reads at once. */
const EXPORTED_RECORDS_PER_BATCH = 1000;

/**
 * Reads a page of the log of the caller's company, the newest first, with the exact total: records in the log itself, then those
 * of days that were moved to R2. A file is only read if it holds part of the page, or if the number of its records that match is
 * unknown.
 */
export async function readLog<K extends LogKind>(
  { actor: { companyId }, bindings, files }: LogReader,
  kind: K,
  filter: LogFilter,
  page: number,
  perPage: number,
): Promise<Page<CompanyRecord<K>>> {
  const skipCount = (page - 1) * perPage;
  const logPage = await callObject(
    bindings.COMPANY_LOG,
    companyId,
    async (log) =>
      (await log.list(kind, filter, skipCount, perPage)) as {
        total: number;
        records: LogRecord[];
        parts: ListedPart[];
      },
  );
  const { records } = logPage;
  let { total } = logPage;
  for (const { file, matching } of logPage.parts) {
    const isFileNeeded =
      matching !== 0 && records.length < perPage && (matching === null || total + matching > skipCount);
    let matchingCount = 0;
    if (matching === null || isFileNeeded) {
      for await (const record of readPart(files, file, filter)) {
        if (total + matchingCount >= skipCount && records.length < perPage) records.push(record);
        matchingCount += 1;
        if (matching !== null && records.length === perPage) break;
      }
    }
    total += matching ?? matchingCount;
  }
  return { total, page, perPage, records: records.map((record) => addCompanyId<K>(record, companyId)) };
}

/** Yields all records that match a filter, the newest first, however many there are: at most one batch is held in memory. */
export async function* exportLog<K extends LogKind>(
  { actor: { companyId }, bindings, files }: LogReader,
  kind: K,
  filter: LogFilter,
): AsyncGenerator<CompanyRecord<K>> {
  const readNextRecords = (beforeKey: LogKey | null) =>
    callObject(
      bindings.COMPANY_LOG,
      companyId,
      async (log) =>
        (await log.next(kind, filter, beforeKey, EXPORTED_RECORDS_PER_BATCH)) as {
          records: LogRecord[];
          parts: ListedPart[];
        },
    );
  let lastKey: LogKey | null = null;
  let lastMissingFile = '';
  for (;;) {
    const { records, parts }: Awaited<ReturnType<typeof readNextRecords>> = await readNextRecords(lastKey);
    for (const record of records) yield addCompanyId<K>(record, companyId);
    if (records.length > 0) {
      lastKey = toLogKey(records.at(-1) as LogRecord);
      continue;
    }
    let replacedFile: string | undefined;
    for (const { file, first, matching } of parts) {
      try {
        for await (const record of matching === 0 ? [] : readPart(files, file, filter)) {
          // What was moved meanwhile may have been told already.
          if (lastKey !== null && compareKeys(toLogKey(record), lastKey) >= 0) continue;
          lastKey = toLogKey(record);
          yield addCompanyId<K>(record, companyId);
        }
      } catch (error) {
        // A long export may find that a file was written anew an hour ago: it goes on in the new one.
        if (!(error instanceof MissingPartError) || file === lastMissingFile) throw error;
        replacedFile = file;
        break;
      }
      lastKey = first;
    }
    if (replacedFile === undefined) return;
    lastMissingFile = replacedFile;
  }
}

const addCompanyId = <K extends LogKind>(record: LogRecord, companyId: string): CompanyRecord<K> =>
  ({ ...record, companyId }) as unknown as CompanyRecord<K>;
