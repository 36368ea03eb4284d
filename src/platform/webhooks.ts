import { z } from 'zod';
import { AddressRefusedError, fetchOutside } from './outside-fetch.ts';

/** Seconds between attempts, by Standard Webhooks: 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h, 24 h. */
export const DEFAULT_RETRY_SECONDS = '5,300,1800,7200,18000,36000,50400,72000,86400';
/** The default time of failures after which an endpoint is disabled: five days. */
export const DEFAULT_DISABLE_AFTER_SECONDS = 432_000;

/** The schema of the delays between attempts: seconds separated by commas, parsed to a list. */
export const retrySecondsField = z
  .string()
  .regex(/^\d{1,7}(,\d{1,7}){0,19}$/, 'must be up to 20 whole numbers of seconds, separated by commas');

/** The maximum time for a receiver's response. Milliseconds. */
const RESPONSE_TIMEOUT_MS = 15_000;
/** The maximum `Retry-After` that is honoured. */
const MAX_RETRY_AFTER_SECONDS = 24 * 60 * 60;

const SECRET_PREFIX = 'whsec_';
const SECRET_BYTES = 32;

/** Creates a secret in the form of Standard Webhooks. */
export const createWebhookSecret = (): string =>
  `${SECRET_PREFIX}${crypto.getRandomValues(new Uint8Array(SECRET_BYTES)).toBase64()}`;

/** A message to be sent to an endpoint. */
export interface WebhookMessage {
  /** The id of the message, the same in each attempt. */
  id: string;
  /** The body, `{ type, timestamp, data }` as JSON. */
  body: string;
}

/** Makes the headers of an attempt, signed with each of the secrets. @param now milliseconds */
export async function makeWebhookHeaders(
  { id, body }: WebhookMessage,
  secrets: readonly string[],
  now: number,
): Promise<Record<string, string>> {
  const timestamp = String(Math.floor(now / 1000));
  const signedBytes = new TextEncoder().encode(`${id}.${timestamp}.${body}`);
  const signatures = await Promise.all(secrets.map((secret) => signBytes(secret, signedBytes)));
  return {
    'content-type': 'application/json',
    'user-agent': 'data-console-webhooks/1',
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
  };
}

async function signBytes(secret: string, signedBytes: Uint8Array): Promise<string> {
  const bytes = new Uint8Array(Uint8Array.fromBase64(secret.slice(SECRET_PREFIX.length)));
  const key = await crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  return `v1,${new Uint8Array(await crypto.subtle.sign('HMAC', key, new Uint8Array(signedBytes))).toBase64()}`;
}

/**
 * The reasons why an attempt failed without a usable answer: the URL may not be called, no answer came in time, there was no
 * connection, the answer was a redirect, or an interim answer (1xx) came first: workerd reads no further.
 */
export const ATTEMPT_ERRORS = [
  'address_refused',
  'timeout',
  'connection_failed',
  'redirect',
  'interim_answer',
] as const;
export type AttemptError = (typeof ATTEMPT_ERRORS)[number];

/** The result of an attempt. */
export interface AttemptResult {
  /** The status of the answer; null where none came. */
  status: number | null;
  error: AttemptError | null;
  /** The seconds that the receiver asks to wait before the next attempt, up to a day; 0 where it asks for none. */
  retryAfter: number;
}

/** Posts to a URL that customers choose, and reads only the status of the answer, which may be long. */
export async function postWebhook(
  url: string,
  headers: Record<string, string>,
  body: string,
  { allowPrivateHosts, now }: { allowPrivateHosts: boolean; now: number },
): Promise<AttemptResult> {
  const abortController = new AbortController();
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    abortController.abort();
  }, RESPONSE_TIMEOUT_MS);
  try {
    const request = { method: 'POST', headers, body, signal: abortController.signal };
    const { status, headers: responseHeaders } = await fetchOutside(url, request, allowPrivateHosts);
    if (status < 200) return makeFailedResult('interim_answer');
    const isRedirect = status >= 300 && status < 400;
    const retryAfter = parseRetryAfter(responseHeaders.get('retry-after'), now);
    return { status, error: isRedirect ? 'redirect' : null, retryAfter };
  } catch (error) {
    if (error instanceof AddressRefusedError) return makeFailedResult('address_refused');
    // The cause tells of our network.
    return makeFailedResult(isLate ? 'timeout' : 'connection_failed');
  } finally {
    clearTimeout(timer);
    abortController.abort();
  }
}

const makeFailedResult = (error: AttemptError): AttemptResult => ({ status: null, error, retryAfter: 0 });

/** Parses a `Retry-After` header to seconds; 0 where it is missing or invalid. @param value seconds, or a date */
function parseRetryAfter(value: string | null, now: number): number {
  if (value === null) return 0;
  const seconds = /^\d+$/.test(value) ? Number(value) : (Date.parse(value) - now) / 1000;
  return Number.isFinite(seconds) ? Math.min(Math.max(0, Math.ceil(seconds)), MAX_RETRY_AFTER_SECONDS) : 0;
}
