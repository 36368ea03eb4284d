import { z } from 'zod';
import { isoTimestamp, timestamp } from '../../kernel/fields.ts';
import type { AuditEvent } from './service.ts';

/** A request as administrators see it. */
export const auditEventView = z
  .object({
    id: z.string(),
    correlation_id: z.string().meta({ description: 'The `x-correlation-id` of the answer.' }),
    occurred_at: timestamp,
    organization_id: z.string(),
    principal_type: z.enum(['user', 'service_account', 'outsider', 'operator', 'anonymous']),
    principal_id: z.string().nullable(),
    credential: z
      .string()
      .nullable()
      .meta({ description: 'Id of the API key, the session, the share or the embed token.' }),
    method: z.string(),
    route: z
      .string()
      .nullable()
      .meta({ examples: ['/accounts/{id}'] }),
    action: z.string().nullable().meta({ description: 'The permission that the route asks for.' }),
    resource_id: z
      .string()
      .nullable()
      .meta({ description: 'The id of the resource that the path names, or of the one that was created.' }),
    status: z.int(),
    ip: z.string().nullable(),
    duration_ms: z.int(),
  })
  .meta({ id: 'AuditEvent' });

export const viewAuditEvent = (event: AuditEvent): z.input<typeof auditEventView> => ({
  id: event.id,
  correlation_id: event.correlationId,
  occurred_at: isoTimestamp(event.occurredAt),
  organization_id: event.companyId,
  principal_type: event.principalType,
  principal_id: event.principalId,
  credential: event.credential,
  method: event.method,
  route: event.route,
  action: event.action,
  resource_id: event.resourceId,
  status: event.status,
  ip: event.ip,
  duration_ms: event.durationMs,
});
