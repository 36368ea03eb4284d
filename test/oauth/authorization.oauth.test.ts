import { describe, expect, inject, it, vi } from 'vitest';
import { isSameRedirect } from '../../src/modules/oauth/redirects.ts';
import { ALL_ACTIONS } from '../../src/permissions/actions.ts';
import { configureSso, requestSignInStart } from '../single-sign-on/support.ts';
import { BASE_URL, callApi, createCaller } from '../support/api.ts';
import { advanceClock } from '../support/clock.ts';
import { createOwnedCompany, logIn } from '../support/companies.ts';
import { runSql, selectRow, sendDuringRace } from '../support/race.ts';
import { expectSuccess } from '../support/signed.ts';
import {
  authorize,
  authorizeOauthClient,
  exchangeCode,
  giveConsent,
  MCP_URL,
  makeAuthorizationQuery,
  makeExchangeForm,
  postForm,
  REDIRECT_URI,
  readConsentRequest,
  readPageData,
  registerClient,
} from './support.ts';

const company = await createOwnedCompany();
const owner = createCaller(company.token);
const client = await registerClient();

describe('the OAuth consent page', () => {
  it('shows the client and the requested scopes, cannot be framed, and has the brand of the company', async () => {
    const answer = await authorize({ ...(await makeAuthorizationQuery(client)), company_slug: company.slug });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(readPageData(answer)).toEqual({
      asked: {
        request: expect.any(String),
        client: { name: 'A program', host: 'program.example.com', is_registered: false },
        scopes: ['*:list', '*:get', '*:read', '*:data-read', 'semantic:list', 'dashboards:get'],
        only_reads: true,
        resource: 'api',
      },
      problem: null,
      user_code: null,
      company: {
        slug: company.slug,
        name: expect.any(String),
        passkey_domain: null,
        social: [],
        sso: false,
        sso_only: false,
      },
    });
  });

  it('shows whether the scopes are read-only', async () => {
    const { asked } = readPageData(
      await authorize(await makeAuthorizationQuery(client, { scope: 'groups:create *:list', resource: MCP_URL })),
    );
    expect([asked.only_reads, asked.resource, asked.scopes]).toEqual([false, 'mcp', ['groups:create', '*:list']]);
  });

  it('is in the language of the browser', async () => {
    const query = new URLSearchParams(await makeAuthorizationQuery(client));
    const { body, headers } = await callApi('GET', `/oauth/authorize?${query}`, {
      headers: { 'accept-language': 'es' },
    });
    expect([headers.get('content-language'), body.includes('Dar acceso a un programa')]).toEqual(['es', true]);
  });
});

it('single sign-on returns to the consent page without any configuration, and to no other page of the service', async () => {
  const ownCompany = await createOwnedCompany();
  await configureSso(ownCompany, {
    type: 'oidc',
    issuer: inject('oidcIssuer'),
    client_id: 'data-console',
    client_secret: 'secret',
    jit_provisioning: false,
  });
  expect((await requestSignInStart(ownCompany.slug, `${BASE_URL}/oauth/signed-in`)).status).toBe(200);
  expect((await requestSignInStart(ownCompany.slug, `${BASE_URL}/oauth/authorize`)).status).toBe(422);
  const pageData = readPageData(
    await authorize({ ...(await makeAuthorizationQuery(client)), company_slug: ownCompany.slug }),
  );
  expect(pageData.company).toMatchObject({ sso: true, sso_only: false });
  expect((await callApi('GET', '/oauth/signed-in?code=x')).status).toBe(200);
});

