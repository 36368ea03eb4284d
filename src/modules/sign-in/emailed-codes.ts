import type { Context } from '../../context.ts';
import { MINUTE_MS } from '../../kernel/clock.ts';
import { computeKeyedDigest, computeKeyedDigests } from '../../platform/keyed-digest.ts';
import { checkCode, type PasswordlessCode, replaceCode } from './store.ts';

/** The number of minutes for which a mailed code is valid. */
export const CODE_VALIDITY_MINUTES = 10;

/** The company, purpose and address of a code. The email is lower-case. */
export type CodeScope = Pick<PasswordlessCode, 'companyId' | 'purpose' | 'email'>;

const DIGEST_LABELS: Record<CodeScope['purpose'], string> = { sign_in: 'sign-in code', portal: 'portal code' };

/**
 * Prepares the statement that stores a new code, as an HMAC, in place of the address's previous one: see `replaceCode`.
 * @param sessionEpoch that of the user who may sign in with it, if any
 */
export async function prepareCode(ctx: Context, scope: CodeScope, code: string, sessionEpoch: number | null = null) {
  const digest = await computeKeyedDigest(
    ctx.config.ENCRYPTION_KEYS,
    DIGEST_LABELS[scope.purpose],
    formatScopedCode(scope, code),
  );
  const expiresAt = ctx.now() + CODE_VALIDITY_MINUTES * MINUTE_MS;
  return { statement: replaceCode(ctx.db, { ...scope, digest, sessionEpoch, tries: 0, expiresAt, usedAt: null }) };
}

/** Prepares the statement that counts a try and uses the code if it is right: then it returns a row with `usedAt`. */
export async function prepareCodeCheck(ctx: Context, scope: CodeScope, code: string) {
  const digests = await computeKeyedDigests(
    ctx.config.ENCRYPTION_KEYS,
    DIGEST_LABELS[scope.purpose],
    formatScopedCode(scope, code),
  );
  return { statement: checkCode(ctx.db, scope, digests, ctx.now()) };
}

const formatScopedCode = ({ companyId, email }: CodeScope, code: string): string => `${companyId}:${email}:${code}`;
