import { recordLastUse } from '../../access/last-uses.ts';
import { badSignature, bodyDigestMismatch, clockSkew, unknownKey } from '../../access/signature-failures.ts';
import type { Authenticate } from '../../context.ts';
import { computeSha256Hex, decodeHex } from '../../platform/secrets.ts';
import { formatKeyCacheName, type KeyProof, toCachedPrincipal } from './key-cache.ts';
import type { KeyDerivationData } from './keys.ts';
import { type IncomingRequest, readSignatureHeaders, type SignatureHeaders } from './signature-headers.ts';
import { deriveVerificationKey } from './signing-keys.ts';
import { readKeyAndAccess } from './store.ts';

/** The maximum difference between the date of a signed request and the server's clock. Milliseconds. */
const MAX_CLOCK_DIFFERENCE_MS = 300_000;

const EMPTY_BODY_DIGEST = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

/**
 * Authenticates a signed request by its headers, date, body digest, key and signature, checked in this order. The nonce
 * is checked later by the `OrganizationGate` object. The owner of a key is read from the control database or from the
 * isolate's cache. How requests are signed: examples/signing/README.md.
 */
export const authenticateSignature: Authenticate = async (ctx, request) => {
  const signatureHeaders = readSignatureHeaders(request);
  checkDate(signatureHeaders, ctx.now());
  await checkBodyDigest(signatureHeaders, request);
  // The body may have taken long to arrive.
  checkDate(signatureHeaders, ctx.now());

  const verifySignature = async (material: KeyDerivationData): Promise<'unusable' | 'bad' | 'good'> => {
    const key = await deriveVerificationKey(ctx.config.KEY_DERIVATION_SECRETS, material);
    if (!key) return 'unusable';
    return (await isSignedWith(key, signatureHeaders, request)) ? 'good' : 'bad';
  };
  return {
    credential: formatKeyCacheName(signatureHeaders.accessKey),
    claims: null,
    nonce: {
      accessKey: signatureHeaders.accessKey,
      value: signatureHeaders.nonce,
      goodUntil: signatureHeaders.sentAt + MAX_CLOCK_DIFFERENCE_MS,
    },
    matchesPrincipal: async ({ proof }) => (await verifySignature((proof as KeyProof).derivationData)) === 'good',
    async readPrincipal() {
      const { key, access } = await readKeyAndAccess(ctx.db, signatureHeaders.accessKey, ctx.now());
      const signatureVerdict = key ? await verifySignature(key) : 'unusable';
      if (!key || signatureVerdict === 'unusable') throw unknownKey();
      if (signatureVerdict === 'bad') throw badSignature(makeStringToSign(request, signatureHeaders));
      return toCachedPrincipal(ctx, key, access);
    },
    recordUse: ({ proof }) => recordLastUse(ctx, (proof as KeyProof).lastUse),
  };
};

function checkDate({ sentAt }: SignatureHeaders, now: number): void {
  if (Math.abs(now - sentAt) <= MAX_CLOCK_DIFFERENCE_MS) return;
  throw clockSkew(new Date(now).toISOString());
}

async function checkBodyDigest({ digest }: SignatureHeaders, request: IncomingRequest): Promise<void> {
  const actualDigest =
    request.raw.body === null ? EMPTY_BODY_DIGEST : await computeSha256Hex(await request.arrayBuffer());
  if (actualDigest !== digest) throw bodyDigestMismatch();
}

/** Tells whether the key made the request's signature; `verify` compares in constant time. */
const isSignedWith = (key: CryptoKey, signatureHeaders: SignatureHeaders, request: IncomingRequest): Promise<boolean> =>
  crypto.subtle.verify(
    'HMAC',
    key,
    decodeHex(signatureHeaders.signature),
    new TextEncoder().encode(makeStringToSign(request, signatureHeaders)),
  );

/** Makes the seven lines that are signed. Path and query are serialised by the URL standard: never decoded, never sorted. */
function makeStringToSign(request: IncomingRequest, { date, nonce, digest }: SignatureHeaders): string {
  const { pathname, search } = new URL(request.url);
  return ['HMAC-SHA256', request.method.toUpperCase(), pathname, search.slice(1), date, nonce, digest].join('\n');
}
