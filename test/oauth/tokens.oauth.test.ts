import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { type Caller, callApi, createCaller } from '../support/api.ts';
import { advanceClock, runScheduled } from '../support/clock.ts';
import { createAllowedUser, createOwnedCompany, PASSWORD } from '../support/companies.ts';
import { waitForAuditRecord } from '../support/log.ts';
import { listMailsTo, readLink, readNewestMail } from '../support/mail.ts';
import { countRows, runSql, selectRow, sendDuringRace } from '../support/race.ts';
import { expectSuccess } from '../support/signed.ts';
import {
  authorizeOauthClient,
  CODE_VERIFIER,
  exchangeCode,
  giveConsent,
  MCP_URL,
  makeExchangeForm,
  postForm,
  REDIRECT_URI,
  readConsentRequest,
  refreshTokens,
  registerClient,
} from './support.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

const company = await createOwnedCompany();
const owner = createCaller(company.token);

const listGrants = async (as: Caller) => (await expectSuccess(as.get('/v1/oauth-grants'))).records;
const readStatus = async (program: Caller) => (await program.get('/v1/groups')).status;
const obtainCode = async (client: string, otherParameters = {}) =>
  (await giveConsent(owner, await readConsentRequest(client, otherParameters))).get('code') as string;

describe('an OAuth client with tokens', () => {
  it('may use the scopes of its consent, and no route without an action', async () => {
    const { tokens, program, client } = await authorizeOauthClient(owner);
    expect(tokens).toEqual({
      access_token: expect.any(String),
      token_type: 'Bearer',
      expires_in: 600,
      refresh_token: expect.any(String),
      scope: '*:list *:get *:read *:data-read semantic:list dashboards:get',
    });
    expect(await readStatus(program)).toBe(200);
    expect((await program.post('/v1/groups', { json: { name: 'New' } })).status).toBe(403);
    for (const path of ['/v1/auth/me', '/v1/auth/sessions', '/v1/oauth-grants', '/v1/oauth-clients']) {
      expect([path, (await program.get(path)).status]).toEqual([path, 403]);
    }
    expect((await program.post('/v1/auth/2fa/setup', { json: {} })).status).toBe(403);
    expect((await program.post('/v1/auth/logout')).status).toBe(403);
    expect((await program.post('/v1/oauth-grants', { json: { request: 'x', allow: true } })).status).toBe(403);
    const [grant] = await listGrants(owner);
    expect(grant).toEqual({
      _id: expect.any(String),
      client: { id: client, name: 'A program', host: 'program.example.com' },
      scopes: tokens.scope.split(' '),
      resource: 'https://api.test',
      created_at: expect.any(String),
      last_used_at: expect.any(String),
    });
  });

  it('loses its tokens on the next request after they are revoked by its person', async () => {
    const { tokens, program, client } = await authorizeOauthClient(owner);
    expect(await readStatus(program)).toBe(200);
    const grant = (await listGrants(owner)).find(
      (listedGrant: { client: { id: string } }) => listedGrant.client.id === client,
    );
    expect((await owner.delete(`/v1/oauth-grants/${grant._id}`)).status).toBe(204);
    expect(await readStatus(program)).toBe(401);
    expect((await refreshTokens(client, tokens.refresh_token)).body.error).toBe('invalid_grant');
    expect((await owner.delete(`/v1/oauth-grants/${grant._id}`)).status).toBe(404);
  });

  it('loses what its person loses: 403 outside of the group, 401 for good when deactivated', async () => {
    const person = await createAllowedUser(company, { can: ['groups:list'] });
    const { program } = await authorizeOauthClient(person.as);
    expect(await readStatus(program)).toBe(200);
    const groupBinding = await selectRow<{ group_id: string }>(
      'select group_id from group_bindings where principal_id = ?',
      person.id,
    );
    const json = { group_ids: [groupBinding?.group_id] };
    expect((await owner.delete(`/v1/users/${person.id}/groups`, { json })).status).toBe(200);
    expect(await readStatus(program)).toBe(403);
    expect((await owner.post(`/v1/users/${person.id}/deactivate`)).status).toBe(200);
    expect(await readStatus(program)).toBe(401);
    expect((await owner.post(`/v1/users/${person.id}/activate`)).status).toBe(200);
    expect(await readStatus(program)).toBe(401);
  });

  it('of the API is refused by /mcp, and one of /mcp is refused by the API', async () => {
    const apiClient = await authorizeOauthClient(owner);
    const mcpClient = await authorizeOauthClient(owner, { resource: `${MCP_URL}/` });
    const pingRequest = { jsonrpc: '2.0', id: 1, method: 'ping' };
    expect((await apiClient.program.post('/mcp', { json: pingRequest })).status).toBe(401);
    expect((await mcpClient.program.post('/mcp', { json: pingRequest })).status).toBe(200);
    expect(await readStatus(mcpClient.program)).toBe(401);
  });

  it('is named in the audit trail', async () => {
    const { client, program } = await authorizeOauthClient(owner);
    await program.get('/v1/groups/ffffffffffffffffffffffff');
    const { records } = await expectSuccess(owner.get('/v1/audit-events?per_page=20'));
    const record = records.find((listedRecord: { credential: string }) => listedRecord.credential?.endsWith(client));
    expect(record).toMatchObject({ principal_type: 'user', principal_id: company.owner.id, action: 'groups:get' });
    expect(record.credential).toMatch(/^oauth:[a-f0-9]{24}:od_/);
  });

  it('is reported to its user by mail the first time', async () => {
    const person = await createAllowedUser(company, { can: ['groups:list'] });
    const { client } = await authorizeOauthClient(person.as, {});
    await authorizeOauthClient(person.as, { client });
    const mails = listMailsTo(person.email);
    expect(mails).toHaveLength(1);
    expect(mails[0]?.text).toContain('A program');
  });
});

