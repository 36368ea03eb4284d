import { env } from 'cloudflare:test';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Caller, call, createCaller } from '../support/api.ts';
import { advanceClock, resetClock, runScheduled } from '../support/clock.ts';
import { listMailsTo, readLink, readNewestMail } from '../support/mail.ts';
import { countRows, selectRow, sendOvertaken } from '../support/rival.ts';
import { must } from '../support/signed.ts';
import { aCompany, aUser, type Company, PASSWORD } from '../support/worlds.ts';
import {
  authorizeProgram,
  exchangeCode,
  exchangeForm,
  giveConsent,
  MCP,
  postForm,
  REDIRECT,
  readConsentRequest,
  refreshTokens,
  registerClient,
  VERIFIER,
} from './support.ts';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

let company: Company;
let owner: Caller;

beforeAll(async () => {
  company = await aCompany();
  owner = createCaller(company.token);
});

afterEach(resetClock);

const listGrants = async (as: Caller) => (await must(as.get('/v1/oauth-grants'))).records;
const readStatus = async (program: Caller) => (await program.get('/v1/groups')).status;
const obtainCode = async (client: string, more = {}) =>
  (await giveConsent(owner, await readConsentRequest(client, more))).get('code') as string;

describe('an OAuth client with tokens', () => {
  it('may use the scopes of its consent, and no route without an action', async () => {
    const { tokens, program, client } = await authorizeProgram(owner);
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
    const { tokens, program, client } = await authorizeProgram(owner);
    expect(await readStatus(program)).toBe(200);
    const grant = (await listGrants(owner)).find((each: { client: { id: string } }) => each.client.id === client);
    expect((await owner.delete(`/v1/oauth-grants/${grant._id}`)).status).toBe(204);
    expect(await readStatus(program)).toBe(401);
    expect((await refreshTokens(client, tokens.refresh_token)).body.error).toBe('invalid_grant');
    expect((await owner.delete(`/v1/oauth-grants/${grant._id}`)).status).toBe(404);
  });

  it('loses what its person loses: 403 outside of the group, 401 for good when deactivated', async () => {
    const person = await aUser(company, { can: ['groups:list'] });
    const { program } = await authorizeProgram(person.as);
    expect(await readStatus(program)).toBe(200);
    const bound = await selectRow<{ group_id: string }>(
      'select group_id from group_bindings where principal_id = ?',
      person.id,
    );
    const json = { group_ids: [bound?.group_id] };
    expect((await owner.delete(`/v1/users/${person.id}/groups`, { json })).status).toBe(200);
    expect(await readStatus(program)).toBe(403);
    expect((await owner.post(`/v1/users/${person.id}/deactivate`)).status).toBe(200);
    expect(await readStatus(program)).toBe(401);
    expect((await owner.post(`/v1/users/${person.id}/activate`)).status).toBe(200);
    expect(await readStatus(program)).toBe(401);
  });

  it('of the API is refused by /mcp, and one of /mcp by the API', async () => {
    const ofApi = await authorizeProgram(owner);
    const ofMcp = await authorizeProgram(owner, { resource: `${MCP}/` });
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
    expect((await ofApi.program.post('/mcp', { json: ping })).status).toBe(401);
    expect((await ofMcp.program.post('/mcp', { json: ping })).status).toBe(200);
    expect(await readStatus(ofMcp.program)).toBe(401);
  });

  it('is named in the audit trail', async () => {
    const { client, program } = await authorizeProgram(owner);
    await program.get('/v1/groups/ffffffffffffffffffffffff');
    const { records } = await must(owner.get('/v1/audit-events?per_page=20'));
    const record = records.find((each: { credential: string }) => each.credential?.endsWith(client));
    expect(record).toMatchObject({ principal_type: 'user', principal_id: company.owner.id, action: 'groups:get' });
    expect(record.credential).toMatch(/^oauth:[a-f0-9]{24}:od_/);
  });

  it('is reported to its user by mail the first time', async () => {
    const person = await aUser(company, { can: ['groups:list'] });
    const { client } = await authorizeProgram(person.as, {});
    await authorizeProgram(person.as, { client });
    const mails = listMailsTo(person.email);
    expect(mails).toHaveLength(1);
    expect(mails[0]?.text).toContain('A program');
  });
});

