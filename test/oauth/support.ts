import { type ApiResponse, BASE_URL, type Caller, call, createCaller } from '../support/api.ts';
import { must } from '../support/signed.ts';

export const REDIRECT = 'https://program.example.com/callback';
export const MCP = `${BASE_URL}/mcp`;
export const VERIFIER = 'a-verifier-that-is-long-enough-to-be-one-0123456789';

const FORM = 'application/x-www-form-urlencoded';

/** Sends a form as programs do. */
export const postForm = (
  path: string,
  fields: Record<string, string> | [string, string][],
  headers: Record<string, string> = {},
  env?: Record<string, string>,
): Promise<ApiResponse> =>
  call('POST', path, {
    ...(env && { env }),
    headers: { 'content-type': FORM, ...headers },
    body: new URLSearchParams(fields).toString(),
  });

export const makeChallenge = async (verifier: string): Promise<string> =>
  new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier))).toBase64({
    alphabet: 'base64url',
    omitPadding: true,
  });

/** A program that registers itself. Each from an address of its own: they are counted. */
export async function registerClient(redirects: string[] = [REDIRECT], name = 'A program'): Promise<string> {
  const headers = { 'cf-connecting-ip': `10.${[1, 2, 3].map(() => Math.floor(Math.random() * 250)).join('.')}` };
  const json = { redirect_uris: redirects, client_name: name };
  return (await must(call('POST', '/oauth/register', { headers, json }))).client_id;
}

/** The query of a request to be let in. */
export const makeAuthorizationQuery = async (
  client: string,
  { redirect = REDIRECT, ...more }: { redirect?: string; [parameter: string]: string | undefined } = {},
): Promise<Record<string, string>> => {
  const parameters = {
    response_type: 'code',
    client_id: client,
    redirect_uri: redirect,
    code_challenge: await makeChallenge(VERIFIER),
    code_challenge_method: 'S256',
    state: 'of-the-program',
    ...more,
  };
  return Object.fromEntries(
    Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
};

export const authorize = (query: Record<string, string> | [string, string][]): Promise<ApiResponse> =>
  call('GET', `/oauth/authorize?${new URLSearchParams(query)}`);

/** What the page is told. */
export function readPageData({ body }: ApiResponse) {
  const [, json] = /<script type="application\/json" id="told">(.*?)<\/script>/s.exec(String(body)) ?? [];
  return JSON.parse(json ?? 'null');
}

/** What somebody is asked on the page. */
export const readConsentRequest = async (
  client: string,
  more: Parameters<typeof makeAuthorizationQuery>[1] = {},
): Promise<string> => readPageData(await authorize(await makeAuthorizationQuery(client, more))).asked.request;

/** Somebody lets a program in. @returns the parameters that come back to it */
export async function giveConsent(as: Caller, request: string, allow = true): Promise<URLSearchParams> {
  const { redirect_to: to } = await must(as.post('/v1/oauth-grants', { json: { request, allow } }));
  return new URL(to).searchParams;
}

/** What a program sends for its code. */
export const exchangeForm = (
  client: string,
  code: string,
  more: Record<string, string | undefined> = {},
): [string, string][] =>
  Object.entries({
    grant_type: 'authorization_code',
    client_id: client,
    code,
    redirect_uri: REDIRECT,
    code_verifier: VERIFIER,
    ...more,
  }).filter((entry): entry is [string, string] => entry[1] !== undefined);

export const exchangeCode = (...sent: Parameters<typeof exchangeForm>): Promise<ApiResponse> =>
  postForm('/oauth/token', exchangeForm(...sent));

export const refreshTokens = (client: string, token: string, more: Record<string, string> = {}): Promise<ApiResponse> =>
  postForm('/oauth/token', { grant_type: 'refresh_token', client_id: client, refresh_token: token, ...more });

/** A program that somebody let in: its tokens, and what it calls the API with. */
export async function authorizeProgram(
  as: Caller,
  more: Parameters<typeof makeAuthorizationQuery>[1] & { client?: string } = {},
) {
  const { client = await registerClient(), ...asked } = more;
  const code = (await giveConsent(as, await readConsentRequest(client, asked))).get('code') as string;
  const redirect = asked.redirect ?? REDIRECT;
  const tokens = await must(exchangeCode(client, code, { redirect_uri: redirect }));
  return { client, code, tokens, program: createCaller(tokens.access_token) };
}
