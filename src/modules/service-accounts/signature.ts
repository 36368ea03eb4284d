import type { HonoRequest } from 'hono';
import type { Authenticate } from '../../http/guard.ts';
import { Failure } from '../../kernel/failure.ts';
import { compileAccess } from '../../kernel/policy.ts';
import { hmacSha256, sameSecret, sha256Hex, toHex } from '../../platform/secrets.ts';
import { accessSources } from '../policies/service.ts';
import { derive } from './keys.ts';
import { readKeyAndAccess } from './store.ts';

/** How far the date of a signed request may be from ours. */
const CLOCK_MS = 300_000;
const ISO_UTC = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/;
const NONCE = /^[\x21-\x7e]{8,128}$/;
const DIGEST = /^[0-9a-f]{64}$/;
const AUTHORIZATION = /^HMAC (sa_[a-z0-9-]+_([0-9a-f]{24})_[a-z2-7]{20}):([0-9a-f]{64})$/;

type Reason =
  | 'missing_header'
  | 'malformed'
  | 'clock_skew'
  | 'body_digest_mismatch'
  | 'unknown_key'
  | 'bad_signature';

const refused = (reason: Reason, message: string, field: string, extra: Record<string, unknown> = {}) =>
  new Failure('unauthenticated', `signature.${reason}`, { message, field, reason, ...extra });

/** What the signature headers of a request say, well-formed. */
interface Signed {
  accessKey: string;
  signature: string;
  date: string;
  nonce: string;
  digest: string;
}

/**
 * Authenticates a signed request: parse → date → body digest → key → signature. The nonce is checked by the gate.
 * One batch to the control database.
 * @throws Failure of kind unauthenticated with `details.reason`
 */
export const authenticateSignature: Authenticate = async (ctx, request) => {
  const signed = parse(request);
  const sentAt = Date.parse(signed.date);
  if (Number.isNaN(sentAt)) throw refused('malformed', 'x-date is not a date.', 'x-date');
  if (Math.abs(ctx.now() - sentAt) > CLOCK_MS) {
    throw refused('clock_skew', 'x-date is more than 300 seconds from our clock.', 'x-date', {
      server_time: new Date(ctx.now()).toISOString(),
    });
  }
  if ((await sha256Hex(await request.arrayBuffer())) !== signed.digest) {
    throw refused('body_digest_mismatch', 'x-content-sha256 is not the digest of the body.', 'x-content-sha256');
  }

  const { key, access } = await readKeyAndAccess(ctx.db, signed.accessKey, ctx.now());
  const master = key && ctx.config.KEY_DERIVATION_SECRETS[key.derivationVersion];
  if (!key || !master) throw unknownKey();
  const secretKey = await derive(master, signed.accessKey, key.salt);
  if ((await sha256Hex(secretKey)) !== key.secretDigest) throw unknownKey();

  const text = stringToSign(request, signed);
  const expected = toHex(await hmacSha256(secretKey, text));
  if (!(await sameSecret(expected, signed.signature))) {
    throw refused('bad_signature', 'The signature does not fit the request.', 'authorization', { string_to_sign: text });
  }
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
    nonce: { accessKey: signed.accessKey, value: signed.nonce, expiresAt: sentAt + CLOCK_MS },
  };
};

const unknownKey = () => refused('unknown_key', 'There is no usable key of this access key.', 'authorization');

/** The seven lines that are signed. Path and query as the URL standard serialises them: never decoded, never sorted. */
function stringToSign(request: HonoRequest, { date, nonce, digest }: Signed): string {
  const { pathname, search } = new URL(request.url);
  return ['HMAC-SHA256', request.method.toUpperCase(), pathname, search.slice(1), date, nonce, digest].join('\n');
}

function parse(request: HonoRequest): Signed {
  const header = (name: string): string => {
    const value = request.header(name);
    if (!value) throw refused('missing_header', `The header ${name} is missing.`, name);
    return value;
  };
  const authorization = header('authorization');
  const date = header('x-date');
  const nonce = header('x-nonce');
  const digest = header('x-content-sha256');
  const parts = AUTHORIZATION.exec(authorization);
  if (!parts) {
    throw refused('malformed', 'Authorization must be `HMAC {access_key}:{signature}`.', 'authorization');
  }
  if (!ISO_UTC.test(date)) throw refused('malformed', 'x-date must be ISO 8601 in UTC.', 'x-date');
  if (!NONCE.test(nonce)) throw refused('malformed', 'x-nonce must be 8 to 128 printable ASCII characters.', 'x-nonce');
  if (!DIGEST.test(digest)) throw refused('malformed', 'x-content-sha256 must be a hex SHA-256.', 'x-content-sha256');
  return { accessKey: parts[1] as string, signature: parts[3] as string, date, nonce, digest };
}
