import { isoCBOR } from '@simplewebauthn/server/helpers';
import { concatBytes } from '../../src/kernel/bytes.ts';
import type { Caller } from './api.ts';
import { call } from './api.ts';
import { must } from './signed.ts';
import { PASSWORD } from './worlds.ts';

const ORIGIN = 'https://console.test';
/** User present, user verified, attested credential data; may be copied, is copied. */
const UP = 0x01;
const UV = 0x04;
const BE = 0x08;
const BS = 0x10;
const AT = 0x40;

const base64Url = (bytes: Uint8Array): string => bytes.toBase64({ alphabet: 'base64url', omitPadding: true });
const encodeText = (text: string) => new TextEncoder().encode(text);
const sha256 = async (bytes: Uint8Array): Promise<Uint8Array<ArrayBuffer>> =>
  new Uint8Array(await crypto.subtle.digest('SHA-256', bytes as BufferSource));

/** What is otherwise than with a sound authenticator on the right page. */
export interface AuthenticatorFaults {
  origin?: string;
  rpId?: string;
  type?: string;
  challenge?: string;
  isVerified?: boolean;
  isPresent?: boolean;
  isSyncable?: boolean;
  counter?: number;
  /** Changes what was signed afterwards. */
  isForged?: boolean;
  userHandle?: string | null;
  fmt?: string;
  crossOriginFrom?: string;
}

