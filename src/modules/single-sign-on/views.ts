import { z } from 'zod';
import { isoTimestamp, timestamp, webAddress } from '../../kernel/fields.ts';
import { trustEmail } from '../sign-in/fields.ts';
import type { Configuration, ConfigurationInput } from './configuration.ts';

const MAX_REDIRECT_URIS = 20;
const MAX_CERTIFICATES = 5;

const common = {
  redirect_uris: z
    .array(webAddress)
    .max(MAX_REDIRECT_URIS)
    .meta({ description: 'The addresses that a sign-in may redirect to; compared exactly.' }),
  jit_provisioning: z.boolean().default(false).meta({
    description:
      'Whether to create a user for each person that the provider signs in. Otherwise only existing users sign in.',
  }),
};

const oidc = {
  type: z.literal('oidc'),
  issuer: webAddress.meta({
    description: 'https on a public address; its discovery document must name the same issuer.',
  }),
  client_id: z.string().min(1).max(1024),
  trust_email: trustEmail,
};

const attributeName = z.string().trim().min(1).max(1024).optional();

const saml = {
  type: z.literal('saml'),
  idp_entity_id: z.string().min(1).max(1024),
  idp_sso_url: webAddress.meta({ description: 'For the HTTP-Redirect binding; https on a public address.' }),
  idp_certificates: z.array(z.string().trim().min(1).max(16_384)).min(1).max(MAX_CERTIFICATES).meta({
    description: 'PEM; a signature by any of them is accepted. RSA of at least 2048 bits, with SHA-256 or SHA-512.',
  }),
  attributes: z.object({ email: attributeName, name: attributeName }).default({}).meta({
    description:
      'The names of the attributes that hold the email address and the name, in any case. Where they are left out, the usual names are tried, and for the address then the NameID.',
  }),
};

const secret = z.string().min(1).max(4096).optional().meta({
  description: 'Never returned. If left out, the one stored for the same issuer and client_id is kept.',
});

export const configurationInput = z
  .discriminatedUnion('type', [
    z.object({ ...oidc, client_secret: secret, ...common }).meta({ id: 'OidcConfigurationInput' }),
    z.object({ ...saml, ...common }).meta({ id: 'SamlConfigurationInput' }),
  ])
  .transform((input): ConfigurationInput => {
    const { redirect_uris: redirectUris, jit_provisioning: jitProvisioning } = input;
    if (input.type === 'oidc') {
      const { type, issuer, client_id: clientId, trust_email: trustEmail } = input;
      const provider = { type, issuer, clientId, trustEmail };
      return { provider, clientSecret: input.client_secret, redirectUris, jitProvisioning };
    }
    const provider = {
      type: input.type,
      idpEntityId: input.idp_entity_id,
      idpSsoUrl: input.idp_sso_url,
      idpCertificates: input.idp_certificates,
      attributes: input.attributes,
    };
    return { provider, redirectUris, jitProvisioning };
  });

const readOnly = {
  callback_url: z.string().meta({
    description: 'The redirect URI (OpenID Connect) or assertion consumer service (SAML) to configure at the provider.',
  }),
  created_at: timestamp,
  updated_at: timestamp,
};

/** A configuration without its secrets. */
export const configurationView = z
  .discriminatedUnion('type', [
    z.object({ ...oidc, ...common, ...readOnly }).meta({ id: 'OidcConfiguration' }),
    z
      .object({ ...saml, ...common, sp_entity_id: z.string(), metadata_url: z.string(), ...readOnly })
      .meta({ id: 'SamlConfiguration' }),
  ])
  .meta({ id: 'SsoConfiguration' });

export function viewConfiguration(
  { provider, redirectUris, jitProvisioning, createdAt, updatedAt }: Configuration,
  ours: { entityId: string; callbackUrl: string },
): z.input<typeof configurationView> {
  const shared = {
    redirect_uris: redirectUris,
    jit_provisioning: jitProvisioning,
    callback_url: ours.callbackUrl,
    created_at: isoTimestamp(createdAt),
    updated_at: isoTimestamp(updatedAt),
  };
  if (provider.type === 'oidc') {
    const { issuer, clientId, trustEmail = false } = provider;
    return { type: 'oidc', issuer, client_id: clientId, trust_email: trustEmail, ...shared };
  }
  return {
    type: 'saml',
    idp_entity_id: provider.idpEntityId,
    idp_sso_url: provider.idpSsoUrl,
    idp_certificates: provider.idpCertificates,
    attributes: provider.attributes ?? {},
    sp_entity_id: ours.entityId,
    metadata_url: ours.entityId,
    ...shared,
  };
}
