import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { companyId, ownedColumns, timestampColumn } from '../columns.ts';

/** Sessions of people, from login to logout. Refresh tokens are stored only as SHA-256 of their `jti`. */
export const sessions = sqliteTable(
  'sessions',
  {
    ...ownedColumns(),
    userId: text('user_id').notNull(),
    /** Digest of the newest refresh token. */
    refreshDigest: text('refresh_digest').notNull(),
    /** Digest of the previous refresh token, which may be used again until `previousUntil`, if its answer got lost. */
    previousDigest: text('previous_digest'),
    previousUntil: timestampColumn('previous_until'),
    /** IP address of the sign-in; null for sessions that are older than this column. */
    ip: text('ip'),
    /** Browser of the sign-in; null for sessions that are older than this column. */
    userAgent: text('user_agent'),
    /** Time at which a token of the session was last used, to the minute. */
    lastUsedAt: timestampColumn('last_used_at'),
    createdAt: timestampColumn('created_at').notNull(),
    expiresAt: timestampColumn('expires_at').notNull(),
    endedAt: timestampColumn('ended_at'),
  },
  (table) => [
    index('sessions_of_user').on(table.userId, table.endedAt),
    index('sessions_by_expiry').on(table.expiresAt),
  ],
);

/** Networks from which users signed in, and still can while others are blocked for password guessing. */
export const signInNetworks = sqliteTable(
  'sign_in_networks',
  {
    companyId: companyId(),
    userId: text('user_id').notNull(),
    /** IPv4 address, or the /64 of an IPv6 address. */
    network: text('network').notNull(),
    signedInAt: timestampColumn('signed_in_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.userId, table.network] }),
    index('sign_in_networks_by_age').on(table.signedInAt),
  ],
);

/** Newest sign-in code of each address, also of one that belongs to nobody, so that no answer is quicker. */
export const passwordlessCodes = sqliteTable(
  'passwordless_codes',
  {
    companyId: companyId(),
    /** Sign-in that the code is for: to the console, or to the portal of shared dashboards. */
    purpose: text('purpose', { enum: ['sign_in', 'portal'] }).notNull(),
    /** Email address in lower case. */
    email: text('email').notNull(),
    /** HMAC of the code. */
    digest: text('digest').notNull(),
    /** Value of the user's counter of ended sessions when the code was made; null for the portal, and for unknown addresses. */
    sessionEpoch: integer('session_epoch'),
    /** Number of tried codes. */
    tries: integer('tries').notNull(),
    expiresAt: timestampColumn('expires_at').notNull(),
    usedAt: timestampColumn('used_at'),
  },
  (table) => [
    primaryKey({ columns: [table.companyId, table.purpose, table.email] }),
    index('passwordless_codes_by_expiry').on(table.expiresAt),
  ],
);

/** Authenticator apps of users. Each enrolment has a new id, and takes effect once a code confirms it. */
export const secondFactors = sqliteTable('second_factors', {
  ...ownedColumns(),
  userId: text('user_id').notNull().unique(),
  /** TOTP secret in base32, encrypted with the id as context. */
  secret: text('secret').notNull(),
  confirmedAt: timestampColumn('confirmed_at'),
  createdAt: timestampColumn('created_at').notNull(),
});

/** Time steps whose code was accepted: each is accepted once. */
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

/** Unused backup codes, as HMACs. */
export const backupCodes = sqliteTable(
  'backup_codes',
  {
    companyId: companyId(),
    factorId: text('factor_id').notNull(),
    digest: text('digest').notNull(),
    /** Version of the encryption key under which the HMAC was made. */
    keyVersion: integer('key_version').notNull().default(1),
  },
  (table) => [primaryKey({ columns: [table.factorId, table.digest] })],
);

/** Sign-ins that passed the first factor and wait for the second, or for its setup. */
export const pendingSecondFactors = sqliteTable(
  'pending_second_factors',
  {
    /** SHA-256 of the token. */
    digest: text('digest').primaryKey(),
    companyId: companyId(),
    userId: text('user_id').notNull(),
    /** What the sign-in waits for: the second factor (`login`), or its setup, which the company requires. */
    purpose: text('purpose', { enum: ['login', 'setup'] })
      .notNull()
      .default('login'),
    /** Value of the user's counter of ended sessions when the first factor passed. */
    sessionEpoch: integer('session_epoch').notNull(),
    /** Number of tried codes. */
    tries: integer('tries').notNull(),
    createdAt: timestampColumn('created_at').notNull(),
    expiresAt: timestampColumn('expires_at').notNull(),
    endedAt: timestampColumn('ended_at'),
  },
  (table) => [index('pending_second_factors_by_expiry').on(table.expiresAt)],
);

/** Requests to reset a password, each with a link. */
export const passwordResets = sqliteTable(
  'password_resets',
  {
    /** SHA-256 of the token. */
    digest: text('digest').primaryKey(),
    companyId: companyId(),
    userId: text('user_id').notNull(),
    expiresAt: timestampColumn('expires_at').notNull(),
    usedAt: timestampColumn('used_at'),
  },
  (table) => [
    index('password_resets_of_user').on(table.userId, table.usedAt),
    index('password_resets_by_expiry').on(table.expiresAt),
  ],
);
