import type { Context } from '../../context.ts';
import { generateRandomBelow } from '../../kernel/ids.ts';
import { computeKeyedDigest, computeKeyedDigests } from '../../platform/keyed-digest.ts';
import { getNewestSecret } from '../../platform/secrets.ts';
import type { StoredBackupCodes } from './second-factor-store.ts';

const CODE_COUNT = 10;
/** The characters of a backup code, without letters and digits that look alike. */
const CODE_ALPHABET = 'abcdefghjkmnpqrstuvwxyz23456789';
const CODE_LENGTH = 10;
const DIGEST_PURPOSE = 'backup code';

/** Creates a new set of one-time codes, `xxxxx-xxxxx`, and the digests of them that are stored. */
export async function createBackupCodes(
  ctx: Context,
  factorId: string,
): Promise<{ codes: string[]; storedCodes: StoredBackupCodes }> {
  const codes = Array.from({ length: CODE_COUNT }, createCode);
  const digests = await Promise.all(
    codes.map((code) =>
      computeKeyedDigest(ctx.config.ENCRYPTION_KEYS, DIGEST_PURPOSE, `${factorId}:${normalizeCode(code)}`),
    ),
  );
  return { codes, storedCodes: { digests, keyVersion: getNewestSecret(ctx.config.ENCRYPTION_KEYS).version } };
}

/** Computes the digests under which a typed code may be stored: one for each key version. */
export const computeBackupDigests = (ctx: Context, factorId: string, code: string): Promise<string[]> =>
  computeKeyedDigests(ctx.config.ENCRYPTION_KEYS, DIGEST_PURPOSE, `${factorId}:${normalizeCode(code)}`);

/** Converts a code to lower case without hyphens, as people press shift and `typedCodeField` removes hyphens. */
const normalizeCode = (code: string): string => code.toLowerCase().replaceAll('-', '');

function createCode(): string {
  const letters = Array.from(
    { length: CODE_LENGTH },
    () => CODE_ALPHABET[generateRandomBelow(CODE_ALPHABET.length)],
  ).join('');
  return `${letters.slice(0, CODE_LENGTH / 2)}-${letters.slice(CODE_LENGTH / 2)}`;
}
