import type { Context } from '../../context.ts';
import { DAY_MS, MINUTE_MS } from '../../kernel/clock.ts';
import type { FailureType } from '../../kernel/failure.ts';
import { toNetwork } from '../../kernel/networks.ts';
import { callObject } from '../../platform/objects.ts';
import { tooManyAttempts, wrongCredentials, wrongSecondFactor } from './failures.ts';
import { selectKnownNetwork } from './store.ts';

/** The number of wrong guesses within a window, from one network or at one second factor, after which more are refused. */
const MAX_WRONG_GUESSES = 10;
/** The number of wrong passwords for an email after which passwords are tried only from networks known for it. */
const MAX_WRONG_GUESSES_PER_EMAIL = 100;
const GUESS_WINDOW_MS = 15 * MINUTE_MS;
const KNOWN_NETWORK_MS = 30 * DAY_MS;

/** An attempt at a secret that can be guessed, such as a password or a code. */
export interface Guess {
  /** The name under which attempts at this secret are counted. */
  name: string;
  /** The failure of a wrong guess. A guess that fails otherwise does not count. */
  wrongGuessFailure: FailureType;
  maxWrongGuesses: number;
  /** The time for which wrong guesses count; 15 minutes when left out. */
  windowMs?: number;
}

/** Runs one guess. After `maxWrongGuesses` wrong guesses within a window, further guesses are refused until the window ends. */
export async function attemptGuess<T>(ctx: Context, guess: Guess, work: () => Promise<T>): Promise<T> {
  const { ATTEMPT_LIMITER } = ctx.bindings;
  const { windowMs = GUESS_WINDOW_MS } = guess;
  const id = ctx.newId();
  const guessPermission = await callObject(
    ATTEMPT_LIMITER,
    guess.name,
    async (limiter) => await limiter.begin(id, guess.maxWrongGuesses, windowMs),
  );
  if (!guessPermission.allowed) throw tooManyAttempts(Math.ceil(guessPermission.retryAfterMs / 1000));
  let isWrongGuess = false;
  try {
    return await work();
  } catch (error) {
    isWrongGuess = guess.wrongGuessFailure.matches(error);
    throw error;
  } finally {
    await callObject(ATTEMPT_LIMITER, guess.name, async (limiter) => await limiter.settle(id, isWrongGuess, windowMs));
  }
}

export interface PasswordAttempt {
  companyId: string;
  /** The email address, in lower case. */
  email: string;
  /** True if the user has signed in from this network within 30 days. */
  isNetworkKnown: boolean;
}

/**
 * Runs one guess of a password. Wrong passwords are counted by email and network, so that strangers cannot lock a user out, and
 * by email alone, so that many networks cannot guess together. Passwords for unknown emails are counted too, so that nobody
 * learns which are known.
 */
export function attemptPassword<T>(
  ctx: Context,
  { companyId, email, isNetworkKnown }: PasswordAttempt,
  work: () => Promise<T>,
) {
  const passwordGuess = { name: `password:${companyId}:${email}`, wrongGuessFailure: wrongCredentials };
  const networkGuess = {
    ...passwordGuess,
    name: `${passwordGuess.name}:${getCallerNetwork(ctx)}`,
    maxWrongGuesses: MAX_WRONG_GUESSES,
  };
  const emailGuess = { ...passwordGuess, maxWrongGuesses: MAX_WRONG_GUESSES_PER_EMAIL };
  return attemptGuess(ctx, networkGuess, () => (isNetworkKnown ? work() : attemptGuess(ctx, emailGuess, work)));
}

/** Selects a row if the user of the email has signed in from the caller's network within 30 days. */
export const selectCallerNetworkKnown = (ctx: Context, companyId: string, email: string) =>
  selectKnownNetwork(ctx.db, { companyId, email, network: getCallerNetwork(ctx), since: ctx.now() - KNOWN_NETWORK_MS });

export const getCallerNetwork = (ctx: Context): string => toNetwork(ctx.ip ?? 'unknown');

/** Returns the time (ms) before which the last use of a network is too old for the network to be known. */
export const computeKnownNetworkStart = (ctx: Context): number => ctx.now() - KNOWN_NETWORK_MS;

export const makeSecondFactorGuess = (companyId: string, userId: string): Guess => ({
  name: `second-factor:${companyId}:${userId}`,
  wrongGuessFailure: wrongSecondFactor,
  maxWrongGuesses: MAX_WRONG_GUESSES,
});