describe('an authorization code', () => {
  it.each([
    ['another verifier', { code_verifier: `${CODE_VERIFIER}x` }],
    ['no verifier', { code_verifier: undefined }],
    ['another redirect', { redirect_uri: `${REDIRECT_URI}/` }],
    ['another client', { client_id: 'that of another program' }],
    ['another resource', { resource: MCP_URL }],
  ])('ends after an exchange with %s', async (_what, wrongFields) => {
    const client = await registerClient();
    const code = await obtainCode(client);
    const failedExchange = await exchangeCode(
      client,
      code,
      'client_id' in wrongFields ? { client_id: await registerClient() } : wrongFields,
    );
    expect([failedExchange.status, failedExchange.body.error]).toEqual([
      400,
      'resource' in wrongFields ? 'invalid_target' : 'invalid_grant',
    ]);
    expect((await exchangeCode(client, code)).body.error).toBe('invalid_grant');
  });

  it.each([
    ['resource', 'invalid_target'],
    ['scope', 'invalid_request'],
    ['client_id', 'invalid_request'],
    ['grant_type', 'invalid_request'],
  ])('ends after an exchange with two values of %s', async (name, error) => {
    const client = await registerClient();
    const code = await obtainCode(client);
    const form = makeExchangeForm(client, code).filter(([each]) => each !== name);
    const failedExchange = await postForm('/oauth/token', [...form, [name, `${MCP_URL}/a`], [name, `${MCP_URL}/b`]]);
    expect([failedExchange.status, failedExchange.body.error]).toEqual([400, error]);
    expect((await exchangeCode(client, code)).body.error).toBe('invalid_grant');
  });

  it.each([
    ['no grant type', [], 'invalid_request'],
    ['an unknown grant type', [['grant_type', 'code']], 'unsupported_grant_type'],
  ] as [string, [string, string][], string][])('ends after an exchange with %s', async (_what, fields, error) => {
    const client = await registerClient();
    const code = await obtainCode(client);
    const form = makeExchangeForm(client, code).filter(([name]) => name !== 'grant_type');
    const failedExchange = await postForm('/oauth/token', [...form, ...fields]);
    expect([failedExchange.status, failedExchange.body.error]).toEqual([400, error]);
    expect((await exchangeCode(client, code)).body.error).toBe('invalid_grant');
  });

  it('is not used up by a request with two codes', async () => {
    const client = await registerClient();
    const code = await obtainCode(client);
    const failedExchange = await postForm('/oauth/token', [...makeExchangeForm(client, code), ['code', 'another']]);
    expect([failedExchange.status, failedExchange.body.error]).toEqual([400, 'invalid_request']);
    expect((await exchangeCode(client, code)).status).toBe(200);
  });

  it('is exchanged without a redirect URI, as in OAuth 2.1', async () => {
    const client = await registerClient();
    expect((await exchangeCode(client, await obtainCode(client), { redirect_uri: undefined })).status).toBe(200);
  });

  it('expires after sixty seconds', async () => {
    const client = await registerClient();
    const code = await obtainCode(client);
    advanceClock(61_000);
    expect((await exchangeCode(client, code)).body.error).toBe('invalid_grant');
  });

  it('that is used twice ends the grant', async () => {
    const { client, code, program, tokens } = await authorizeOauthClient(owner);
    expect((await exchangeCode(client, code)).body.error).toBe('invalid_grant');
    expect(await readStatus(program)).toBe(401);
    expect((await refreshTokens(client, tokens.refresh_token)).body.error).toBe('invalid_grant');
  });

  it('that is used twice at the same time issues no tokens, and ends no earlier grant', async () => {
    const { client, program: formerProgram } = await authorizeOauthClient(owner);
    const code = await obtainCode(client);
    const { status, body } = await sendDuringRace(
      /set "begun_at"/,
      async () => expect((await exchangeCode(client, code)).status).toBe(400),
      (env) => postForm('/oauth/token', makeExchangeForm(client, code), {}, env),
    );
    expect([status, body.error]).toEqual([400, 'invalid_grant']);
    // What was in force before stays.
    expect(await readStatus(formerProgram)).toBe(200);
  });

  it('is not issued to a user who is deactivated meanwhile', async () => {
    const person = await createAllowedUser(company, { can: ['groups:list'] });
    const client = await registerClient();
    const request = await readConsentRequest(client);
    const deactivatePerson = () => expectSuccess(owner.post(`/v1/users/${person.id}/deactivate`));
    const lateExchange = await sendDuringRace(/insert into "oauth_grants"/, deactivatePerson, (env) =>
      person.as.post('/v1/oauth-grants', { env, json: { request, allow: true } }),
    );
    expect(lateExchange.status).toBe(409);
  });
});

