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
 * derived from it is not the one that was issued. `masterSecrets` maps version to master secret.
 */
export async function deriveVerificationKey(
  masterSecrets: Record<string, string>,
  material: KeyDerivationData,
): Promise<CryptoKey | undefined> {
  const derivedKeys = derivedKeysByMasters.get(masterSecrets) ?? new RecentlyUsed(MAX_DERIVED_KEYS);
  derivedKeysByMasters.set(masterSecrets, derivedKeys);
  const name = `${material.accessKey} ${material.salt} ${material.derivationVersion} ${material.secretDigest}`;
  const cachedKey = derivedKeys.get(name);
  if (cachedKey) return cachedKey;

  const masterSecret = findSecret(masterSecrets, material.derivationVersion);
  if (masterSecret === undefined) return undefined;
  const secretKey = await deriveSecret(masterSecret, material.accessKey, material.salt);
  if ((await computeSha256Hex(secretKey)) !== material.secretDigest) return undefined;
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const key = await crypto.subtle.importKey('raw', new TextEncoder().encode(secretKey), algorithm, false, ['verify']);
  derivedKeys.set(name, key);
  return key;
}
