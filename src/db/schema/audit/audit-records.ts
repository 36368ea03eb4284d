import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { AuditRecord } from '../../../kernel/audit-record.ts';
import { id, timestamp } from '../../columns.ts';

/** One row for each request. It stands in the audit database, whose writer nobody else waits for. */
export const auditEvents = sqliteTable(
  'audit_events',
  {
    id: id(),
    correlationId: text('correlation_id').notNull(),
    occurredAt: timestamp('occurred_at').notNull(),
    companyId: text('company_id'),
    principalType: text('principal_type').$type<AuditRecord['principalType']>().notNull(),
    principalId: text('principal_id'),
    credential: text('credential'),
    method: text('method').notNull(),
    route: text('route'),
    action: text('action'),
    resourceId: text('resource_id'),
    status: integer('status').notNull(),
    ip: text('ip'),
    durationMs: integer('duration_ms').notNull(),
    count: integer('count').notNull().default(1),
  },
  (table) => [
    index('audit_events_by_time').on(table.companyId, table.occurredAt, table.id),
    index('audit_events_of_principal').on(table.companyId, table.principalId, table.occurredAt, table.id),
    index('audit_events_of_action').on(table.companyId, table.action, table.occurredAt, table.id),
    index('audit_events_of_correlation').on(table.correlationId, table.companyId, table.occurredAt, table.id),
  ],
);
