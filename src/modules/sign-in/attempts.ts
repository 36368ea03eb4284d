import type { Context } from '../../context.ts';
import { Failure } from '../../kernel/failure.ts';
import { tooManyAttempts } from './failures.ts';

const FAILURES = 10;
const WINDOW_MS = 15 * 60 * 1000;

/** What a wrong guess is thrown as. Other failures say nothing about the guess. */
const WRONG = new Set(['sign_in.wrong_credentials', 'second_factor.wrong_code']);

/**
 * Runs one try at something that can be guessed: after 10 wrong ones in 15 minutes further tries are refused until the
 * window ends, also when they are made at the same time.
 * @param guessed what is being guessed, e.g. `password:{company}:{email}`
 * @throws Failure `sign_in.too_many_attempts`, or what `work` throws
 */
export async function attempt<T>(ctx: Context, guessed: string, work: () => Promise<T>): Promise<T> {
  const limiter = ctx.bindings.ATTEMPT_LIMITER.getByName(guessed);
  const begun = await limiter.begin(FAILURES, WINDOW_MS);
  if (!begun.allowed) throw tooManyAttempts(Math.ceil(begun.retryAfterMs / 1000));
  let wrong = false;
  try {
    return await work();
  } catch (error) {
    wrong = !(error instanceof Failure) || WRONG.has(error.reason);
    throw error;
  } finally {
    await limiter.settle(begun.attemptId, wrong, WINDOW_MS);
  }
}

/** What tries at a user's password are counted under, whether or not the user exists. */
export const passwordOf = (companyId: string, email: string): string => `password:${companyId}:${email}`;

/** What tries at a user's second factor are counted under. */
export const secondFactorOf = (companyId: string, userId: string): string => `second-factor:${companyId}:${userId}`;
