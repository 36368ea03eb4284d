import { z } from 'zod';
import { makeView } from '../../http/wire.ts';
import { timestampSchema } from '../../kernel/fields.ts';

/** The response fields for the time of an event and the id of its response. */
const eventFields = {
  correlation_id: z.string().meta({ description: 'The `x-correlation-id` of the answer.' }),
  occurred_at: timestampSchema,
};

/** The response fields for the caller and the response of a request. */
const requestFields = {
  principal_type: z.enum(['user', 'service_account', 'outsider', 'operator', 'anonymous']),
  principal_id: z.string().nullable(),
  credential: z.string().nullable().meta({
    description:
      'Id of the API key, the session, the share or the embed token; of a program that somebody let in `oauth:`, the id of the grant or key, and the client.',
  }),
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
};

/** A request as administrators see it. */
export const auditEventView = z
  .object({ id: z.string(), ...eventFields, organization_id: z.string(), ...requestFields })
  .meta({ id: 'AuditEvent' });

export const viewAuditEvent = makeView(auditEventView);

/** A request as administrators see it on the console. */
export const consoleAuditEventView = z
  .object({ _id: z.string(), ...eventFields, company_id: z.string(), ...requestFields })
  .meta({ id: 'CompanyAuditEvent' });

export const viewConsoleAuditEvent = makeView(consoleAuditEventView);
