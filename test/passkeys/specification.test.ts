import { createECDH, createPrivateKey, hkdfSync, sign } from 'node:crypto';
import { isoCBOR } from '@simplewebauthn/server/helpers';
import { describe, expect, it } from 'vitest';
import { readAuthentication, readRegistration } from '../../src/modules/passkeys/responses.ts';

/**
 * This file tests the vectors of WebAuthn Level 3 (§ "Test Vectors") for credentials without certificates. The
 * specification defines how each value is derived from a name by HKDF, so the tests derive them. Signatures have a
 * nonce of their own.
 */
const RP_ID = 'example.org';
const ORIGIN = `https://${RP_ID}`;
const OTHER_ORIGIN = 'https://example.com';
const AUTHENTICATOR_FLAGS = { present: 0x01, verified: 0x04, eligible: 0x08, backedUp: 0x10, attested: 0x40 };

/** Returns a function that derives the values of a vector, one after another. */
function deriveValues(name: string) {
  let salt = 0;
  return (length: number): Buffer => {
    const value = hkdfSync('sha256', 'WebAuthn test vectors', Buffer.from([salt]), name, length);
    salt += 1;
    return Buffer.from(value);
  };
}

const hashSha256 = async (bytes: Uint8Array) =>
  Buffer.from(await crypto.subtle.digest('SHA-256', bytes as BufferSource));
const encodeBase64Url = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64url');

interface TestVector {
  name: string;
  isSelfAttested?: boolean;
  crossOrigin?: boolean;
  topOrigin?: boolean;
  idLength?: number;
}

async function createCredential({
  name,
  isSelfAttested = false,
  crossOrigin = false,
  topOrigin = false,
  idLength = 32,
}: TestVector) {
  const deriveNext = deriveValues(name);
  const makeClientData = (type: string, challenge: Buffer) => {
    const extra = ((deriveNext(1)[0] as number) & 1) === 1 ? deriveNext(16) : null;
    return Buffer.from(
      JSON.stringify({
        type,
        challenge: encodeBase64Url(challenge),
        origin: ORIGIN,
        crossOrigin,
        ...(topOrigin && { topOrigin: OTHER_ORIGIN }),
        ...(extra && {
          extraData: `clientDataJSON may be extended with additional fields in the future, such as this: ${encodeBase64Url(extra)}`,
        }),
      }),
    );
  };
  const registrationChallenge = deriveNext(32);
  const secret = deriveNext(32);
  const creationData = makeClientData('webauthn.create', registrationChallenge);
  const aaguid = deriveNext(16);
  const id = deriveNext(idLength);
  const requestedFlags = deriveNext(1)[0] as number;
  const flags =
    AUTHENTICATOR_FLAGS.present |
    (requestedFlags & AUTHENTICATOR_FLAGS.verified) |
    (requestedFlags & AUTHENTICATOR_FLAGS.eligible);
  const backedUpFlag = (flags & AUTHENTICATOR_FLAGS.eligible) !== 0 ? requestedFlags & AUTHENTICATOR_FLAGS.backedUp : 0;

  const curve = createECDH('prime256v1');
  curve.setPrivateKey(secret);
  const point = curve.getPublicKey();
  const [x, y] = [point.subarray(1, 33), point.subarray(33)];
  const jwk = { kty: 'EC', crv: 'P-256', d: encodeBase64Url(secret), x: encodeBase64Url(x), y: encodeBase64Url(y) };
  const key = createPrivateKey({ key: jwk, format: 'jwk' });
  const signData = async (data: Buffer, client: Buffer) =>
    sign('sha256', Buffer.concat([data, await hashSha256(client)]), key);

  const rpIdHash = await hashSha256(Buffer.from(RP_ID));
  const length = Buffer.alloc(2);
  length.writeUInt16BE(id.length);
  const cose = isoCBOR.encode(
    new Map<number, number | Uint8Array>([
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, new Uint8Array(x)],
      [-3, new Uint8Array(y)],
    ]) as never,
  );
  const counter = Buffer.alloc(4);
  const makeHead = (bits: number) => Buffer.concat([rpIdHash, Buffer.from([bits]), counter]);
  const authData = Buffer.concat([
    makeHead(flags | backedUpFlag | AUTHENTICATOR_FLAGS.attested),
    aaguid,
    length,
    id,
    cose,
  ]);
  const statement = new Map<string, unknown>(
    isSelfAttested
      ? [
          ['alg', -7],
          ['sig', new Uint8Array(await signData(authData, creationData))],
        ]
      : [],
  );
  const attestation = new Map<string, unknown>([
    ['fmt', isSelfAttested ? 'packed' : 'none'],
    ['attStmt', statement],
    ['authData', new Uint8Array(authData)],
  ]);

  const authenticationChallenge = deriveNext(32);
  const assertionClientData = makeClientData('webauthn.get', authenticationChallenge);
  const laterFlags = deriveNext(1)[0] as number;
  const isEligible = (flags & AUTHENTICATOR_FLAGS.eligible) !== 0;
  const bits =
    AUTHENTICATOR_FLAGS.present |
    (laterFlags & AUTHENTICATOR_FLAGS.verified) |
    (isEligible ? AUTHENTICATOR_FLAGS.eligible : 0) |
    (isEligible ? laterFlags & AUTHENTICATOR_FLAGS.backedUp : 0);
  const credential = {
    id: encodeBase64Url(id),
    rawId: encodeBase64Url(id),
    type: 'public-key' as const,
    clientExtensionResults: {},
  };
  return {
    registered: registrationChallenge,
    authenticated: authenticationChallenge,
    isVerified: {
      created: (flags & AUTHENTICATOR_FLAGS.verified) !== 0,
      got: (bits & AUTHENTICATOR_FLAGS.verified) !== 0,
    },
    registration: {
      ...credential,
      response: {
        clientDataJSON: encodeBase64Url(creationData),
        attestationObject: encodeBase64Url(isoCBOR.encode(attestation as never)),
      },
    },
    authentication: {
      ...credential,
      response: {
        clientDataJSON: encodeBase64Url(assertionClientData),
        authenticatorData: encodeBase64Url(makeHead(bits)),
        signature: encodeBase64Url(await signData(makeHead(bits), assertionClientData)),
      },
    },
    passkey: {
      credentialId: encodeBase64Url(id),
      publicKey: encodeBase64Url(cose),
      counter: 0,
      isSyncable: isEligible,
    },
  };
}

