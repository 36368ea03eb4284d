import { ok } from '../../http/endpoint.ts';
import { pageQuery } from '../../http/list-query.ts';
import { endpoint, list, listOf } from '../../http/surfaces/console.ts';
import { auditFilters } from './fields.ts';
import { listAuditEvents } from './service.ts';
import { consoleAuditEventView, viewConsoleAuditEvent } from './views.ts';

export const consoleAuditEndpoints = [
  endpoint(
    {
      method: 'get',
      path: '/v1/audit-events',
      access: 'administrator',
      operationId: 'listCompanyAuditEvents',
      summary: 'List audit events',
      description:
        'One record for each request of a known caller, on every surface. Newest first. A record can be read a few seconds after its request; old records take longer to find.',
      query: pageQuery('per_page').extend(auditFilters),
      returns: ok(listOf(consoleAuditEventView)),
      fails: [],
    },
    async ({ ctx, query: { page, per_page, correlation_id, principal_id, ...rest } }) =>
      list(
        await listAuditEvents(
          ctx,
          { ...rest, correlationId: correlation_id, principalId: principal_id },
          page,
          per_page,
        ),
        viewConsoleAuditEvent,
      ),
  ),
];