describe('an authorization code', () => {
  it.each([
    ['another verifier', { code_verifier: `${VERIFIER}x` }],
    ['no verifier', { code_verifier: undefined }],
    ['another redirect', { redirect_uri: `${REDIRECT}/` }],
    ['another client', { client_id: 'that of another program' }],
    ['another resource', { resource: MCP }],
  ])('ends after an exchange with %s', async (_what, wrong) => {
    const client = await registerClient();
    const code = await obtainCode(client);
    const failed = await exchangeCode(
      client,
      code,
      'client_id' in wrong ? { client_id: await registerClient() } : wrong,
    );
    expect([failed.status, failed.body.error]).toEqual([400, 'resource' in wrong ? 'invalid_target' : 'invalid_grant']);
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
    const form = exchangeForm(client, code).filter(([each]) => each !== name);
    const failed = await postForm('/oauth/token', [...form, [name, `${MCP}/a`], [name, `${MCP}/b`]]);
    expect([failed.status, failed.body.error]).toEqual([400, error]);
    expect((await exchangeCode(client, code)).body.error).toBe('invalid_grant');
  });

  it('is not used up by a request with two codes', async () => {
    const client = await registerClient();
    const code = await obtainCode(client);
    const failed = await postForm('/oauth/token', [...exchangeForm(client, code), ['code', 'another']]);
    expect([failed.status, failed.body.error]).toEqual([400, 'invalid_request']);
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
    const { client, code, program, tokens } = await authorizeProgram(owner);
    expect((await exchangeCode(client, code)).body.error).toBe('invalid_grant');
    expect(await readStatus(program)).toBe(401);
    expect((await refreshTokens(client, tokens.refresh_token)).body.error).toBe('invalid_grant');
  });

  it('that is used twice at the same time issues no tokens, and ends no earlier grant', async () => {
    const { client, program: former } = await authorizeProgram(owner);
    const code = await obtainCode(client);
    const { status, body } = await sendOvertaken(
      /set "begun_at"/,
      async () => expect((await exchangeCode(client, code)).status).toBe(400),
      (env) => postForm('/oauth/token', exchangeForm(client, code), {}, env),
    );
    expect([status, body.error]).toEqual([400, 'invalid_grant']);
    // What was in force before stays.
    expect(await readStatus(former)).toBe(200);
  });

  it('is not issued to a user who is deactivated meanwhile', async () => {
    const person = await aUser(company, { can: ['groups:list'] });
    const client = await registerClient();
    const request = await readConsentRequest(client);
    const deactivate = () => must(owner.post(`/v1/users/${person.id}/deactivate`));
    const late = await sendOvertaken(/insert into "oauth_grants"/, deactivate, (env) =>
      person.as.post('/v1/oauth-grants', { env, json: { request, allow: true } }),
    );
    expect(late.status).toBe(409);
  });
});

