import { recordLastUse } from '../../access/last-uses.ts';
import {
  badSignature,
  bodyDigestMismatch,
  clockSkew,
  malformedSignatureHeader,
  missingSignatureHeader,
  unknownKey,
} from '../../access/signature-failures.ts';
import type { Authenticate, IncomingRequest } from '../../context.ts';
import { computeSha256Hex, decodeHex } from '../../platform/secrets.ts';
import { formatKeyCacheName, type KeyProof, toCachedPrincipal } from './key-cache.ts';
import { deriveVerificationKey, type KeyDerivationData } from './keys.ts';
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

/** The forms of the signature headers. None admits a space, so a header sent twice (joined by `, `) never matches. */
const AUTHORIZATION_PATTERN = /^HMAC ([\w-]{1,128}):([0-9a-f]{64})$/;
const UTC_DATE_PATTERN = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|\+00:00)$/;
const NONCE_PATTERN = /^[\x21-\x7e]{8,128}$/;
const DIGEST_PATTERN = /^[0-9a-f]{64}$/;

/** The well-formed signature headers of a request. */
interface SignatureHeaders {
  accessKey: string;
  /** The signature: 64 lower-case hex digits. */
  signature: string;
  /** The text of the header `x-date`. */
  date: string;
  /** The time in the header `x-date`, in milliseconds since the epoch. */
  sentAt: number;
  nonce: string;
  /** The header `x-content-sha256`, the SHA-256 of the body: 64 lower-case hex digits. */
  digest: string;
}

/** Reads the four signature headers. */
function readSignatureHeaders(request: IncomingRequest): SignatureHeaders {
  const authorization = readHeader(request, 'authorization');
  const date = readHeader(request, 'x-date');
  const nonce = readHeader(request, 'x-nonce');
  const digest = readHeader(request, 'x-content-sha256');
  const [, accessKey, signature] = AUTHORIZATION_PATTERN.exec(authorization) ?? [];
  if (accessKey === undefined || signature === undefined) {
    throw malformedSignatureHeader('authorization', 'Authorization must be `HMAC {access_key}:{signature}`.');
  }
  const sentAt = parseTimestamp(date);
  if (sentAt === undefined) {
    throw malformedSignatureHeader(
      'x-date',
      'x-date must be ISO 8601 in UTC, such as 2026-01-31T12:00:00Z or 2026-01-31T12:00:00.123456+00:00.',
    );
  }
  if (!NONCE_PATTERN.test(nonce)) {
    throw malformedSignatureHeader('x-nonce', 'x-nonce must be 8 to 128 printable ASCII characters without spaces.');
  }
  if (!DIGEST_PATTERN.test(digest)) {
    throw malformedSignatureHeader('x-content-sha256', 'x-content-sha256 must be a SHA-256 in lower-case hex.');
  }
  return { accessKey, signature, date, sentAt, nonce, digest };
}

function readHeader(request: IncomingRequest, name: string): string {
  const value = request.header(name);
  if (!value) throw missingSignatureHeader(name);
  return value;
}

/** Parses a date to milliseconds; undefined for none: `Date.parse` takes the thirtieth of February. */
function parseTimestamp(date: string): number | undefined {
  if (!UTC_DATE_PATTERN.test(date)) return undefined;
  const ms = Date.parse(date);
  return new Date(ms).getUTCDate() === Number(date.slice(8, 10)) ? ms : undefined;
}
