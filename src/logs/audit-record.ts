/** The record of one request: who asked for what, and how it ended. Never a secret, a token, a body or a query. */
export interface AuditRecord {
  /** Minted when the request came: a record that is delivered twice is kept once. */
  id: string;
  correlationId: string;
  /** When the request came, in milliseconds since the epoch. */
  occurredAt: number;
  /** Null while the caller is unknown. */
  companyId: string | null;
  principalType: 'user' | 'service_account' | 'outsider' | 'operator' | 'anonymous';
  principalId: string | null;
  /** Id of the API key, session, share or embed token that the caller was known by. */
  credential: string | null;
  method: string;
  /** In OpenAPI's form, `/accounts/{id}`; null for a path that no route has. */
  route: string | null;
  /** The permission that the route asks for; null where it asks for none. */
  action: string | null;
  /** The ids of the path, in order and joined by `/`, with those that were attached; or the id of the resource that was made. */
  resourceId: string | null;
  status: number;
  ip: string | null;
  durationMs: number;
  /** The requests that the record stands for: more than one only for strangers', kept by address and minute. */
  count: number;
  /**
   * Its addition to the company's use: the request, where a known caller was let in, and the statements of people's SQL that it
   * ran. The log counts it by day and does not keep it.
   */
  used?: { requests: number; executions: number } | undefined;
}