const makeExpectations = (challenge: Buffer) => ({
  expectedChallenge: async (encoded: string) => encoded === encodeBase64Url(challenge),
  expectedOrigin: [ORIGIN],
  expectedRPID: RP_ID,
});
/** Returns whether reading the credential succeeded. */
const didSucceed = (work: Promise<unknown>) => work.then(Boolean, () => false);

const VECTORS: TestVector[] = [
  { name: 'none.ES256' },
  { name: 'packed-self.ES256', isSelfAttested: true },
  { name: 'none.ES256.crossOrigin', crossOrigin: true },
  { name: 'none.ES256.topOrigin', crossOrigin: true, topOrigin: true },
  { name: 'none.ES256.long-credential-id', idLength: 1023 },
];

describe.each(VECTORS)('the test vector $name of WebAuthn', (vector) => {
  it('is accepted if it verified the user, and refused otherwise', async () => {
    const { registered, authenticated, registration, authentication, passkey, isVerified } =
      await createCredential(vector);
    expect(await didSucceed(readRegistration(makeExpectations(registered), registration as never))).toBe(
      isVerified.created,
    );
    const isAccepted = await didSucceed(
      readAuthentication(makeExpectations(authenticated), authentication as never, passkey),
    );
    // A page of others that frames ours signs nobody in.
    expect(isAccepted).toBe(isVerified.got && !vector.topOrigin);
  });

  it('is refused for any other challenge', async () => {
    const { registered, authenticated, registration, authentication, passkey } = await createCredential(vector);
    expect(await didSucceed(readRegistration(makeExpectations(authenticated), registration as never))).toBe(false);
    expect(await didSucceed(readAuthentication(makeExpectations(registered), authentication as never, passkey))).toBe(
      false,
    );
  });
});
