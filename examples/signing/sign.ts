/**
 * Signs requests to the organization API. No dependencies: WebCrypto alone, so it runs in Node, browsers and Workers.
 *
 *     import { signedRequest } from './sign.ts';
 *     const response = await fetch(await signedRequest(key, 'GET', 'https://iam.example.com/users?quantity=50'));
 */

/** A key as it was issued: POST /service-accounts/{id}/keys answers both members, the secret only once. */
export interface Key {
  access_key: string;
  secret_key: string;
}

/** Time and nonce of a signed request; when left out, the present time and a new random nonce. */
export interface Stamp {
  /** ISO 8601 in UTC, at most 300 seconds from the server's clock. */
  date?: string;
  /** 8 to 128 printable ASCII characters without spaces; each key may use one only once. */
  nonce?: string;
}

/** Headers of a signed request. */
export interface SignatureHeaders {
  authorization: string;
  'x-date': string;
  'x-nonce': string;
  'x-content-sha256': string;
}

/** Makes a signed `Request` ready for `fetch`. `body` is a value to be sent as JSON. */
export async function signedRequest(key: Key, method: string, url: string | URL, body?: unknown): Promise<Request> {
  const text = body === undefined ? undefined : JSON.stringify(body);
  const headers = new Headers({ ...(await sign(key, method, url, text)) });
  if (text !== undefined) headers.set('content-type', 'application/json');
  return new Request(url, { method, headers, body: text ?? null });
}

/** Makes the signature headers of one request. `body` is exactly what will be sent. */
export async function sign(
  key: Key,
  method: string,
  url: string | URL,
  body: string | Uint8Array<ArrayBuffer> = '',
  { date = new Date().toISOString(), nonce = crypto.randomUUID() }: Stamp = {},
): Promise<SignatureHeaders> {
  const digest = hex(await crypto.subtle.digest('SHA-256', typeof body === 'string' ? utf8(body) : body));
  const signature = hex(await hmacSha256(key.secret_key, stringToSign(method, url, date, nonce, digest)));
  return {
    authorization: `HMAC ${key.access_key}:${signature}`,
    'x-date': date,
    'x-nonce': nonce,
    'x-content-sha256': digest,
  };
}

/** Returns the seven lines that are signed. Path and query are as `URL` serialises them, neither decoded nor sorted. */
export function stringToSign(method: string, url: string | URL, date: string, nonce: string, digest: string): string {
  const { pathname, search } = new URL(url);
  return ['HMAC-SHA256', method.toUpperCase(), pathname, search.slice(1), date, nonce, digest].join('\n');
}

async function hmacSha256(secret: string, text: string): Promise<ArrayBuffer> {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const key = await crypto.subtle.importKey('raw', utf8(secret), algorithm, false, ['sign']);
  return crypto.subtle.sign('HMAC', key, utf8(text));
}

const utf8 = (text: string) => new TextEncoder().encode(text) as Uint8Array<ArrayBuffer>;

const hex = (buffer: ArrayBuffer): string =>
  Array.from(new Uint8Array(buffer), (byte) => byte.toString(16).padStart(2, '0')).join('');
