import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';
import type { FilterPolicy } from '../../sharing/terms.ts';
import { companyId, id, json, timestamp, timestamps } from '../columns.ts';

/** Options of showing a shared dashboard, and the origins that may. Fields are as in the API. */
export interface EmbedOptions {
  allowed_origins: string[];
  hide_header: boolean;
  hide_controls: boolean;
  /** Absent in shares created before downloads existed. */
  allow_downloads?: boolean;
}

/** A dashboard shared by a link, or for a page of somebody else. */
export const dashboardShares = sqliteTable(
  'dashboard_shares',
  {
    id: id(),
    companyId: companyId(),
    dashboardId: text('dashboard_id').notNull(),
    name: text('name').notNull(),
    shareType: text('share_type', { enum: ['link', 'embed'] }).notNull(),
    /** The share context whose members alone may see the dashboard, in the portal; null if it is not shared in the portal. */
    shareContextId: text('share_context_id'),
    embedOptions: json<EmbedOptions>('embed_options').notNull(),
    filterPolicies: json<FilterPolicy[]>('filter_policies').notNull(),
    /** SHA-256 of the token. */
    tokenDigest: text('token_digest').notNull(),
    createdByUserId: text('created_by_user_id').notNull(),
    ...timestamps(),
    expiresAt: timestamp('expires_at'),
    revokedAt: timestamp('revoked_at'),
  },
  (table) => [
    uniqueIndex('dashboard_shares_token').on(table.tokenDigest),
    index('dashboard_shares_by_creation').on(table.companyId, table.createdAt, table.id),
    index('dashboard_shares_of_dashboard').on(table.companyId, table.dashboardId, table.createdAt, table.id),
    index('dashboard_shares_of_context').on(table.shareContextId, table.dashboardId),
  ],
);

/** The number of times that a company has rotated its key. One that never did has no row. */
export const embedKeys = sqliteTable('embed_keys', {
  companyId: companyId().primaryKey(),
  rotations: integer('rotations').notNull(),
});

/** Embed tokens that were ended early: those about a subject made until then. A row lives as long as they could. */
export const embedRevocations = sqliteTable(
  'embed_revocations',
  {
    companyId: companyId(),
    /** The subject that the tokens share: see `formatSubject` of the embeds. */
    subject: text('subject').notNull(),
    revokedAt: timestamp('revoked_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.companyId, table.subject] }),
    index('embed_revocations_by_time').on(table.revokedAt),
  ],
);

/** Keys with which a company's own applications sign embed tokens. A key that was deleted signs nothing any more. */
export const embedSigningKeys = sqliteTable(
  'embed_signing_keys',
  {
    /** The key's id, which begins with the company's id: a token names its key, and so its company. */
    id: id(),
    companyId: companyId(),
    /** The secret with which the key's signatures are checked. */
    encryptedSecret: text('secret').notNull(),
    createdAt: timestamp('created_at').notNull(),
  },
  (table) => [index('embed_signing_keys_by_creation').on(table.companyId, table.createdAt, table.id)],
);
