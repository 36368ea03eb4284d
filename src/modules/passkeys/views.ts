import { z } from 'zod';
import { makeView } from '../../http/wire.ts';
import { displayNameSchema, timestampSchema } from '../../kernel/fields.ts';
import type { Passkey } from './store.ts';

export const passkeyName = displayNameSchema.meta({
  description: 'By which its owner knows it.',
  examples: ['Work laptop'],
});

export const passkeyView = z
  .object({
    _id: z.string(),
    name: passkeyName,
    is_backed_up: z.boolean().meta({ description: 'Whether it was copied to other devices, when it was last used.' }),
    last_used_at: timestampSchema.nullable(),
    created_at: timestampSchema,
  })
  .meta({ id: 'Passkey' });

export const viewPasskey: (passkey: Passkey) => z.input<typeof passkeyView> = makeView(passkeyView);

const base64Url = z
  .string()
  .regex(/^[A-Za-z0-9_\x2d]*$/)
  .meta({ description: 'In base64url, without padding.' });
const transports = z.array(z.string().max(64)).max(16);
const credentialDescriptor = z.object({
  type: z.literal('public-key'),
  id: z.string(),
  transports: transports.optional(),
});

/** The schema of W3C's `PublicKeyCredentialCreationOptionsJSON`. */
export const creationOptionsView = z
  .object({
    challenge: base64Url,
    rp: z.object({ id: z.string(), name: z.string() }),
    user: z.object({ id: base64Url, name: z.string(), displayName: z.string() }),
    pubKeyCredParams: z.array(z.object({ type: z.literal('public-key'), alg: z.int() })),
    timeout: z.int().meta({ description: 'Milliseconds.' }),
    attestation: z.literal('none'),
    excludeCredentials: z.array(credentialDescriptor),
    authenticatorSelection: z.object({
      residentKey: z.literal('required'),
      requireResidentKey: z.literal(true),
      userVerification: z.literal('required'),
    }),
    extensions: z.object({ credProps: z.literal(true) }),
    hints: z.array(z.string()),
  })
  .meta({ id: 'PasskeyCreationOptions', description: 'W3C’s PublicKeyCredentialCreationOptionsJSON (WebAuthn).' });

/** The schema of W3C's `PublicKeyCredentialRequestOptionsJSON`. */
export const requestOptionsView = z
  .object({
    challenge: base64Url,
    rpId: z.string(),
    allowCredentials: z.array(credentialDescriptor).max(0),
    timeout: z.int().meta({ description: 'Milliseconds.' }),
    userVerification: z.literal('required'),
  })
  .meta({ id: 'PasskeyRequestOptions', description: 'W3C’s PublicKeyCredentialRequestOptionsJSON (WebAuthn).' });

/** The maximum length in base64url of a credential's id, 1,023 bytes, and of other values of an authenticator. */
const MAX_ID_LENGTH = 1364;
const MAX_DATA_LENGTH = 64 * 1024;

const id = z.string().min(1).max(MAX_ID_LENGTH);
const data = z.string().max(MAX_DATA_LENGTH);

/** The fields of all responses. Browsers may add members: they are accepted and not read. */
const credential = {
  id,
  rawId: id,
  type: z.literal('public-key'),
  authenticatorAttachment: z.string().max(64).nullable().optional(),
  clientExtensionResults: z.looseObject({}).optional(),
};

/** The schema of W3C's `RegistrationResponseJSON`. */
export const registrationResponse = z
  .looseObject({
    ...credential,
    response: z.looseObject({ clientDataJSON: data, attestationObject: data, transports: transports.optional() }),
  })
  .meta({ id: 'PasskeyRegistrationResponse', description: 'W3C’s RegistrationResponseJSON (WebAuthn).' });

/** The schema of W3C's `AuthenticationResponseJSON`. */
export const authenticationResponse = z
  .looseObject({
    ...credential,
    response: z.looseObject({
      clientDataJSON: data,
      authenticatorData: data,
      signature: data,
      userHandle: z.string().max(128).nullable().optional(),
    }),
  })
  .meta({ id: 'PasskeyAuthenticationResponse', description: 'W3C’s AuthenticationResponseJSON (WebAuthn).' });
