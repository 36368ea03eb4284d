import { type ApiResponse, BASE_URL, callApi } from '../support/api.ts';
import type { Company } from '../support/companies.ts';

/** The console URL to which sign-ins in the tests return. */
export const CONSOLE_RETURN_URL = 'https://console.test/signed-in';

export const makeCallbackUrl = (company: Company) => `${BASE_URL}/v1/auth/sso/${company.slug}/callback`;

/** Configures single sign-on of a company, and expects success. */
export async function configureSso(company: Company, configuration: Record<string, unknown>): Promise<void> {
  const { status, body } = await company.as.put('/v1/auth/sso/config', {
    json: { redirect_uris: [CONSOLE_RETURN_URL], ...configuration },
  });
  if (status !== 200) throw new Error(`PUT /v1/auth/sso/config answered ${status}: ${JSON.stringify(body)}`);
}

/** Begins a sign-in by single sign-on. @returns the address at the provider */
export async function startSignIn(company: Company, redirectUri = CONSOLE_RETURN_URL): Promise<URL> {
  const { status, body } = await requestSignInStart(company.slug, redirectUri);
  if (status !== 200) throw new Error(`start answered ${status}: ${JSON.stringify(body)}`);
  const url = new URL(body.url);
  const state = url.searchParams.get('state') ?? url.searchParams.get('RelayState');
  secretsByState.set(state as string, body.exchange_secret);
  return url;
}

/** The exchange secrets of clients that began a sign-in, by its state. */
const secretsByState = new Map<string, string>();
export const getSecretOfState = (state: string): string => secretsByState.get(state) ?? 'none';

const secretsByCode = new Map<string, string>();

/** Returns the exchange secret of the client that began the sign-in of a code. */
export const getSecretOfCode = (code: string): string => secretsByCode.get(code) ?? 'none';

export const requestSignInStart = (
  slug: string,
  redirectUri: string,
  variables?: Record<string, string>,
): Promise<ApiResponse> =>
  callApi('GET', `/v1/auth/sso/${slug}/start?redirect_uri=${encodeURIComponent(redirectUri)}`, { env: variables });

/** Sends the provider's answer to our callback by redirect. */
export const answerByRedirect = (
  company: Company,
  parameters: Record<string, string>,
  env?: Record<string, string>,
): Promise<ApiResponse> =>
  recordAnswer(
    parameters,
    callApi('GET', `/v1/auth/sso/${company.slug}/callback?${new URLSearchParams(parameters)}`, { env }),
  );

/** Sends the provider's answer to our callback by a form that the browser posts. */
export const answerByForm = (
  company: Company,
  fields: Record<string, string>,
  env?: Record<string, string>,
): Promise<ApiResponse> =>
  recordAnswer(
    fields,
    callApi('POST', `/v1/auth/sso/${company.slug}/callback`, { body: new URLSearchParams(fields), env }),
  );

/** Waits for an answer, and assigns its code to the client that began the sign-in. */
async function recordAnswer(
  { state, RelayState }: Record<string, string>,
  pendingAnswer: Promise<ApiResponse>,
): Promise<ApiResponse> {
  const answer = await pendingAnswer;
  const secret = secretsByState.get(state ?? RelayState ?? '');
  const code = answer.status === 302 ? readRedirect(answer).code : null;
  if (secret !== undefined && code !== null) secretsByCode.set(code, secret);
  return answer;
}

/** Exchanges a code, as the client that began its sign-in does. */
export const exchangeCode = (code: string): Promise<ApiResponse> => requestCodeExchange(code, getSecretOfCode(code));

export const requestCodeExchange = (
  code: string,
  exchange_secret?: string,
  env?: Record<string, string>,
): Promise<ApiResponse> => callApi('POST', '/v1/auth/sso/exchange', { json: { code, exchange_secret }, env });

/** Returns the address to which an answer redirects, and the parameters in it. */
export function readRedirect({ status, headers, body }: ApiResponse): {
  /** The address without its query. */
  to: string;
  code: string | null;
  error: string | null;
} {
  if (status !== 302) throw new Error(`Expected a redirect, got ${status}: ${JSON.stringify(body)}`);
  const url = new URL(headers.get('location') ?? '');
  const { searchParams } = url;
  return { to: url.origin + url.pathname, code: searchParams.get('code'), error: searchParams.get('error') };
}
