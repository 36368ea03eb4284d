import { z } from 'zod';

/** The record of one request: caller, action and outcome. Never a secret, a token, a body or a query. */
export const auditRecord = z.object({
  /** Id that is created when the request arrives: a record that is delivered twice is stored once. */
  id: z.string(),
  correlationId: z.string(),
  /** When the request arrived, in milliseconds since the epoch. */
  occurredAt: z.int(),
  /** Id of the caller's company; null while the caller is unknown. */
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
  /**
   * The number of requests that the record stands for: above 1 only for anonymous requests, which are counted by
   * address and minute. Messages of earlier versions have no count.
   */
  count: z.int().default(1),
  /**
   * The company's usage by this request: the request and its SQL. The log counts the usage by day and does not store
   * it.
   */
  used: z.object({ requests: z.int(), executions: z.int() }).optional(),
});
export type AuditRecord = z.output<typeof auditRecord>;
