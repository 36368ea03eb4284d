import { z } from 'zod';
import { makeView, toBodyFields } from '../../http/wire.ts';
import { timestampSchema, webAddressSchema } from '../../kernel/fields.ts';
import { trustEmailField } from '../sign-in/fields.ts';
import type { Configuration, ConfigurationInput } from './configuration.ts';

const MAX_REDIRECT_URIS = 20;
const MAX_CERTIFICATES = 5;

const commonFields = {
  redirect_uris: z
    .array(webAddressSchema)
    .max(MAX_REDIRECT_URIS)
    .meta({ description: 'The addresses that a sign-in may redirect to; compared exactly.' }),
  jit_provisioning: z.boolean().default(false).meta({
    description:
      'Whether to create a user for each person that the provider signs in. Otherwise only existing users sign in.',
  }),
};

const oidcFields = {
  type: z.literal('oidc'),
  issuer: webAddressSchema.meta({
    description: 'https on a public address; its discovery document must name the same issuer.',
  }),
  client_id: z.string().min(1).max(1024),
  trust_email: trustEmailField,
};

const attributeName = z.string().trim().min(1).max(1024).optional();

const samlFields = {
  type: z.literal('saml'),
  idp_entity_id: z.string().min(1).max(1024),
  idp_sso_url: webAddressSchema.meta({ description: 'For the HTTP-Redirect binding; https on a public address.' }),
  idp_certificates: z.array(z.string().trim().min(1).max(16_384)).min(1).max(MAX_CERTIFICATES).meta({
    description: 'PEM; a signature by any of them is accepted. RSA of at least 2048 bits, with SHA-256 or SHA-512.',
  }),
  attributes: z.object({ email: attributeName, name: attributeName }).default({}).meta({
    description:
      'The names of the attributes that hold the email address and the name, in any case. Where they are left out, the usual names are tried, and for the address then the NameID.',
  }),
};

const secretField = z.string().min(1).max(4096).optional().meta({
  description: 'Never returned. If left out, the one stored for the same issuer and client_id is kept.',
});

export const configurationInput = z
  .discriminatedUnion('type', [
    z.object({ ...oidcFields, client_secret: secretField, ...commonFields }).meta({ id: 'OidcConfigurationInput' }),
    z.object({ ...samlFields, ...commonFields }).meta({ id: 'SamlConfigurationInput' }),
  ])
  .transform(({ redirect_uris: redirectUris, jit_provisioning: jitProvisioning, ...input }): ConfigurationInput => {
    if (input.type === 'saml') return { provider: toBodyFields(input), redirectUris, jitProvisioning };
    const { client_secret: clientSecret, ...provider } = input;
    return { provider: toBodyFields(provider), clientSecret, redirectUris, jitProvisioning };
  });

const readOnlyFields = {
  callback_url: z.string().meta({
    description: 'The redirect URI (OpenID Connect) or assertion consumer service (SAML) to configure at the provider.',
  }),
  created_at: timestampSchema,
  updated_at: timestampSchema,
};

const oidcView = z.object({ ...oidcFields, ...commonFields, ...readOnlyFields }).meta({ id: 'OidcConfiguration' });
const samlView = z
  .object({ ...samlFields, ...commonFields, sp_entity_id: z.string(), metadata_url: z.string(), ...readOnlyFields })
  .meta({ id: 'SamlConfiguration' });

/** A configuration without its secrets. */
export const configurationView = z.discriminatedUnion('type', [oidcView, samlView]).meta({ id: 'SsoConfiguration' });

const viewOidc = makeView(oidcView);
const viewSaml = makeView(samlView);

export function viewConfiguration(
  { provider, ...configuration }: Configuration,
  { entityId, callbackUrl }: { entityId: string; callbackUrl: string },
) {
  const sharedFields = { ...configuration, callbackUrl, spEntityId: entityId, metadataUrl: entityId };
  return provider.type === 'oidc'
    ? viewOidc({ ...sharedFields, ...provider, trustEmail: provider.trustEmail ?? false })
    : viewSaml({ ...sharedFields, ...provider, attributes: provider.attributes ?? {} });
}
