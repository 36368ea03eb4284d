import { DAY_MS } from '../../kernel/clock.ts';
import { computeHmacSha256, computeSha256Hex, getNewestSecret, toBase64Url } from '../../platform/secrets.ts';

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
