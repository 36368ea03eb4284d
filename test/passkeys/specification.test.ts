import { createECDH, createPrivateKey, hkdfSync, sign } from 'node:crypto';
import { isoCBOR } from '@simplewebauthn/server/helpers';
import { describe, expect, it } from 'vitest';
import { readAuthentication, readRegistration } from '../../src/modules/passkeys/responses.ts';

/**
 * The test vectors of WebAuthn Level 3 (§ "Test Vectors") for credentials that come without certificates. The specification says how
 * each value follows from a name by HKDF, so they are made here. Signatures have a nonce of their own.
 */
const RP_ID = 'example.org';
const ORIGIN = `https://${RP_ID}`;
const OTHER_ORIGIN = 'https://example.com';
const FLAGS = { present: 0x01, verified: 0x04, eligible: 0x08, backedUp: 0x10, attested: 0x40 };

/** Values of a vector, one after the other. */
function valuesOf(name: string) {
  let salt = 0;
  return (length: number): Buffer => {
    const value = hkdfSync('sha256', 'WebAuthn test vectors', Buffer.from([salt]), name, length);
    salt += 1;
    return Buffer.from(value);
  };
}

const hash = async (bytes: Uint8Array) => Buffer.from(await crypto.subtle.digest('SHA-256', bytes as BufferSource));
const url = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64url');

interface Vector {
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
}: Vector) {
  const next = valuesOf(name);
  const clientData = (type: string, challenge: Buffer) => {
    const extra = ((next(1)[0] as number) & 1) === 1 ? next(16) : null;
    return Buffer.from(
      JSON.stringify({
        type,
        challenge: url(challenge),
        origin: ORIGIN,
        crossOrigin,
        ...(topOrigin && { topOrigin: OTHER_ORIGIN }),
        ...(extra && {
          extraData: `clientDataJSON may be extended with additional fields in the future, such as this: ${url(extra)}`,
        }),
      }),
    );
  };
  const registered = next(32);
  const secret = next(32);
  const created = clientData('webauthn.create', registered);
  const aaguid = next(16);
  const id = next(idLength);
  const asked = next(1)[0] as number;
  const flags = FLAGS.present | (asked & FLAGS.verified) | (asked & FLAGS.eligible);
  const backedUp = (flags & FLAGS.eligible) !== 0 ? asked & FLAGS.backedUp : 0;

  const curve = createECDH('prime256v1');
  curve.setPrivateKey(secret);
  const point = curve.getPublicKey();
  const [x, y] = [point.subarray(1, 33), point.subarray(33)];
  const jwk = { kty: 'EC', crv: 'P-256', d: url(secret), x: url(x), y: url(y) };
  const key = createPrivateKey({ key: jwk, format: 'jwk' });
  const signed = async (data: Buffer, client: Buffer) => sign('sha256', Buffer.concat([data, await hash(client)]), key);

  const rpIdHash = await hash(Buffer.from(RP_ID));
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
  const head = (bits: number) => Buffer.concat([rpIdHash, Buffer.from([bits]), counter]);
  const authData = Buffer.concat([head(flags | backedUp | FLAGS.attested), aaguid, length, id, cose]);
  const statement = new Map<string, unknown>(
    isSelfAttested
      ? [
          ['alg', -7],
          ['sig', new Uint8Array(await signed(authData, created))],
        ]
      : [],
  );
  const attestation = new Map<string, unknown>([
    ['fmt', isSelfAttested ? 'packed' : 'none'],
    ['attStmt', statement],
    ['authData', new Uint8Array(authData)],
  ]);

  const authenticated = next(32);
  const got = clientData('webauthn.get', authenticated);
  const later = next(1)[0] as number;
  const isEligible = (flags & FLAGS.eligible) !== 0;
  const bits =
    FLAGS.present |
    (later & FLAGS.verified) |
    (isEligible ? FLAGS.eligible : 0) |
    (isEligible ? later & FLAGS.backedUp : 0);
  const credential = { id: url(id), rawId: url(id), type: 'public-key' as const, clientExtensionResults: {} };
  return {
    registered,
    authenticated,
    isVerified: { created: (flags & FLAGS.verified) !== 0, got: (bits & FLAGS.verified) !== 0 },
    registration: {
      ...credential,
      response: { clientDataJSON: url(created), attestationObject: url(isoCBOR.encode(attestation as never)) },
    },
    authentication: {
      ...credential,
      response: {
        clientDataJSON: url(got),
        authenticatorData: url(head(bits)),
        signature: url(await signed(head(bits), got)),
      },
    },
    passkey: { credentialId: url(id), publicKey: url(cose), counter: 0, isSyncable: isEligible },
  };
}

const expectedOf = (challenge: Buffer) => ({
  expectedChallenge: async (encoded: string) => encoded === url(challenge),
  expectedOrigin: [ORIGIN],
  expectedRPID: RP_ID,
});
/** What reading comes to: the credential, or refused. */
const outcome = (work: Promise<unknown>) => work.then(Boolean, () => false);

const VECTORS: Vector[] = [
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
    expect(await outcome(readRegistration(expectedOf(registered), registration as never))).toBe(isVerified.created);
    const isTaken = await outcome(readAuthentication(expectedOf(authenticated), authentication as never, passkey));
    // A page of others that frames ours signs nobody in.
    expect(isTaken).toBe(isVerified.got && !vector.topOrigin);
  });

  it('is refused for any other challenge', async () => {
    const { registered, authenticated, registration, authentication, passkey } = await createCredential(vector);
    expect(await outcome(readRegistration(expectedOf(authenticated), registration as never))).toBe(false);
    expect(await outcome(readAuthentication(expectedOf(registered), authentication as never, passkey))).toBe(false);
  });
});
