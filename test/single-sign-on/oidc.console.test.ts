import { env } from 'cloudflare:test';
import { afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import { finishSignIn } from '../sign-in/support.ts';
import { type ApiResponse, call, createCaller } from '../support/api.ts';
import { advanceClock, resetClock } from '../support/clock.ts';
import { sendOvertaken } from '../support/rival.ts';
import { enrolAuthenticator } from '../support/second-factor.ts';
import { must } from '../support/signed.ts';
import { aCompany, aUser, type Company } from '../support/worlds.ts';
import { setQuotas } from '../usage/support.ts';
import { visitProvider } from './browser.ts';
import {
  answerByRedirect,
  CONSOLE,
  callbackUrl,
  configureSso,
  exchangeCode,
  getSecretOfCode,
  readRedirect,
  startSignIn,
  tryExchange,
  tryStart,
} from './support.ts';

afterEach(resetClock);

/** Registers a client of ours at the provider, as its administrator would. */
async function registerClient(
  company: Company,
  changes: Record<string, unknown> = {},
): Promise<Record<string, unknown>> {
  const response = await fetch(`${inject('oidcIssuer')}/reg`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ redirect_uris: [callbackUrl(company)], ...changes }),
  });
  const { client_id, client_secret } = (await response.json()) as Record<string, string>;
  return { type: 'oidc', issuer: inject('oidcIssuer'), client_id, client_secret };
}