describe('the company of an OAuth grant', () => {
  it('that is suspended during a refresh does not lose the grant', async () => {
    const other = await createOwnedCompany();
    const { client, tokens } = await authorizeOauthClient(other.as);
    const setStatus = (status: string) =>
      expectSuccess(
        callApi('PATCH', `/admin/organizations/${other.id}`, {
          headers: { authorization: `Bearer ${env.PLATFORM_ADMIN_TOKEN}` },
          json: { status },
        }),
      );
    const { status } = await sendDuringRace(
      /set "refresh_digest"/,
      () => setStatus('suspended'),
      (variables) =>
        postForm(
          '/oauth/token',
          { grant_type: 'refresh_token', client_id: client, refresh_token: tokens.refresh_token },
          {},
          variables,
        ),
    );
    expect(status).toBe(403);
    expect((await exchangeCode(client, 'x')).status).toBe(400);
    await setStatus('active');
    // Long after a retry would be answered: the token is the newest still.
    advanceClock(11_000);
    expect((await refreshTokens(client, tokens.refresh_token)).status).toBe(200);
  });

  it('that is suspended keeps codes that are not exchanged yet', async () => {
    const other = await createOwnedCompany();
    const client = await registerClient();
    const code = (await giveConsent(other.as, await readConsentRequest(client))).get('code') as string;
    const setStatus = (status: string) =>
      expectSuccess(
        createCaller(env.PLATFORM_ADMIN_TOKEN as string).patch(`/admin/organizations/${other.id}`, {
          json: { status },
        }),
      );
    await setStatus('suspended');
    const refusedExchange = await exchangeCode(client, code);
    expect([refusedExchange.status, refusedExchange.body.error]).toEqual([403, 'access_denied']);
    await setStatus('active');
    expect((await exchangeCode(client, code)).status).toBe(200);
  });

  it('that is suspended during the exchange of a code gets no grant', async () => {
    const other = await createOwnedCompany();
    const client = await registerClient();
    const code = (await giveConsent(other.as, await readConsentRequest(client))).get('code') as string;
    const { status } = await sendDuringRace(
      /set "begun_at"/,
      () => runSql('update companies set suspended_at = 1 where id = ?', other.id),
      (variables) => postForm('/oauth/token', makeExchangeForm(client, code), {}, variables),
    );
    expect(status).toBe(400);
  });
});

