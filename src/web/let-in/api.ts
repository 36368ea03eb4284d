import { ApiProblem, type Call, call } from '../api.ts';
import { AUTHORIZATION_TEXTS } from './texts.ts';

/** Calls the API as `call` does, with error messages in the words of this page. */
export async function ask<T>(path: string, options: Call = {}): Promise<T> {
  try {
    return await call<T>(path, options);
  } catch (error) {
    const said = error instanceof ApiProblem ? AUTHORIZATION_TEXTS.failures[error.code] : undefined;
    if (!(error instanceof ApiProblem) || said === undefined) throw error;
    throw new ApiProblem(error.status, error.code, said, { retryAfter: error.retryAfter, details: error.details });
  }
}

/** The answer of every way of signing in. */
export interface SignInResult {
  token?: string;
  user?: { email: string };
  requires_2fa?: true;
  requires_2fa_setup?: true;
  /** The token for the step of the second factor; absent if the user must sign in by passkey, which counts as both factors. */
  pending_2fa_token?: string;
}

/** A person who has signed in on this page. */
export interface SignedIn {
  token: string;
  email: string;
}
