import { index, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { companyId, flag, json, timestamp, timestamps } from '../columns.ts';

/** The settings of an OpenID Connect provider, without our secret. */
export interface OidcSettings {
  type: 'oidc';
  issuer: string;
  clientId: string;
  /** Whether an address counts as verified of which the provider does not say whether it is. */
  trustEmail?: boolean;
}

/** The settings of a SAML identity provider. Certificates in PEM form. */
export interface SamlSettings {
  type: 'saml';
  idpEntityId: string;
  idpSsoUrl: string;
  idpCertificates: string[];
  /** The names of the attributes that hold the address and the name, where they are not usual ones. */
  attributes?: { email?: string; name?: string };
}

/** The identity provider of a company: at most one. */
export const ssoConfigurations = sqliteTable('sso_configurations', {
  companyId: companyId().primaryKey(),
  provider: json<OidcSettings | SamlSettings>('provider').notNull(),
  /** Our client secret at an OpenID Connect provider, encrypted. */
  clientSecret: text('client_secret'),
  /** The addresses that people may be sent back to. */
  redirectUris: json<string[]>('redirect_uris').notNull(),
  /** Whether unknown people who sign in through the provider become users (just-in-time provisioning). */
  jitProvisioning: flag('jit_provisioning').notNull(),
  ...timestamps(),
});

/** A sign-in under way: from our redirect to the provider until its answer. */
export const ssoLogins = sqliteTable(
  'sso_logins',
  {
    /** SHA-256 of the state that travels with the person. */
    stateDigest: text('state_digest').primaryKey(),
    companyId: companyId(),
    redirectUri: text('redirect_uri').notNull(),
    /** The values that the provider's answer must fit (nonce, PKCE verifier, request id), encrypted. */
    expectation: text('expectation').notNull(),
    /** SHA-256 of the secret that only the client knows which began the sign-in; null for one that an earlier version began. */
    exchangeDigest: text('exchange_digest'),
    expiresAt: timestamp('expires_at').notNull(),
  },
  (table) => [index('sso_logins_by_expiry').on(table.expiresAt), index('sso_logins_of_company').on(table.companyId)],
);

/** SAML assertions that were accepted, until they would be refused for their age: none is accepted twice. */
export const ssoAssertions = sqliteTable(
  'sso_assertions',
  { companyId: companyId(), idDigest: text('id_digest').notNull(), expiresAt: timestamp('expires_at').notNull() },
  (table) => [
    primaryKey({ columns: [table.companyId, table.idDigest] }),
    index('sso_assertions_by_expiry').on(table.expiresAt),
  ],
);

/** One-time codes that the console exchanges for a session. */
export const ssoCodes = sqliteTable(
  'sso_codes',
  {
    /** SHA-256 of the code. */
    codeDigest: text('code_digest').primaryKey(),
    companyId: companyId(),
    userId: text('user_id').notNull(),
    /** As in `sso_logins`: the code works for who began the sign-in. */
    exchangeDigest: text('exchange_digest'),
    expiresAt: timestamp('expires_at').notNull(),
  },
  (table) => [index('sso_codes_by_expiry').on(table.expiresAt), index('sso_codes_of_company').on(table.companyId)],
);
