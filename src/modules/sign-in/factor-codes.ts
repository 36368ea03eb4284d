import type { Context } from '../../context.ts';
import { decrypt, encrypt } from '../../platform/cipher.ts';
import { computeBackupDigests } from './backup-codes.ts';
import type { CodeProof } from './proof-store.ts';
import type { SecondFactor } from './second-factor-store.ts';
import { findStep } from './totp.ts';

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
