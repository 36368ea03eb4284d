import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { companyId, id, timestamp } from '../columns.ts';

/** A person's sign-in, from login to logout. Refresh tokens are kept only as SHA-256 of their `jti`. */
export const sessions = sqliteTable(
  'sessions',
  {
    id: id(),
    companyId: companyId(),
    userId: text('user_id').notNull(),
    /** Digest of the newest refresh token. */
    refreshDigest: text('refresh_digest').notNull(),
    /** Digest of the one before, which may be used again until `previousUntil`, if its answer got lost. */
    previousDigest: text('previous_digest'),
    previousUntil: timestamp('previous_until'),
    /** The address and browser of the sign-in; unknown for sessions older than these columns. */
    ip: text('ip'),
    userAgent: text('user_agent'),
    /** When a token of the session was last presented, to the minute. */
    lastUsedAt: timestamp('last_used_at'),
    createdAt: timestamp('created_at').notNull(),
    expiresAt: timestamp('expires_at').notNull(),
    endedAt: timestamp('ended_at'),
  },
  (table) => [
    index('sessions_of_user').on(table.userId, table.endedAt),
    index('sessions_by_expiry').on(table.expiresAt),
  ],
);

/** Networks from which users have signed in. Sign-ins from there stay possible while others are blocked for password guessing. */
export const signInNetworks = sqliteTable(
  'sign_in_networks',
  {
    companyId: companyId(),
    userId: text('user_id').notNull(),
    /** An IPv4 address, or the /64 of an IPv6 one. */
    network: text('network').notNull(),
    signedInAt: timestamp('signed_in_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.userId, table.network] }),
    index('sign_in_networks_by_age').on(table.signedInAt),
  ],
);

/** The newest code mailed to an address, kept also for addresses that belong to nobody, so that no answer is quicker. */
export const passwordlessCodes = sqliteTable(
  'passwordless_codes',
  {
    companyId: companyId(),
    /** Where the code signs in to: the console, or the portal of shared dashboards. */
    purpose: text('purpose', { enum: ['sign_in', 'portal'] }).notNull(),
    /** Lower-case. */
    email: text('email').notNull(),
    /** HMAC of the code. */
    digest: text('digest').notNull(),
    /** Codes tried so far. */
    tries: integer('tries').notNull(),
    expiresAt: timestamp('expires_at').notNull(),
    usedAt: timestamp('used_at'),
  },
  (table) => [
    primaryKey({ columns: [table.companyId, table.purpose, table.email] }),
    index('passwordless_codes_by_expiry').on(table.expiresAt),
  ],
);

/** A user's authenticator. Each enrolment has a new id; it counts once a code has confirmed it. */
export const secondFactors = sqliteTable('second_factors', {
  id: id(),
  companyId: companyId(),
  userId: text('user_id').notNull().unique(),
  /** TOTP secret in base32, encrypted with the id as context. */
  secret: text('secret').notNull(),
  confirmedAt: timestamp('confirmed_at'),
  createdAt: timestamp('created_at').notNull(),
});

/** Time steps whose code was accepted: it is not accepted again. */
export const usedTotpSteps = sqliteTable(
  'used_totp_steps',
  {
    companyId: companyId(),
    factorId: text('factor_id').notNull(),
    /** Unix time in units of 30 s. */
    step: integer('step').notNull(),
  },
  (table) => [primaryKey({ columns: [table.factorId, table.step] }), index('used_totp_steps_by_step').on(table.step)],
);

/** Backup codes that are left, as HMACs. */
export const backupCodes = sqliteTable(
  'backup_codes',
  {
    companyId: companyId(),
    factorId: text('factor_id').notNull(),
    digest: text('digest').notNull(),
    /** Version of the encryption keys that the HMAC is under. */
    keyVersion: integer('key_version').notNull().default(1),
  },
  (table) => [primaryKey({ columns: [table.factorId, table.digest] })],
);

/** A sign-in that has passed its first factor and waits for the second, or for one to be set up. */
export const pendingSecondFactors = sqliteTable(
  'pending_second_factors',
  {
    /** SHA-256 of the token. */
    digest: text('digest').primaryKey(),
    companyId: companyId(),
    userId: text('user_id').notNull(),
    /** `setup`: the company asks everybody for a second factor, and the user had none. */
    purpose: text('purpose', { enum: ['login', 'setup'] })
      .notNull()
      .default('login'),
    /** The user's, when the first factor passed. */
    sessionEpoch: integer('session_epoch').notNull(),
    /** Codes tried so far. */
    tries: integer('tries').notNull(),
    createdAt: timestamp('created_at').notNull(),
    expiresAt: timestamp('expires_at').notNull(),
    endedAt: timestamp('ended_at'),
  },
  (table) => [index('pending_second_factors_by_expiry').on(table.expiresAt)],
);

/** Links that set a new password. */
export const passwordResets = sqliteTable(
  'password_resets',
  {
    /** SHA-256 of the token. */
    digest: text('digest').primaryKey(),
    companyId: companyId(),
    userId: text('user_id').notNull(),
    expiresAt: timestamp('expires_at').notNull(),
    usedAt: timestamp('used_at'),
  },
  (table) => [
    index('password_resets_of_user').on(table.userId, table.usedAt),
    index('password_resets_by_expiry').on(table.expiresAt),
  ],
);
