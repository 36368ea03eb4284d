import { compileAccess } from '../../access/evaluation.ts';
import { accessSources } from '../../access/sources.ts';
import type { Authenticate } from '../../context.ts';
import { Failure } from '../../kernel/failure.ts';
import { fromHex, sha256Hex } from '../../platform/secrets.ts';
import { type IncomingRequest, type Signed, signedParts } from './signature-headers.ts';
import { verificationKey } from './signing-keys.ts';
import { readKeyAndAccess } from './store.ts';
import { noteUse } from './usage.ts';

/** How far the date of a signed request may be from ours. */
const CLOCK_MS = 300_000;

const DIGEST_OF_NOTHING = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

type Reason = 'clock_skew' | 'body_digest_mismatch' | 'unknown_key' | 'bad_signature';

const refused = (reason: Reason, message: string, field: string, extra: Record<string, unknown> = {}) =>
  new Failure('unauthenticated', `signature.${reason}`, { message, field, reason, ...extra });

/**
 * Authenticates a signed request: parse → date → body digest → key → signature. The nonce is checked by the gate.
 * One batch to the control database. How requests are signed: examples/signing/README.md.
 * @throws Failure of kind unauthenticated with `details.reason`
 */
export const authenticateSignature: Authenticate = async (ctx, request) => {
  const signed = signedParts(request);
  checkDate(signed, ctx.now());
  await checkDigest(signed, request);
  // The body may have been long in coming.
  checkDate(signed, ctx.now());

  const { key, access } = await readKeyAndAccess(ctx.db, signed.accessKey, ctx.now());
  const verifies =
    key && (await verificationKey(ctx.config.KEY_DERIVATION_SECRETS, { ...key, accessKey: signed.accessKey }));
  if (!key || !verifies) {
    throw refused('unknown_key', 'There is no usable key of this access key.', 'authorization');
  }
  await checkSignature(signed, verifies, request);
  noteUse(ctx, key);
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

function checkDate({ sentAt }: Signed, now: number): void {
  if (Math.abs(now - sentAt) <= CLOCK_MS) return;
  throw refused('clock_skew', 'x-date is more than 300 seconds from our clock.', 'x-date', {
    server_time: new Date(now).toISOString(),
  });
}

async function checkDigest({ digest }: Signed, request: IncomingRequest): Promise<void> {
  const actual = request.raw.body === null ? DIGEST_OF_NOTHING : await sha256Hex(await request.arrayBuffer());
  if (actual === digest) return;
  throw refused('body_digest_mismatch', 'x-content-sha256 is not the digest of the body.', 'x-content-sha256');
}

/** `verify` compares in constant time. */
async function checkSignature(signed: Signed, key: CryptoKey, request: IncomingRequest): Promise<void> {
  const text = stringToSign(request, signed);
  if (await crypto.subtle.verify('HMAC', key, fromHex(signed.signature), new TextEncoder().encode(text))) return;
  throw refused('bad_signature', 'The signature does not fit the request.', 'authorization', { string_to_sign: text });
}

/** The seven lines that are signed. Path and query as the URL standard serialises them: never decoded, never sorted. */
function stringToSign(request: IncomingRequest, { date, nonce, digest }: Signed): string {
  const { pathname, search } = new URL(request.url);
  return ['HMAC-SHA256', request.method.toUpperCase(), pathname, search.slice(1), date, nonce, digest].join('\n');
}
