import { z } from 'zod';
import { AddressRefused, fetchOutside } from './outside-fetch.ts';

/** Standard Webhooks: 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h, 24 h. */
export const DEFAULT_RETRY_SECONDS = '5,300,1800,7200,18000,36000,50400,72000,86400';
/** Five days. */
export const DEFAULT_DISABLE_AFTER_SECONDS = 432_000;

/** Seconds between tries, separated by commas, as a list of them. */
export const retrySeconds = z
  .string()
  .regex(/^\d{1,7}(,\d{1,7}){0,19}$/, 'must be up to 20 whole numbers of seconds, separated by commas');

/** The maximum time for a receiver's response in milliseconds, and the maximum `Retry-After` that is honoured in seconds. */
const RESPONSE_TIMEOUT_MS = 15_000;
const MAX_RETRY_AFTER_SECONDS = 24 * 60 * 60;

const PREFIX = 'whsec_';
const SECRET_BYTES = 32;

/** A secret as Standard Webhooks has them. */
export const newWebhookSecret = (): string =>
  `${PREFIX}${crypto.getRandomValues(new Uint8Array(SECRET_BYTES)).toBase64()}`;

/** A message to an endpoint. */
export interface WebhookMessage {
  /** The id of the message, the same at each try. */
  id: string;
  /** `{ type, timestamp, data }` as JSON. */
  body: string;
}

/** The headers of a try, signed with each of the secrets. @param now milliseconds */
export async function webhookHeaders(
  { id, body }: WebhookMessage,
  secrets: readonly string[],
  now: number,
): Promise<Record<string, string>> {
  const timestamp = String(Math.floor(now / 1000));
  const signed = new TextEncoder().encode(`${id}.${timestamp}.${body}`);
  const signatures = await Promise.all(secrets.map((secret) => sign(secret, signed)));
  return {
    'content-type': 'application/json',
    'user-agent': 'data-console-webhooks/1',
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
  };
}

async function sign(secret: string, signed: Uint8Array): Promise<string> {
  const bytes = new Uint8Array(Uint8Array.fromBase64(secret.slice(PREFIX.length)));
  const key = await crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  return `v1,${new Uint8Array(await crypto.subtle.sign('HMAC', key, new Uint8Array(signed))).toBase64()}`;
}

/** The reasons why a try got no answer: the address may not be called, no answer came in time, or there was no connection. */
export const TRY_ERRORS = ['address_refused', 'timeout', 'connection_failed', 'redirect'] as const;
export type TryError = (typeof TRY_ERRORS)[number];

/** The result of a try. */
export interface TryResult {
  /** Null where none came. */
  status: number | null;
  error: TryError | null;
  /** Seconds that the receiver asks to be left alone, up to a day; 0 where it does not. */
  retryAfter: number;
}

/** Posts to an address that customers choose, reading only the status of the answer, which may be long. */
export async function postWebhook(
  address: string,
  headers: Record<string, string>,
  body: string,
  { allowPrivate, now }: { allowPrivate: boolean; now: number },
): Promise<TryResult> {
  const abort = new AbortController();
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    abort.abort();
  }, RESPONSE_TIMEOUT_MS);
  try {
    const request = { method: 'POST', headers, body, signal: abort.signal };
    const { status, headers: answered } = await fetchOutside(address, request, allowPrivate);
    const isRedirect = status >= 300 && status < 400;
    const retryAfter = parseRetryAfter(answered.get('retry-after'), now);
    return { status, error: isRedirect ? 'redirect' : null, retryAfter };
  } catch (error) {
    if (error instanceof AddressRefused) return failed('address_refused');
    // The cause tells of our network.
    return failed(isLate ? 'timeout' : 'connection_failed');
  } finally {
    clearTimeout(timer);
    abort.abort();
  }
}

const failed = (error: TryError): TryResult => ({ status: null, error, retryAfter: 0 });

/** @param value seconds, or a date */
function parseRetryAfter(value: string | null, now: number): number {
  if (value === null) return 0;
  const seconds = /^\d+$/.test(value) ? Number(value) : (Date.parse(value) - now) / 1000;
  return Number.isFinite(seconds) ? Math.min(Math.max(0, Math.ceil(seconds)), MAX_RETRY_AFTER_SECONDS) : 0;
}
