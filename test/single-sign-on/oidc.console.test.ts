import { env } from 'cloudflare:test';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { finishSignIn } from '../sign-in/support.ts';
import { type ApiResponse, callApi, createCaller } from '../support/api.ts';
import { advanceClock } from '../support/clock.ts';
import { type Company, createAllowedUser, createOwnedCompany } from '../support/companies.ts';
import { waitForAuditRecord } from '../support/log.ts';
import { addPasskey, createAuthenticator } from '../support/passkeys.ts';
import { runSql, sendDuringRace } from '../support/race.ts';
import { computeCode, enrolAuthenticator } from '../support/second-factor.ts';
import { expectSuccess } from '../support/signed.ts';
import { setQuotas } from '../usage/support.ts';
import { signInAtProvider } from './browser.ts';
import {
  answerByRedirect,
  CONSOLE_RETURN_URL,
  configureSso,
  exchangeCode,
  getSecretOfCode,
  makeCallbackUrl,
  readRedirect,
  requestCodeExchange,
  requestSignInStart,
  startSignIn,
} from './support.ts';

/** Registers our client at the provider, as the provider's administrator would. */
async function registerClient(
  company: Company,
  changes: Record<string, unknown> = {},
): Promise<Record<string, unknown>> {
  const response = await fetch(`${inject('oidcIssuer')}/reg`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ redirect_uris: [makeCallbackUrl(company)], ...changes }),
  });
  const { client_id, client_secret } = (await response.json()) as Record<string, string>;
  return { type: 'oidc', issuer: inject('oidcIssuer'), client_id, client_secret };
}

const company = await createOwnedCompany();
await configureSso(company, await registerClient(company));

