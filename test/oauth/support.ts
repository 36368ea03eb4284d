import { type ApiResponse, BASE_URL, type Caller, callApi, createCaller } from '../support/api.ts';
import { expectSuccess } from '../support/signed.ts';

export const REDIRECT_URI = 'https://program.example.com/callback';
export const MCP_URL = `${BASE_URL}/mcp`;
export const CODE_VERIFIER = 'a-verifier-that-is-long-enough-to-be-one-0123456789';

const FORM_CONTENT_TYPE = 'application/x-www-form-urlencoded';

/** Sends a form as OAuth clients do. */
export const postForm = (
  path: string,
  fields: Record<string, string> | [string, string][],
  headers: Record<string, string> = {},
  env?: Record<string, string>,
): Promise<ApiResponse> =>
  callApi('POST', path, {
    env,
    headers: { 'content-type': FORM_CONTENT_TYPE, ...headers },
    body: new URLSearchParams(fields).toString(),
  });

export const makeChallenge = async (verifier: string): Promise<string> =>
  new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier))).toBase64({
    alphabet: 'base64url',
    omitPadding: true,
  });

/** Registers an OAuth client, each from an IP address of its own, because registrations are counted per address. */
export async function registerClient(redirectUris: string[] = [REDIRECT_URI], name = 'A program'): Promise<string> {
  const headers = { 'cf-connecting-ip': `10.${[1, 2, 3].map(() => Math.floor(Math.random() * 250)).join('.')}` };
  const json = { redirect_uris: redirectUris, client_name: name };
  return (await expectSuccess(callApi('POST', '/oauth/register', { headers, json }))).client_id;
}

/** Returns the query parameters of an authorization request. */
export const makeAuthorizationQuery = async (
  client: string,
  { redirect = REDIRECT_URI, ...more }: { redirect?: string; [parameter: string]: string | undefined } = {},
): Promise<Record<string, string>> => {
  const parameters = {
    response_type: 'code',
    client_id: client,
    redirect_uri: redirect,
    code_challenge: await makeChallenge(CODE_VERIFIER),
    code_challenge_method: 'S256',
    state: 'of-the-program',
    ...more,
  };
  return Object.fromEntries(
    Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
};

export const authorize = (query: Record<string, string> | [string, string][]): Promise<ApiResponse> =>
  callApi('GET', `/oauth/authorize?${new URLSearchParams(query)}`);

/** Parses the JSON data that the consent page holds. */
export function readPageData({ body }: ApiResponse) {
  const [, json] = /<script type="application\/json" id="told">(.*?)<\/script>/s.exec(String(body)) ?? [];
  return JSON.parse(json ?? 'null');
}

/** Returns the consent request that the authorization page shows. */
export const readConsentRequest = async (
  client: string,
  otherParameters: Parameters<typeof makeAuthorizationQuery>[1] = {},
): Promise<string> =>
  readPageData(await authorize(await makeAuthorizationQuery(client, otherParameters))).asked.request;

/** Answers a consent request as a user. @returns the parameters that are sent back to the client */
export async function giveConsent(as: Caller, request: string, allow = true): Promise<URLSearchParams> {
  const { redirect_to: to } = await expectSuccess(as.post('/v1/oauth-grants', { json: { request, allow } }));
  return new URL(to).searchParams;
}

/** Returns the form with which a client exchanges its authorization code. */
export const makeExchangeForm = (
  client: string,
  code: string,
  otherParameters: Record<string, string | undefined> = {},
): [string, string][] =>
  Object.entries({
    grant_type: 'authorization_code',
    client_id: client,
    code,
    redirect_uri: REDIRECT_URI,
    code_verifier: CODE_VERIFIER,
    ...otherParameters,
  }).filter((entry): entry is [string, string] => entry[1] !== undefined);

export const exchangeCode = (...formArguments: Parameters<typeof makeExchangeForm>): Promise<ApiResponse> =>
  postForm('/oauth/token', makeExchangeForm(...formArguments));

export const refreshTokens = (
  client: string,
  token: string,
  otherParameters: Record<string, string> = {},
): Promise<ApiResponse> =>
  postForm('/oauth/token', {
    grant_type: 'refresh_token',
    client_id: client,
    refresh_token: token,
    ...otherParameters,
  });

/** Authorizes an OAuth client as a user. @returns its tokens, and a caller of the API with them */
export async function authorizeOauthClient(
  as: Caller,
  otherParameters: Parameters<typeof makeAuthorizationQuery>[1] & { client?: string } = {},
) {
  const { client = await registerClient(), ...asked } = otherParameters;
  const code = (await giveConsent(as, await readConsentRequest(client, asked))).get('code') as string;
  const redirect = asked.redirect ?? REDIRECT_URI;
  const tokens = await expectSuccess(exchangeCode(client, code, { redirect_uri: redirect }));
  return { client, code, tokens, program: createCaller(tokens.access_token) };
}
