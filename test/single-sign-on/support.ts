import { type ApiResponse, BASE_URL, call } from '../support/api.ts';
import type { Company } from '../support/worlds.ts';

/** Where the console of the tests takes people back. */
export const CONSOLE = 'https://console.test/signed-in';

export const callbackUrl = (company: Company) => `${BASE_URL}/v1/auth/sso/${company.slug}/callback`;

/** Configures single sign-on of a company, which must work. */
export async function configureSso(company: Company, configuration: Record<string, unknown>): Promise<void> {
  const { status, body } = await company.as.put('/v1/auth/sso/config', {
    json: { redirect_uris: [CONSOLE], ...configuration },
  });
  if (status !== 200) throw new Error(`PUT /v1/auth/sso/config answered ${status}: ${JSON.stringify(body)}`);
}

/** Begins a sign-in. @returns the address at the provider */
export async function startSignIn(company: Company, redirectUri = CONSOLE): Promise<URL> {
  const { status, body } = await tryStart(company.slug, redirectUri);
  if (status !== 200) throw new Error(`start answered ${status}: ${JSON.stringify(body)}`);
  const url = new URL(body.url);
  const state = url.searchParams.get('state') ?? url.searchParams.get('RelayState');
  secretOfState.set(state as string, body.exchange_secret);
  return url;
}

/** What the client keeps that began a sign-in, by its state. */
const secretOfState = new Map<string, string>();
export const secretOfStart = (state: string): string => secretOfState.get(state) ?? 'none';

const secretOfCode = new Map<string, string>();

/** What the client kept that began the sign-in of a code. */
export const getSecretOfCode = (code: string): string => secretOfCode.get(code) ?? 'none';

export const tryStart = (slug: string, redirectUri: string, variables?: Record<string, string>): Promise<ApiResponse> =>
  call('GET', `/v1/auth/sso/${slug}/start?redirect_uri=${encodeURIComponent(redirectUri)}`, { env: variables });

/** The provider's answer by redirect. */
export const answerByRedirect = (
  company: Company,
  parameters: Record<string, string>,
  env?: Record<string, string>,
): Promise<ApiResponse> =>
  makeAnswer(
    parameters,
    call('GET', `/v1/auth/sso/${company.slug}/callback?${new URLSearchParams(parameters)}`, { env }),
  );

/** The provider's answer by a form that the browser posts. */
export const answerByForm = (
  company: Company,
  fields: Record<string, string>,
  env?: Record<string, string>,
): Promise<ApiResponse> =>
  makeAnswer(fields, call('POST', `/v1/auth/sso/${company.slug}/callback`, { body: new URLSearchParams(fields), env }));

/** An answer whose code the client that began this sign-in can exchange. */
async function makeAnswer(
  { state, RelayState }: Record<string, string>,
  answering: Promise<ApiResponse>,
): Promise<ApiResponse> {
  const answer = await answering;
  const secret = secretOfState.get(state ?? RelayState ?? '');
  const code = answer.status === 302 ? readRedirect(answer).code : null;
  if (secret !== undefined && code !== null) secretOfCode.set(code, secret);
  return answer;
}

/** Exchanges a code, as the client that began its sign-in does. */
export const exchangeCode = (code: string): Promise<ApiResponse> => tryExchange(code, getSecretOfCode(code));

export const tryExchange = (
  code: string,
  exchange_secret?: string,
  env?: Record<string, string>,
): Promise<ApiResponse> => call('POST', '/v1/auth/sso/exchange', { json: { code, exchange_secret }, env });

/** Where an answer sent the person, and with what. */
export function readRedirect({ status, headers, body }: ApiResponse): {
  to: string;
  code: string | null;
  error: string | null;
} {
  if (status !== 302) throw new Error(`Expected a redirect, got ${status}: ${JSON.stringify(body)}`);
  const url = new URL(headers.get('location') ?? '');
  const { searchParams } = url;
  return { to: url.origin + url.pathname, code: searchParams.get('code'), error: searchParams.get('error') };
}