describe('a second consent to the same client', () => {
  it('replaces the first once its code is exchanged', async () => {
    const first = await authorizeOauthClient(owner);
    const code = await obtainCode(first.client, { scope: 'groups:list' });
    expect(await readStatus(first.program)).toBe(200);
    const secondTokens = await expectSuccess(exchangeCode(first.client, code));
    expect(await readStatus(first.program)).toBe(401);
    expect(await readStatus(createCaller(secondTokens.access_token))).toBe(200);
    const clientGrants = (await listGrants(owner)).filter(
      (grant: { client: { id: string } }) => grant.client.id === first.client,
    );
    expect(clientGrants.map(({ scopes }: { scopes: string[] }) => scopes)).toEqual([['groups:list']]);
  });

  it('ends no other code of the client that is not exchanged yet', async () => {
    const client = await registerClient();
    const codes = [await obtainCode(client), await obtainCode(client)] as [string, string];
    const first = await expectSuccess(exchangeCode(client, codes[0]));
    const secondTokens = await expectSuccess(exchangeCode(client, codes[1]));
    expect([
      await readStatus(createCaller(first.access_token)),
      await readStatus(createCaller(secondTokens.access_token)),
    ]).toEqual([401, 200]);
  });
});

describe('a refresh token', () => {
  it('is rotated, gets the same response again for a moment, and ends the grant when it is used later', async () => {
    const { client, tokens, program } = await authorizeOauthClient(owner);
    const nextTokens = await expectSuccess(refreshTokens(client, tokens.refresh_token));
    const repeatedTokens = await expectSuccess(refreshTokens(client, tokens.refresh_token));
    expect(repeatedTokens.refresh_token).toBe(nextTokens.refresh_token);
    expect(await readStatus(createCaller(nextTokens.access_token))).toBe(200);
    await expectSuccess(refreshTokens(client, nextTokens.refresh_token));
    expect((await refreshTokens(client, tokens.refresh_token)).body.error).toBe('invalid_grant');
    expect(await readStatus(program)).toBe(401);
    expect(await readStatus(createCaller(nextTokens.access_token))).toBe(401);
  });

  it('that is used twice at the same time gets the same response twice, but ends the grant if newer tokens were issued', async () => {
    const { client, tokens } = await authorizeOauthClient(owner);
    const refreshDuring = (concurrentRefresh: () => Promise<unknown>, refresh_token: string) =>
      sendDuringRace(/set "refresh_digest"/, concurrentRefresh, (env) =>
        postForm('/oauth/token', { grant_type: 'refresh_token', client_id: client, refresh_token }, {}, env),
      );
    const refreshTokensReceived: string[] = [];
    const renewTokens = async (token: string) =>
      refreshTokensReceived.push((await expectSuccess(refreshTokens(client, token))).refresh_token);
    const sameRefresh = await refreshDuring(() => renewTokens(tokens.refresh_token), tokens.refresh_token);
    expect([sameRefresh.status, sameRefresh.body.refresh_token]).toEqual([200, refreshTokensReceived[0]]);
    const copiedRefresh = await refreshDuring(async () => {
      await renewTokens(refreshTokensReceived[0] as string);
      await renewTokens(refreshTokensReceived[1] as string);
    }, refreshTokensReceived[0] as string);
    expect([copiedRefresh.status, copiedRefresh.body.error]).toEqual([400, 'invalid_grant']);
    expect((await refreshTokens(client, refreshTokensReceived[2] as string)).body.error).toBe('invalid_grant');
    expect(await readStatus(createCaller(sameRefresh.body.access_token))).toBe(401);
  });

  it('is valid for thirty days, and for thirty more after each use', async () => {
    const { client, tokens } = await authorizeOauthClient(owner);
    advanceClock(29 * DAY_MS);
    const nextTokens = await expectSuccess(refreshTokens(client, tokens.refresh_token));
    advanceClock(58 * DAY_MS);
    const lastTokens = await expectSuccess(refreshTokens(client, nextTokens.refresh_token));
    advanceClock(88 * DAY_MS + 1000);
    expect((await refreshTokens(client, lastTokens.refresh_token)).body.error).toBe('invalid_grant');
  });

  it('is accepted from its own client only, and for no more than the consent', async () => {
    const { client, tokens } = await authorizeOauthClient(owner, { scope: 'groups:* users:list' });
    expect((await refreshTokens(await registerClient(), tokens.refresh_token)).body.error).toBe('invalid_grant');
    expect((await refreshTokens(client, tokens.refresh_token, { scope: 'users:*' })).body.error).toBe('invalid_scope');
    expect((await refreshTokens(client, tokens.refresh_token, { resource: MCP_URL })).body.error).toBe(
      'invalid_target',
    );
    const narrowedTokens = await expectSuccess(refreshTokens(client, tokens.refresh_token, { scope: 'users:list' }));
    expect(narrowedTokens.scope).toBe('users:list');
    expect(await readStatus(createCaller(narrowedTokens.access_token))).toBe(403);
    expect((await createCaller(narrowedTokens.access_token).get('/v1/users')).status).toBe(200);
    // The next one has all of it again.
    const fullTokens = await expectSuccess(refreshTokens(client, narrowedTokens.refresh_token));
    expect([fullTokens.scope, await readStatus(createCaller(fullTokens.access_token))]).toEqual([
      'groups:* users:list',
      200,
    ]);
  });
});

