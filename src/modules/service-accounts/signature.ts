import { compileAccess } from '../../access/evaluation.ts';
import { badSignature, bodyDigestMismatch, clockSkew, unknownKey } from '../../access/signature-failures.ts';
import { accessSources } from '../../access/sources.ts';
import type { Authenticate } from '../../context.ts';
import { fromHex, sha256Hex } from '../../platform/secrets.ts';
import { type IncomingRequest, readSignatureHeaders, type SignatureHeaders } from './signature-headers.ts';
import { verificationKey } from './signing-keys.ts';
import { readKeyAndAccess } from './store.ts';
import { recordUse } from './usage.ts';

/** How far the date of a signed request may be from ours. */
const CLOCK_MS = 300_000;

const DIGEST_OF_NOTHING = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

/**
 * Authenticates a signed request: parse → date → body digest → key → signature. The nonce is checked by the gate.
 * One batch to the control database. How requests are signed: examples/signing/README.md.
 */
export const authenticateSignature: Authenticate = async (ctx, request) => {
  const signed = readSignatureHeaders(request);
  checkDate(signed, ctx.now());
  await checkDigest(signed, request);
  // The body may have taken long to arrive.
  checkDate(signed, ctx.now());

  const { key, access } = await readKeyAndAccess(ctx.db, signed.accessKey, ctx.now());
  const verifies =
    key && (await verificationKey(ctx.config.KEY_DERIVATION_SECRETS, { ...key, accessKey: signed.accessKey }));
  if (!key || !verifies) throw unknownKey();
  await checkSignature(signed, verifies, request);
  recordUse(ctx, key);
  return {
    actor: {
      kind: 'service_account',
      id: key.serviceAccountId,
      companyId: key.companyId,
      companySlug: key.companySlug,
      accountId: key.accountId,
      keyId: key.id,
      access: compileAccess(accessSources(key.companyId, false, access)),
    },
    nonce: { accessKey: signed.accessKey, value: signed.nonce, goodUntil: signed.sentAt + CLOCK_MS },
  };
};

function checkDate({ sentAt }: SignatureHeaders, now: number): void {
  if (Math.abs(now - sentAt) <= CLOCK_MS) return;
  throw clockSkew(new Date(now).toISOString());
}

async function checkDigest({ digest }: SignatureHeaders, request: IncomingRequest): Promise<void> {
  const actual = request.raw.body === null ? DIGEST_OF_NOTHING : await sha256Hex(await request.arrayBuffer());
  if (actual !== digest) throw bodyDigestMismatch();
}

/** `verify` compares in constant time. */
async function checkSignature(signed: SignatureHeaders, key: CryptoKey, request: IncomingRequest): Promise<void> {
  const text = stringToSign(request, signed);
  if (await crypto.subtle.verify('HMAC', key, fromHex(signed.signature), new TextEncoder().encode(text))) return;
  throw badSignature(text);
}

/** The seven lines that are signed. Path and query as the URL standard serialises them: never decoded, never sorted. */
function stringToSign(request: IncomingRequest, { date, nonce, digest }: SignatureHeaders): string {
  const { pathname, search } = new URL(request.url);
  return ['HMAC-SHA256', request.method.toUpperCase(), pathname, search.slice(1), date, nonce, digest].join('\n');
}
