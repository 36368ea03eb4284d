import { malformedSignatureHeader, missingSignatureHeader } from '../../access/signature-failures.ts';
import type { Authenticate } from '../../context.ts';

/**
 * The exact forms of the signature headers. A header sent twice arrives joined by `, `, and no form admits a space there: so a
 * doubled header never matches.
 */
const AUTHORIZATION_PATTERN = /^HMAC ([\w-]{1,128}):([0-9a-f]{64})$/;
const UTC_DATE_PATTERN = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|\+00:00)$/;
const NONCE_PATTERN = /^[\x21-\x7e]{8,128}$/;
const DIGEST_PATTERN = /^[0-9a-f]{64}$/;

/** A request in the form that `Authenticate` functions receive. */
export type IncomingRequest = Parameters<Authenticate>[1];

/** The well-formed signature headers of a request. */
export interface SignatureHeaders {
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
export function readSignatureHeaders(request: IncomingRequest): SignatureHeaders {
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

/**
 * Parses a date to milliseconds since the epoch; undefined for a text that is no date: `Date.parse` takes the thirtieth of
 * February.
 */
function parseTimestamp(date: string): number | undefined {
  if (!UTC_DATE_PATTERN.test(date)) return undefined;
  const ms = Date.parse(date);
  return new Date(ms).getUTCDate() === Number(date.slice(8, 10)) ? ms : undefined;
}