describe('an authorization request with an unusable client or redirect URI', () => {
  it.each([
    ['another path', `${REDIRECT_URI}/`],
    ['another case', 'https://program.example.com/Callback'],
    ['another case of the host', 'https://PROGRAM.example.com/callback'],
    ['a dot after the host', 'https://program.example.com./callback'],
    ['a user name', 'https://program.example.com@evil.example/callback'],
    ['the host as a user name', 'https://evil@program.example.com/callback'],
    ['a fragment', `${REDIRECT_URI}#`],
    ['a query', `${REDIRECT_URI}?a=b`],
    ['an encoded slash', 'https://program.example.com/%2Fcallback'],
    ['an encoded slash for a slash', 'https://program.example.com%2Fcallback'],
    ['encoded dots', 'https://program.example.com/%2e%2e/callback'],
    ['a port', 'https://program.example.com:443/callback'],
    ['another host', 'https://evil.example/callback'],
  ])('is not redirected to a redirect URI with %s', async (_what, redirectUri) => {
    const answer = await authorize(await makeAuthorizationQuery(client, { redirect: redirectUri }));
    expect([answer.status, answer.headers.get('location'), readPageData(answer).problem]).toEqual([
      400,
      null,
      'redirect',
    ]);
    expect(readPageData(answer).asked).toBe(null);
  });

  it.each([
    ['the implicit flow', { response_type: 'token' }],
    ['no PKCE', { code_challenge: undefined }],
    ['an unknown scope', { scope: 'nonsense' }],
    ['another resource', { resource: 'https://other.test' }],
    ['prompt none', { prompt: 'none' }],
    ['a long state', { state: 'x'.repeat(5000) }],
  ])('is not redirected to a foreign redirect URI even with another error: %s', async (_what, wrongParameters) => {
    const answer = await authorize(
      await makeAuthorizationQuery(client, { ...wrongParameters, redirect: 'https://evil.example/callback' }),
    );
    expect([answer.status, answer.headers.get('location'), readPageData(answer).problem]).toEqual([
      400,
      null,
      'redirect',
    ]);
  });

  it('is answered 400 for an unknown client, two clients or two redirect URIs', async () => {
    for (const id of ['od_unknown', 'oc_ffffffffffffffffffffffff', 'x', '']) {
      const answer = await authorize({ ...(await makeAuthorizationQuery(client)), client_id: id });
      expect([answer.status, answer.headers.get('location'), readPageData(answer).problem]).toEqual([
        400,
        null,
        'client',
      ]);
    }
    const query = Object.entries(await makeAuthorizationQuery(client));
    expect(readPageData(await authorize([...query, ['client_id', client]])).problem).toBe('client');
    expect(readPageData(await authorize([...query, ['redirect_uri', 'https://evil.example']])).problem).toBe(
      'redirect',
    );
  });
});

describe('an authorization request with an error', () => {
  it.each([
    ['no PKCE', { code_challenge: undefined }, 'invalid_request'],
    ['plain PKCE', { code_challenge_method: 'plain' }, 'invalid_request'],
    ['no PKCE method', { code_challenge_method: undefined }, 'invalid_request'],
    ['a short challenge', { code_challenge: 'short' }, 'invalid_request'],
    ['the implicit flow', { response_type: 'token' }, 'unsupported_response_type'],
    ['a response in the fragment', { response_mode: 'fragment' }, 'invalid_request'],
    ['a scope that matches no action', { scope: 'groups:list nonsense:*' }, 'invalid_scope'],
    ['a malformed scope', { scope: 'groups:list "quoted"' }, 'invalid_scope'],
    ['10,000 scopes', { scope: 'groups:list '.repeat(10_000) }, 'invalid_scope'],
    ['more scopes than a hundred', { scope: ALL_ACTIONS.slice(0, 101).join(' ') }, 'invalid_scope'],
    ['another resource', { resource: 'https://other.test' }, 'invalid_target'],
    ['a resource with a fragment', { resource: `${MCP_URL}#a` }, 'invalid_target'],
    ['a resource of another case', { resource: 'https://API.test/mcp' }, 'invalid_target'],
    ['a request object', { request: 'x.y.z' }, 'request_not_supported'],
    ['prompt none', { prompt: 'none' }, 'interaction_required'],
    ['a state of 5,000 characters', { state: 'x'.repeat(5000) }, 'invalid_request'],
  ])('is redirected to the client with the error: %s', async (_what, wrongParameters, error) => {
    const { status, headers } = await authorize(
      await makeAuthorizationQuery(client, wrongParameters as Record<string, string>),
    );
    expect(status).toBe(302);
    const to = new URL(headers.get('location') as string);
    expect(to.origin + to.pathname).toBe(REDIRECT_URI);
    expect([to.searchParams.get('error'), to.searchParams.get('iss')]).toEqual([error, BASE_URL]);
    if (!('state' in wrongParameters)) expect(to.searchParams.get('state')).toBe('of-the-program');
  });

  it('is redirected with invalid_target when it names two resources', async () => {
    const query = Object.entries(await makeAuthorizationQuery(client, { resource: MCP_URL }));
    const { headers } = await authorize([...query, ['resource', BASE_URL]]);
    expect(new URL(headers.get('location') as string).searchParams.get('error')).toBe('invalid_target');
  });
});

