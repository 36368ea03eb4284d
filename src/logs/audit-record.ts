import { z } from 'zod';

/** The record of one request: who asked for what, and how it ended. Never a secret, a token, a body or a query. */
export const auditRecord = z.object({
  /** Minted when the request came: a record that is delivered twice is kept once. */
  id: z.string(),
  correlationId: z.string(),
  /** When the request came, in milliseconds since the epoch. */
  occurredAt: z.int(),
  /** Null while the caller is unknown. */
  companyId: z.string().nullable(),
  principalType: z.enum(['user', 'service_account', 'outsider', 'operator', 'anonymous']),
  principalId: z.string().nullable(),
  /** Id of the API key, session, share or embed token that the caller was known by. */
  credential: z.string().nullable(),
  method: z.string(),
  /** In OpenAPI's form, `/accounts/{id}`; null for a path that no route has. */
  route: z.string().nullable(),
  /** The permission that the route asks for; null where it asks for none. */
  action: z.string().nullable(),
  /** The ids of the path, in order and joined by `/`, with those that were attached; or the id of the resource that was made. */
  resourceId: z.string().nullable(),
  status: z.int(),
  ip: z.string().nullable(),
  durationMs: z.int(),
  /** The requests that it stands for: more than one only for strangers', by address and minute. Earlier messages have none. */
  count: z.int().default(1),
  /** Its addition to the company's use, which the log counts by day and does not keep: a request and its SQL. */
  used: z.object({ requests: z.int(), executions: z.int() }).optional(),
});
export type AuditRecord = z.output<typeof auditRecord>;