it('POST /oauth/revoke ends the grant of a token, but only for the client that the token belongs to', async () => {
  const { client, tokens, program } = await authorizeOauthClient(owner);
  const other = await postForm('/oauth/revoke', { token: tokens.refresh_token, client_id: await registerClient() });
  expect(other.body.error).toBe('invalid_grant');
  expect(await readStatus(program)).toBe(200);
  expect((await postForm('/oauth/revoke', { token: tokens.refresh_token, client_id: client })).status).toBe(200);
  expect(await readStatus(program)).toBe(401);
  expect((await postForm('/oauth/revoke', { token: 'nothing', client_id: client })).status).toBe(200);
});

describe('a change of a password', () => {
  const NEW_PASSWORD = 'another-quiet-harbour-lantern';

  it('ends all OAuth grants of the user, and also pending grants whose code is not exchanged yet', async () => {
    const user = await createAllowedUser(company);
    const { as } = user;
    const [{ client, tokens, program }, other] = [await authorizeOauthClient(as), await authorizeOauthClient(owner)];
    const pendingCode = (await giveConsent(as, await readConsentRequest(client))).get('code') as string;
    const changePassword = (current_password: string) =>
      as.post('/v1/auth/password', { json: { current_password, new_password: NEW_PASSWORD } });
    expect((await changePassword('not-the-password')).status).toBe(400);
    expect(await readStatus(program)).not.toBe(401);
    await expectSuccess(changePassword(PASSWORD));
    expect(await readStatus(program)).toBe(401);
    expect((await refreshTokens(client, tokens.refresh_token)).body.error).toBe('invalid_grant');
    expect((await exchangeCode(client, pendingCode)).body.error).toBe('invalid_grant');
    expect(await readStatus(other.program)).toBe(200);
    expect(await readStatus((await authorizeOauthClient(as)).program)).not.toBe(401);
  });

  it('that fails because a concurrent change came first ends no grant that began after it', async () => {
    const { as } = await createAllowedUser(company);
    const json = { current_password: PASSWORD, new_password: NEW_PASSWORD };
    let laterClient: Caller | undefined;
    const lateChange = await sendDuringRace(
      /^update "users" set "password_hash"/,
      async () => {
        await expectSuccess(as.post('/v1/auth/password', { json }));
        laterClient = (await authorizeOauthClient(as)).program;
      },
      (env) => as.post('/v1/auth/password', { json: { ...json, new_password: `${NEW_PASSWORD}-2` }, env }),
    );
    expect(lateChange.status).toBe(400);
    expect(await readStatus(laterClient as Caller)).not.toBe(401);
  });

  it('by a mailed link ends all OAuth grants of the user, too', async () => {
    const user = await createAllowedUser(company);
    const { program } = await authorizeOauthClient(user.as);
    const json = { email: user.email, company_slug: company.slug };
    await expectSuccess(callApi('POST', '/v1/users/reset-password/request', { json }));
    const token = readLink(readNewestMail(user.email)).searchParams.get('token');
    const confirmReset = (mailedToken: string | null) =>
      callApi('POST', '/v1/users/reset-password/confirm', { json: { token: mailedToken, password: NEW_PASSWORD } });
    expect((await confirmReset('another')).status).toBe(400);
    expect(await readStatus(program)).not.toBe(401);
    await expectSuccess(confirmReset(token));
    expect(await readStatus(program)).toBe(401);
  });
});