describe('a redirect URI', () => {
  it.each([
    ['http://127.0.0.1/cb', 'http://127.0.0.1:51004/cb', true],
    ['http://127.0.0.1:1/cb', 'http://127.0.0.1:51004/cb', true],
    ['http://[::1]/cb', 'http://[::1]:51004/cb', true],
    ['http://localhost/cb', 'http://localhost:8080/cb', true],
    ['http://localhost/cb', 'http://127.0.0.1/cb', false],
    ['http://127.0.0.1/cb', 'http://127.0.0.1:65535/cb', true],
    ['http://127.0.0.1/cb', 'http://127.0.0.1:65536/cb', false],
    ['http://[::1]/cb', 'http://[::1]:99999/cb', false],
    ['http://127.0.0.1/cb', 'http://127.0.0.1:80/cb/', false],
    ['http://127.0.0.1/cb', 'http://127.0.0.1.evil.example/cb', false],
    ['http://127.0.0.1/cb', 'http://127.0.0.1:80@evil.example/cb', false],
    ['http://127.0.0.1/cb', 'https://127.0.0.1:80/cb', false],
    ['https://a.example/cb', 'https://a.example:444/cb', false],
    ['com.example.app:/cb', 'com.example.app:/cb', true],
  ])('registered as %s allows %s: %s', (registeredUri, givenUri, isAllowed) => {
    expect(isSameRedirect(registeredUri, givenUri)).toBe(isAllowed);
  });

  it('on the user’s own machine may have any port', async () => {
    const ownClientId = await registerClient(['http://127.0.0.1/callback']);
    const redirectUri = 'http://127.0.0.1:51004/callback';
    expect(
      (await authorizeOauthClient(owner, { client: ownClientId, redirect: redirectUri })).tokens.access_token,
    ).toEqual(expect.any(String));
  });

  it('with a port that does not exist is answered by the page with 400, whatever else the request lacks', async () => {
    const ownClientId = await registerClient(['http://127.0.0.1/callback']);
    for (const missingParameters of [{}, { code_challenge: undefined }]) {
      const query = { redirect: 'http://127.0.0.1:99999/callback', ...missingParameters };
      const answer = await authorize(await makeAuthorizationQuery(ownClientId, query));
      expect([answer.status, answer.headers.get('location')]).toEqual([400, null]);
      expect(readPageData(answer).problem).toBe('redirect');
    }
  });
});

