import type { Context } from '../../context.ts';
import { keyedDigest, keyedDigests } from '../../platform/keyed-digest.ts';
import { type PasswordlessCode, replaceCode, tryCode } from './passwordless-store.ts';

/** Minutes that a mailed code works. */
export const CODE_MINUTES = 10;

/** Where a code means something: in one company, for one purpose and one address (lower-case). */
export type CodePlace = Pick<PasswordlessCode, 'companyId' | 'purpose' | 'email'>;

const LABELS: Record<CodePlace['purpose'], string> = { sign_in: 'sign-in code', portal: 'portal code' };

/** The statement that keeps a new code, as an HMAC, instead of the address's old one. */
export async function prepareCode(ctx: Context, place: CodePlace, code: string) {
  const digest = await keyedDigest(ctx.config.ENCRYPTION_KEYS, LABELS[place.purpose], inPlace(place, code));
  const expiresAt = ctx.now() + CODE_MINUTES * 60_000;
  return { statement: replaceCode(ctx.db, { ...place, digest, tries: 0, expiresAt, usedAt: null }) };
}

/**
 * The statement that tries a code: it counts the try, and uses the code up if it is the right one.
 * It gives a row with `usedAt` set when it was.
 */
export async function prepareTry(ctx: Context, place: CodePlace, code: string) {
  const digests = await keyedDigests(ctx.config.ENCRYPTION_KEYS, LABELS[place.purpose], inPlace(place, code));
  return { statement: tryCode(ctx.db, place, digests, ctx.now()) };
}

const inPlace = ({ companyId, email }: CodePlace, code: string): string => `${companyId}:${email}:${code}`;
