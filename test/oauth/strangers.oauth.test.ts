import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as Transport1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js';
import * as oauth from 'oauth4webapi';
import { beforeAll, describe, expect, it } from 'vitest';
import { BASE_URL, type Caller, call, createCaller } from '../support/api.ts';
import { allow, aServiceAccountThat, deny, must, signed } from '../support/signed.ts';
import { aCompany, aUser, type Company } from '../support/worlds.ts';
import { authorize, authorizeProgram, giveConsent, MCP, REDIRECT, readPageData } from './support.ts';

let company: Company;
let owner: Caller;

beforeAll(async () => {
  company = await aCompany();
  owner = createCaller(company.token);
});

/** Fetches from the Worker. */
async function fetchFromWorker(url: string | URL | Request, init: RequestInit = {}): Promise<Response> {
  const request = new Request(url as string, init);
  const { pathname, search } = new URL(request.url);
  const headers = { ...Object.fromEntries(request.headers), 'cf-connecting-ip': `10.9.${(Math.random() * 250) | 0}.1` };
  const body = ['GET', 'HEAD'].includes(request.method) ? undefined : await request.text();
  const answer = await call(request.method, pathname + search, { headers, ...(body !== undefined && { body }) });
  const text = typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body);
  return new Response([204, 202].includes(answer.status) ? null : text, {
    status: answer.status,
    headers: answer.headers,
  });
}

const options = { [oauth.customFetch]: fetchFromWorker as never };