describe('the consent of a user', () => {
  it('redirects the browser with a code, the state and the issuer', async () => {
    const answer = await giveConsent(owner, await readConsentRequest(client));
    expect(Object.fromEntries(answer)).toEqual({
      code: expect.any(String),
      state: 'of-the-program',
      iss: BASE_URL,
    });
    const no = { request: await readConsentRequest(client), allow: false };
    const { redirect_to } = await expectSuccess(owner.post('/v1/oauth-grants', { json: no }));
    const { origin, pathname, searchParams: denialParameters } = new URL(redirect_to);
    expect(origin + pathname).toBe(REDIRECT_URI);
    expect([denialParameters.get('error'), denialParameters.get('code'), denialParameters.get('iss')]).toEqual([
      'access_denied',
      null,
      BASE_URL,
    ]);
  });

  it('is given once, within half an hour, and only to a request that this server created', async () => {
    const request = await readConsentRequest(client);
    await giveConsent(owner, request);
    const secondAnswer = await owner.post('/v1/oauth-grants', { json: { request, allow: true } });
    expect([secondAnswer.status, secondAnswer.body.error]).toEqual([409, 'OAUTH_REQUEST_ENDED']);
    expect((await owner.post('/v1/oauth-grants', { json: { request, allow: false } })).status).toBe(409);
    const oldRequest = await readConsentRequest(client);
    // The session is as old.
    const forgedRequest = `${oldRequest.slice(0, -4)}AAAA`;
    expect((await owner.post('/v1/oauth-grants', { json: { request: forgedRequest, allow: true } })).status).toBe(409);
    advanceClock(31 * 60_000);
    const { token } = await expectSuccess(logIn(company.slug, company.owner.email, company.owner.password));
    expect(
      (await createCaller(token).post('/v1/oauth-grants', { json: { request: oldRequest, allow: true } })).status,
    ).toBe(409);
  });

  it('cannot follow a refusal of the same request', async () => {
    const request = await readConsentRequest(client);
    expect((await giveConsent(owner, request, false)).get('error')).toBe('access_denied');
    for (const isAllowed of [true, false]) {
      const { status, body } = await owner.post('/v1/oauth-grants', { json: { request, allow: isAllowed } });
      expect([isAllowed, status, body.error]).toEqual([isAllowed, 409, 'OAUTH_REQUEST_ENDED']);
    }
    const { records } = await expectSuccess(owner.get('/v1/oauth-grants'));
    expect(records.map((record: { client: { id: string } }) => record.client.id)).not.toContain(client);
  });

  it('needs a session: it is refused without a token, after a sign-out, and for a form of another site', async () => {
    const json = { request: await readConsentRequest(client), allow: true };
    expect((await callApi('POST', '/v1/oauth-grants', { json })).status).toBe(401);
    const { token } = await expectSuccess(logIn(company.slug, company.owner.email, company.owner.password));
    await expectSuccess(createCaller(token).post('/v1/auth/logout'));
    expect((await createCaller(token).post('/v1/oauth-grants', { json })).status).toBe(401);
    // A form of another site has no token to send: no cookie stands in for one.
    const form = { 'content-type': 'application/x-www-form-urlencoded', origin: 'https://evil.example', cookie: 'a=b' };
    const formAnswer = await callApi('POST', '/v1/oauth-grants', { headers: form, body: 'allow=true' });
    expect(formAnswer.status).toBe(401);
    expect((await authorize(await makeAuthorizationQuery(client))).headers.get('set-cookie')).toBe(null);
  });
});

