import { ApiProblem, type CallOptions, callApi } from '../api.ts';
import { AUTHORIZATION_TEXTS } from './texts.ts';

/** Calls the API like `callApi`, but with the error messages of this page's texts. */
export async function callWithTexts<T>(path: string, options: CallOptions = {}): Promise<T> {
  try {
    return await callApi<T>(path, options);
  } catch (error) {
    const failureMessage = error instanceof ApiProblem ? AUTHORIZATION_TEXTS.failures[error.code] : undefined;
    if (!(error instanceof ApiProblem) || failureMessage === undefined) throw error;
    throw new ApiProblem(error.status, error.code, failureMessage, {
      retryAfter: error.retryAfter,
      details: error.details,
    });
  }
}

/** The response of every sign-in method. */
export interface SignInResult {
  token?: string;
  user?: { email: string };
  requires_2fa?: true;
  requires_2fa_setup?: true;
  /** The token for the step of the second factor; absent if the user must sign in by passkey, which counts as both factors. */
  pending_2fa_token?: string;
}

/** A person who has signed in on this page. */
export interface SignedInUser {
  token: string;
  email: string;
}
