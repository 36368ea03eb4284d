import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as Transport1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js';
import * as oauth from 'oauth4webapi';
import { describe, expect, it } from 'vitest';
import { BASE_URL, callApi, createCaller } from '../support/api.ts';
import { createAllowedUser, createOwnedCompany } from '../support/companies.ts';
import { createAllowedAccount, createSignedCaller, expectSuccess, makeAllow, makeDeny } from '../support/signed.ts';
import { authorize, authorizeOauthClient, giveConsent, MCP_URL, REDIRECT_URI, readPageData } from './support.ts';

const company = await createOwnedCompany();
const owner = createCaller(company.token);

/** Sends a `fetch` request to the Worker. */
async function fetchFromWorker(url: string | URL | Request, init: RequestInit = {}): Promise<Response> {
  const request = new Request(url as string, init);
  const { pathname, search } = new URL(request.url);
  const headers = { ...Object.fromEntries(request.headers), 'cf-connecting-ip': `10.9.${(Math.random() * 250) | 0}.1` };
  const body = ['GET', 'HEAD'].includes(request.method) ? undefined : await request.text();
  const answer = await callApi(request.method, pathname + search, { headers, ...(body !== undefined && { body }) });
  const text = typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body);
  return new Response([204, 202].includes(answer.status) ? null : text, {
    status: answer.status,
    headers: answer.headers,
  });
}

const options = { [oauth.customFetch]: fetchFromWorker as never };

it('the library oauth4webapi discovers everything from the address of the API alone', async () => {
  const resource = new URL(BASE_URL);
  const resourceMetadata = await oauth.processResourceDiscoveryResponse(
    resource,
    await oauth.resourceDiscoveryRequest(resource, options),
  );
  const issuer = new URL(resourceMetadata.authorization_servers?.[0] as string);
  const server = await oauth.processDiscoveryResponse(
    issuer,
    await oauth.discoveryRequest(issuer, { ...options, algorithm: 'oauth2' }),
  );
  const registeredClient = await oauth.processDynamicClientRegistrationResponse(
    await oauth.dynamicClientRegistrationRequest(server, { redirect_uris: [REDIRECT_URI] }, options),
  );
  const client: oauth.Client = { client_id: registeredClient.client_id };
  const verifier = oauth.generateRandomCodeVerifier();
  const state = oauth.generateRandomState();
  const address = new URL(server.authorization_endpoint as string);
  for (const [name, value] of Object.entries({
    client_id: client.client_id,
    redirect_uri: REDIRECT_URI,
    response_type: 'code',
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    state,
    resource: resourceMetadata.resource,
  })) {
    address.searchParams.set(name, value);
  }
  const { asked } = readPageData(await authorize([...address.searchParams]));
  const redirectParameters = oauth.validateAuthResponse(server, client, await giveConsent(owner, asked.request), state);
  // Somebody else's answer is told from ours by who answers.
  const foreignParameters = new URLSearchParams({ code: 'x', state, iss: 'https://evil.example' });
  expect(() => oauth.validateAuthResponse(server, client, foreignParameters, state)).toThrow(/iss/);
  const tokens = await oauth.processAuthorizationCodeResponse(
    server,
    client,
    await oauth.authorizationCodeGrantRequest(
      server,
      client,
      oauth.None(),
      redirectParameters,
      REDIRECT_URI,
      verifier,
      options,
    ),
  );
  const answer = await oauth.protectedResourceRequest(
    tokens.access_token,
    'GET',
    new URL(`${BASE_URL}/v1/groups`),
    undefined,
    undefined,
    options,
  );
  expect(answer.status).toBe(200);
  const next = await oauth.processRefreshTokenResponse(
    server,
    client,
    await oauth.refreshTokenGrantRequest(server, client, oauth.None(), tokens.refresh_token as string, options),
  );
  expect(next.refresh_token).not.toBe(tokens.refresh_token);
  await oauth.processRevocationResponse(
    await oauth.revocationRequest(server, client, oauth.None(), next.refresh_token as string, options),
  );
  expect((await createCaller(next.access_token).get('/v1/groups')).status).toBe(401);
  const device = await oauth.processDeviceAuthorizationResponse(
    server,
    client,
    await oauth.deviceAuthorizationRequest(server, client, oauth.None(), new URLSearchParams(), options),
  );
  expect(device.expires_in).toBe(600);
});

/** The methods that the official MCP clients of both versions share. */
interface OfficialClient {
  connect(transport: object): Promise<void>;
  listTools(): Promise<{ tools: object[] }>;
  close(): Promise<void>;
}
interface ClientTransport {
  finishAuth(redirectParameters: URLSearchParams): Promise<void>;
}

/** The official clients, by version. The older version receives only the code: it does not check who answers. */
const OFFICIAL_CLIENTS: Record<
  '1.x' | '2.x',
  {
    createClient(): OfficialClient;
    createTransport(by: OAuthClientProvider): ClientTransport;
    refusalPattern: RegExp | null;
  }
> = {
  '1.x': {
    createClient: () => new Client1(CLIENT_INFO) as unknown as OfficialClient,
    createTransport: (authProvider) => {
      const transport = new Transport1(new URL(MCP_URL), { authProvider, fetch: fetchFromWorker as never });
      const finishByCode = transport.finishAuth.bind(transport);
      return Object.assign(transport, {
        finishAuth: (redirectParameters: URLSearchParams) => finishByCode(redirectParameters.get('code') as string),
      });
    },
    refusalPattern: null,
  },
  '2.x': {
    createClient: () =>
      new Client(CLIENT_INFO, { versionNegotiation: { mode: { pin: '2026-07-28' } } }) as unknown as OfficialClient,
    createTransport: (authProvider) =>
      new StreamableHTTPClientTransport(new URL(MCP_URL), {
        authProvider: authProvider as never,
        fetch: fetchFromWorker as never,
      }),
    refusalPattern: /issuer/i,
  },
};
const CLIENT_INFO = { name: 'test', version: '1' };

