import { RecentlyUsed } from '../../kernel/recently-used.ts';
import { computeSha256Hex, findSecret } from '../../platform/secrets.ts';
import { deriveSecret, type KeyDerivationData } from './keys.ts';

/** The maximum number of derived keys that an isolate caches. */
const MAX_DERIVED_KEYS = 1000;

/**
 * Derived keys by their derivation data, per set of master secrets. Whether a key may still be used is never cached: the database
 * is asked each time, and the derivation starts from its answer.
 */
const derivedKeysByMasters = new WeakMap<Record<string, string>, RecentlyUsed<string, CryptoKey>>();

/**
 * Derives the key that verifies the signatures of an API key; undefined when its master secret is gone, or when the secret
 * derived from it is not the one that was issued. `masters` maps version to master secret.
 */
export async function deriveVerificationKey(
  masters: Record<string, string>,
  material: KeyDerivationData,
): Promise<CryptoKey | undefined> {
  const derivedKeys = derivedKeysByMasters.get(masters) ?? new RecentlyUsed(MAX_DERIVED_KEYS);
  derivedKeysByMasters.set(masters, derivedKeys);
  const name = `${material.accessKey} ${material.salt} ${material.derivationVersion} ${material.secretDigest}`;
  const cachedKey = derivedKeys.get(name);
  if (cachedKey) return cachedKey;

  const master = findSecret(masters, material.derivationVersion);
  if (master === undefined) return undefined;
  const secretKey = await deriveSecret(master, material.accessKey, material.salt);
  if ((await computeSha256Hex(secretKey)) !== material.secretDigest) return undefined;
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const key = await crypto.subtle.importKey('raw', new TextEncoder().encode(secretKey), algorithm, false, ['verify']);
  derivedKeys.set(name, key);
  return key;
}
