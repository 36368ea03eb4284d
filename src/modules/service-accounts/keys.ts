import { DAY_MS } from '../../kernel/clock.ts';
import { hmacSha256, newestSecret, sha256Hex, toBase64Url } from '../../platform/secrets.ts';

const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567';
const RANDOM_LENGTH = 20;

/** The life of a key when its maker does not set one. */
export const KEY_LIFETIME_MS = 365 * DAY_MS;

/** The stored part of a key: enough to derive its secret under the master secret, and to check the derivation. */
export interface KeyMaterial {
  accessKey: string;
  salt: string;
  derivationVersion: number;
  /** Hex SHA-256 of the secret. */
  secretDigest: string;
}

/** A new key. The secret is returned once and stored nowhere. `masters` maps version to master secret. */
export async function mintKey(
  masters: Record<string, string>,
  companySlug: string,
  accountId: string,
): Promise<{ material: KeyMaterial; secretKey: string }> {
  const random = Array.from(crypto.getRandomValues(new Uint8Array(RANDOM_LENGTH)), (byte) => BASE32[byte % 32]).join(
    '',
  );
  const accessKey = `sa_${companySlug}_${accountId}_${random}`;
  const salt = toBase64Url(crypto.getRandomValues(new Uint8Array(16)).buffer);
  const { version, secret } = newestSecret(masters);
  const secretKey = await deriveSecret(secret, accessKey, salt);
  return {
    material: { accessKey, salt, derivationVersion: version, secretDigest: await sha256Hex(secretKey) },
    secretKey,
  };
}

/** The secret of a key as its master secret derives it: base64url(HMAC-SHA256(master, access key ␊ salt)). */
export async function deriveSecret(master: string, accessKey: string, salt: string): Promise<string> {
  return toBase64Url(await hmacSha256(master, `${accessKey}\n${salt}`));
}
