import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { booleanColumn, companyId, jsonColumn, timestampColumn, timestampColumns } from '../columns.ts';

/** Settings of an OpenID Connect provider, without our secret. */
export interface OidcSettings {
  type: 'oidc';
  issuer: string;
  clientId: string;
  /** True if an address counts as verified when the provider does not say so. */
  trustEmail?: boolean;
}

/** Settings of a SAML identity provider. Certificates in PEM form. */
export interface SamlSettings {
  type: 'saml';
  idpEntityId: string;
  idpSsoUrl: string;
  idpCertificates: string[];
  /** Names of the attributes with the address and the name, if they are not the usual ones. */
  attributes?: { email?: string; name?: string };
}

/** Identity providers of companies: at most one each. */
export const ssoConfigurations = sqliteTable('sso_configurations', {
  companyId: companyId().primaryKey(),
  provider: jsonColumn<OidcSettings | SamlSettings>('provider').notNull(),
  /** Our client secret at an OpenID Connect provider, encrypted. */
  clientSecret: text('client_secret'),
  /** Addresses to which people may be redirected after the sign-in. */
  redirectUris: jsonColumn<string[]>('redirect_uris').notNull(),
  /** True if unknown people who sign in through the provider become users (just-in-time provisioning). */
  jitProvisioning: booleanColumn('jit_provisioning').notNull(),
  ...timestampColumns(),
});

/** Sign-ins in progress: from our redirect to the provider until its answer. */
export const ssoLogins = sqliteTable(
  'sso_logins',
  {
    /** SHA-256 of the state parameter that the person's browser carries. */
    stateDigest: text('state_digest').primaryKey(),
    companyId: companyId(),
    redirectUri: text('redirect_uri').notNull(),
    /** Values that the provider's answer must match (nonce, PKCE verifier, request id), encrypted. */
    expectation: text('expectation').notNull(),
    /** SHA-256 of a secret of the client that began the sign-in; null if an earlier service version began it. */
    exchangeDigest: text('exchange_digest'),
    expiresAt: timestampColumn('expires_at').notNull(),
  },
  (table) => [index('sso_logins_by_expiry').on(table.expiresAt), index('sso_logins_of_company').on(table.companyId)],
);

/** SAML assertions that were accepted, kept until they expire: none is accepted twice. */
export const ssoAssertions = sqliteTable(
  'sso_assertions',
  { companyId: companyId(), idDigest: text('id_digest').notNull(), expiresAt: timestampColumn('expires_at').notNull() },
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
    /** SHA-256 of a secret of the client that began the sign-in, as in `sso_logins`: the code works for that client only. */
    exchangeDigest: text('exchange_digest'),
    /** Value of the user's counter of ended sessions when the provider's answer was verified. */
    sessionEpoch: integer('session_epoch').notNull().default(0),
    expiresAt: timestampColumn('expires_at').notNull(),
  },
  (table) => [index('sso_codes_by_expiry').on(table.expiresAt), index('sso_codes_of_company').on(table.companyId)],
);
