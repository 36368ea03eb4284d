import type { Authenticate } from '../../context.ts';
import { Failure } from '../../kernel/failure.ts';

/**
 * Exact forms. Header fields sent twice arrive joined by `, `, and no form has room for a space there: so a doubled
 * header is never well-formed.
 */
const AUTHORIZATION = /^HMAC ([\w-]{1,128}):([0-9a-f]{64})$/;
const ISO_UTC = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/;
const NONCE = /^[\x21-\x7e]{8,128}$/;
const DIGEST = /^[0-9a-f]{64}$/;

/** A request as authentication is handed it. */
export type IncomingRequest = Parameters<Authenticate>[1];

/** What the signature headers of a request say, well-formed. */
export interface Signed {
  accessKey: string;
  /** 64 lower-case hex digits. */
  signature: string;
  /** `x-date` as it was sent, and in milliseconds since the epoch. */
  date: string;
  sentAt: number;
  nonce: string;
  /** 64 lower-case hex digits. */
  digest: string;
}

const refused = (reason: 'missing_header' | 'malformed', message: string, field: string) =>
  new Failure('unauthenticated', `signature.${reason}`, { message, field, reason });

/**
 * Reads the four signature headers.
 * @throws Failure `signature.missing_header` or `signature.malformed`, naming the header
 */
export function signedParts(request: IncomingRequest): Signed {
  const authorization = header(request, 'authorization');
  const date = header(request, 'x-date');
  const nonce = header(request, 'x-nonce');
  const digest = header(request, 'x-content-sha256');
  const [, accessKey, signature] = AUTHORIZATION.exec(authorization) ?? [];
  if (accessKey === undefined || signature === undefined) {
    throw refused('malformed', 'Authorization must be `HMAC {access_key}:{signature}`.', 'authorization');
  }
  const sentAt = momentOf(date);
  if (sentAt === undefined) {
    throw refused('malformed', 'x-date must be ISO 8601 in UTC, such as 2026-01-31T12:00:00Z.', 'x-date');
  }
  if (!NONCE.test(nonce)) {
    throw refused('malformed', 'x-nonce must be 8 to 128 printable ASCII characters without spaces.', 'x-nonce');
  }
  if (!DIGEST.test(digest)) {
    throw refused('malformed', 'x-content-sha256 must be a SHA-256 in lower-case hex.', 'x-content-sha256');
  }
  return { accessKey, signature, date, sentAt, nonce, digest };
}

function header(request: IncomingRequest, name: string): string {
  const value = request.header(name);
  if (!value) throw refused('missing_header', `The header ${name} is missing.`, name);
  return value;
}

/** Milliseconds since the epoch, or undefined for what is no date: `Date.parse` takes the thirtieth of February. */
function momentOf(date: string): number | undefined {
  if (!ISO_UTC.test(date)) return undefined;
  const ms = Date.parse(date);
  return new Date(ms).getUTCDate() === Number(date.slice(8, 10)) ? ms : undefined;
}
