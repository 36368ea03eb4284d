import { hmacSha256, newestSecret, toHex } from './secrets.ts';

/**
 * An HMAC, which is how short secrets (typed codes) are stored: all values of a plain hash could be tried by whoever steals
 * the database. The key is derived from the newest of `keys` (`ENCRYPTION_KEYS`).
 *
 * @param purpose what the secret is for, so that a digest means nothing elsewhere
 * @param data the secret, together with what it belongs to
 * @returns lower-case hex
 */
export const keyedDigest = (keys: Record<string, string>, purpose: string, data: string): Promise<string> =>
  digest(newestSecret(keys).secret, purpose, data);

/** The digests under every version of the keys, to find one that was stored under an older one. */
export const keyedDigests = (keys: Record<string, string>, purpose: string, data: string): Promise<string[]> =>
  Promise.all(Object.values(keys).map((secret) => digest(secret, purpose, data)));

async function digest(secret: string, purpose: string, data: string): Promise<string> {
  const key = toHex(await hmacSha256(secret, `data-console digest: ${purpose}`));
  return toHex(await hmacSha256(key, data));
}
