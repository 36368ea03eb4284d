import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { ShareActorKind, ShareEventType, TargetType } from '../../../kernel/share-event.ts';
import { companyId, id, json, timestamp } from '../../columns.ts';

/** What happened with shares and embeds. It stands in the audit database, whose writer nobody else waits for. */
export const shareEvents = sqliteTable(
  'share_events',
  {
    id: id(),
    companyId: companyId(),
    type: text('type').$type<ShareEventType>().notNull(),
    occurredAt: timestamp('occurred_at').notNull(),
    actorKind: text('actor_kind').$type<ShareActorKind>().notNull(),
    actorId: text('actor_id'),
    actorEmail: text('actor_email'),
    targetType: text('target_type').$type<TargetType>(),
    targetId: text('target_id'),
    shareId: text('share_id'),
    shareContextId: text('share_context_id'),
    ipCountry: text('ip_country'),
    userAgent: text('user_agent'),
    origin: text('origin'),
    correlationId: text('correlation_id').notNull(),
    viewer: text('viewer').notNull(),
    details: json<Record<string, unknown>>('details').notNull(),
  },
  (table) => [
    index('share_events_by_time').on(table.companyId, table.occurredAt, table.id),
    index('share_events_of_type').on(table.companyId, table.type, table.occurredAt, table.id),
    index('share_events_of_share').on(table.companyId, table.shareId, table.occurredAt, table.id),
    index('share_events_of_context').on(table.companyId, table.shareContextId, table.occurredAt, table.id),
  ],
);

/** How often each share was executed. Executions come in numbers, so they are counted here and not beside the share. */
export const shareViews = sqliteTable('share_views', {
  shareId: text('share_id').primaryKey(),
  companyId: companyId(),
  viewCount: integer('view_count').notNull(),
  lastAccessedAt: timestamp('last_accessed_at').notNull(),
});