it('the library oauth4webapi discovers everything from the address of the API alone', async () => {
  const resource = new URL(BASE_URL);
  const found = await oauth.processResourceDiscoveryResponse(
    resource,
    await oauth.resourceDiscoveryRequest(resource, options),
  );
  const issuer = new URL(found.authorization_servers?.[0] as string);
  const server = await oauth.processDiscoveryResponse(
    issuer,
    await oauth.discoveryRequest(issuer, { ...options, algorithm: 'oauth2' }),
  );
  const registered = await oauth.processDynamicClientRegistrationResponse(
    await oauth.dynamicClientRegistrationRequest(server, { redirect_uris: [REDIRECT] }, options),
  );
  const client: oauth.Client = { client_id: registered.client_id };
  const verifier = oauth.generateRandomCodeVerifier();
  const state = oauth.generateRandomState();
  const address = new URL(server.authorization_endpoint as string);
  for (const [name, value] of Object.entries({
    client_id: client.client_id,
    redirect_uri: REDIRECT,
    response_type: 'code',
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    state,
    resource: found.resource,
  })) {
    address.searchParams.set(name, value);
  }
  const { asked } = readPageData(await authorize([...address.searchParams]));
  const back = oauth.validateAuthResponse(server, client, await giveConsent(owner, asked.request), state);
  // Somebody else's answer is told from ours by who answers.
  const mixedUp = new URLSearchParams({ code: 'x', state, iss: 'https://evil.example' });
  expect(() => oauth.validateAuthResponse(server, client, mixedUp, state)).toThrow(/iss/);
  const tokens = await oauth.processAuthorizationCodeResponse(
    server,
    client,
    await oauth.authorizationCodeGrantRequest(server, client, oauth.None(), back, REDIRECT, verifier, options),
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

/** What the official clients of MCP have, of both versions. */
interface Stranger {
  connect(transport: object): Promise<void>;
  listTools(): Promise<{ tools: object[] }>;
  close(): Promise<void>;
}
interface Door {
  finishAuth(back: URLSearchParams): Promise<void>;
}

/** The official clients, by their versions. The older one is handed the code alone: it does not look at who answers. */
const STRANGERS: Record<
  '1.x' | '2.x',
  { client(): Stranger; door(by: OAuthClientProvider): Door; refused: RegExp | null }
> = {
  '1.x': {
    client: () => new Client1(NAMED) as unknown as Stranger,
    door: (authProvider) => {
      const transport = new Transport1(new URL(MCP), { authProvider, fetch: fetchFromWorker as never });
      const finish = transport.finishAuth.bind(transport);
      return Object.assign(transport, { finishAuth: (back: URLSearchParams) => finish(back.get('code') as string) });
    },
    refused: null,
  },
  '2.x': {
    client: () => new Client(NAMED, { versionNegotiation: { mode: { pin: '2026-07-28' } } }) as unknown as Stranger,
    door: (authProvider) =>
      new StreamableHTTPClientTransport(new URL(MCP), {
        authProvider: authProvider as never,
        fetch: fetchFromWorker as never,
      }),
    refused: /issuer/i,
  },
};
const NAMED = { name: 'test', version: '1' };

it.each(['1.x', '2.x'] as const)(
  'the official MCP client %s connects if it knows only the address of /mcp',
  async (of) => {
    let tokens: OAuthTokens | undefined;
    let information: { client_id: string } | undefined;
    let verifier = '';
    let asked: URL | undefined;
    let discovered: object | undefined;
    const provider = {
      redirectUrl: REDIRECT,
      clientMetadata: { redirect_uris: [REDIRECT], client_name: 'An agent' },
      clientInformation: () => information,
      saveClientInformation: (saved) => {
        information = saved;
      },
      tokens: () => tokens,
      saveTokens: (saved) => {
        tokens = saved;
      },
      redirectToAuthorization: (url) => {
        asked = url;
      },
      saveCodeVerifier: (saved) => {
        verifier = saved;
      },
      codeVerifier: () => verifier,
      saveDiscoveryState: (saved) => {
        discovered = saved;
      },
      discoveryState: () => discovered as never,
    } satisfies OAuthClientProvider;
    const { client, door, refused } = STRANGERS[of];
    const first = door(provider);
    await expect(client().connect(first)).rejects.toThrow(/Unauthorized/);
    expect(asked?.searchParams.get('resource')).toBe(MCP);
    const told = readPageData(await authorize([...(asked as URL).searchParams]));
    expect(told.asked).toMatchObject({ resource: 'mcp', only_reads: true, client: { name: 'An agent' } });
    const back = await giveConsent(owner, told.asked.request);
    if (refused) {
      const mixedUp = new URLSearchParams({ ...Object.fromEntries(back), iss: 'https://evil.example' });
      await expect(first.finishAuth(mixedUp)).rejects.toThrow(refused);
    }
    await first.finishAuth(back);
    const connected = client();
    await connected.connect(door(provider));
    expect((await connected.listTools()).tools.length).toBeGreaterThan(5);
    await connected.close();
  },
);

it('a 401 response names the OAuth metadata, of the API and of /mcp', async () => {
  const metadata = `${BASE_URL}/.well-known/oauth-protected-resource`;
  const challenge = async (path: string) => (await call('GET', path)).headers.get('www-authenticate');
  expect(await challenge('/v1/groups')).toBe(`Bearer resource_metadata="${metadata}"`);
  expect(await challenge('/v1/managed-tables')).toBe(`Bearer resource_metadata="${metadata}"`);
  const ofMcp = await call('POST', '/mcp', { json: {} });
  expect(ofMcp.headers.get('www-authenticate')).toBe(`Bearer resource_metadata="${metadata}/mcp"`);
});

describe('the challenge of a refused token', () => {
  const metadata = `${BASE_URL}/.well-known/oauth-protected-resource`;

  it('names invalid_token as the error', async () => {
    const unknown = createCaller('unknown');
    expect((await unknown.get('/v1/groups')).headers.get('www-authenticate')).toBe(
      `Bearer resource_metadata="${metadata}", error="invalid_token"`,
    );
    expect((await unknown.post('/mcp', { json: {} })).headers.get('www-authenticate')).toBe(
      `Bearer resource_metadata="${metadata}/mcp", error="invalid_token"`,
    );
  });

  it('names insufficient_scope and the scopes that suffice, where the scopes alone refuse', async () => {
    const person = await aUser(company, { can: ['groups:list', 'groups:create'] });
    const { program } = await authorizeProgram(person.as, { scope: 'groups:list users:list' });
    const refused = await program.post('/v1/groups', { json: { name: 'Made by a program' } });
    expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([
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

it('a Deny of mcp:connect keeps its users and service accounts off /mcp, with any credential', async () => {
  const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
  const denied = await aUser(company, { can: ['*'], denied: ['mcp:connect'] });
  expect((await denied.as.post('/mcp', { json: ping })).status).toBe(403);
  const { program } = await authorizeProgram(denied.as, { resource: MCP });
  expect((await program.post('/mcp', { json: ping })).status).toBe(403);
  const machine = await aServiceAccountThat(company, allow('*'), deny('mcp:connect'));
  const { token } = await must(signed(machine.key).post('/tokens'));
  expect((await createCaller(token).post('/mcp', { json: ping })).status).toBe(403);
  const allowed = await aUser(company, { can: ['groups:list'] });
  expect((await allowed.as.post('/mcp', { json: ping })).status).toBe(200);
});
