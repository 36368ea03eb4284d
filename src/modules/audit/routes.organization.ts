import { z } from 'zod';
import { ok } from '../../http/endpoint.ts';
import { pageQuery } from '../../http/list-query.ts';
import { endpoint, list, listOf } from '../../http/surfaces/organization.ts';
import { listAuditEvents } from './service.ts';
import { auditEventView, viewAuditEvent } from './views.ts';

const time = z.iso.datetime({ offset: true }).transform((text) => Date.parse(text));
const word = z.string().min(1).max(128);

const auditQuery = pageQuery('quantity')
  .extend({
    correlation_id: word,
    principal_id: word,
    action: word.meta({ examples: ['accounts:CreateAccount'] }),
    from: time.meta({ description: 'The earliest time, included.' }),
    to: time.meta({ description: 'The latest time, included.' }),
  })
  .partial({ correlation_id: true, principal_id: true, action: true, from: true, to: true });

export const auditEndpoints = [
  endpoint(
    {
      method: 'get',
      path: '/admin/audit-events',
      access: 'administrator',
      operationId: 'listAuditEvents',
      summary: 'List audit events',
      description:
        'One record for each request of a known caller, on every surface, the newest first. Records can be read a few seconds after the request.',
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
];
