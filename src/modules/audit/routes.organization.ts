import { z } from 'zod';
import { ok, raw } from '../../http/endpoint.ts';
import { pageQuery } from '../../http/list-query.ts';
import { endpoint, list, listOf } from '../../http/surfaces/organization.ts';
import { isoMilliseconds } from '../../kernel/fields.ts';
import { EXPORT_FORMATS, streamEvents } from './export.ts';
import { exportAuditEvents, listAuditEvents } from './service.ts';
import { auditEventView, viewAuditEvent } from './views.ts';

const word = z.string().min(1).max(128);

const times = {
  from: isoMilliseconds.meta({ description: 'The earliest time, included.' }),
  to: isoMilliseconds.meta({ description: 'The latest time, included.' }),
};

const auditQuery = pageQuery('quantity')
  .extend({
    correlation_id: word,
    principal_id: word,
    action: word.meta({ examples: ['accounts:CreateAccount'] }),
    ...times,
  })
  .partial({ correlation_id: true, principal_id: true, action: true, from: true, to: true });

const exportQuery = z
  .strictObject({ ...times, format: z.enum(['ndjson', 'csv']).default('ndjson') })
  .partial({ from: true, to: true });

export const auditEndpoints = [
  endpoint(
    {
      method: 'get',
      path: '/admin/audit-events',
      access: 'administrator',
      operationId: 'listAuditEvents',
      summary: 'List audit events',
      description:
        'One record for each request of a known caller, on every surface. Newest first. A record can be read a few seconds after its request; old records take longer to find.',
      query: auditQuery,
      returns: ok(listOf(auditEventView)),
      fails: [],
    },
    async ({ ctx, query: { page, quantity, correlation_id, principal_id, ...rest } }) =>
      list(
        await listAuditEvents(
          ctx,
          { ...rest, correlationId: correlation_id, principalId: principal_id },
          page,
          quantity,
        ),
        viewAuditEvent,
      ),
  ),
  endpoint(
    {
      method: 'get',
      path: '/admin/audit-events/export',
      access: 'administrator',
      operationId: 'exportAuditEvents',
      summary: 'Export audit events',
      description:
        'All events, or those between `from` and `to`, newest first, as a stream: one JSON object per line, or CSV with a header. If the export is interrupted, its last line is incomplete or the transfer fails.',
      query: exportQuery,
      returns: raw(200, 'The events.', ...Object.values(EXPORT_FORMATS)),
      fails: [],
    },
    ({ ctx, query: { format, ...filter } }) => streamEvents(exportAuditEvents(ctx, filter), format),
  ),
];