describe('POST /oauth/register', () => {
  const registerClientFrom = (json: unknown, ip = '203.0.113.7') =>
    callApi('POST', '/oauth/register', { json, headers: { 'cf-connecting-ip': ip } });

  it('registers a public client, whatever else is requested', async () => {
    const { status, body } = await registerClientFrom({
      redirect_uris: [REDIRECT_URI],
      client_name: 'Mine',
      token_endpoint_auth_method: 'client_secret_post',
      logo_uri: 'https://evil.example/logo.png',
    });
    expect([status, body]).toEqual([
      201,
      {
        client_id: expect.stringMatching(/^od_/),
        client_id_issued_at: expect.any(Number),
        client_name: 'Mine',
        redirect_uris: [REDIRECT_URI],
        grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
        response_types: ['code'],
        token_endpoint_auth_method: 'none',
      },
    ]);
  });

  it.each([
    'http://program.example.com/cb',
    'https://user@program.example.com/cb',
    'https://program.example.com/cb#',
    'javascript:alert(1)',
    'data:text/html,x',
    'https:program.example.com/cb',
    'https://program.example.com/a b',
    'https://program.example.com\\@evil.example',
    'http://localhost.evil.example/cb',
    '/callback',
  ])('refuses the redirect URI %s', async (redirectUri) => {
    const { status, body } = await registerClientFrom(
      { redirect_uris: [redirectUri] },
      `198.51.100.${Math.floor(Math.random() * 250)}`,
    );
    expect([status, body.error]).toEqual([400, 'invalid_redirect_uri']);
  });

  it.each([
    [{ redirect_uris: 'x' }, 'invalid_redirect_uri', "'redirect_uris'"],
    [{ redirect_uris: [7] }, 'invalid_redirect_uri', "'redirect_uris.0'"],
    [{ redirect_uris: ['x'.repeat(3_000)], client_name: '' }, 'invalid_redirect_uri', "'client_name'"],
    [{ redirect_uris: [REDIRECT_URI], client_name: '' }, 'invalid_client_metadata', "'client_name'"],
    [{ redirect_uris: [REDIRECT_URI], client_name: 'x'.repeat(1_000) }, 'invalid_client_metadata', "'client_name'"],
    [{ redirect_uris: [REDIRECT_URI], grant_types: 'implicit' }, 'invalid_client_metadata', "'grant_types'"],
    [[], 'invalid_client_metadata', ''],
  ])('refuses invalid metadata: %j', async (metadata, error, field) => {
    const ip = `198.51.${100 + Math.floor(Math.random() * 100)}.${Math.floor(Math.random() * 250)}`;
    const { status, body } = await registerClientFrom(metadata, ip);
    expect([status, body.error]).toEqual([400, error]);
    expect(body.error_description).toContain(field);
  });

  it('allows ten attempts per hour from an IP address, whatever becomes of them', async () => {
    const ip = '203.0.113.99';
    const attempts = [
      [{ redirect_uris: [REDIRECT_URI] }, 201],
      [{ redirect_uris: ['x'] }, 400],
      [{ redirect_uris: 'x' }, 400],
      [{ redirect_uris: [REDIRECT_URI], client_name: '' }, 400],
      [[], 400],
    ] as const;
    for (const [metadata, status] of [...attempts, ...attempts])
      expect((await registerClientFrom(metadata, ip)).status).toBe(status);
    const { status, headers } = await registerClientFrom({ redirect_uris: [REDIRECT_URI] }, ip);
    expect([status, Number(headers.get('retry-after')) > 900]).toEqual([429, true]);
  });
});

