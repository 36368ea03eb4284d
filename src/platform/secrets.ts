import { encodeBase64Url } from '../kernel/bytes.ts';
/** Computes SHA-256 as lower-case hex, the form in which long secrets and tokens are stored. */
export async function computeSha256Hex(data: string | BufferSource): Promise<string> {
  const bytes = typeof data === 'string' ? new TextEncoder().encode(data) : data;
  return toHex(await crypto.subtle.digest('SHA-256', bytes));
}

/** Computes HMAC-SHA256 of `data` under the UTF-8 bytes of `secret`. */
export async function computeHmacSha256(secret: string, data: string): Promise<ArrayBuffer> {
  const encoder = new TextEncoder();
  const key = await crypto.subtle.importKey('raw', encoder.encode(secret), { name: 'HMAC', hash: 'SHA-256' }, false, [
    'sign',
  ]);
  return crypto.subtle.sign('HMAC', key, encoder.encode(data));
}

/** Compares two secrets in a time that does not depend on where they differ, nor on their lengths. */
export async function areSecretsEqual(a: string, b: string): Promise<boolean> {
  const encoder = new TextEncoder();
  const [left, right] = await Promise.all([a, b].map((text) => crypto.subtle.digest('SHA-256', encoder.encode(text))));
  return crypto.subtle.timingSafeEqual(left as ArrayBuffer, right as ArrayBuffer);
}

/** Returns the newest secret, for new values. A version that must not be used yet has a negative number. */
export function getNewestSecret(secrets: Record<string, string>): { version: number; secret: string } {
  const version = Math.max(...Object.keys(secrets).map(Number));
  return { version, secret: secrets[version] as string };
}

/** Finds the secret of a version, also one that is not used yet. */
export const findSecret = (secrets: Record<string, string>, version: number | string): string | undefined =>
  [String(version), `-${version}`].flatMap((name) => (Object.hasOwn(secrets, name) ? secrets[name] : [])).at(0);

export const toHex = (buffer: ArrayBuffer): string => new Uint8Array(buffer).toHex();

export const decodeHex = (text: string): Uint8Array<ArrayBuffer> => Uint8Array.fromHex(text);

export const toBase64Url = (buffer: ArrayBuffer): string => encodeBase64Url(new Uint8Array(buffer));
