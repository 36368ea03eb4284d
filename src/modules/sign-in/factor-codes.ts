import { Secret, TOTP } from 'otpauth';
import type { Context } from '../../context.ts';
import { generateRandomBelow } from '../../kernel/ids.ts';
import { decrypt, encrypt } from '../../platform/cipher.ts';
import { computeKeyedDigest, computeKeyedDigests } from '../../platform/keyed-digest.ts';
import { getNewestSecret } from '../../platform/secrets.ts';
import type { CodeProof } from './proof-store.ts';
import type { SecondFactor, StoredBackupCodes } from './second-factor-store.ts';

/** A code that a user typed: six digits of the authenticator, or a backup code. */
export type SecondFactorCode = { totp: string } | { backupCode: string };

/** A proof that matches no stored code. */
const NO_PROOF: CodeProof = { backupDigests: [] };

/** Computes the proof for a typed code, which its use consumes. */
export async function computeProof(
  ctx: Context,
  factor: Pick<SecondFactor, 'id' | 'companyId' | 'secret'>,
  code: SecondFactorCode,
): Promise<CodeProof> {
  if ('backupCode' in code) return { backupDigests: await computeBackupDigests(ctx, factor.id, code.backupCode) };
  const secret = await decrypt(ctx.config.ENCRYPTION_KEYS, factor.secret, makeSecretContext(factor));
  const step = findStep(secret, code.totp, ctx.now());
  return step === null ? NO_PROOF : { step };
}

export const encryptSecret = (ctx: Context, secret: string, factor: Pick<SecondFactor, 'companyId' | 'id'>) =>
  encrypt(ctx.config.ENCRYPTION_KEYS, secret, makeSecretContext(factor));

/** Makes the context to which the encryption of a secret is bound. */
export const makeSecretContext = ({ companyId, id }: Pick<SecondFactor, 'companyId' | 'id'>): string =>
  `totp:${companyId}:${id}`;

/** The name that the authenticator app shows. */
const ISSUER = 'Data Console';
const SECRET_BYTES = 20;
/** The number of 30-second time steps before and after the current one whose codes are accepted, because clocks differ. */
const WINDOW_STEPS = 1;

/** Creates a new secret, in base32. */
export const createTotpSecret = (): string => new Secret({ size: SECRET_BYTES }).base32;

/** Makes the URL that an authenticator app reads from a QR code. */
export const makeOtpauthUrl = (secret: string, email: string): string =>
  new TOTP({ issuer: ISSUER, label: email, secret: Secret.fromBase32(secret) }).toString();

/** Finds the time step of a right code at `now` (ms); null if the code is wrong. */
function findStep(secret: string, code: string, now: number): number | null {
  const delta = TOTP.validate({ token: code, secret: Secret.fromBase32(secret), window: WINDOW_STEPS, timestamp: now });
  return delta === null ? null : TOTP.counter({ timestamp: now }) + delta;
}

/** Computes the oldest time step whose code could still be accepted at `now` (ms). */
export const computeOldestStep = (now: number): number => TOTP.counter({ timestamp: now }) - WINDOW_STEPS;

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
const computeBackupDigests = (ctx: Context, factorId: string, code: string): Promise<string[]> =>
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
