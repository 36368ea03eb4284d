import { type ApiResponse, type Caller, callApi } from '../support/api.ts';
import { type Company, createAllowedUser, logIn, PASSWORD } from '../support/companies.ts';
import { enrolAuthenticator } from '../support/second-factor.ts';
import { expectSuccess } from '../support/signed.ts';

/** Returns whether the session of a caller is still valid. */
export const isSessionLive = async (as: Caller): Promise<boolean> => (await as.get('/v1/auth/me')).status === 200;

/** Creates a user with an enabled authenticator app. */
export async function createEnrolledUser(company: Company) {
  const user = await createAllowedUser(company);
  return { ...user, ...(await enrolAuthenticator(user.as)) };
}

/** Signs in by password as a user with a second factor. @returns the token of the pending sign-in */
export const readPendingToken = async ({ slug }: Company, email: string): Promise<string> =>
  (await expectSuccess(logIn(slug, email, PASSWORD))).pending_2fa_token;

/** Finishes a pending sign-in with a code. */
export const finishSignIn = (
  pending_2fa_token: string,
  code: { totp_token?: string; backup_code?: string },
  env?: Record<string, string>,
): Promise<ApiResponse> => callApi('POST', '/v1/auth/2fa/login', { json: { pending_2fa_token, ...code }, env });

/** Sends a request about the second factor of a caller: `setup`, `enable`, `disable` or `backup-codes`. */
export const postFactor = (as: Caller, action: string, json: unknown = {}, env?: Record<string, string>) =>
  as.post(`/v1/auth/2fa/${action}`, { json, env });
