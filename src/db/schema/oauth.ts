import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { jsonColumn, ownedColumns, timestampColumn } from '../columns.ts';

/** OAuth clients registered by administrators, for users of their own company only. */
export const oauthClients = sqliteTable(
  'oauth_clients',
  {
    ...ownedColumns(),
    name: text('name').notNull(),
    redirectUris: jsonColumn<string[]>('redirect_uris').notNull(),
    createdAt: timestampColumn('created_at').notNull(),
  },
  (table) => [index('oauth_clients_of_company').on(table.companyId, table.createdAt)],
);

/** Programs that registered themselves, and the cached content of metadata documents. They belong to no company. */
export const oauthPublicClients = sqliteTable(
  'oauth_public_clients',
  {
    /** Id of the client: made by us, or the address of its metadata document. */
    clientId: text('client_id').primaryKey(),
    name: text('name').notNull(),
    redirectUris: jsonColumn<string[]>('redirect_uris').notNull(),
    createdAt: timestampColumn('created_at').notNull(),
    /** Time at which the client is deleted, or its document is read again. */
    expiresAt: timestampColumn('expires_at').notNull(),
  },
  (table) => [index('oauth_public_clients_by_expiry').on(table.expiresAt)],
);

/** Consents of users to clients, effective once the client exchanges its code. Secrets are stored as SHA-256. */
export const oauthGrants = sqliteTable(
  'oauth_grants',
  {
    ...ownedColumns(),
    userId: text('user_id').notNull(),
    clientId: text('client_id').notNull(),
    clientName: text('client_name').notNull(),
    /** Host of the client, if administrators did not register it. */
    clientHost: text('client_host'),
    scopes: jsonColumn<string[]>('scopes').notNull(),
    resource: text('resource', { enum: ['api', 'mcp'] }).notNull(),
    /** Id of the authorization request, which is answered once. */
    requestId: text('request_id').notNull().unique(),
    /** Digest of the code that the client exchanges for tokens: an authorization code or a device code. */
    codeDigest: text('code_digest').notNull().unique(),
    codeChallenge: text('code_challenge'),
    redirectUri: text('redirect_uri'),
    codeExpiresAt: timestampColumn('code_expires_at').notNull(),
    codeUsedAt: timestampColumn('code_used_at'),
    /** Time at which the grant took effect. */
    begunAt: timestampColumn('begun_at'),
    /** Digest of the newest refresh token. */
    refreshDigest: text('refresh_digest'),
    /** Digest of the refresh token before the newest one, which may be used again until `previousUntil`. */
    previousDigest: text('previous_digest'),
    previousUntil: timestampColumn('previous_until'),
    lastUsedAt: timestampColumn('last_used_at'),
    createdAt: timestampColumn('created_at').notNull(),
    /** Time at which the newest refresh token expires. */
    expiresAt: timestampColumn('expires_at').notNull(),
    endedAt: timestampColumn('ended_at'),
  },
  (table) => [
    index('oauth_grants_of_user').on(table.companyId, table.userId, table.clientId),
    index('oauth_grants_of_client').on(table.companyId, table.clientId),
    index('oauth_grants_by_expiry').on(table.expiresAt),
  ],
);

/** Device authorizations: clients without a browser that wait for a user to enter a code, and have no company yet. */
export const oauthDevices = sqliteTable(
  'oauth_devices',
  {
    /** SHA-256 of the device code. */
    digest: text('digest').primaryKey(),
    /** HMAC of the code that people type. */
    userCodeDigest: text('user_code_digest').notNull().unique(),
    clientId: text('client_id').notNull(),
    scopes: jsonColumn<string[]>('scopes').notNull(),
    resource: text('resource', { enum: ['api', 'mcp'] }).notNull(),
    /** Seconds between two polls for tokens; the number grows when a client polls too early. */
    interval: integer('interval').notNull(),
    pollableAt: timestampColumn('pollable_at').notNull(),
    expiresAt: timestampColumn('expires_at').notNull(),
    deniedAt: timestampColumn('denied_at'),
  },
  (table) => [index('oauth_devices_by_expiry').on(table.expiresAt)],
);
