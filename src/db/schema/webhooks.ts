import { index, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { jsonColumn, ownedColumns, timestampColumns } from '../columns.ts';

export const ENDPOINT_STATUSES = ['active', 'paused', 'disabled'] as const;

/** Reasons for disabling an endpoint: it answered that it is gone, or it did not succeed once for days. */
export const DISABLED_REASONS = ['gone', 'failing'] as const;

/** Secret with which requests are signed. */
export interface SigningSecret {
  /** The encrypted secret. */
  secret: string;
  /** Time at which an older secret stops signing along with the newest, in milliseconds; null for the newest. */
  until: number | null;
}

/** Time during which an endpoint was not active, in milliseconds; `to` is null while it lasts. */
export interface Pause {
  /** The time at which the pause began, in milliseconds. */
  from: number;
  /** The time at which the pause ended, in milliseconds; null while it lasts. */
  to: number | null;
}

/** Addresses of a company's own programs that receive events, each served by a Durable Object of its own. */
export const webhookEndpoints = sqliteTable(
  'webhook_endpoints',
  {
    ...ownedColumns(),
    url: text('url').notNull(),
    description: text('description').notNull(),
    eventTypes: jsonColumn<string[]>('event_types').notNull(),
    status: text('status', { enum: ENDPOINT_STATUSES }).notNull(),
    disabledReason: text('disabled_reason', { enum: DISABLED_REASONS }),
    /** Signing secrets, the newest first. */
    secrets: jsonColumn<SigningSecret[]>('secrets').notNull(),
    /** Latest pauses, the oldest first. A new endpoint begins with one up to its creation; triggers write the others. */
    pauses: jsonColumn<Pause[]>('pauses').notNull().default([]),
    ...timestampColumns(),
  },
  (table) => [index('webhook_endpoints_by_creation').on(table.companyId, table.createdAt, table.id)],
);
