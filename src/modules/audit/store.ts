import { and, eq, gte, lte, type SQL, sql } from 'drizzle-orm';
import type { ControlDb } from '../../db/client.ts';
import { readPage } from '../../db/page.ts';
import { auditEvents } from '../../db/schema/audit/audit-records.ts';
import type { AuditRecord } from '../../kernel/audit-record.ts';

export type AuditEvent = typeof auditEvents.$inferSelect;

/** Which events of a company are meant. Moments in milliseconds, both ends included. */
export interface AuditFilter {
  correlationId?: string;
  principalId?: string;
  action?: string;
  from?: number;
  to?: number;
}

/** Stores records that are not there yet. They go in as one JSON value: a statement takes 100 bound ones. */
export const insertRecords = (db: ControlDb, records: AuditRecord[]) =>
  db.run(sql`
    insert into ${auditEvents} (id, correlation_id, occurred_at, company_id, principal_type, principal_id, credential,
      method, route, action, resource_id, status, ip, duration_ms, count)
    select value ->> 'id', value ->> 'correlationId', value ->> 'occurredAt', value ->> 'companyId',
      value ->> 'principalType', value ->> 'principalId', value ->> 'credential', value ->> 'method', value ->> 'route',
      value ->> 'action', value ->> 'resourceId', value ->> 'status', value ->> 'ip', value ->> 'durationMs',
      value ->> 'count'
    from json_each(${JSON.stringify(records)})
    where true
    on conflict do nothing`);

/** A page of a company's events, the newest first. */
export const readEvents = (db: ControlDb, companyId: string, filter: AuditFilter, page: number, perPage: number) =>
  readPage(
    db,
    { table: auditEvents, filter: matching(companyId, filter) },
    { by: auditEvents.occurredAt, descending: true, page, perPage },
  );

function matching(companyId: string, { correlationId, principalId, action, from, to }: AuditFilter): SQL {
  return and(
    eq(auditEvents.companyId, companyId),
    correlationId === undefined ? undefined : eq(auditEvents.correlationId, correlationId),
    principalId === undefined ? undefined : eq(auditEvents.principalId, principalId),
    action === undefined ? undefined : eq(auditEvents.action, action),
    from === undefined ? undefined : gte(auditEvents.occurredAt, from),
    to === undefined ? undefined : lte(auditEvents.occurredAt, to),
  ) as SQL;
}
