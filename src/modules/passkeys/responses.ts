import {
  type AuthenticationResponseJSON,
  type RegistrationResponseJSON,
  verifyAuthenticationResponse,
  verifyRegistrationResponse,
} from '@simplewebauthn/server';
import { cose, decodeAttestationObject, isoBase64URL } from '@simplewebauthn/server/helpers';
import type { Passkey } from './store.ts';

/** The only key algorithms requested: Ed25519, P-256 and RSA, all of which every runtime verifies. */
export const KEY_ALGORITHMS = [cose.COSEALG.EdDSA, cose.COSEALG.ES256, cose.COSEALG.RS256];

/** The values that a response must have been made for. The challenge is passed in base64url. */
export interface ExpectedValues {
  expectedChallenge: (challenge: string) => Promise<boolean>;
  expectedOrigin: string[];
  expectedRPID: string;
}

/** The stored part of a credential. */
export type Credential = Pick<
  Passkey,
  'credentialId' | 'publicKey' | 'counter' | 'transports' | 'isSyncable' | 'isBackedUp'
>;

/** Verifies and reads a new credential. @throws Error unless the response matches and the person was verified */
export async function readRegistration(
  expectedValues: ExpectedValues,
  response: RegistrationResponseJSON,
): Promise<Credential> {
  requireNoCertificates(response);
  const { registrationInfo: info } = await verifyRegistrationResponse({
    ...expectedValues,
    response,
    requireUserVerification: true,
    supportedAlgorithmIDs: KEY_ALGORITHMS,
  });
  // The id stands in the response twice; what the authenticator says counts.
  if (info?.credential.id !== response.id) throw new Error('The response is not verified, or of another credential.');
  const { credential, credentialDeviceType, credentialBackedUp } = info;
  return {
    credentialId: credential.id,
    publicKey: isoBase64URL.fromBuffer(credential.publicKey),
    counter: credential.counter,
    transports: credential.transports ?? [],
    isSyncable: credentialDeviceType === 'multiDevice',
    isBackedUp: credentialBackedUp,
  };
}

/** Verifies the signature of a passkey. @throws Error unless it is valid and the person was verified */
export async function readAuthentication(
  expectedValues: ExpectedValues,
  response: AuthenticationResponseJSON,
  passkey: Pick<Credential, 'credentialId' | 'publicKey' | 'counter' | 'isSyncable'>,
): Promise<Pick<Credential, 'counter' | 'isBackedUp'>> {
  const { verified, authenticationInfo: info } = await verifyAuthenticationResponse({
    ...expectedValues,
    response,
    requireUserVerification: true,
    credential: {
      id: passkey.credentialId,
      publicKey: isoBase64URL.toBuffer(passkey.publicKey),
      counter: passkey.counter,
    },
  });
  if (!verified) throw new Error('The signature is wrong.');
  // A key that never leaves its device cannot become one that does, nor the other way around.
  if ((info.credentialDeviceType === 'multiDevice') !== passkey.isSyncable)
    throw new Error('It is another kind of key.');
  return { counter: info.newCounter, isBackedUp: info.credentialBackedUp };
}

/**
 * Rejects attestations with certificates: none is requested, so that browsers send none, or one signed by the passkey itself.
 * Certificates would be checked against revocation lists whose addresses the sender chooses.
 */
function requireNoCertificates({ response }: RegistrationResponseJSON): void {
  const attestation = decodeAttestationObject(isoBase64URL.toBuffer(response.attestationObject));
  const isSelfAttested = attestation.get('fmt') === 'packed' && attestation.get('attStmt').get('x5c') === undefined;
  if (attestation.get('fmt') !== 'none' && !isSelfAttested) throw new Error('The response has an attestation.');
}
