import { index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';
import { booleanColumn, jsonColumn, ownedColumns, timestampColumn } from '../columns.ts';

/** Passkeys: public-key credentials that people sign in with (WebAuthn). The private key never leaves the authenticator. */
export const passkeys = sqliteTable(
  'passkeys',
  {
    ...ownedColumns(),
    userId: text('user_id').notNull(),
    name: text('name').notNull(),
    /** Id by which the authenticator knows the passkey, in base64url. */
    credentialId: text('credential_id').notNull(),
    /** Public key as a COSE key, in base64url. */
    publicKey: text('public_key').notNull(),
    /** Authenticator's counter of signatures; stays 0 if it does not count. */
    counter: integer('counter').notNull(),
    /** Transports by which browsers reach the authenticator: `internal`, `usb`, … */
    transports: jsonColumn<string[]>('transports').notNull(),
    /** True if the passkey can be copied to other devices of the person. The value never changes. */
    isSyncable: booleanColumn('is_syncable').notNull(),
    /** True if the passkey had been copied when it was last used. */
    isBackedUp: booleanColumn('is_backed_up').notNull(),
    lastUsedAt: timestampColumn('last_used_at'),
    createdAt: timestampColumn('created_at').notNull(),
  },
  (table) => [
    uniqueIndex('passkeys_credential').on(table.companyId, table.credentialId),
    index('passkeys_of_user').on(table.userId),
  ],
);

/** Challenges that were answered, kept until they expire: none may be used twice. */
export const spentPasskeyChallenges = sqliteTable(
  'spent_passkey_challenges',
  {
    /** SHA-256 of the challenge. */
    digest: text('digest').primaryKey(),
    expiresAt: timestampColumn('expires_at').notNull(),
  },
  (table) => [index('spent_passkey_challenges_by_expiry').on(table.expiresAt)],
);
