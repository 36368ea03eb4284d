import type { Context } from '../../context.ts';
import { MINUTE_MS } from '../../kernel/clock.ts';
import { keyedDigest, keyedDigests } from '../../platform/keyed-digest.ts';
import { checkCode, type PasswordlessCode, replaceCode } from './passwordless-store.ts';

/** Minutes that a mailed code works. */
export const CODE_MINUTES = 10;

/** The company, purpose and address of a code. The email is lower-case. */
export type CodeScope = Pick<PasswordlessCode, 'companyId' | 'purpose' | 'email'>;

const LABELS: Record<CodeScope['purpose'], string> = { sign_in: 'sign-in code', portal: 'portal code' };

/** The statement that stores a new code, as an HMAC, in place of the address's old one. */
export async function prepareCode(ctx: Context, scope: CodeScope, code: string) {
  const digest = await keyedDigest(ctx.config.ENCRYPTION_KEYS, LABELS[scope.purpose], scopedCode(scope, code));
  const expiresAt = ctx.now() + CODE_MINUTES * MINUTE_MS;
  return { statement: replaceCode(ctx.db, { ...scope, digest, tries: 0, expiresAt, usedAt: null }) };
}

/** The statement that counts a try and uses the code if it is right: then it returns a row with `usedAt`. */
export async function prepareCodeCheck(ctx: Context, scope: CodeScope, code: string) {
  const digests = await keyedDigests(ctx.config.ENCRYPTION_KEYS, LABELS[scope.purpose], scopedCode(scope, code));
  return { statement: checkCode(ctx.db, scope, digests, ctx.now()) };
}

const scopedCode = ({ companyId, email }: CodeScope, code: string): string => `${companyId}:${email}:${code}`;