const KEYS = {
  ES256: { alg: -7, key: { name: 'ECDSA', namedCurve: 'P-256' }, sign: { name: 'ECDSA', hash: 'SHA-256' } },
  ES384: { alg: -35, key: { name: 'ECDSA', namedCurve: 'P-384' }, sign: { name: 'ECDSA', hash: 'SHA-384' } },
  EdDSA: { alg: -8, key: { name: 'Ed25519' }, sign: { name: 'Ed25519' } },
  RS256: {
    alg: -257,
    key: { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256', modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]) },
    sign: { name: 'RSASSA-PKCS1-v1_5' },
  },
} as const;
export type KeyKind = keyof typeof KEYS;

/** An authenticator with one credential, made in answer to options. It counts its signatures, as those with a chip do. */
export async function createAuthenticator(kind: KeyKind = 'ES256', always: AuthenticatorFaults = {}) {
  const { alg, key, sign } = KEYS[kind];
  const { publicKey, privateKey } = (await crypto.subtle.generateKey(key, true, ['sign', 'verify'])) as CryptoKeyPair;
  const jwk = (await crypto.subtle.exportKey('jwk', publicKey)) as JsonWebKey;
  const id = crypto.getRandomValues(new Uint8Array(32));
  let counter = 0;
  let handle = '';

  const clientData = (type: string, challenge: string, odd: AuthenticatorFaults) =>
    encodeText(
      JSON.stringify({
        type: odd.type ?? type,
        challenge: odd.challenge ?? challenge,
        origin: odd.origin ?? ORIGIN,
        crossOrigin: odd.crossOriginFrom !== undefined,
        ...(odd.crossOriginFrom && { topOrigin: odd.crossOriginFrom }),
      }),
    );
  const authenticatorData = async (rpId: string, odd: AuthenticatorFaults, attested?: Uint8Array) => {
    const { isVerified = true, isPresent = true, isSyncable = false } = odd;
    const flags =
      (isPresent ? UP : 0) | (isVerified ? UV : 0) | (isSyncable ? BE | BS : 0) | (attested === undefined ? 0 : AT);
    const count = new Uint8Array(4);
    new DataView(count.buffer).setUint32(0, odd.counter ?? counter);
    const head = [await sha256(encodeText(odd.rpId ?? rpId)), new Uint8Array([flags]), count];
    return concatBytes([...head, attested ?? new Uint8Array()]);
  };

  return {
    credentialId: base64Url(id),
    /** What `navigator.credentials.create` answers. */
    // biome-ignore lint/suspicious/noExplicitAny: the options are the answer of a route.
    async create(options: any, more: AuthenticatorFaults = {}) {
      const odd = { ...always, ...more };
      handle = options.user.id;
      const cose = isoCBOR.encode(toCoseKey(jwk, alg) as never);
      const length = new Uint8Array([0, id.length]);
      const attested = concatBytes([new Uint8Array(16), length, id, cose]);
      const attestation = new Map<string, unknown>([
        ['fmt', odd.fmt ?? 'none'],
        ['attStmt', new Map()],
        ['authData', await authenticatorData(options.rp.id, odd, attested)],
      ]);
      return {
        id: base64Url(id),
        rawId: base64Url(id),
        type: 'public-key',
        clientExtensionResults: { credProps: { rk: true } },
        authenticatorAttachment: 'platform',
        response: {
          clientDataJSON: base64Url(clientData('webauthn.create', options.challenge, odd)),
          attestationObject: base64Url(isoCBOR.encode(attestation as never)),
          transports: ['internal'],
        },
      };
    },
    /** What `navigator.credentials.get` answers. */
    async get(options: { challenge: string; rpId: string }, more: AuthenticatorFaults = {}) {
      const odd = { ...always, ...more };
      counter += 1;
      const client = clientData('webauthn.get', options.challenge, odd);
      const data = await authenticatorData(options.rpId, odd);
      const signed = concatBytes([data, await sha256(client)]);
      const signature = new Uint8Array(await crypto.subtle.sign(sign, privateKey, signed));
      const written = key.name === 'ECDSA' ? toDerSignature(signature) : signature;
      if (odd.isForged) written[written.length - 1] = (written.at(-1) as number) ^ 1;
      return {
        id: base64Url(id),
        rawId: base64Url(id),
        type: 'public-key',
        clientExtensionResults: {},
        response: {
          clientDataJSON: base64Url(client),
          authenticatorData: base64Url(data),
          signature: base64Url(written),
          userHandle: odd.userHandle === undefined ? handle : odd.userHandle,
        },
      };
    },
  };
}

export type Authenticator = Awaited<ReturnType<typeof createAuthenticator>>;

/** A public key as authenticators write it (RFC 9053). */
function toCoseKey(jwk: JsonWebKey, alg: number): Map<number, unknown> {
  const part = (text: string | undefined) => Uint8Array.fromBase64(text as string, { alphabet: 'base64url' });
  if (jwk.kty === 'OKP')
    return new Map<number, unknown>([
      [1, 1],
      [3, alg],
      [-1, 6],
      [-2, part(jwk.x)],
    ]);
  if (jwk.kty === 'RSA')
    return new Map<number, unknown>([
      [1, 3],
      [3, alg],
      [-1, part(jwk.n)],
      [-2, part(jwk.e)],
    ]);
  const curve = jwk.crv === 'P-384' ? 2 : 1;
  return new Map<number, unknown>([
    [1, 2],
    [3, alg],
    [-1, curve],
    [-2, part(jwk.x)],
    [-3, part(jwk.y)],
  ]);
}

/** A signature of WebCrypto, `r` and `s` one after the other, in DER as authenticators write it. */
function toDerSignature(signature: Uint8Array): Uint8Array {
  const half = signature.length / 2;
  const integers = [signature.slice(0, half), signature.slice(half)].map((part) => {
    const start = part.findIndex((byte) => byte !== 0);
    const digits = [...part.slice(start)];
    const positive = (digits[0] as number) >= 0x80 ? [0, ...digits] : digits;
    return [2, positive.length, ...positive];
  });
  const body = integers.flat();
  return new Uint8Array([0x30, body.length, ...body]);
}

export const requestRegistrationOptions = (as: Caller, proof: object = { password: PASSWORD }) =>
  as.post('/v1/auth/passkeys/registration-options', { json: proof });

/** Adds a passkey of an authenticator. */
export async function addPasskey(
  as: Caller,
  authenticator: Authenticator,
  { odd = {}, name = 'Laptop', env }: { odd?: AuthenticatorFaults; name?: string; env?: Record<string, string> } = {},
) {
  const response = await authenticator.create(await must(requestRegistrationOptions(as)), odd);
  return as.post('/v1/auth/passkeys', { json: { name, response, password: PASSWORD }, ...(env && { env }) });
}

export const requestSignInOptions = (company_slug: string) =>
  must(call('POST', '/v1/auth/passkeys/authentication-options', { json: { company_slug } }));

export const verifyPasskey = (company_slug: string, response: unknown, env?: Record<string, string>) =>
  call('POST', '/v1/auth/passkeys/verify', { json: { company_slug, response }, ...(env && { env }) });

/** Signs in with the passkey of an authenticator. */
export async function signInWithPasskey(
  company_slug: string,
  authenticator: Authenticator,
  odd: AuthenticatorFaults = {},
  env?: Record<string, string>,
) {
  return verifyPasskey(company_slug, await authenticator.get(await requestSignInOptions(company_slug), odd), env);
}
