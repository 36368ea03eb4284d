import { index, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { companyId, id, json, timestamps } from '../columns.ts';

export const ENDPOINT_STATUSES = ['active', 'paused', 'disabled'] as const;

/** Why an endpoint is disabled: it answered that it is gone, or nothing but failures came for days. */
export const DISABLED_REASONS = ['gone', 'failing'] as const;

/** A secret that requests are signed with. */
export interface SigningSecret {
  /** Encrypted. */
  secret: string;
  /** When it stops signing beside the newest, in milliseconds; null for the newest. */
  until: number | null;
}

/** A time in which an endpoint was not active, in milliseconds; `to` is null while it lasts. */
export interface Pause {
  from: number;
  to: number | null;
}

/** Addresses of a company's own programs, which are told of events. An object of each has the deliveries to it. */
export const webhookEndpoints = sqliteTable(
  'webhook_endpoints',
  {
    id: id(),
    companyId: companyId(),
    url: text('url').notNull(),
    description: text('description').notNull(),
    eventTypes: json<string[]>('event_types').notNull(),
    status: text('status', { enum: ENDPOINT_STATUSES }).notNull(),
    disabledReason: text('disabled_reason', { enum: DISABLED_REASONS }),
    /** The newest first. */
    secrets: json<SigningSecret[]>('secrets').notNull(),
    /** The latest pauses, the oldest first; triggers keep them. */
    pauses: json<Pause[]>('pauses').notNull().default([]),
    ...timestamps(),
  },
  (table) => [index('webhook_endpoints_by_creation').on(table.companyId, table.createdAt, table.id)],
);
