import { RecentlyUsed } from '../../kernel/recently-used.ts';
import { hmacSha256 } from '../../platform/secrets.ts';

/** Which key a token is signed with. */
export interface KeyName {
  /** Of the master secret. */
  version: string;
  companyId: string;
  /** How often the company had rotated its key when the token was made. */
  rotations: number;
}

const derived = new RecentlyUsed<string, CryptoKey>(1000);

/**
 * The HMAC key of a company under a master secret, at a number of rotations. It is derived, so nothing needs to be looked up
 * to check a signature, and no two companies share one.
 */
export async function embedKey(secret: string, { version, companyId, rotations }: KeyName): Promise<CryptoKey> {
  const name = `${version}/${companyId}/${rotations}`;
  return derived.get(name) ?? deriveKey(secret, `data-console embed: ${companyId}/${rotations}`);
}

/** Keeps a key that has verified a signature; whoever only claims to have one gets none kept. */
export function rememberKey({ version, companyId, rotations }: KeyName, key: CryptoKey): void {
  derived.set(`${version}/${companyId}/${rotations}`, key);
}

async function deriveKey(secret: string, purpose: string): Promise<CryptoKey> {
  const bytes = await hmacSha256(secret, purpose);
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign', 'verify']);
}
