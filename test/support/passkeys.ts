import { isoCBOR } from '@simplewebauthn/server/helpers';
import { concatBytes } from '../../src/kernel/bytes.ts';
import type { Caller } from './api.ts';
import { callApi } from './api.ts';
import { PASSWORD } from './companies.ts';
import { expectSuccess } from './signed.ts';

const CONSOLE_ORIGIN = 'https://console.test';
/** Authenticator flag: the user is present. */
const UP = 0x01;
/** Authenticator flag: the user is verified. */
const UV = 0x04;
/** Authenticator flag: the credential is eligible for backup. */
const BE = 0x08;
/** Authenticator flag: the credential is backed up. */
const BS = 0x10;
/** Authenticator flag: the data contains the attested credential. */
const AT = 0x40;

const encodeBase64Url = (bytes: Uint8Array): string => bytes.toBase64({ alphabet: 'base64url', omitPadding: true });
const encodeText = (text: string) => new TextEncoder().encode(text);
const digestSha256 = async (bytes: Uint8Array): Promise<Uint8Array<ArrayBuffer>> =>
  new Uint8Array(await crypto.subtle.digest('SHA-256', bytes as BufferSource));

/** Deviations from a sound authenticator on the right page. */
export interface AuthenticatorFaults {
  origin?: string;
  rpId?: string;
  type?: string;
  challenge?: string;
  isVerified?: boolean;
  isPresent?: boolean;
  isSyncable?: boolean;
  counter?: number;
  /** Whether the signed data is changed after signing. */
  isForged?: boolean;
  userHandle?: string | null;
  fmt?: string;
  crossOriginFrom?: string;
}