describe('a sign-in with an OpenID Provider', () => {
  let company: Company;
  beforeAll(async () => {
    company = await aCompany();
    await configureSso(company, await registerClient(company));
  });

  /** Signs in at the provider as a person would. @returns our callback's answer */
  async function signIn(as: string, to = company): Promise<ApiResponse> {
    const back = await visitProvider(await startSignIn(to), { login: as, until: callbackUrl(to) });
    return answerByRedirect(to, Object.fromEntries(back.searchParams));
  }

  it('begins a session by start, login, callback and exchange', async () => {
    const answer = await signIn(company.owner.email);
    const { to, code, error } = readRedirect(answer);
    expect([to, error]).toEqual([CONSOLE, null]);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    const { status, body } = await exchangeCode(code as string);
    expect(status).toBe(200);
    expect(body).toMatchObject({ expires_in: 600, user: { _id: company.owner.id, email: company.owner.email } });
    expect((await createCaller(body.token).get('/v1/auth/me')).status).toBe(200);
  });

  it('uses a new PKCE challenge, state and nonce each time', async () => {
    const [first, second] = [(await startSignIn(company)).searchParams, (await startSignIn(company)).searchParams];
    expect(first.get('code_challenge_method')).toBe('S256');
    for (const name of ['state', 'nonce', 'code_challenge']) {
      expect(first.get(name)).toMatch(/^[\w-]{43}$/);
      expect(first.get(name)).not.toBe(second.get(name));
    }
    expect(first.get('redirect_uri')).toBe(callbackUrl(company));
  });

  it('accepts a code once, even when it is exchanged meanwhile', async () => {
    const code = readRedirect(await signIn(company.owner.email)).code as string;
    const rival = () => must(exchangeCode(code));
    const late = await sendOvertaken(/^delete from "sso_codes"/, rival, (env) =>
      tryExchange(code, getSecretOfCode(code), env),
    );
    expect([late.status, late.body.error]).toEqual([400, 'INVALID_SSO_CODE']);
  });

  it('accepts a code only from the client that began', async () => {
    const { code } = readRedirect(await signIn(company.owner.email));
    const another = readRedirect(await signIn(company.owner.email)).code as string;
    for (const secret of [undefined, '', 'x'.repeat(5000), getSecretOfCode(another)]) {
      const { status, body } = await tryExchange(code as string, secret);
      expect([status, body.error]).toEqual([400, 'INVALID_SSO_CODE']);
    }
    expect((await tryExchange('x'.repeat(2000), getSecretOfCode(code as string))).body.error).toBe('INVALID_SSO_CODE');
    expect((await exchangeCode(code as string)).status).toBe(200);
    expect((await exchangeCode(another)).status).toBe(200);
  });

  it('stores nothing with which a reader of the database could exchange a code', async () => {
    await startSignIn(company);
    const { code } = readRedirect(await signIn(company.owner.email));
    const dumps = await env.CONTROL_DB.batch(
      ['sso_logins', 'sso_codes'].map((table) => env.CONTROL_DB.prepare(`SELECT * FROM ${table}`)),
    );
    const kept = JSON.stringify(dumps.map(({ results }) => results));
    expect(kept).toContain('exchange_digest');
    for (const secret of [code as string, getSecretOfCode(code as string)]) expect(kept).not.toContain(secret);
  });

  it('accepts a code for a minute', async () => {
    const { code } = readRedirect(await signIn(company.owner.email));
    advanceClock(60_001);
    expect((await exchangeCode(code as string)).body.error).toBe('INVALID_SSO_CODE');
  });

  it('accepts a response of the provider once, even when it is replayed at the same time', async () => {
    const back = await visitProvider(await startSignIn(company), {
      login: company.owner.email,
      until: callbackUrl(company),
    });
    const answer = (env?: Record<string, string>) =>
      answerByRedirect(company, Object.fromEntries(back.searchParams), env);
    const late = await sendOvertaken(
      /^delete from "sso_logins"/,
      async () => expect(readRedirect(await answer()).code).toBeTruthy(),
      answer,
    );
    expect([late.status, late.body.error]).toEqual([400, 'INVALID_SSO_STATE']);
  });

  it('refuses a person who is not a user', async () => {
    expect(readRedirect(await signIn('stranger@elsewhere.test'))).toMatchObject({
      code: null,
      error: 'user_not_found',
    });
  });

  it('refuses a user of another company', async () => {
    const other = await aCompany();
    expect(readRedirect(await signIn(other.owner.email)).error).toBe('user_not_found');
  });

  it('refuses an address that is not verified', async () => {
    expect(readRedirect(await signIn(`unverified@${company.slug}.test`)).error).toBe('email_not_verified');
  });

  it('refuses a user who is not active, or was deactivated before the exchange', async () => {
    const { id, email } = await aUser(company, { can: ['users:list'] });
    const { code } = readRedirect(await signIn(email));
    await env.CONTROL_DB.prepare('UPDATE users SET is_active = 0 WHERE id = ?').bind(id).run();
    const deactivated = await exchangeCode(code as string);
    expect([deactivated.status, deactivated.body.error]).toEqual([403, 'FORBIDDEN']);
    expect(readRedirect(await signIn(email)).error).toBe('user_not_active');
  });

  it('asks for the second factor of a user who has one', async () => {
    const { id, email } = await aUser(company);
    await env.CONTROL_DB.prepare('UPDATE users SET mfa_enabled = 1 WHERE id = ?').bind(id).run();
    const { status, body } = await exchangeCode(readRedirect(await signIn(email)).code as string);
    expect(status).toBe(200);
    expect(body).toMatchObject({ requires_2fa: true, pending_2fa_token: expect.any(String) });
    expect(body).not.toHaveProperty('token');
  });

  it('continues with the second factor where the company requires single sign-on', async () => {
    const { email, as } = await aUser(company);
    const { code } = await enrolAuthenticator(as);
    const { pending_2fa_token } = await must(exchangeCode(readRedirect(await signIn(email)).code as string));
    const setSsoOnly = (sso_only: boolean) => must(company.as.put('/v1/company/settings', { json: { sso_only } }));
    await setSsoOnly(true);
    expect((await finishSignIn(pending_2fa_token, { totp_token: code() })).status).toBe(200);
    await setSsoOnly(false);
  });

  it('keeps its code while the company is suspended', async () => {
    const code = readRedirect(await signIn(company.owner.email)).code as string;
    const setStatus = (status: string) =>
      must(
        createCaller(env.PLATFORM_ADMIN_TOKEN as string).patch(`/admin/organizations/${company.id}`, {
          json: { status },
        }),
      );
    const late = await sendOvertaken(
      /^delete from "sso_codes"/,
      () => setStatus('suspended'),
      (variables) => tryExchange(code, getSecretOfCode(code), variables),
    );
    expect([late.status, late.body.error]).toEqual([403, 'COMPANY_SUSPENDED']);
    await setStatus('active');
    expect((await exchangeCode(code)).status).toBe(200);
  });

  it('creates a user where the company allows it', async () => {
    const open = await aCompany();
    await configureSso(open, { ...(await registerClient(open)), jit_provisioning: true });
    const email = `newcomer@${open.slug}.test`;
    const { body } = await exchangeCode(readRedirect(await signIn(email, open)).code as string);
    expect(body.user).toEqual({ _id: expect.any(String), email, name: 'Petra Provider', company_id: open.id });
    const { body: me } = await createCaller(body.token).get('/v1/auth/me');
    expect(me.user).toMatchObject({ status: 'active', group_ids: [] });
    const again = await exchangeCode(readRedirect(await signIn(email, open)).code as string);
    expect(again.body.user._id).toBe(body.user._id);
  });

  it('creates no user beyond the quota, and still signs in existing users', async () => {
    const full = await aCompany();
    await configureSso(full, { ...(await registerClient(full)), jit_provisioning: true });
    await setQuotas(full, { users: 1 });
    const { to, code, error } = readRedirect(await signIn(`newcomer@${full.slug}.test`, full));
    expect([to, code, error]).toEqual([CONSOLE, null, 'quota_exceeded']);
    expect(readRedirect(await signIn(full.owner.email, full)).error).toBeNull();
  });

  it('signs in the user whom another first sign-in creates meanwhile', async () => {
    const open = await aCompany();
    await configureSso(open, { ...(await registerClient(open)), jit_provisioning: true });
    const login = `twice@${open.slug}.test`;
    const back = async () => {
      const { searchParams } = await visitProvider(await startSignIn(open), { login, until: callbackUrl(open) });
      return Object.fromEntries(searchParams);
    };
    const [first, second] = [await back(), await back()];
    let other: ApiResponse | undefined;
    const late = await sendOvertaken(
      /^insert into "users"/,
      async () => {
        other = await answerByRedirect(open, first);
      },
      (env) => answerByRedirect(open, second, env),
    );
    const idOf = async (answer: ApiResponse) =>
      (await must(exchangeCode(readRedirect(answer).code as string))).user._id;
    expect(await idOf(late)).toBe(await idOf(other as ApiResponse));
  });
});

