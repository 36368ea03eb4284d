import { RecentlyUsed } from '../../kernel/recently-used.ts';
import { hmacSha256 } from '../../platform/secrets.ts';

/** The name of a key, among those under a master secret, that a token is signed with. */
export interface KeyName {
  companyId: string;
  /** The number of times that the company had rotated its key when the token was made. */
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
  const known = derivedKeys.get(formatKeyName(secret, key));
  return known ?? deriveKey(secret, `data-console embed: ${key.companyId}/${key.rotations}`);
}

/** Caches a key that has verified a signature, so that invalid tokens cannot fill the cache. */
export function rememberKey(secret: string, name: KeyName, key: CryptoKey): void {
  derivedKeys.set(formatKeyName(secret, name), key);
}

async function deriveKey(secret: string, purpose: string): Promise<CryptoKey> {
  const bytes = await hmacSha256(secret, purpose);
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign', 'verify']);
}