it.each(['1.x', '2.x'] as const)(
  'the official MCP client %s connects if it knows only the address of /mcp',
  async (of) => {
    let tokens: OAuthTokens | undefined;
    let storedInformation: { client_id: string } | undefined;
    let verifier = '';
    let authorizationUrl: URL | undefined;
    let storedDiscovery: object | undefined;
    const provider = {
      redirectUrl: REDIRECT_URI,
      clientMetadata: { redirect_uris: [REDIRECT_URI], client_name: 'An agent' },
      clientInformation: () => storedInformation,
      saveClientInformation: (savedInformation) => {
        storedInformation = savedInformation;
      },
      tokens: () => tokens,
      saveTokens: (savedTokens) => {
        tokens = savedTokens;
      },
      redirectToAuthorization: (url) => {
        authorizationUrl = url;
      },
      saveCodeVerifier: (savedVerifier) => {
        verifier = savedVerifier;
      },
      codeVerifier: () => verifier,
      saveDiscoveryState: (savedState) => {
        storedDiscovery = savedState;
      },
      discoveryState: () => storedDiscovery as never,
    } satisfies OAuthClientProvider;
    const { createClient, createTransport, refusalPattern } = OFFICIAL_CLIENTS[of];
    const first = createTransport(provider);
    await expect(createClient().connect(first)).rejects.toThrow(/Unauthorized/);
    expect(authorizationUrl?.searchParams.get('resource')).toBe(MCP_URL);
    const pageData = readPageData(await authorize([...(authorizationUrl as URL).searchParams]));
    expect(pageData.asked).toMatchObject({ resource: 'mcp', only_reads: true, client: { name: 'An agent' } });
    const redirectParameters = await giveConsent(owner, pageData.asked.request);
    if (refusalPattern) {
      const foreignParameters = new URLSearchParams({
        ...Object.fromEntries(redirectParameters),
        iss: 'https://evil.example',
      });
      await expect(first.finishAuth(foreignParameters)).rejects.toThrow(refusalPattern);
    }
    await first.finishAuth(redirectParameters);
    const connectedClient = createClient();
    await connectedClient.connect(createTransport(provider));
    expect((await connectedClient.listTools()).tools.length).toBeGreaterThan(5);
    await connectedClient.close();
  },
);

it('a 401 response names the OAuth metadata, of the API and of /mcp', async () => {
  const metadata = `${BASE_URL}/.well-known/oauth-protected-resource`;
  const readChallenge = async (path: string) => (await callApi('GET', path)).headers.get('www-authenticate');
  expect(await readChallenge('/v1/groups')).toBe(`Bearer resource_metadata="${metadata}"`);
  expect(await readChallenge('/v1/managed-tables')).toBe(`Bearer resource_metadata="${metadata}"`);
  const mcpAnswer = await callApi('POST', '/mcp', { json: {} });
  expect(mcpAnswer.headers.get('www-authenticate')).toBe(`Bearer resource_metadata="${metadata}/mcp"`);
});

describe('the challenge of a refused token', () => {
  const metadata = `${BASE_URL}/.well-known/oauth-protected-resource`;

  it('names invalid_token as the error', async () => {
    const unknownCaller = createCaller('unknown');
    expect((await unknownCaller.get('/v1/groups')).headers.get('www-authenticate')).toBe(
      `Bearer resource_metadata="${metadata}", error="invalid_token"`,
    );
    expect((await unknownCaller.post('/mcp', { json: {} })).headers.get('www-authenticate')).toBe(
      `Bearer resource_metadata="${metadata}/mcp", error="invalid_token"`,
    );
  });

  it('names insufficient_scope and the sufficient scopes, if only the scopes cause the refusal', async () => {
    const person = await createAllowedUser(company, { can: ['groups:list', 'groups:create'] });
    const { program } = await authorizeOauthClient(person.as, { scope: 'groups:list users:list' });
    const refusedAnswer = await program.post('/v1/groups', { json: { name: 'Made by a program' } });
    expect([refusedAnswer.status, refusedAnswer.headers.get('www-authenticate')]).toEqual([
      403,
      `Bearer resource_metadata="${metadata}", error="insufficient_scope", scope="groups:list users:list groups:create"`,
    ]);
    // These the person may not do either, and a route without an action is for no program.
    for (const path of ['/v1/users', '/v1/policies', '/v1/auth/me']) {
      const { status, headers } = await program.get(path);
      expect([path, status, headers.get('www-authenticate')]).toEqual([path, 403, null]);
    }
  });
});

it('a Deny of mcp:connect keeps its users and service accounts from using /mcp with any credential', async () => {
  const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
  const deniedUser = await createAllowedUser(company, { can: ['*'], denied: ['mcp:connect'] });
  expect((await deniedUser.as.post('/mcp', { json: ping })).status).toBe(403);
  const { program } = await authorizeOauthClient(deniedUser.as, { resource: MCP_URL });
  expect((await program.post('/mcp', { json: ping })).status).toBe(403);
  const deniedAccount = await createAllowedAccount(company, makeAllow('*'), makeDeny('mcp:connect'));
  const { token } = await expectSuccess(createSignedCaller(deniedAccount.key).post('/tokens'));
  expect((await createCaller(token).post('/mcp', { json: ping })).status).toBe(403);
  const allowedUser = await createAllowedUser(company, { can: ['groups:list'] });
  expect((await allowedUser.as.post('/mcp', { json: ping })).status).toBe(200);
});
