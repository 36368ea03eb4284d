import { computeHmacSha256, getNewestSecret, toHex } from './secrets.ts';

/**
 * Computes an HMAC, the form in which short secrets (typed codes) are stored: from a plain hash, whoever steals the database
 * could find the secret by trying all values. The key is derived from the newest of `keys` (`ENCRYPTION_KEYS`). @param purpose
 * the use of the secret, so that a digest is worthless elsewhere @param data the secret, together with the record it belongs to
 * @returns lower-case hex
 */
export const computeKeyedDigest = (keys: Record<string, string>, purpose: string, data: string): Promise<string> =>
  computeHmac(getNewestSecret(keys).secret, purpose, data);

/** Computes the digests under every version of the keys, to find a digest that was stored under an older version. */
export const computeKeyedDigests = (keys: Record<string, string>, purpose: string, data: string): Promise<string[]> =>
  Promise.all(Object.values(keys).map((secret) => computeHmac(secret, purpose, data)));

async function computeHmac(secret: string, purpose: string, data: string): Promise<string> {
  const key = toHex(await computeHmacSha256(secret, `data-console digest: ${purpose}`));
  return toHex(await computeHmacSha256(key, data));
}
