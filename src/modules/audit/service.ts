import type { PrincipalContext } from '../../context.ts';
import type { Page } from '../../db/page.ts';
import { formatCsvLine } from '../../formats/csv/write.ts';
import { type PreparedResponse, streamText } from '../../kernel/files.ts';
import { type CompanyRecord, exportLog, readLog } from '../company-log/service.ts';
import { auditEventView, viewAuditEvent } from './views.ts';

export type AuditEvent = CompanyRecord<'audit'>;

/** The filter of a list of events. Times in milliseconds, both ends included. */
export interface AuditFilter {
  correlationId?: string;
  principalId?: string;
  action?: string;
  from?: number;
  to?: number;
}

/** Returns a page of the requests of the caller's company, the newest first. */
export const listAuditEvents = (
  ctx: PrincipalContext,
  { from, to, ...values }: AuditFilter,
  page: number,
  perPage: number,
): Promise<Page<AuditEvent>> => readLog(ctx, 'audit', { from, to, values: omitUndefinedValues(values) }, page, perPage);

/** Yields all audit events of the caller's company within a period, the newest first. */
export const exportAuditEvents = (
  ctx: PrincipalContext,
  filter: Pick<AuditFilter, 'from' | 'to'>,
): AsyncGenerator<AuditEvent> => exportLog(ctx, 'audit', { ...filter, values: {} });

const omitUndefinedValues = (values: Record<string, string | undefined>): Record<string, string> =>
  Object.fromEntries(Object.entries(values).filter((entry): entry is [string, string] => entry[1] !== undefined));

/** The formats of an export, with their media types. */
export const EXPORT_FORMATS = { ndjson: 'application/x-ndjson', csv: 'text/csv' } as const;

type ExportFormat = keyof typeof EXPORT_FORMATS;

/** Returns a response that streams the events: they are read only as fast as the client reads it. */
export function streamEvents(events: AsyncGenerator<AuditEvent>, format: ExportFormat): PreparedResponse {
  const lines = format === 'csv' ? writeCsvLines(events) : writeNdjsonLines(events);
  const headers = {
    'Content-Type': EXPORT_FORMATS[format],
    'Content-Disposition': `attachment; filename="audit-events.${format}"`,
  };
  return streamText(lines, headers);
}

async function* writeNdjsonLines(events: AsyncGenerator<AuditEvent>): AsyncGenerator<string> {
  for await (const event of events) yield `${JSON.stringify(viewAuditEvent(event))}\n`;
}

const CSV_COLUMNS = auditEventView.keyof().options;

/** Yields CSV lines of RFC 4180, with a header; null is an empty field. */
async function* writeCsvLines(events: AsyncGenerator<AuditEvent>): AsyncGenerator<string> {
  yield formatCsvLine(CSV_COLUMNS);
  for await (const event of events) {
    const eventView = viewAuditEvent(event);
    yield formatCsvLine(CSV_COLUMNS.map((column) => String(eventView[column] ?? '')));
  }
}