const KEY_ALGORITHMS = {
  ES256: { alg: -7, key: { name: 'ECDSA', namedCurve: 'P-256' }, sign: { name: 'ECDSA', hash: 'SHA-256' } },
  ES384: { alg: -35, key: { name: 'ECDSA', namedCurve: 'P-384' }, sign: { name: 'ECDSA', hash: 'SHA-384' } },
  EdDSA: { alg: -8, key: { name: 'Ed25519' }, sign: { name: 'Ed25519' } },
  RS256: {
    alg: -257,
    key: { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256', modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]) },
    sign: { name: 'RSASSA-PKCS1-v1_5' },
  },
} as const;
export type KeyKind = keyof typeof KEY_ALGORITHMS;

/**
 * Creates an authenticator with one credential, made in answer to options. It counts its signatures, as authenticators with a
 * chip do.
 */
export async function createAuthenticator(kind: KeyKind = 'ES256', permanentFaults: AuthenticatorFaults = {}) {
  const { alg, key, sign } = KEY_ALGORITHMS[kind];
  const { publicKey, privateKey } = (await crypto.subtle.generateKey(key, true, ['sign', 'verify'])) as CryptoKeyPair;
  const jwk = (await crypto.subtle.exportKey('jwk', publicKey)) as JsonWebKey;
  const id = crypto.getRandomValues(new Uint8Array(32));
  let counter = 0;
  let userHandle = '';

  const makeClientData = (type: string, challenge: string, faults: AuthenticatorFaults) =>
    encodeText(
      JSON.stringify({
        type: faults.type ?? type,
        challenge: faults.challenge ?? challenge,
        origin: faults.origin ?? CONSOLE_ORIGIN,
        crossOrigin: faults.crossOriginFrom !== undefined,
        ...(faults.crossOriginFrom && { topOrigin: faults.crossOriginFrom }),
      }),
    );
  const makeAuthenticatorData = async (rpId: string, faults: AuthenticatorFaults, attestedData?: Uint8Array) => {
    const { isVerified = true, isPresent = true, isSyncable = false } = faults;
    const flags =
      (isPresent ? UP : 0) | (isVerified ? UV : 0) | (isSyncable ? BE | BS : 0) | (attestedData === undefined ? 0 : AT);
    const count = new Uint8Array(4);
    new DataView(count.buffer).setUint32(0, faults.counter ?? counter);
    const head = [await digestSha256(encodeText(faults.rpId ?? rpId)), new Uint8Array([flags]), count];
    return concatBytes([...head, attestedData ?? new Uint8Array()]);
  };

  return {
    credentialId: encodeBase64Url(id),
    /** Returns the response of `navigator.credentials.create`. */
    // biome-ignore lint/suspicious/noExplicitAny: the options are the answer of a route.
    async create(options: any, ceremonyFaults: AuthenticatorFaults = {}) {
      const faults = { ...permanentFaults, ...ceremonyFaults };
      userHandle = options.user.id;
      const cose = isoCBOR.encode(toCoseKey(jwk, alg) as never);
      const length = new Uint8Array([0, id.length]);
      const attestedData = concatBytes([new Uint8Array(16), length, id, cose]);
      const attestation = new Map<string, unknown>([
        ['fmt', faults.fmt ?? 'none'],
        ['attStmt', new Map()],
        ['authData', await makeAuthenticatorData(options.rp.id, faults, attestedData)],
      ]);
      return {
        id: encodeBase64Url(id),
        rawId: encodeBase64Url(id),
        type: 'public-key',
        clientExtensionResults: { credProps: { rk: true } },
        authenticatorAttachment: 'platform',
        response: {
          clientDataJSON: encodeBase64Url(makeClientData('webauthn.create', options.challenge, faults)),
          attestationObject: encodeBase64Url(isoCBOR.encode(attestation as never)),
          transports: ['internal'],
        },
      };
    },
    /** Returns the response of `navigator.credentials.get`. */
    async get(options: { challenge: string; rpId: string }, ceremonyFaults: AuthenticatorFaults = {}) {
      const faults = { ...permanentFaults, ...ceremonyFaults };
      counter += 1;
      const client = makeClientData('webauthn.get', options.challenge, faults);
      const data = await makeAuthenticatorData(options.rpId, faults);
      const signedData = concatBytes([data, await digestSha256(client)]);
      const signature = new Uint8Array(await crypto.subtle.sign(sign, privateKey, signedData));
      const writtenSignature = key.name === 'ECDSA' ? toDerSignature(signature) : signature;
      if (faults.isForged) writtenSignature[writtenSignature.length - 1] = (writtenSignature.at(-1) as number) ^ 1;
      return {
        id: encodeBase64Url(id),
        rawId: encodeBase64Url(id),
        type: 'public-key',
        clientExtensionResults: {},
        response: {
          clientDataJSON: encodeBase64Url(client),
          authenticatorData: encodeBase64Url(data),
          signature: encodeBase64Url(writtenSignature),
          userHandle: faults.userHandle === undefined ? userHandle : faults.userHandle,
        },
      };
    },
  };
}

export type Authenticator = Awaited<ReturnType<typeof createAuthenticator>>;

/** Encodes a public key as authenticators do (RFC 9053). */
function toCoseKey(jwk: JsonWebKey, alg: number): Map<number, unknown> {
  const decodePart = (text: string | undefined) => Uint8Array.fromBase64(text as string, { alphabet: 'base64url' });
  if (jwk.kty === 'OKP')
    return new Map<number, unknown>([
      [1, 1],
      [3, alg],
      [-1, 6],
      [-2, decodePart(jwk.x)],
    ]);
  if (jwk.kty === 'RSA')
    return new Map<number, unknown>([
      [1, 3],
      [3, alg],
      [-1, decodePart(jwk.n)],
      [-2, decodePart(jwk.e)],
    ]);
  const curve = jwk.crv === 'P-384' ? 2 : 1;
  return new Map<number, unknown>([
    [1, 2],
    [3, alg],
    [-1, curve],
    [-2, decodePart(jwk.x)],
    [-3, decodePart(jwk.y)],
  ]);
}

/** Converts a signature of WebCrypto, `r` and `s` one after the other, to DER as authenticators encode it. */
function toDerSignature(signature: Uint8Array): Uint8Array {
  const half = signature.length / 2;
  const integers = [signature.slice(0, half), signature.slice(half)].map((part) => {
    const start = part.findIndex((byte) => byte !== 0);
    const digits = [...part.slice(start)];
    const positiveDigits = (digits[0] as number) >= 0x80 ? [0, ...digits] : digits;
    return [2, positiveDigits.length, ...positiveDigits];
  });
  const body = integers.flat();
  return new Uint8Array([0x30, body.length, ...body]);
}

export const requestRegistrationOptions = (as: Caller, proof: object = { password: PASSWORD }) =>
  as.post('/v1/auth/passkeys/registration-options', { json: proof });

/** Adds a passkey with an authenticator. */
export async function addPasskey(
  as: Caller,
  authenticator: Authenticator,
  {
    faults = {},
    name = 'Laptop',
    env,
  }: { faults?: AuthenticatorFaults; name?: string; env?: Record<string, string> } = {},
) {
  const response = await authenticator.create(await expectSuccess(requestRegistrationOptions(as)), faults);
  return as.post('/v1/auth/passkeys', { json: { name, response, password: PASSWORD }, env });
}

export const requestSignInOptions = (company_slug: string) =>
  expectSuccess(callApi('POST', '/v1/auth/passkeys/authentication-options', { json: { company_slug } }));

export const verifyPasskey = (company_slug: string, response: unknown, env?: Record<string, string>) =>
  callApi('POST', '/v1/auth/passkeys/verify', { json: { company_slug, response }, env });

/** Signs in with the passkey of an authenticator. */
export async function signInWithPasskey(
  company_slug: string,
  authenticator: Authenticator,
  faults: AuthenticatorFaults = {},
  env?: Record<string, string>,
) {
  return verifyPasskey(company_slug, await authenticator.get(await requestSignInOptions(company_slug), faults), env);
}
