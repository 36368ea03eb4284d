import { RecentlyUsed } from '../../kernel/recently-used.ts';
import { computeHmacSha256 } from '../../platform/secrets.ts';

/** The identity of the derived key that signs a token, under one master secret. */
export interface KeyName {
  companyId: string;
  /** The number of times that the company had rotated its key when the token was created. */
  rotations: number;
}

/** Cache of derived keys. The master secret is part of the cache key, so that keys of a replaced secret are not used again. */
const derivedKeys = new RecentlyUsed<string, CryptoKey>(1000);

const formatKeyName = (secret: string, { companyId, rotations }: KeyName): string =>
  `${secret}/${companyId}/${rotations}`;

/**
 * Returns the HMAC key of a company, derived from a master secret and the number of rotations: signatures are checked without
 * reading the database, and no two companies share a key.
 */
export async function getEmbedKey(secret: string, key: KeyName): Promise<CryptoKey> {
  const cachedKey = derivedKeys.get(formatKeyName(secret, key));
  return cachedKey ?? deriveKey(secret, `data-console embed: ${key.companyId}/${key.rotations}`);
}

/** Caches a key that has verified a signature, so that invalid tokens cannot fill the cache. */
export function cacheKey(secret: string, name: KeyName, key: CryptoKey): void {
  derivedKeys.set(formatKeyName(secret, name), key);
}

async function deriveKey(secret: string, purpose: string): Promise<CryptoKey> {
  const bytes = await computeHmacSha256(secret, purpose);
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign', 'verify']);
}
