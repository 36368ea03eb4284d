import { base64Url } from '../kernel/bytes.ts';
import { logError } from './log.ts';
import { findSecret, newestSecret } from './secrets.ts';

const IV_BYTES = 12;

/**
 * Encrypts a text with AES-256-GCM under the newest of `keys` (a map from version to secret, `ENCRYPTION_KEYS`).
 *
 * @param context what the text belongs to, such as `tenant-sql:{companyId}`: copied to another place, the result does not
 *   decrypt
 * @returns `v{version}:{iv}:{ciphertext}`, both parts base64url
 */
export async function encrypt(keys: Record<string, string>, plaintext: string, context: string): Promise<string> {
  const { version, secret } = newestSecret(keys);
  const iv = crypto.getRandomValues(new Uint8Array(IV_BYTES));
  const algorithm = { name: 'AES-GCM', iv, additionalData: bytes(context) };
  const ciphertext = await crypto.subtle.encrypt(algorithm, await deriveKey(secret), bytes(plaintext));
  return `v${version}:${base64Url(iv)}:${base64Url(new Uint8Array(ciphertext))}`;
}

/** Decrypts under any version. Throws when that is unknown, the context differs, or the ciphertext was changed. */
export async function decrypt(keys: Record<string, string>, encrypted: string, context: string): Promise<string> {
  const match = /^v(\d+):([A-Za-z0-9_-]+):([A-Za-z0-9_-]+)$/.exec(encrypted);
  if (match === null) throw new Error('not an encrypted text');
  const [, version, iv, ciphertext] = match as unknown as [string, string, string, string];
  const secret = findSecret(keys, version);
  if (secret === undefined) throw new Error(`encryption key version ${version} is not configured`);
  const algorithm = { name: 'AES-GCM', iv: fromBase64url(iv), additionalData: bytes(context) };
  const plaintext = await crypto.subtle.decrypt(algorithm, await deriveKey(secret), fromBase64url(ciphertext));
  return new TextDecoder().decode(plaintext);
}

/** The prefix of texts that are encrypted under the newest version. */
export const newestPrefix = (keys: Record<string, string>): string => `v${newestSecret(keys).version}:`;

/** Encrypts under the newest version. What cannot be decrypted is logged and stays: it must hold up no other. */
export async function reencrypt<T extends string | null>(
  keys: Record<string, string>,
  encrypted: T,
  context: string,
): Promise<T | string> {
  if (encrypted === null || encrypted.startsWith(newestPrefix(keys))) return encrypted;
  try {
    return await encrypt(keys, await decrypt(keys, encrypted, context), context);
  } catch (error) {
    logError('reencryption_failed', error, { context });
    return encrypted;
  }
}

/** Secrets are texts of any length; HKDF makes a key of the right size of each. */
async function deriveKey(secret: string): Promise<CryptoKey> {
  const material = await crypto.subtle.importKey('raw', bytes(secret), 'HKDF', false, ['deriveKey']);
  const derivation = { name: 'HKDF', hash: 'SHA-256', salt: new Uint8Array(), info: bytes('data-console encryption') };
  return await crypto.subtle.deriveKey(derivation, material, { name: 'AES-GCM', length: 256 }, false, [
    'encrypt',
    'decrypt',
  ]);
}

const bytes = (text: string) => new TextEncoder().encode(text);

const fromBase64url = (text: string): Uint8Array<ArrayBuffer> =>
  new Uint8Array(Uint8Array.fromBase64(text, { alphabet: 'base64url' }));
