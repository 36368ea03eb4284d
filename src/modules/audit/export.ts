import { formatCsvLine } from '../../formats/csv/write.ts';
import { type PreparedResponse, streamText } from '../../kernel/files.ts';
import type { AuditEvent } from './service.ts';
import { viewAuditEvent } from './views.ts';

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

const CSV_COLUMNS = [
  'id',
  'correlation_id',
  'occurred_at',
  'organization_id',
  'principal_type',
  'principal_id',
  'credential',
  'method',
  'route',
  'action',
  'resource_id',
  'status',
  'ip',
  'duration_ms',
] as const satisfies (keyof ReturnType<typeof viewAuditEvent>)[];

/** Yields CSV lines of RFC 4180, with a header; null is an empty field. */
async function* writeCsvLines(events: AsyncGenerator<AuditEvent>): AsyncGenerator<string> {
  yield formatCsvLine(CSV_COLUMNS);
  for await (const event of events) {
    const eventView = viewAuditEvent(event);
    yield formatCsvLine(CSV_COLUMNS.map((column) => String(eventView[column] ?? '')));
  }
}
