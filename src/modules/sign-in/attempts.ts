import type { Context } from '../../context.ts';
import { Failure } from '../../kernel/failure.ts';
import { networkOf } from '../../kernel/networks.ts';
import { askObject } from '../../platform/objects.ts';
import { tooManyAttempts } from './failures.ts';
import { selectKnownNetwork } from './network-store.ts';

/** Wrong guesses that are taken within a window: from one network, or at a second factor. */
const FAILURES = 10;
/** Wrong passwords for one email from all networks, before only those are heard that its person is known to sign in from. */
const FAILURES_FROM_EVERYWHERE = 100;
const WINDOW_MS = 15 * 60 * 1000;
const KNOWN_MS = 30 * 24 * 60 * 60 * 1000;

/** What can be guessed, under which name its tries are counted, and how many of them may be wrong. */
interface Guess {
  name: string;
  /** What a wrong one is thrown as. Any other failure, of ours too, says nothing about the guess. */
  wrong: 'sign_in.wrong_credentials' | 'second_factor.wrong_code';
  failures: number;
}

/**
 * Runs one try at something that can be guessed: after so many wrong ones in 15 minutes further tries are refused until
 * the window ends, also when they are made at the same time.
 * @throws Failure `sign_in.too_many_attempts`, or what `work` throws
 */
export async function attempt<T>(ctx: Context, guess: Guess, work: () => Promise<T>): Promise<T> {
  const { ATTEMPT_LIMITER } = ctx.bindings;
  const id = ctx.newId();
  const begun = await askObject(
    ATTEMPT_LIMITER,
    guess.name,
    async (limiter) => await limiter.begin(id, guess.failures, WINDOW_MS),
  );
  if (!begun.allowed) throw tooManyAttempts(Math.ceil(begun.retryAfterMs / 1000));
  let wrong = false;
  try {
    return await work();
  } catch (error) {
    wrong = error instanceof Failure && error.reason === guess.wrong;
    throw error;
  } finally {
    await askObject(ATTEMPT_LIMITER, guess.name, async (limiter) => await limiter.settle(id, wrong, WINDOW_MS));
  }
}

/** Whose password is tried, and whether they have signed in from this network within 30 days. */
export interface Tried {
  companyId: string;
  /** Lower-case. */
  email: string;
  isKnownHere: boolean;
}

/**
 * Runs one try at a password. Ten wrong ones from a network close it for that email, and nobody else; a hundred from
 * everywhere leave only those networks that the person is known in: strangers neither guess nor lock anybody out. Emails
 * that nobody has are counted alike.
 * @throws Failure `sign_in.too_many_attempts`, or what `work` throws
 */
export function attemptPassword<T>(ctx: Context, { companyId, email, isKnownHere }: Tried, work: () => Promise<T>) {
  const password = { name: `password:${companyId}:${email}`, wrong: 'sign_in.wrong_credentials' } as const;
  const fromHere = { ...password, name: `${password.name}:${networkHere(ctx)}`, failures: FAILURES };
  const fromEverywhere = { ...password, failures: FAILURES_FROM_EVERYWHERE };
  return attempt(ctx, fromHere, () => (isKnownHere ? work() : attempt(ctx, fromEverywhere, work)));
}

/** The read that finds a row if the person of an email has signed in from the caller's network within 30 days. */
export const selectKnownHere = (ctx: Context, companyId: string, email: string) =>
  selectKnownNetwork(ctx.db, { companyId, email, network: networkHere(ctx), since: ctx.now() - KNOWN_MS });

/** The caller's network. */
export const networkHere = (ctx: Context): string => networkOf(ctx.ip ?? 'unknown');

/** When a network must have been signed in from last to be forgotten now. */
export const forgottenNetworks = (ctx: Context): number => ctx.now() - KNOWN_MS;

/** A user's second factor. */
export const secondFactorOf = (companyId: string, userId: string): Guess => ({
  name: `second-factor:${companyId}:${userId}`,
  wrong: 'second_factor.wrong_code',
  failures: FAILURES,
});