describe('the OAuth grant type client_credentials', () => {
  const encodeCredentials = () => btoa(`${company.apiKey.access_key}:${company.apiKey.secret_key}`);

  it('gives a token of the service account, restricted to the scopes', async () => {
    const { access_token, scope, refresh_token } = await expectSuccess(
      postForm(
        '/oauth/token',
        { grant_type: 'client_credentials', scope: 'groups:list' },
        { authorization: `Basic ${encodeCredentials()}` },
      ),
    );
    expect([scope, refresh_token]).toEqual(['groups:list', undefined]);
    const program = createCaller(access_token);
    expect(await readStatus(program)).toBe(200);
    expect((await program.get('/v1/users')).status).toBe(403);
    const refusedResponse = await program.get('/v1/auth/me');
    expect([refusedResponse.status, refusedResponse.body.message]).toEqual([
      403,
      expect.stringContaining('service token'),
    ]);
    expect((await postForm('/oauth/revoke', { token: access_token, client_id: 'x' })).body.error).toBe(
      'unsupported_token_type',
    );
  });

  it('gives a token that makes no key of the service account itself, which may do more', async () => {
    const { records } = await expectSuccess(owner.get('/v1/service-accounts'));
    const { access_token } = await expectSuccess(
      postForm(
        '/oauth/token',
        { grant_type: 'client_credentials', scope: 'api_keys:create' },
        { authorization: `Basic ${encodeCredentials()}` },
      ),
    );
    const path = `/v1/service-accounts/${records[0]._id}/keys`;
    expect((await createCaller(access_token).post(path, { json: { description: 'Wider' } })).status).toBe(403);
  });

  it('gives a token that the audit trail names, also where its first request is over a limit or of a suspended company', async () => {
    const ownCompany = await createOwnedCompany();
    const { access_key, secret_key } = ownCompany.apiKey;
    const createProgram = async (scope: string) => {
      const headers = { authorization: `Basic ${btoa(`${access_key}:${secret_key}`)}` };
      const form = { grant_type: 'client_credentials', scope };
      return createCaller((await expectSuccess(postForm('/oauth/token', form, headers))).access_token);
    };
    await expectSuccess((await createProgram('groups:list')).get('/v1/groups'));
    const refusedAnswer = await (await createProgram('groups:get')).get('/v1/groups', {
      env: { RATE_LIMIT_PRINCIPAL_PER_MINUTE: '1' },
    });
    const suspendedProgram = await createProgram('users:get');
    await runSql('update companies set suspended_at = 1 where id = ?', ownCompany.id);
    const suspendedAnswer = await suspendedProgram.get('/v1/groups');
    expect([refusedAnswer.status, suspendedAnswer.status]).toEqual([429, 403]);
    for (const answer of [refusedAnswer, suspendedAnswer]) {
      expect((await waitForAuditRecord(ownCompany, answer)).credential).toMatch(
        new RegExp(`^oauth:[a-f0-9]{24}:${access_key}$`),
      );
    }
  });

  it('gives a token for /mcp, which the API refuses', async () => {
    const form = { grant_type: 'client_credentials', resource: MCP_URL, scope: 'groups:list' };
    const { access_token } = await expectSuccess(
      postForm('/oauth/token', form, { authorization: `Basic ${encodeCredentials()}` }),
    );
    const program = createCaller(access_token);
    expect(await readStatus(program)).toBe(401);
    const headers = { accept: 'application/json, text/event-stream' };
    const callMcp = (method: string, params = {}) =>
      program.post('/mcp', { headers, json: { jsonrpc: '2.0', id: 1, method, params } });
    const { status, body } = await callMcp('tools/list');
    expect([status, body.result.tools.length > 0]).toEqual([200, true]);
    const apiTokens = await expectSuccess(
      postForm('/oauth/token', { grant_type: 'client_credentials' }, { authorization: `Basic ${encodeCredentials()}` }),
    );
    const refusedResponse = await createCaller(apiTokens.access_token).post('/mcp', {
      headers,
      json: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
    });
    expect(refusedResponse.status).toBe(401);
  });

  it('accepts the secret in the body, and refuses a wrong one and invalid or too many scopes', async () => {
    const { access_key: client_id, secret_key: client_secret } = company.apiKey;
    const grant_type = 'client_credentials';
    expect((await postForm('/oauth/token', { grant_type, client_id, client_secret })).status).toBe(200);
    const requestTokenForScope = (scope: string) =>
      postForm('/oauth/token', { grant_type, client_id, client_secret, scope });
    expect((await requestTokenForScope('nonsense:*')).body.error).toBe('invalid_scope');
    expect((await requestTokenForScope('groups:list '.repeat(1000))).body.error).toBe('invalid_scope');
    expect((await requestTokenForScope('groups:list '.repeat(10_000))).status).toBe(413);
    const wrongSecretResponse = await postForm('/oauth/token', { grant_type, client_id, client_secret: 'wrong' });
    expect([
      wrongSecretResponse.status,
      wrongSecretResponse.body.error,
      wrongSecretResponse.headers.get('www-authenticate'),
    ]).toEqual([401, 'invalid_client', 'Basic realm="oauth"']);
    expect((await postForm('/oauth/token', { grant_type })).status).toBe(401);
  });
});