describe('the company of an OAuth grant', () => {
  it('that is suspended during a refresh loses nothing of the grant', async () => {
    const other = await aCompany();
    const { client, tokens } = await authorizeProgram(other.as);
    const setStatus = (status: string) =>
      must(
        call('PATCH', `/admin/organizations/${other.id}`, {
          headers: { authorization: `Bearer ${env.PLATFORM_ADMIN_TOKEN}` },
          json: { status },
        }),
      );
    const { status } = await sendOvertaken(
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
    const other = await aCompany();
    const client = await registerClient();
    const code = (await giveConsent(other.as, await readConsentRequest(client))).get('code') as string;
    const setStatus = (status: string) =>
      must(
        createCaller(env.PLATFORM_ADMIN_TOKEN as string).patch(`/admin/organizations/${other.id}`, {
          json: { status },
        }),
      );
    await setStatus('suspended');
    const refused = await exchangeCode(client, code);
    expect([refused.status, refused.body.error]).toEqual([403, 'access_denied']);
    await setStatus('active');
    expect((await exchangeCode(client, code)).status).toBe(200);
  });

  it('that is suspended during the exchange of a code gets no grant', async () => {
    const other = await aCompany();
    const client = await registerClient();
    const code = (await giveConsent(other.as, await readConsentRequest(client))).get('code') as string;
    const { status } = await sendOvertaken(
      /set "begun_at"/,
      () => env.CONTROL_DB.prepare('update companies set suspended_at = 1 where id = ?').bind(other.id).run(),
      (variables) => postForm('/oauth/token', exchangeForm(client, code), {}, variables),
    );
    expect(status).toBe(400);
  });
});

describe('a second consent to the same client', () => {
  it('replaces the first once its code is exchanged', async () => {
    const first = await authorizeProgram(owner);
    const code = await obtainCode(first.client, { scope: 'groups:list' });
    expect(await readStatus(first.program)).toBe(200);
    const second = await must(exchangeCode(first.client, code));
    expect(await readStatus(first.program)).toBe(401);
    expect(await readStatus(createCaller(second.access_token))).toBe(200);
    const own = (await listGrants(owner)).filter((each: { client: { id: string } }) => each.client.id === first.client);
    expect(own.map(({ scopes }: { scopes: string[] }) => scopes)).toEqual([['groups:list']]);
  });

  it('ends no code of the same client that is not exchanged yet', async () => {
    const client = await registerClient();
    const codes = [await obtainCode(client), await obtainCode(client)] as [string, string];
    const first = await must(exchangeCode(client, codes[0]));
    const second = await must(exchangeCode(client, codes[1]));
    expect([
      await readStatus(createCaller(first.access_token)),
      await readStatus(createCaller(second.access_token)),
    ]).toEqual([401, 200]);
  });
});

describe('a refresh token', () => {
  it('is rotated, answered again for a moment, and ends the grant when it is used later', async () => {
    const { client, tokens, program } = await authorizeProgram(owner);
    const next = await must(refreshTokens(client, tokens.refresh_token));
    const again = await must(refreshTokens(client, tokens.refresh_token));
    expect(again.refresh_token).toBe(next.refresh_token);
    expect(await readStatus(createCaller(next.access_token))).toBe(200);
    await must(refreshTokens(client, next.refresh_token));
    expect((await refreshTokens(client, tokens.refresh_token)).body.error).toBe('invalid_grant');
    expect(await readStatus(program)).toBe(401);
    expect(await readStatus(createCaller(next.access_token))).toBe(401);
  });

  it('that is used twice at the same time gets the same response twice, but ends the grant if newer ones were issued', async () => {
    const { client, tokens } = await authorizeProgram(owner);
    const meanwhile = (rival: () => Promise<unknown>, refresh_token: string) =>
      sendOvertaken(/set "refresh_digest"/, rival, (env) =>
        postForm('/oauth/token', { grant_type: 'refresh_token', client_id: client, refresh_token }, {}, env),
      );
    const got: string[] = [];
    const renew = async (token: string) => got.push((await must(refreshTokens(client, token))).refresh_token);
    const alike = await meanwhile(() => renew(tokens.refresh_token), tokens.refresh_token);
    expect([alike.status, alike.body.refresh_token]).toEqual([200, got[0]]);
    const copied = await meanwhile(async () => {
      await renew(got[0] as string);
      await renew(got[1] as string);
    }, got[0] as string);
    expect([copied.status, copied.body.error]).toEqual([400, 'invalid_grant']);
    expect((await refreshTokens(client, got[2] as string)).body.error).toBe('invalid_grant');
    expect(await readStatus(createCaller(alike.body.access_token))).toBe(401);
  });

  it('is valid for thirty days, and each use renews that', async () => {
    const { client, tokens } = await authorizeProgram(owner);
    advanceClock(29 * DAY);
    const next = await must(refreshTokens(client, tokens.refresh_token));
    advanceClock(58 * DAY);
    const last = await must(refreshTokens(client, next.refresh_token));
    advanceClock(88 * DAY + 1000);
    expect((await refreshTokens(client, last.refresh_token)).body.error).toBe('invalid_grant');
  });

  it('is accepted from its own client only, and for no more than the consent', async () => {
    const { client, tokens } = await authorizeProgram(owner, { scope: 'groups:* users:list' });
    expect((await refreshTokens(await registerClient(), tokens.refresh_token)).body.error).toBe('invalid_grant');
    expect((await refreshTokens(client, tokens.refresh_token, { scope: 'users:*' })).body.error).toBe('invalid_scope');
    expect((await refreshTokens(client, tokens.refresh_token, { resource: MCP })).body.error).toBe('invalid_target');
    const less = await must(refreshTokens(client, tokens.refresh_token, { scope: 'users:list' }));
    expect(less.scope).toBe('users:list');
    expect(await readStatus(createCaller(less.access_token))).toBe(403);
    expect((await createCaller(less.access_token).get('/v1/users')).status).toBe(200);
    // The next one has all of it again.
    const all = await must(refreshTokens(client, less.refresh_token));
    expect([all.scope, await readStatus(createCaller(all.access_token))]).toEqual(['groups:* users:list', 200]);
  });
});

describe('POST /oauth/revoke', () => {
  it('ends the grant of a token, for its own client alone', async () => {
    const { client, tokens, program } = await authorizeProgram(owner);
    const other = await postForm('/oauth/revoke', { token: tokens.refresh_token, client_id: await registerClient() });
    expect(other.body.error).toBe('invalid_grant');
    expect(await readStatus(program)).toBe(200);
    expect((await postForm('/oauth/revoke', { token: tokens.refresh_token, client_id: client })).status).toBe(200);
    expect(await readStatus(program)).toBe(401);
    expect((await postForm('/oauth/revoke', { token: 'nothing', client_id: client })).status).toBe(200);
  });
});

describe('a change of a password', () => {
  const NEXT = 'another-quiet-harbour-lantern';

  it('ends all OAuth grants of the user, also those whose code is not exchanged yet', async () => {
    const user = await aUser(company);
    const { as } = user;
    const [{ client, tokens, program }, other] = [await authorizeProgram(as), await authorizeProgram(owner)];
    const underWay = (await giveConsent(as, await readConsentRequest(client))).get('code') as string;
    const change = (current_password: string) =>
      as.post('/v1/auth/password', { json: { current_password, new_password: NEXT } });
    expect((await change('not-the-password')).status).toBe(400);
    expect(await readStatus(program)).not.toBe(401);
    await must(change(PASSWORD));
    expect(await readStatus(program)).toBe(401);
    expect((await refreshTokens(client, tokens.refresh_token)).body.error).toBe('invalid_grant');
    expect((await exchangeCode(client, underWay)).body.error).toBe('invalid_grant');
    expect(await readStatus(other.program)).toBe(200);
    expect(await readStatus((await authorizeProgram(as)).program)).not.toBe(401);
  });

  it('that fails because another came first ends no grant that began since', async () => {
    const { as } = await aUser(company);
    const json = { current_password: PASSWORD, new_password: NEXT };
    let since: Caller | undefined;
    const late = await sendOvertaken(
      /^update "users" set "password_hash"/,
      async () => {
        await must(as.post('/v1/auth/password', { json }));
        since = (await authorizeProgram(as)).program;
      },
      (env) => as.post('/v1/auth/password', { json: { ...json, new_password: `${NEXT}-2` }, env }),
    );
    expect(late.status).toBe(400);
    expect(await readStatus(since as Caller)).not.toBe(401);
  });

  it('by a mailed link ends all OAuth grants of the user, too', async () => {
    const user = await aUser(company);
    const { program } = await authorizeProgram(user.as);
    const json = { email: user.email, company_slug: company.slug };
    await must(call('POST', '/v1/users/reset-password/request', { json }));
    const token = readLink(readNewestMail(user.email)).searchParams.get('token');
    const confirm = (given: string | null) =>
      call('POST', '/v1/users/reset-password/confirm', { json: { token: given, password: NEXT } });
    expect((await confirm('another')).status).toBe(400);
    expect(await readStatus(program)).not.toBe(401);
    await must(confirm(token));
    expect(await readStatus(program)).toBe(401);
  });
});

describe('the OAuth grant type client_credentials', () => {
  const keyOf = () => btoa(`${company.apiKey.access_key}:${company.apiKey.secret_key}`);

  it('gives a token of the service account, restricted to the scopes', async () => {
    const { access_token, scope, refresh_token } = await must(
      postForm(
        '/oauth/token',
        { grant_type: 'client_credentials', scope: 'groups:list' },
        { authorization: `Basic ${keyOf()}` },
      ),
    );
    expect([scope, refresh_token]).toEqual(['groups:list', undefined]);
    const program = createCaller(access_token);
    expect(await readStatus(program)).toBe(200);
    expect((await program.get('/v1/users')).status).toBe(403);
    const refused = await program.get('/v1/auth/me');
    expect([refused.status, refused.body.message]).toEqual([403, expect.stringContaining('service token')]);
    expect((await postForm('/oauth/revoke', { token: access_token, client_id: 'x' })).body.error).toBe(
      'unsupported_token_type',
    );
  });

  it('gives a token for /mcp, which the API refuses', async () => {
    const form = { grant_type: 'client_credentials', resource: MCP, scope: 'groups:list' };
    const { access_token } = await must(postForm('/oauth/token', form, { authorization: `Basic ${keyOf()}` }));
    const program = createCaller(access_token);
    expect(await readStatus(program)).toBe(401);
    const headers = { accept: 'application/json, text/event-stream' };
    const ask = (method: string, params = {}) =>
      program.post('/mcp', { headers, json: { jsonrpc: '2.0', id: 1, method, params } });
    const { status, body } = await ask('tools/list');
    expect([status, body.result.tools.length > 0]).toEqual([200, true]);
    const ofApi = await must(
      postForm('/oauth/token', { grant_type: 'client_credentials' }, { authorization: `Basic ${keyOf()}` }),
    );
    const refused = await createCaller(ofApi.access_token).post('/mcp', {
      headers,
      json: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
    });
    expect(refused.status).toBe(401);
  });

  it('accepts the secret in the body, and refuses a wrong one and invalid or too many scopes', async () => {
    const { access_key: client_id, secret_key: client_secret } = company.apiKey;
    const grant_type = 'client_credentials';
    expect((await postForm('/oauth/token', { grant_type, client_id, client_secret })).status).toBe(200);
    const withScope = (scope: string) => postForm('/oauth/token', { grant_type, client_id, client_secret, scope });
    expect((await withScope('nonsense:*')).body.error).toBe('invalid_scope');
    expect((await withScope('groups:list '.repeat(1000))).body.error).toBe('invalid_scope');
    expect((await withScope('groups:list '.repeat(10_000))).status).toBe(413);
    const wrong = await postForm('/oauth/token', { grant_type, client_id, client_secret: 'wrong' });
    expect([wrong.status, wrong.body.error, wrong.headers.get('www-authenticate')]).toEqual([
      401,
      'invalid_client',
      'Basic realm="oauth"',
    ]);
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
    const twice = (name: string): [string, string][] => [
      ['grant_type', 'refresh_token'],
      [name, 'https://api.test'],
      [name, MCP],
    ];
    expect((await postForm('/oauth/token', twice('resource'))).body.error).toBe('invalid_target');
    expect((await postForm('/oauth/token', twice('scope'))).body.error).toBe('invalid_request');
    const { status, body } = await call('POST', '/oauth/token', { json: { grant_type: 'refresh_token' } });
    expect([status, body.error]).toEqual([400, 'invalid_request']);
  });
});

it('a refresh does not bring back a client that is forgotten', async () => {
  const { client, tokens } = await authorizeProgram(owner);
  await env.CONTROL_DB.prepare('update oauth_public_clients set expires_at = 1 where client_id = ?').bind(client).run();
  await must(refreshTokens(client, tokens.refresh_token));
  const kept = await selectRow<{ expires_at: number }>(
    'select expires_at from oauth_public_clients where client_id = ?',
    client,
  );
  expect(kept?.expires_at).toBe(1);
});

it('the cron trigger deletes expired grants and unused clients, but none in use', async () => {
  const { client, tokens } = await authorizeProgram(owner);
  const isKept = () => countRows('oauth_public_clients where client_id = ?', client);
  advanceClock(29 * DAY);
  await must(refreshTokens(client, tokens.refresh_token));
  advanceClock(40 * DAY);
  await runScheduled();
  expect([await isKept(), await countRows('oauth_grants where client_id = ?', client)]).toEqual([1, 1]);
  advanceClock(60 * DAY);
  await runScheduled();
  expect([await isKept(), await countRows('oauth_grants where client_id = ?', client)]).toEqual([0, 0]);
});