describe('an OAuth client with a metadata document', () => {
  const storeDocument = async (makeDocument: (address: string) => unknown, name = 'client.json'): Promise<string> => {
    const address = `${inject('fileServerUrl')}/kept/${crypto.randomUUID()}/0/${name}`;
    const body = JSON.stringify(makeDocument(address));
    await fetch(address, { method: 'PUT', body, headers: { 'content-type': 'application/json' } });
    return address;
  };
  const makeValidDocument = (address: string) => ({
    client_id: address,
    client_name: 'By document',
    redirect_uris: [REDIRECT_URI],
  });
  /** Opens the consent page for a client. @returns the page's problem, and whether the client's document was fetched */
  const openConsentPage = async (id: string, isDevelopment = true) => {
    const query = new URLSearchParams(await makeAuthorizationQuery(id));
    const env = { ALLOW_PRIVATE_ISSUERS: String(isDevelopment) };
    const fetchSpy = vi.spyOn(globalThis, 'fetch');
    const { problem } = readPageData(await callApi('GET', `/oauth/authorize?${query}`, { env }));
    const isFetched = fetchSpy.mock.calls.some(([address]) => String(address) === id);
    fetchSpy.mockRestore();
    return { problem, isAsked: isFetched };
  };
  const UNKNOWN_FETCHED = { problem: 'client', isAsked: true };
  const UNKNOWN_NOT_FETCHED = { problem: 'client', isAsked: false };

  it('is shown under its host name, and gets tokens', async () => {
    const id = await storeDocument(makeValidDocument);
    const { asked } = readPageData(await authorize(await makeAuthorizationQuery(id)));
    expect(asked.client).toEqual({ name: 'By document', host: new URL(id).host, is_registered: false });
    expect((await authorizeOauthClient(owner, { client: id })).tokens.token_type).toBe('Bearer');
    // What is used is not kept for longer: its document may change.
    const storedClient = await selectRow<{ expires_at: number }>(
      'select expires_at from oauth_public_clients where client_id = ?',
      id,
    );
    expect(storedClient?.expires_at).toBeLessThanOrEqual(Date.now() + 3600_000);
  });

  it.each([
    ['names another id', (address: string) => ({ ...makeValidDocument(address), client_id: `${address}x` })],
    ['has no redirect', (address: string) => ({ ...makeValidDocument(address), redirect_uris: [] })],
    [
      'has a javascript: redirect',
      (address: string) => ({ ...makeValidDocument(address), redirect_uris: ['javascript:1'] }),
    ],
    ['has a secret', (address: string) => ({ ...makeValidDocument(address), client_secret: 'x' })],
    [
      'has a key',
      (address: string) => ({ ...makeValidDocument(address), token_endpoint_auth_method: 'private_key_jwt' }),
    ],
    ['is a list', () => []],
    ['has ten megabytes', (address: string) => ({ ...makeValidDocument(address), padding: 'x'.repeat(10_000_000) })],
  ])('is unknown if its document %s', async (_what, makeInvalidDocument) => {
    expect(await openConsentPage(await storeDocument(makeInvalidDocument))).toEqual(UNKNOWN_FETCHED);
  });

  it('is unknown if its document redirects or cannot be fetched', async () => {
    const makeRedirectUrl = (address: string) => {
      const to = btoa(address).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
      return `${inject('fileServerUrl')}/to.${to}/k/0/client.json`;
    };
    // It says what it should, of the address that leads there.
    const otherDocument = await storeDocument((address) => makeValidDocument(makeRedirectUrl(address)));
    expect(await openConsentPage(makeRedirectUrl(otherDocument))).toEqual(UNKNOWN_FETCHED);
    expect(await openConsentPage(`${inject('fileServerUrl')}/status.404/k/0/client.json`)).toEqual(UNKNOWN_FETCHED);
    expect(await openConsentPage('http://127.0.0.1:1/client.json')).toEqual(UNKNOWN_FETCHED);
  });

  it.each([
    'http://program.example.com/client.json',
    'https://program.example.com/',
    'https://program.example.com/client.json#a',
    'https://program.example.com/client.json?a=b',
    'https://program.example.com/a/../client.json',
    'https://PROGRAM.example.com/client.json',
    'https://user@program.example.com/client.json',
    'https://169.254.169.254/latest/client.json',
    'https://10.0.0.8/client.json',
    'https://127.0.0.1.nip.io/client.json',
    'https://metadata.internal/client.json',
  ])('is refused without a fetch from %s', async (id) => {
    expect(await openConsentPage(id)).toEqual(UNKNOWN_NOT_FETCHED);
    expect(await openConsentPage(id, false)).toEqual(UNKNOWN_NOT_FETCHED);
  });

  it('has its document fetched from localhost in development only', async () => {
    const id = await storeDocument(makeValidDocument);
    for (const localAddress of [
      id,
      'https://127.0.0.1/client.json',
      'https://localhost/client.json',
      'https://[::1]/client.json',
    ])
      expect(await openConsentPage(localAddress, false)).toEqual(UNKNOWN_NOT_FETCHED);
    expect(await openConsentPage(id)).toEqual({ problem: null, isAsked: true });
  });
});

