import { z } from 'zod';

/** The record of one request: caller, action and outcome. Never a secret, a token, a body or a query. */
export const auditRecord = z.object({
  /** Created when the request arrived: a record that is delivered twice is stored once. */
  id: z.string(),
  correlationId: z.string(),
  /** When the request arrived, in milliseconds since the epoch. */
  occurredAt: z.int(),
  /** Null while the caller is unknown. */
  companyId: z.string().nullable(),
  principalType: z.enum(['user', 'service_account', 'outsider', 'operator', 'anonymous']),
  principalId: z.string().nullable(),
  /** Id of the API key, session, share or embed token that identified the caller. */
  credential: z.string().nullable(),
  method: z.string(),
  /** The route in OpenAPI's form, `/accounts/{id}`; null for a path that no route has. */
  route: z.string().nullable(),
  /** The permission that the route requires; null where it requires none. */
  action: z.string().nullable(),
  /** The ids of the path, in order and joined by `/`, with any attached ids; or the id of the created resource. */
  resourceId: z.string().nullable(),
  status: z.int(),
  ip: z.string().nullable(),
  durationMs: z.int(),
  /** The requests it stands for: above 1 only for anonymous ones, by address and minute. Earlier messages have none. */
  count: z.int().default(1),
  /** The company's usage by this request: a request and its SQL. The log counts it by day and does not store it. */
  used: z.object({ requests: z.int(), executions: z.int() }).optional(),
});
export type AuditRecord = z.output<typeof auditRecord>;
