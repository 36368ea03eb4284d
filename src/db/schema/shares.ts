import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';
import type { FilterPolicy } from '../../sharing/filter-policy.ts';
import { companyId, jsonColumn, ownedColumns, timestampColumn, timestampColumns } from '../columns.ts';

/** Options of a shared dashboard, and the origins that may embed it. Fields are as in the API. */
export interface EmbedOptions {
  allowed_origins: string[];
  hide_header: boolean;
  hide_controls: boolean;
  /** Absent in shares created before downloads existed. */
  allow_downloads?: boolean;
}

/** Shares of dashboards: by a link, or embedded in another site's page. */
export const dashboardShares = sqliteTable(
  'dashboard_shares',
  {
    ...ownedColumns(),
    dashboardId: text('dashboard_id').notNull(),
    name: text('name').notNull(),
    shareType: text('share_type', { enum: ['link', 'embed'] }).notNull(),
    /** Id of the share context whose members alone may see the dashboard in the portal; null for other shares. */
    shareContextId: text('share_context_id'),
    embedOptions: jsonColumn<EmbedOptions>('embed_options').notNull(),
    filterPolicies: jsonColumn<FilterPolicy[]>('filter_policies').notNull(),
    /** SHA-256 of the token. */
    tokenDigest: text('token_digest').notNull(),
    createdByUserId: text('created_by_user_id').notNull(),
    ...timestampColumns(),
    expiresAt: timestampColumn('expires_at'),
    revokedAt: timestampColumn('revoked_at'),
  },
  (table) => [
    uniqueIndex('dashboard_shares_token').on(table.tokenDigest),
    index('dashboard_shares_by_creation').on(table.companyId, table.createdAt, table.id),
    index('dashboard_shares_of_dashboard').on(table.companyId, table.dashboardId, table.createdAt, table.id),
    index('dashboard_shares_of_context').on(table.shareContextId, table.dashboardId),
  ],
);

/** Number of times that a company has rotated its embed key. A company that never rotated the key has no row. */
export const embedKeys = sqliteTable('embed_keys', {
  companyId: companyId().primaryKey(),
  rotations: integer('rotations').notNull(),
});

/** Revocations of a subject's embed tokens issued until `revokedAt`. Each is kept as long as such tokens could be valid. */
export const embedRevocations = sqliteTable(
  'embed_revocations',
  {
    companyId: companyId(),
    /** Subject that the tokens share: see `listSubjects` of the embeds. */
    subject: text('subject').notNull(),
    revokedAt: timestampColumn('revoked_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.companyId, table.subject] }),
    index('embed_revocations_by_time').on(table.revokedAt),
  ],
);

/** Keys with which a company's own applications sign embed tokens. A deleted key's signatures are invalid. */
export const embedSigningKeys = sqliteTable(
  'embed_signing_keys',
  {
    /** Id of the key, which begins with the company's id: a token names its key, and so its company. */
    ...ownedColumns(),
    /** Secret with which the key's signatures are checked. */
    encryptedSecret: text('secret').notNull(),
    createdAt: timestampColumn('created_at').notNull(),
  },
  (table) => [index('embed_signing_keys_by_creation').on(table.companyId, table.createdAt, table.id)],
);
