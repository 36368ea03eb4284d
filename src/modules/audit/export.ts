import { csvLine } from '../../formats/csv/write.ts';
import { type PreparedResponse, streamedText } from '../../kernel/files.ts';
import type { AuditEvent } from './service.ts';
import { viewAuditEvent } from './views.ts';

/** The formats of an export, with their media types. */
export const EXPORT_FORMATS = { ndjson: 'application/x-ndjson', csv: 'text/csv' } as const;

type ExportFormat = keyof typeof EXPORT_FORMATS;

/** A response that streams the events: they are read only as fast as the client reads the response. */
export function streamEvents(events: AsyncGenerator<AuditEvent>, format: ExportFormat): PreparedResponse {
  const lines = format === 'csv' ? writeCsvLines(events) : writeNdjsonLines(events);
  const headers = {
    'Content-Type': EXPORT_FORMATS[format],
    'Content-Disposition': `attachment; filename="audit-events.${format}"`,
  };
  return streamedText(lines, headers);
}

async function* writeNdjsonLines(events: AsyncGenerator<AuditEvent>): AsyncGenerator<string> {
  for await (const event of events) yield `${JSON.stringify(viewAuditEvent(event))}\n`;
}

const COLUMNS = [
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

/** Lines of RFC 4180, with a header; null is an empty field. */
async function* writeCsvLines(events: AsyncGenerator<AuditEvent>): AsyncGenerator<string> {
  yield csvLine(COLUMNS);
  for await (const event of events) {
    const view = viewAuditEvent(event);
    yield csvLine(COLUMNS.map((column) => String(view[column] ?? '')));
  }
}
