import { RecentlyUsed } from '../../kernel/recently-used.ts';
import { findSecret, sha256Hex } from '../../platform/secrets.ts';
import { deriveSecret, type KeyMaterial } from './keys.ts';

/** Keys that an isolate keeps derived. */
const MAX_DERIVED_KEYS = 1000;

/**
 * Derived keys by their material, per set of master secrets. Whether a key may still be used is never cached: the database is
 * asked each time, and the derivation starts from its answer.
 */
const derivedUnder = new WeakMap<Record<string, string>, RecentlyUsed<string, CryptoKey>>();

/**
 * The key that verifies the signatures of an API key, derived under its master secret; undefined when that master
 * secret is gone, or when the secret it gives is not the one that was issued. `masters` maps version to master secret.
 */
export async function deriveVerificationKey(
  masters: Record<string, string>,
  material: KeyMaterial,
): Promise<CryptoKey | undefined> {
  const known = derivedUnder.get(masters) ?? new RecentlyUsed(MAX_DERIVED_KEYS);
  derivedUnder.set(masters, known);
  const name = `${material.accessKey} ${material.salt} ${material.derivationVersion} ${material.secretDigest}`;
  const remembered = known.get(name);
  if (remembered) return remembered;

  const master = findSecret(masters, material.derivationVersion);
  if (master === undefined) return undefined;
  const secretKey = await deriveSecret(master, material.accessKey, material.salt);
  if ((await sha256Hex(secretKey)) !== material.secretDigest) return undefined;
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const key = await crypto.subtle.importKey('raw', new TextEncoder().encode(secretKey), algorithm, false, ['verify']);
  known.set(name, key);
  return key;
}
