import { type ApiResponse, type Caller, call } from '../support/api.ts';
import { enrolAuthenticator } from '../support/second-factor.ts';
import { must } from '../support/signed.ts';
import { aUser, type Company, logIn, PASSWORD } from '../support/worlds.ts';

/** Whether the session of a caller goes on. */
export const isSessionLive = async (as: Caller): Promise<boolean> => (await as.get('/v1/auth/me')).status === 200;

/** A user with an enabled authenticator. */
export async function createEnrolledUser(company: Company) {
  const user = await aUser(company);
  return { ...user, ...(await enrolAuthenticator(user.as)) };
}

/** Signs in by password as somebody with a second factor. @returns the token of the sign-in under way */
export const readPendingToken = async ({ slug }: Company, email: string): Promise<string> =>
  (await must(logIn(slug, email, PASSWORD))).pending_2fa_token;

/** Finishes a sign-in under way with a code. */
export const finishSignIn = (
  pending_2fa_token: string,
  code: { totp_token?: string; backup_code?: string },
  env?: Record<string, string>,
): Promise<ApiResponse> =>
  call('POST', '/v1/auth/2fa/login', { json: { pending_2fa_token, ...code }, ...(env && { env }) });

/** Sends a request about the second factor of a caller: `setup`, `enable`, `disable` or `backup-codes`. */
export const postFactor = (as: Caller, what: string, json: unknown = {}, env?: Record<string, string>) =>
  as.post(`/v1/auth/2fa/${what}`, { json, ...(env && { env }) });
