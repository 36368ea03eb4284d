import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { companyId, id, json, timestamp } from '../columns.ts';

/** OAuth clients registered by administrators, for users of their own company only. */
export const oauthClients = sqliteTable(
  'oauth_clients',
  {
    id: id(),
    companyId: companyId(),
    name: text('name').notNull(),
    redirectUris: json<string[]>('redirect_uris').notNull(),
    createdAt: timestamp('created_at').notNull(),
  },
  (table) => [index('oauth_clients_of_company').on(table.companyId, table.createdAt)],
);

/** Programs that registered themselves, and the cached content of metadata documents. They belong to no company. */
export const oauthPublicClients = sqliteTable(
  'oauth_public_clients',
  {
    /** The client's id: made by us, or the address of its document. */
    clientId: text('client_id').primaryKey(),
    name: text('name').notNull(),
    redirectUris: json<string[]>('redirect_uris').notNull(),
    createdAt: timestamp('created_at').notNull(),
    /** When it is forgotten, or its document read anew. */
    expiresAt: timestamp('expires_at').notNull(),
  },
  (table) => [index('oauth_public_clients_by_expiry').on(table.expiresAt)],
);

/** What a user's consent lets a client do, effective once it exchanges its code. Secrets are stored as SHA-256 only. */
export const oauthGrants = sqliteTable(
  'oauth_grants',
  {
    id: id(),
    companyId: companyId(),
    userId: text('user_id').notNull(),
    clientId: text('client_id').notNull(),
    clientName: text('client_name').notNull(),
    /** The host of the client, if administrators did not register it. */
    clientHost: text('client_host'),
    scopes: json<string[]>('scopes').notNull(),
    resource: text('resource', { enum: ['api', 'mcp'] }).notNull(),
    /** The id of the authorization request, which is answered once. */
    requestId: text('request_id').notNull().unique(),
    /** The digest of the code that the client exchanges for tokens: an authorization code or a device code. */
    codeDigest: text('code_digest').notNull().unique(),
    codeChallenge: text('code_challenge'),
    redirectUri: text('redirect_uri'),
    codeExpiresAt: timestamp('code_expires_at').notNull(),
    codeUsedAt: timestamp('code_used_at'),
    /** When it came into force. */
    begunAt: timestamp('begun_at'),
    /** Digest of the newest refresh token, and of the one before, which may be used again until `previousUntil`. */
    refreshDigest: text('refresh_digest'),
    previousDigest: text('previous_digest'),
    previousUntil: timestamp('previous_until'),
    lastUsedAt: timestamp('last_used_at'),
    createdAt: timestamp('created_at').notNull(),
    /** When its newest refresh token stops working. */
    expiresAt: timestamp('expires_at').notNull(),
    endedAt: timestamp('ended_at'),
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
    scopes: json<string[]>('scopes').notNull(),
    resource: text('resource', { enum: ['api', 'mcp'] }).notNull(),
    /** Seconds between two tries to get tokens, and before when the next one comes too early. */
    interval: integer('interval').notNull(),
    pollableAt: timestamp('pollable_at').notNull(),
    expiresAt: timestamp('expires_at').notNull(),
    deniedAt: timestamp('denied_at'),
  },
  (table) => [index('oauth_devices_by_expiry').on(table.expiresAt)],
);