describe('a sign-in with an OpenID Provider', () => {
  /** Signs in at the provider as a person would. @returns the answer of our callback */
  async function signInByProvider(as: string, to = company): Promise<ApiResponse> {
    const callbackAddress = await signInAtProvider(await startSignIn(to), {
      login: as,
      endAddress: makeCallbackUrl(to),
    });
    return answerByRedirect(to, Object.fromEntries(callbackAddress.searchParams));
  }

  it('begins a session by start, login, callback and exchange', async () => {
    const answer = await signInByProvider(company.owner.email);
    const { to, code, error } = readRedirect(answer);
    expect([to, error]).toEqual([CONSOLE_RETURN_URL, null]);
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
    expect(first.get('redirect_uri')).toBe(makeCallbackUrl(company));
  });

  it('accepts a code once, even when a concurrent request exchanges it', async () => {
    const code = readRedirect(await signInByProvider(company.owner.email)).code as string;
    const exchangeConcurrently = () => expectSuccess(exchangeCode(code));
    const lateExchange = await sendDuringRace(/^delete from "sso_codes"/, exchangeConcurrently, (env) =>
      requestCodeExchange(code, getSecretOfCode(code), env),
    );
    expect([lateExchange.status, lateExchange.body.error]).toEqual([400, 'INVALID_SSO_CODE']);
  });

  it('accepts a code only from the client that began the sign-in', async () => {
    const { code } = readRedirect(await signInByProvider(company.owner.email));
    const otherCode = readRedirect(await signInByProvider(company.owner.email)).code as string;
    for (const secret of [undefined, '', 'x'.repeat(5000), getSecretOfCode(otherCode)]) {
      const { status, body } = await requestCodeExchange(code as string, secret);
      expect([status, body.error]).toEqual([400, 'INVALID_SSO_CODE']);
    }
    expect((await requestCodeExchange('x'.repeat(2000), getSecretOfCode(code as string))).body.error).toBe(
      'INVALID_SSO_CODE',
    );
    expect((await exchangeCode(code as string)).status).toBe(200);
    expect((await exchangeCode(otherCode)).status).toBe(200);
  });

  it('stores nothing with which a reader of the database could exchange a code', async () => {
    await startSignIn(company);
    const { code } = readRedirect(await signInByProvider(company.owner.email));
    const tableDumps = await env.CONTROL_DB.batch(
      ['sso_logins', 'sso_codes'].map((table) => env.CONTROL_DB.prepare(`SELECT * FROM ${table}`)),
    );
    const storedText = JSON.stringify(tableDumps.map(({ results }) => results));
    expect(storedText).toContain('exchange_digest');
    for (const secret of [code as string, getSecretOfCode(code as string)]) expect(storedText).not.toContain(secret);
  });

  it('accepts a code for one minute', async () => {
    const { code } = readRedirect(await signInByProvider(company.owner.email));
    advanceClock(60_001);
    expect((await exchangeCode(code as string)).body.error).toBe('INVALID_SSO_CODE');
  });

  it('accepts a response of the provider once, even when it is replayed at the same time', async () => {
    const callbackAddress = await signInAtProvider(await startSignIn(company), {
      login: company.owner.email,
      endAddress: makeCallbackUrl(company),
    });
    const sendCallback = (env?: Record<string, string>) =>
      answerByRedirect(company, Object.fromEntries(callbackAddress.searchParams), env);
    const lateCallback = await sendDuringRace(
      /^delete from "sso_logins"/,
      async () => expect(readRedirect(await sendCallback()).code).toBeTruthy(),
      sendCallback,
    );
    expect([lateCallback.status, lateCallback.body.error]).toEqual([400, 'INVALID_SSO_STATE']);
  });

  it('refuses a person who is not a user', async () => {
    expect(readRedirect(await signInByProvider('stranger@elsewhere.test'))).toMatchObject({
      code: null,
      error: 'user_not_found',
    });
  });

  it('refuses a user of another company', async () => {
    const other = await createOwnedCompany();
    expect(readRedirect(await signInByProvider(other.owner.email)).error).toBe('user_not_found');
  });

  it('refuses an address that is not verified', async () => {
    expect(readRedirect(await signInByProvider(`unverified@${company.slug}.test`)).error).toBe('email_not_verified');
  });

  it('refuses a user who is not active, or was deactivated before the exchange', async () => {
    const { id, email } = await createAllowedUser(company, { can: ['users:list'] });
    const { code } = readRedirect(await signInByProvider(email));
    await runSql('UPDATE users SET is_active = 0 WHERE id = ?', id);
    const deactivatedExchange = await exchangeCode(code as string);
    expect([deactivatedExchange.status, deactivatedExchange.body.error]).toEqual([403, 'FORBIDDEN']);
    const refusedAnswer = await signInByProvider(email);
    expect(readRedirect(refusedAnswer).error).toBe('user_not_active');
    expect(await waitForAuditRecord(company, refusedAnswer)).toMatchObject({ principalType: 'user', principalId: id });
  });

  it('refuses a user whose sessions were all ended before the exchange', async () => {
    const { id, email } = await createAllowedUser(company);
    const { code } = readRedirect(await signInByProvider(email));
    await expectSuccess(company.as.delete(`/v1/users/${id}/sessions`));
    expect((await exchangeCode(code as string)).status).toBe(401);
    const { code: laterCode } = readRedirect(await signInByProvider(email));
    expect((await exchangeCode(laterCode as string)).status).toBe(200);
  });

  it('asks a user who has a second factor for a code', async () => {
    const { id, email } = await createAllowedUser(company);
    await runSql('UPDATE users SET mfa_enabled = 1 WHERE id = ?', id);
    const { status, body } = await exchangeCode(readRedirect(await signInByProvider(email)).code as string);
    expect(status).toBe(200);
    expect(body).toMatchObject({ requires_2fa: true, pending_2fa_token: expect.any(String) });
    expect(body).not.toHaveProperty('token');
  });

  it('continues with the second factor where the company requires single sign-on', async () => {
    const { email, as } = await createAllowedUser(company);
    const { makeCode } = await enrolAuthenticator(as);
    const { pending_2fa_token } = await expectSuccess(
      exchangeCode(readRedirect(await signInByProvider(email)).code as string),
    );
    const setSsoOnly = (sso_only: boolean) =>
      expectSuccess(company.as.put('/v1/company/settings', { json: { sso_only } }));
    await setSsoOnly(true);
    expect((await finishSignIn(pending_2fa_token, { totp_token: makeCode() })).status).toBe(200);
    await setSsoOnly(false);
  });

  it('asks for an authenticator in the place of a passkey that the company’s settings keep from being used', async () => {
    const ownCompany = await createOwnedCompany();
    await configureSso(ownCompany, await registerClient(ownCompany));
    const { email, as } = await createAllowedUser(ownCompany);
    await expectSuccess(addPasskey(as, await createAuthenticator()));
    await expectSuccess(addPasskey(ownCompany.as, await createAuthenticator()));
    const signIn = async (login: string) =>
      expectSuccess(exchangeCode(readRedirect(await signInByProvider(login, ownCompany)).code as string));
    const putSettings = (json: object) => expectSuccess(ownCompany.as.put('/v1/company/settings', { json }));
    await putSettings({ require_2fa: true });
    expect(await signIn(email)).toEqual({ requires_2fa: true, methods: ['passkey'] });
    await putSettings({ sso_only: true });
    const { requires_2fa_setup, pending_2fa_token } = await signIn(email);
    expect(requires_2fa_setup).toBe(true);
    const { secret } = await expectSuccess(callApi('POST', '/v1/auth/2fa/setup', { json: { pending_2fa_token } }));
    const json = { pending_2fa_token, totp_token: computeCode(secret) };
    expect(await expectSuccess(callApi('POST', '/v1/auth/2fa/enable', { json }))).toHaveProperty('token');
    // The owner's passkey may still be used.
    expect(await signIn(ownCompany.owner.email)).toEqual({ requires_2fa: true, methods: ['passkey'] });
  });

  it('keeps its code while the company is suspended', async () => {
    const code = readRedirect(await signInByProvider(company.owner.email)).code as string;
    const setStatus = (status: string) =>
      expectSuccess(
        createCaller(env.PLATFORM_ADMIN_TOKEN as string).patch(`/admin/organizations/${company.id}`, {
          json: { status },
        }),
      );
    const lateExchange = await sendDuringRace(
      /^delete from "sso_codes"/,
      () => setStatus('suspended'),
      (variables) => requestCodeExchange(code, getSecretOfCode(code), variables),
    );
    expect([lateExchange.status, lateExchange.body.error]).toEqual([403, 'COMPANY_SUSPENDED']);
    await setStatus('active');
    expect((await exchangeCode(code)).status).toBe(200);
  });

  it('creates a user where the company allows it', async () => {
    const openCompany = await createOwnedCompany();
    await configureSso(openCompany, { ...(await registerClient(openCompany)), jit_provisioning: true });
    const email = `newcomer@${openCompany.slug}.test`;
    const { body } = await exchangeCode(readRedirect(await signInByProvider(email, openCompany)).code as string);
    expect(body.user).toEqual({ _id: expect.any(String), email, name: 'Petra Provider', company_id: openCompany.id });
    const { body: me } = await createCaller(body.token).get('/v1/auth/me');
    expect(me.user).toMatchObject({ status: 'active', group_ids: [] });
    const secondExchange = await exchangeCode(readRedirect(await signInByProvider(email, openCompany)).code as string);
    expect(secondExchange.body.user._id).toBe(body.user._id);
  });

  it('creates no user beyond the quota, and still signs in existing users', async () => {
    const fullCompany = await createOwnedCompany();
    await configureSso(fullCompany, { ...(await registerClient(fullCompany)), jit_provisioning: true });
    await setQuotas(fullCompany, { users: 1 });
    const { to, code, error } = readRedirect(await signInByProvider(`newcomer@${fullCompany.slug}.test`, fullCompany));
    expect([to, code, error]).toEqual([CONSOLE_RETURN_URL, null, 'quota_exceeded']);
    expect(readRedirect(await signInByProvider(fullCompany.owner.email, fullCompany)).error).toBeNull();
  });

  it('signs in the user whom another first sign-in creates meanwhile', async () => {
    const openCompany = await createOwnedCompany();
    await configureSso(openCompany, { ...(await registerClient(openCompany)), jit_provisioning: true });
    const login = `twice@${openCompany.slug}.test`;
    const createCallback = async () => {
      const { searchParams } = await signInAtProvider(await startSignIn(openCompany), {
        login,
        endAddress: makeCallbackUrl(openCompany),
      });
      return Object.fromEntries(searchParams);
    };
    const [first, second] = [await createCallback(), await createCallback()];
    let other: ApiResponse | undefined;
    const lateSignIn = await sendDuringRace(
      /^insert into "users"/,
      async () => {
        other = await answerByRedirect(openCompany, first);
      },
      (env) => answerByRedirect(openCompany, second, env),
    );
    const readUserId = async (answer: ApiResponse) =>
      (await expectSuccess(exchangeCode(readRedirect(answer).code as string))).user._id;
    expect(await readUserId(lateSignIn)).toBe(await readUserId(other as ApiResponse));
  });
});

