import { csvLine } from '../../formats/csv/write.ts';
import { PreparedAnswer } from '../../kernel/files.ts';
import type { AuditEvent } from './service.ts';
import { viewAuditEvent } from './views.ts';

/** What an export may be written as, with its media type. */
export const EXPORT_FORMATS = { ndjson: 'application/x-ndjson', csv: 'text/csv' } as const;

type ExportFormat = keyof typeof EXPORT_FORMATS;

/** Lines that are handed on together. */
const LINES_AT_ONCE = 200;

/** An answer that is written while the events are read: as fast as it is taken, and no further. */
export function streamEvents(events: AsyncGenerator<AuditEvent>, format: ExportFormat): PreparedAnswer {
  const lines = format === 'csv' ? csvLines(events) : ndjsonLines(events);
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        let text = '';
        for (let count = 0; count < LINES_AT_ONCE; count += 1) {
          const { value, done } = await lines.next();
          if (!done) text += value;
          else count = LINES_AT_ONCE;
          if (done && text === '') return controller.close();
        }
        controller.enqueue(encoder.encode(text));
      },
      async cancel() {
        await lines.return(undefined);
      },
    },
    { highWaterMark: 1 },
  );
  const headers = {
    'Content-Type': EXPORT_FORMATS[format],
    'Content-Disposition': `attachment; filename="audit-events.${format}"`,
  };
  return new PreparedAnswer(body, headers);
}

async function* ndjsonLines(events: AsyncGenerator<AuditEvent>): AsyncGenerator<string> {
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

/** RFC 4180, with a header; what is null is empty. */
async function* csvLines(events: AsyncGenerator<AuditEvent>): AsyncGenerator<string> {
  yield csvLine(COLUMNS);
  for await (const event of events) {
    const view = viewAuditEvent(event);
    yield csvLine(COLUMNS.map((column) => String(view[column] ?? '')));
  }
}
