import { recordLastUse } from '../../access/last-uses.ts';
import { badSignature, bodyDigestMismatch, clockSkew, unknownKey } from '../../access/signature-failures.ts';
import type { Authenticate } from '../../context.ts';
import { fromHex, sha256Hex } from '../../platform/secrets.ts';
import type { KeyMaterial } from './keys.ts';
import { formatCredential, type KeyProof, toKnown } from './known-key.ts';
import { type IncomingRequest, readSignatureHeaders, type SignatureHeaders } from './signature-headers.ts';
import { deriveVerificationKey } from './signing-keys.ts';
import { readKeyAndAccess } from './store.ts';

/** The maximum that the date of a signed request may differ from ours. Milliseconds. */
const MAX_CLOCK_DIFFERENCE_MS = 300_000;

const DIGEST_OF_NOTHING = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

/**
 * Authenticates a signed request: parse → date → body digest → key → signature. The nonce is checked by the gate. Only the
 * control database knows the owner of a key, or an isolate that has asked it before. How requests are signed:
 * examples/signing/README.md.
 */
export const authenticateSignature: Authenticate = async (ctx, request) => {
  const signed = readSignatureHeaders(request);
  checkDate(signed, ctx.now());
  await checkDigest(signed, request);
  // The body may have taken long to arrive.
  checkDate(signed, ctx.now());

  const verify = async (material: KeyMaterial): Promise<'unusable' | 'bad' | 'good'> => {
    const key = await deriveVerificationKey(ctx.config.KEY_DERIVATION_SECRETS, material);
    if (!key) return 'unusable';
    return (await isSignedWith(key, signed, request)) ? 'good' : 'bad';
  };
  return {
    credential: formatCredential(signed.accessKey),
    claims: null,
    nonce: { accessKey: signed.accessKey, value: signed.nonce, goodUntil: signed.sentAt + MAX_CLOCK_DIFFERENCE_MS },
    fits: async ({ proof }) => (await verify((proof as KeyProof).material)) === 'good',
    async read() {
      const { key, access } = await readKeyAndAccess(ctx.db, signed.accessKey, ctx.now());
      const verified = key ? await verify(key) : 'unusable';
      if (!key || verified === 'unusable') throw unknownKey();
      if (verified === 'bad') throw badSignature(makeStringToSign(request, signed));
      return toKnown(ctx, key, access);
    },
    recordUse: ({ proof }) => recordLastUse(ctx, (proof as KeyProof).lastUse),
  };
};

function checkDate({ sentAt }: SignatureHeaders, now: number): void {
  if (Math.abs(now - sentAt) <= MAX_CLOCK_DIFFERENCE_MS) return;
  throw clockSkew(new Date(now).toISOString());
}

async function checkDigest({ digest }: SignatureHeaders, request: IncomingRequest): Promise<void> {
  const actual = request.raw.body === null ? DIGEST_OF_NOTHING : await sha256Hex(await request.arrayBuffer());
  if (actual !== digest) throw bodyDigestMismatch();
}

/** `verify` compares in constant time. */
const isSignedWith = (key: CryptoKey, signed: SignatureHeaders, request: IncomingRequest): Promise<boolean> =>
  crypto.subtle.verify(
    'HMAC',
    key,
    fromHex(signed.signature),
    new TextEncoder().encode(makeStringToSign(request, signed)),
  );

/** The seven lines that are signed. Path and query as the URL standard serialises them: never decoded, never sorted. */
function makeStringToSign(request: IncomingRequest, { date, nonce, digest }: SignatureHeaders): string {
  const { pathname, search } = new URL(request.url);
  return ['HMAC-SHA256', request.method.toUpperCase(), pathname, search.slice(1), date, nonce, digest].join('\n');
}