describe('POST /oauth/token', () => {
  it.each([
    ['no grant type', { client_id: 'x' }, 'invalid_request'],
    ['an unknown grant type', { grant_type: 'password', username: 'a', password: 'b' }, 'unsupported_grant_type'],
    ['no code', { grant_type: 'authorization_code' }, 'invalid_request'],
    ['an unknown code', { grant_type: 'authorization_code', code: 'x' }, 'invalid_grant'],
    ['no token', { grant_type: 'refresh_token', refresh_token: 'x.y.z', client_id: 'x' }, 'invalid_grant'],
  ])('refuses %s', async (_what, fields, error) => {
    const { status, body } = await postForm('/oauth/token', fields as Record<string, string>);
    expect([status, body.error]).toEqual([400, error]);
  });

  it('refuses a parameter that occurs twice, and a body that is not a form', async () => {
    const repeatParameter = (name: string): [string, string][] => [
      ['grant_type', 'refresh_token'],
      [name, 'https://api.test'],
      [name, MCP_URL],
    ];
    expect((await postForm('/oauth/token', repeatParameter('resource'))).body.error).toBe('invalid_target');
    expect((await postForm('/oauth/token', repeatParameter('scope'))).body.error).toBe('invalid_request');
    const { status, body } = await callApi('POST', '/oauth/token', { json: { grant_type: 'refresh_token' } });
    expect([status, body.error]).toEqual([400, 'invalid_request']);
  });
});

it('a refresh does not recreate a client that has been deleted', async () => {
  const { client, tokens } = await authorizeOauthClient(owner);
  await runSql('update oauth_public_clients set expires_at = 1 where client_id = ?', client);
  await expectSuccess(refreshTokens(client, tokens.refresh_token));
  const grantRow = await selectRow<{ expires_at: number }>(
    'select expires_at from oauth_public_clients where client_id = ?',
    client,
  );
  expect(grantRow?.expires_at).toBe(1);
});

it('the cron trigger deletes expired grants and unused clients, but no client or grant in use', async () => {
  const { client, tokens } = await authorizeOauthClient(owner);
  const countClients = () => countRows('oauth_public_clients where client_id = ?', client);
  advanceClock(29 * DAY_MS);
  await expectSuccess(refreshTokens(client, tokens.refresh_token));
  advanceClock(40 * DAY_MS);
  await runScheduled();
  expect([await countClients(), await countRows('oauth_grants where client_id = ?', client)]).toEqual([1, 1]);
  advanceClock(60 * DAY_MS);
  await runScheduled();
  expect([await countClients(), await countRows('oauth_grants where client_id = ?', client)]).toEqual([0, 0]);
});