describe('an OAuth client that administrators registered', () => {
  const registerByAdmin = async () =>
    expectSuccess(owner.post('/v1/oauth-clients', { json: { name: 'Ours', redirect_uris: [REDIRECT_URI] } }));

  it('is shown without a warning, and only to users of its company', async () => {
    const { client_id: id, _id } = await registerByAdmin();
    const pageData = readPageData(await authorize(await makeAuthorizationQuery(id)));
    expect(pageData.asked.client).toEqual({ name: 'Ours', host: null, is_registered: true });
    expect(pageData.company.slug).toBe(company.slug);
    const otherCompany = await createOwnedCompany();
    const json = { request: pageData.asked.request, allow: true };
    expect((await otherCompany.as.post('/v1/oauth-grants', { json })).status).toBe(403);
    expect((await otherCompany.as.get(`/v1/oauth-clients/${_id}`)).status).toBe(404);
    expect((await authorizeOauthClient(owner, { client: id })).tokens.token_type).toBe('Bearer');
  });

  it('loses its tokens when it is deleted, also a code that is not exchanged yet', async () => {
    const { client_id: id, _id } = await registerByAdmin();
    const { program } = await authorizeOauthClient(owner, { client: id });
    const code = (await giveConsent(owner, await readConsentRequest(id))).get('code') as string;
    const request = await readConsentRequest(id);
    expect((await program.get('/v1/groups')).status).toBe(200);
    expect((await owner.delete(`/v1/oauth-clients/${_id}`)).status).toBe(204);
    expect((await program.get('/v1/groups')).status).toBe(401);
    expect((await exchangeCode(id, code)).body.error).toBe('invalid_grant');
    expect((await owner.post('/v1/oauth-grants', { json: { request, allow: true } })).status).toBe(409);
    expect((await owner.delete(`/v1/oauth-clients/${_id}`)).status).toBe(404);
  });

  it('gets no tokens when it is deleted while its code is exchanged or its tokens are refreshed', async () => {
    for (const columnName of ['begun_at', 'refresh_digest']) {
      const { client_id: id, _id } = await registerByAdmin();
      const { tokens } = await authorizeOauthClient(owner, { client: id });
      const code = (await giveConsent(owner, await readConsentRequest(id))).get('code') as string;
      const tokenForm =
        columnName === 'begun_at'
          ? makeExchangeForm(id, code)
          : { grant_type: 'refresh_token', client_id: id, refresh_token: tokens.refresh_token };
      const { status, body } = await sendDuringRace(
        new RegExp(`set "${columnName}"`),
        async () => expect((await owner.delete(`/v1/oauth-clients/${_id}`)).status).toBe(204),
        (variables) => postForm('/oauth/token', tokenForm, {}, variables),
      );
      expect([status, body.error]).toEqual([400, 'invalid_grant']);
      const { records } = await expectSuccess(owner.get('/v1/oauth-grants'));
      expect(records.filter((record: { client: { id: string } }) => record.client.id === id)).toEqual([]);
    }
  });

  it('is refused when there are two hundred already', async () => {
    const { as, id } = await createOwnedCompany();
    const numbers = JSON.stringify(Array.from({ length: 200 }, (_, number) => number));
    await runSql(
      "insert into oauth_clients select 'client-' || value || ?1, ?1, 'Many', '[]', value from json_each(?2)",
      id,
      numbers,
    );
    const { status, body } = await as.post('/v1/oauth-clients', { json: { name: 'One more', redirect_uris: [] } });
    expect([status, body.error]).toEqual([409, 'OAUTH_CLIENT_LIMIT']);
  });
});
