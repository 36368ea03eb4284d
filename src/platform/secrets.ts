import { base64Url } from '../kernel/bytes.ts';
/** SHA-256 as lower-case hex: how long secrets and tokens are stored. */
export async function sha256Hex(data: string | BufferSource): Promise<string> {
  const bytes = typeof data === 'string' ? new TextEncoder().encode(data) : data;
  return toHex(await crypto.subtle.digest('SHA-256', bytes));
}

/** HMAC-SHA256 of `data` under the UTF-8 bytes of `secret`. */
export async function hmacSha256(secret: string, data: string): Promise<ArrayBuffer> {
  const encoder = new TextEncoder();
  const key = await crypto.subtle.importKey('raw', encoder.encode(secret), { name: 'HMAC', hash: 'SHA-256' }, false, [
    'sign',
  ]);
  return crypto.subtle.sign('HMAC', key, encoder.encode(data));
}

/** Compares two secrets in a time that does not depend on where they differ, nor on their lengths. */
export async function sameSecret(a: string, b: string): Promise<boolean> {
  const encoder = new TextEncoder();
  const [left, right] = await Promise.all([a, b].map((text) => crypto.subtle.digest('SHA-256', encoder.encode(text))));
  return crypto.subtle.timingSafeEqual(left as ArrayBuffer, right as ArrayBuffer);
}

/** The newest version of a map of secrets, for what is new. One that must not be used yet has its number negated. */
export function newestSecret(secrets: Record<string, string>): { version: number; secret: string } {
  const version = Math.max(...Object.keys(secrets).map(Number));
  return { version, secret: secrets[version] as string };
}

/** The secret of a version, used already or not. */
export const findSecret = (secrets: Record<string, string>, version: number | string): string | undefined =>
  [String(version), `-${version}`].flatMap((name) => (Object.hasOwn(secrets, name) ? secrets[name] : [])).at(0);

export const toHex = (buffer: ArrayBuffer): string => new Uint8Array(buffer).toHex();

export const fromHex = (text: string): Uint8Array<ArrayBuffer> => Uint8Array.fromHex(text);

export const toBase64Url = (buffer: ArrayBuffer): string => base64Url(new Uint8Array(buffer));
