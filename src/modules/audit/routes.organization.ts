import { z } from 'zod';
import { ok, raw } from '../../http/endpoint.ts';
import { makePageQuery } from '../../http/list-query.ts';
import { endpoint, makeListSchema, viewList } from '../../http/surfaces/organization.ts';
import { toBodyFields } from '../../http/wire.ts';
import { auditFilters, LIST_DESCRIPTION, timeRange } from './fields.ts';
import { EXPORT_FORMATS, exportAuditEvents, listAuditEvents, streamEvents } from './service.ts';
import { auditEventView, viewAuditEvent } from './views.ts';

const exportQuery = z.strictObject({ ...timeRange, format: z.enum(['ndjson', 'csv']).default('ndjson') });

export const auditEndpoints = [
  endpoint(
    {
      method: 'get',
      path: '/admin/audit-events',
      access: 'administrator',
      operationId: 'listAuditEvents',
      summary: 'List audit events',
      description: `For administrators, and for programs that keep the trail elsewhere. ${LIST_DESCRIPTION}`,
      query: makePageQuery('quantity').extend(auditFilters),
      returns: ok(makeListSchema(auditEventView)),
      fails: [],
    },
    async ({ ctx, query: { page, quantity, ...filter } }) =>
      viewList(await listAuditEvents(ctx, toBodyFields(filter), page, quantity), viewAuditEvent),
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
