import type { Context } from '../../context.ts';
import { decrypt, encrypt } from '../../platform/cipher.ts';
import { backupDigests } from './backup-codes.ts';
import type { Proof } from './proof-store.ts';
import type { SecondFactor } from './second-factor-store.ts';
import { findStep } from './totp.ts';

/** A typed code: six digits of the authenticator, or a backup code. */
export type SecondFactorCode = { totp: string } | { backupCode: string };

/** Matches nothing. */
const NO_PROOF: Proof = { backupDigests: [] };

/** Returns the proof that using the code consumes. */
export async function proveCode(
  ctx: Context,
  factor: Pick<SecondFactor, 'id' | 'companyId' | 'secret'>,
  code: SecondFactorCode,
): Promise<Proof> {
  if ('backupCode' in code) return { backupDigests: await backupDigests(ctx, factor.id, code.backupCode) };
  const secret = await decrypt(ctx.config.ENCRYPTION_KEYS, factor.secret, secretContext(factor));
  const step = findStep(secret, code.totp, ctx.now());
  return step === null ? NO_PROOF : { step };
}

export const encryptSecret = (ctx: Context, secret: string, factor: Pick<SecondFactor, 'companyId' | 'id'>) =>
  encrypt(ctx.config.ENCRYPTION_KEYS, secret, secretContext(factor));

/** The context that a secret is encrypted for, and decrypted by. */
export const secretContext = ({ companyId, id }: Pick<SecondFactor, 'companyId' | 'id'>): string =>
  `totp:${companyId}:${id}`;
