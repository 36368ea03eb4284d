import { index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';
import { companyId, flag, id, json, timestamp } from '../columns.ts';

/** Passkeys: public-key credentials that people sign in with (WebAuthn). The private key never leaves the authenticator. */
export const passkeys = sqliteTable(
  'passkeys',
  {
    id: id(),
    companyId: companyId(),
    userId: text('user_id').notNull(),
    name: text('name').notNull(),
    /** The id that the authenticator knows it by, in base64url. */
    credentialId: text('credential_id').notNull(),
    /** COSE key, in base64url. */
    publicKey: text('public_key').notNull(),
    /** The authenticator's counter of signatures; stays 0 where it does not count. */
    counter: integer('counter').notNull(),
    /** The ways in which browsers reach the authenticator: `internal`, `usb`, … */
    transports: json<string[]>('transports').notNull(),
    /** Whether it may be copied to other devices of the person, which never changes. */
    isSyncable: flag('is_syncable').notNull(),
    /** Whether it was copied, when it was last used. */
    isBackedUp: flag('is_backed_up').notNull(),
    lastUsedAt: timestamp('last_used_at'),
    createdAt: timestamp('created_at').notNull(),
  },
  (table) => [
    uniqueIndex('passkeys_credential').on(table.companyId, table.credentialId),
    index('passkeys_of_user').on(table.userId),
  ],
);

/** Challenges that were answered, until they would be refused for their age: none is good twice. */
export const spentPasskeyChallenges = sqliteTable(
  'spent_passkey_challenges',
  {
    /** SHA-256 of the challenge. */
    digest: text('digest').primaryKey(),
    expiresAt: timestamp('expires_at').notNull(),
  },
  (table) => [index('spent_passkey_challenges_by_expiry').on(table.expiresAt)],
);
