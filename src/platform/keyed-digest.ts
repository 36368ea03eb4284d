import { hmacSha256, newestSecret, toHex } from './secrets.ts';

/**
 * How short secrets (codes that people type) are stored: an HMAC, because whoever steals the database could try all
 * values of a mere hash. The key is derived from the newest of `keys` (`ENCRYPTION_KEYS`).
 *
 * @param purpose what the secret is for, so that a digest means nothing elsewhere
 * @param data the secret, together with whatever it belongs to
 * @returns lower-case hex
 */
export function keyedDigest(keys: Record<string, string>, purpose: string, data: string): Promise<string> {
  return digest(newestSecret(keys).secret, purpose, data);
}

/** The same under every version of the keys, to find what was stored before the newest came. */
export function keyedDigests(keys: Record<string, string>, purpose: string, data: string): Promise<string[]> {
  return Promise.all(Object.values(keys).map((secret) => digest(secret, purpose, data)));
}

async function digest(secret: string, purpose: string, data: string): Promise<string> {
  const key = toHex(await hmacSha256(secret, `data-console digest: ${purpose}`));
  return toHex(await hmacSha256(key, data));
}
