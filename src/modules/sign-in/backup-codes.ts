import type { Context } from '../../context.ts';
import { randomBelow } from '../../kernel/ids.ts';
import { keyedDigest, keyedDigests } from '../../platform/keyed-digest.ts';
import { newestSecret } from '../../platform/secrets.ts';
import type { StoredCodes } from './second-factor-store.ts';

const COUNT = 10;
/** The characters of a backup code, without letters and digits that look alike. */
const ALPHABET = 'abcdefghjkmnpqrstuvwxyz23456789';
const LENGTH = 10;
const PURPOSE = 'backup code';

/** A new set of one-time codes, `xxxxx-xxxxx`, and the digests that are stored of them. */
export async function newBackupCodes(
  ctx: Context,
  factorId: string,
): Promise<{ codes: string[]; stored: StoredCodes }> {
  const codes = Array.from({ length: COUNT }, newCode);
  const digests = await Promise.all(
    codes.map((code) => keyedDigest(ctx.config.ENCRYPTION_KEYS, PURPOSE, `${factorId}:${normalize(code)}`)),
  );
  return { codes, stored: { digests, keyVersion: newestSecret(ctx.config.ENCRYPTION_KEYS).version } };
}

/** The digests that a typed code may be stored under: one a key version. */
export const backupDigests = (ctx: Context, factorId: string, code: string): Promise<string[]> =>
  keyedDigests(ctx.config.ENCRYPTION_KEYS, PURPOSE, `${factorId}:${normalize(code)}`);

/** A code in small letters, as people press shift; `typedCode` takes away hyphens. */
const normalize = (code: string): string => code.toLowerCase().replaceAll('-', '');

function newCode(): string {
  const letters = Array.from({ length: LENGTH }, () => ALPHABET[randomBelow(ALPHABET.length)]).join('');
  return `${letters.slice(0, LENGTH / 2)}-${letters.slice(LENGTH / 2)}`;
}