describe('GET /v1/auth/sso/{company_slug}/start', () => {
  let company: Company;
  beforeAll(async () => {
    company = await createOwnedCompany();
    const issuer = `${inject('forgerUrl')}/plain`;
    await configureSso(company, { type: 'oidc', issuer, client_id: 'c', client_secret: 's' });
  });

  it.each([
    `${CONSOLE_RETURN_URL}/`,
    `${CONSOLE_RETURN_URL}?next=https://evil.test`,
    `${CONSOLE_RETURN_URL}#x`,
    'https://console.test.evil.test/signed-in',
    'https://console.test@evil.test/signed-in',
    'https://CONSOLE.test/signed-in',
    '//evil.test',
    'javascript:alert(1)',
  ])('refuses the redirect_uri %s, which is not configured', async (redirectUri) => {
    const { status, body } = await requestSignInStart(company.slug, redirectUri);
    expect([status, body.error, body.details[0].field]).toEqual([422, 'VALIDATION_ERROR', 'redirect_uri']);
  });

  it('requires a redirect_uri, a company and a configuration', async () => {
    expect((await callApi('GET', `/v1/auth/sso/${company.slug}/start`)).status).toBe(422);
    expect((await requestSignInStart('nobody', CONSOLE_RETURN_URL)).body.error).toBe('COMPANY_NOT_FOUND');
    const companyWithoutSso = await createOwnedCompany();
    const { status, body } = await requestSignInStart(companyWithoutSso.slug, CONSOLE_RETURN_URL);
    expect([status, body.error]).toEqual([404, 'SSO_NOT_CONFIGURED']);
  });
});
