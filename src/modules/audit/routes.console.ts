import { ok } from '../../http/endpoint.ts';
import { makePageQuery } from '../../http/list-query.ts';
import { endpoint, makeListSchema, viewList } from '../../http/surfaces/console.ts';
import { toBodyFields } from '../../http/wire.ts';
import { auditFilters, LIST_DESCRIPTION } from './fields.ts';
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
      description: `The trail of the organization API, for administrators in the console. ${LIST_DESCRIPTION}`,
      query: makePageQuery('per_page').extend(auditFilters),
      returns: ok(makeListSchema(consoleAuditEventView)),
      fails: [],
    },
    async ({ ctx, query: { page, per_page: perPage, ...filter } }) =>
      viewList(await listAuditEvents(ctx, toBodyFields(filter), page, perPage), viewConsoleAuditEvent),
  ),
];
