import { DAY_MS } from '../../kernel/clock.ts';
import { RecentlyUsed } from '../../kernel/recently-used.ts';
import {
  computeHmacSha256,
  computeSha256Hex,
  findSecret,
  getNewestSecret,
  toBase64Url,
} from '../../platform/secrets.ts';

const BASE32_CHARACTERS = 'abcdefghijklmnopqrstuvwxyz234567';
const RANDOM_PART_LENGTH = 20;

/** The lifetime of a key when its maker does not set one. */
export const KEY_LIFETIME_MS = 365 * DAY_MS;

/** The stored part of a key: enough to derive its secret under the master secret, and to check the derivation. */
export interface KeyDerivationData {
  accessKey: string;
  salt: string;
  derivationVersion: number;
  /** Hex SHA-256 of the secret. */
  secretDigest: string;
}

/** Mints a new key. The secret is returned once and stored nowhere. `masterSecrets` maps version to master secret. */
export async function mintKey(
  masterSecrets: Record<string, string>,
  companySlug: string,
  accountId: string,
): Promise<{ derivationData: KeyDerivationData; secretKey: string }> {
  const randomPart = Array.from(
    crypto.getRandomValues(new Uint8Array(RANDOM_PART_LENGTH)),
    (byte) => BASE32_CHARACTERS[byte % 32],
  ).join('');
  const accessKey = `sa_${companySlug}_${accountId}_${randomPart}`;
  const salt = toBase64Url(crypto.getRandomValues(new Uint8Array(16)).buffer);
  const { version, secret } = getNewestSecret(masterSecrets);
  const secretKey = await deriveSecret(secret, accessKey, salt);
  return {
    derivationData: { accessKey, salt, derivationVersion: version, secretDigest: await computeSha256Hex(secretKey) },
    secretKey,
  };
}

/** Derives the secret of a key from its master secret: base64url(HMAC-SHA256(master, access key ␊ salt)). */
export async function deriveSecret(masterSecret: string, accessKey: string, salt: string): Promise<string> {
  return toBase64Url(await computeHmacSha256(masterSecret, `${accessKey}\n${salt}`));
}

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
