import type { Context } from '../../context.ts';
import { DAY_MS, MINUTE_MS } from '../../kernel/clock.ts';
import type { FailureType } from '../../kernel/failure.ts';
import { toNetwork } from '../../kernel/networks.ts';
import { callObject } from '../../platform/objects.ts';
import { tooManyAttempts, wrongCredentials, wrongSecondFactor } from './failures.ts';
import { selectKnownNetwork } from './network-store.ts';

/** Wrong guesses within a window, from one network or at one second factor, after which further ones are refused. */
const MAX_WRONG = 10;
/** Wrong passwords for one email from all networks, after which they are taken only from networks known for the email. */
const MAX_WRONG_FROM_EVERYWHERE = 100;
const WINDOW_MS = 15 * MINUTE_MS;
const KNOWN_MS = 30 * DAY_MS;

/** A secret that can be guessed, such as a password or a code. */
export interface Guess {
  /** The name under which its tries are counted. */
  name: string;
  /** The failure of a wrong guess. Any other failure does not count. */
  wrong: FailureType;
  maxWrong: number;
  /** The time for which wrong guesses count; 15 minutes when left out. */
  windowMs?: number;
}

/** Runs one guess. After `maxWrong` wrong ones within a window, further ones are refused until it ends. */
export async function attempt<T>(ctx: Context, guess: Guess, work: () => Promise<T>): Promise<T> {
  const { ATTEMPT_LIMITER } = ctx.bindings;
  const { windowMs = WINDOW_MS } = guess;
  const id = ctx.newId();
  const begun = await callObject(
    ATTEMPT_LIMITER,
    guess.name,
    async (limiter) => await limiter.begin(id, guess.maxWrong, windowMs),
  );
  if (!begun.allowed) throw tooManyAttempts(Math.ceil(begun.retryAfterMs / 1000));
  let wrong = false;
  try {
    return await work();
  } catch (error) {
    wrong = guess.wrong.matches(error);
    throw error;
  } finally {
    await callObject(ATTEMPT_LIMITER, guess.name, async (limiter) => await limiter.settle(id, wrong, windowMs));
  }
}

export interface PasswordAttempt {
  companyId: string;
  /** Lower-case. */
  email: string;
  /** Whether the user has signed in from this network within 30 days. */
  isKnownHere: boolean;
}

/**
 * Runs one guess of a password. Wrong ones are counted by email and network, so that strangers cannot lock a user out, and
 * by email alone, so that many networks cannot guess together. Unknown emails are counted too, so that nobody learns
 * which are known.
 */
export function attemptPassword<T>(
  ctx: Context,
  { companyId, email, isKnownHere }: PasswordAttempt,
  work: () => Promise<T>,
) {
  const password = { name: `password:${companyId}:${email}`, wrong: wrongCredentials };
  const fromHere = { ...password, name: `${password.name}:${getCallerNetwork(ctx)}`, maxWrong: MAX_WRONG };
  const fromEverywhere = { ...password, maxWrong: MAX_WRONG_FROM_EVERYWHERE };
  return attempt(ctx, fromHere, () => (isKnownHere ? work() : attempt(ctx, fromEverywhere, work)));
}

/** Selects a row if the user of the email has signed in from the caller's network within 30 days. */
export const selectKnownHere = (ctx: Context, companyId: string, email: string) =>
  selectKnownNetwork(ctx.db, { companyId, email, network: getCallerNetwork(ctx), since: ctx.now() - KNOWN_MS });

export const getCallerNetwork = (ctx: Context): string => toNetwork(ctx.ip ?? 'unknown');

/** Networks that were last used before this time are not known any more. */
export const oldestKnownNetwork = (ctx: Context): number => ctx.now() - KNOWN_MS;

export const guessSecondFactor = (companyId: string, userId: string): Guess => ({
  name: `second-factor:${companyId}:${userId}`,
  wrong: wrongSecondFactor,
  maxWrong: MAX_WRONG,
});