describe('GET /v1/auth/sso/{company_slug}/start', () => {
  let company: Company;
  beforeAll(async () => {
    company = await aCompany();
    const issuer = `${inject('forgerUrl')}/plain`;
    await configureSso(company, { type: 'oidc', issuer, client_id: 'c', client_secret: 's' });
  });

  it.each([
    `${CONSOLE}/`,
    `${CONSOLE}?next=https://evil.test`,
    `${CONSOLE}#x`,
    'https://console.test.evil.test/signed-in',
    'https://console.test@evil.test/signed-in',
    'https://CONSOLE.test/signed-in',
    '//evil.test',
    'javascript:alert(1)',
  ])('refuses the redirect_uri %s, which is not configured', async (redirectUri) => {
    const { status, body } = await tryStart(company.slug, redirectUri);
    expect([status, body.error, body.details[0].field]).toEqual([422, 'VALIDATION_ERROR', 'redirect_uri']);
  });

  it('needs a redirect_uri, a company and a configuration', async () => {
    expect((await call('GET', `/v1/auth/sso/${company.slug}/start`)).status).toBe(422);
    expect((await tryStart('nobody', CONSOLE)).body.error).toBe('COMPANY_NOT_FOUND');
    const bare = await aCompany();
    const { status, body } = await tryStart(bare.slug, CONSOLE);
    expect([status, body.error]).toEqual([404, 'SSO_NOT_CONFIGURED']);
  });
});
