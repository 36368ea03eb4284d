import { encodeBase64Url } from '../kernel/bytes.ts';
import { logError } from './log.ts';
import { findSecret, getNewestSecret } from './secrets.ts';

const IV_BYTES = 12;

/**
 * Encrypts a text with AES-256-GCM under the newest of `keys` (a map from version to secret, `ENCRYPTION_KEYS`). @param context
 * the owner of the text, such as `tenant-sql:{companyId}`: copied to another owner, the result does not decrypt @returns
 * `v{version}:{iv}:{ciphertext}`, both parts base64url
 */
export async function encrypt(keys: Record<string, string>, plaintext: string, context: string): Promise<string> {
  const { version, secret } = getNewestSecret(keys);
  const iv = crypto.getRandomValues(new Uint8Array(IV_BYTES));
  const algorithm = { name: 'AES-GCM', iv, additionalData: encodeText(context) };
  const ciphertext = await crypto.subtle.encrypt(algorithm, await deriveKey(secret), encodeText(plaintext));
  return `v${version}:${encodeBase64Url(iv)}:${encodeBase64Url(new Uint8Array(ciphertext))}`;
}

/** Decrypts a text under any version. Throws when the version is unknown, the context differs, or the ciphertext was changed. */
export async function decrypt(keys: Record<string, string>, encryptedText: string, context: string): Promise<string> {
  const [, version = '', iv = '', ciphertext] = /^v(\d+):([A-Za-z0-9_-]+):([A-Za-z0-9_-]+)$/.exec(encryptedText) ?? [];
  if (ciphertext === undefined) throw new Error('not an encrypted text');
  const secret = findSecret(keys, version);
  if (secret === undefined) throw new Error(`encryption key version ${version} is not configured`);
  const algorithm = { name: 'AES-GCM', iv: decodeBase64Url(iv), additionalData: encodeText(context) };
  const plaintext = await crypto.subtle.decrypt(algorithm, await deriveKey(secret), decodeBase64Url(ciphertext));
  return new TextDecoder().decode(plaintext);
}

/** Returns the prefix of texts that are encrypted under the newest version. */
export const getNewestPrefix = (keys: Record<string, string>): string => `v${getNewestSecret(keys).version}:`;

/**
 * Encrypts a text again under the newest version. One that cannot be decrypted is logged and stays, so as not to stop others.
 */
export async function reencrypt<T extends string | null>(
  keys: Record<string, string>,
  encryptedText: T,
  context: string,
): Promise<T | string> {
  if (encryptedText === null || encryptedText.startsWith(getNewestPrefix(keys))) return encryptedText;
  try {
    return await encrypt(keys, await decrypt(keys, encryptedText, context), context);
  } catch (error) {
    logError('reencryption_failed', error, { context });
    return encryptedText;
  }
}

/** Derives an encryption key from a secret: secrets are texts of any length; HKDF makes a key of the right size from each. */
async function deriveKey(secret: string): Promise<CryptoKey> {
  const secretMaterial = await crypto.subtle.importKey('raw', encodeText(secret), 'HKDF', false, ['deriveKey']);
  const derivation = {
    name: 'HKDF',
    hash: 'SHA-256',
    salt: new Uint8Array(),
    info: encodeText('data-console encryption'),
  };
  return await crypto.subtle.deriveKey(derivation, secretMaterial, { name: 'AES-GCM', length: 256 }, false, [
    'encrypt',
    'decrypt',
  ]);
}

const encodeText = (text: string) => new TextEncoder().encode(text);

const decodeBase64Url = (text: string): Uint8Array<ArrayBuffer> =>
  new Uint8Array(Uint8Array.fromBase64(text, { alphabet: 'base64url' }));
