import { env } from 'cloudflare:test';
import { importJWK, SignJWT } from 'jose';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { createEnrolledUser, finishSignIn, readPendingToken } from '../sign-in/support.ts';
import { call, createCaller } from '../support/api.ts';
import { advanceClock, resetClock } from '../support/clock.ts';
import { readStatusAndCode } from '../support/console.ts';
import { listMailsTo, readCode, readLink, readNewestMail } from '../support/mail.ts';
import { sendOvertaken } from '../support/rival.ts';
import { computeCode, enrolAuthenticator, wrongCode } from '../support/second-factor.ts';
import { must } from '../support/signed.ts';
import { aCompany, aUser, type Company, logIn, PASSWORD } from '../support/worlds.ts';

const PATH = '/v1/company/settings';
const STANDARD = { require_2fa: false, sso_only: false, locale: 'en' };
const NEW_PASSWORD = 'a-brand-new-passphrase';

let company: Company;
beforeEach(async () => {
  company = await aCompany();
});
afterEach(resetClock);

const put = (json: unknown, as = company.as) => as.put(PATH, { json });

describe('the settings of a company', () => {
  it('are changed one by one', async () => {
    expect((await company.as.get(PATH)).body).toEqual(STANDARD);
    expect((await put({ locale: 'pt-BR' })).body).toEqual({ ...STANDARD, locale: 'pt-BR' });
    expect((await put({ require_2fa: true })).body).toEqual({ ...STANDARD, require_2fa: true, locale: 'pt-BR' });
    expect((await put({})).status).toBe(200);
    expect((await put({ require_2fa: false, sso_only: true, locale: 'es' })).body).toEqual({
      require_2fa: false,
      sso_only: true,
      locale: 'es',
    });
    const other = await aCompany();
    expect((await other.as.get(PATH)).body).toEqual(STANDARD);
  });

  it.each([{ locale: 'de' }, { require_2fa: 1 }, { sso_only: null }])('refuse %j', async (json) => {
    expect(readStatusAndCode(await put(json))).toEqual([422, 'VALIDATION_ERROR']);
  });

  it('for signing in can be changed by administrators and the owner only', async () => {
    const member = await aUser(company, { can: ['company:get', 'company:update'] });
    const reader = await aUser(company, { can: ['company:get'] });
    const administrator = await aUser(company, { can: ['*'] });
    expect((await reader.as.get(PATH)).status).toBe(200);
    expect((await put({ locale: 'es' }, reader.as)).status).toBe(403);
    expect((await put({ locale: 'es' }, member.as)).status).toBe(200);
    for (const json of [
      { require_2fa: true },
      { sso_only: true },
      { locale: 'en', sso_only: false, require_2fa: true },
    ]) {
      expect(readStatusAndCode(await put(json, member.as))).toEqual([403, 'FORBIDDEN']);
    }
    expect((await company.as.get(PATH)).body).toEqual({ ...STANDARD, locale: 'es' });
    expect((await put({ sso_only: true }, administrator.as)).status).toBe(200);
  });

  it('can be sent back as they were read, unless an administrator has changed them since', async () => {
    const { as } = await aUser(company, { can: ['company:get', 'company:update'] });
    const { body } = await as.get(PATH);
    const json = { ...body, locale: 'pt-BR' };
    expect(await put(json, as)).toMatchObject({ status: 200, body: json });
    const late = await sendOvertaken(
      /^update "companies"/,
      () => put({ sso_only: true }),
      (env) => as.put(PATH, { json, env }),
    );
    expect(readStatusAndCode(late)).toEqual([403, 'FORBIDDEN']);
    expect((await as.get(PATH)).body).toMatchObject({ sso_only: true });
  });
});

describe('a second factor that the company requires', () => {
  const setup = (json: unknown) => call('POST', '/v1/auth/2fa/setup', { json });
  const enable = (json: unknown) => call('POST', '/v1/auth/2fa/enable', { json });

  it('has to be set up at the next sign-in by users without one', async () => {
    const { id, email, as } = await aUser(company);
    await put({ require_2fa: true });
    const { status, body } = await logIn(company.slug, email, PASSWORD);
    expect([status, body]).toEqual([
      200,
      { requires_2fa_setup: true, pending_2fa_token: expect.any(String), expires_in: expect.any(Number) },
    ]);
    const { pending_2fa_token } = body;
    expect((await createCaller(pending_2fa_token).get('/v1/auth/me')).status).toBe(401);
    const finish = { pending_2fa_token, totp_token: '123456' };
    expect((await call('POST', '/v1/auth/2fa/login', { json: finish })).status).toBe(401);

    const made = await setup({ pending_2fa_token });
    expect([made.status, made.body.otpauth_url]).toEqual([200, expect.stringContaining(made.body.secret)]);
    const wrong = await enable({ pending_2fa_token, totp_token: wrongCode(made.body.secret) });
    expect(readStatusAndCode(wrong)).toEqual([400, 'INVALID_2FA_CODE']);
    expect(readStatusAndCode(await enable({ pending_2fa_token }))).toEqual([422, 'VALIDATION_ERROR']);
    const totp_token = computeCode(made.body.secret);
    const done = await enable({ pending_2fa_token, totp_token });
    expect(done.status).toBe(200);
    expect(done.body).toMatchObject({ refresh_token: expect.any(String), user: { _id: id, email } });
    expect(done.body.backup_codes).toHaveLength(10);
    expect((await createCaller(done.body.token).get('/v1/auth/me')).status).toBe(200);
    // The session that was there before has ended; the token is spent.
    expect((await as.get('/v1/auth/me')).status).toBe(401);
    expect((await enable({ pending_2fa_token, totp_token })).status).toBe(401);
    expect((await setup({ pending_2fa_token })).status).toBe(401);
    expect(readNewestMail(email).subject).toMatch(/^Your second factor was enabled/);
    expect((await logIn(company.slug, email, PASSWORD)).body).toHaveProperty('requires_2fa', true);
  });

  it('is required for every way to sign in, and for the owner too', async () => {
    await put({ require_2fa: true });
    const { email } = company.owner;
    await call('POST', '/v1/auth/passwordless/request', { json: { company_slug: company.slug, email } });
    const json = { company_slug: company.slug, email, code: readCode(readNewestMail(email)) };
    const { body } = await call('POST', '/v1/auth/passwordless/verify', { json });
    expect(body).toHaveProperty('requires_2fa_setup', true);
  });

  it('is asked of users who have one', async () => {
    const { email, as } = await aUser(company);
    await enrolAuthenticator(as);
    await put({ require_2fa: true });
    expect((await logIn(company.slug, email, PASSWORD)).body).toHaveProperty('requires_2fa', true);
  });

  it('cannot be set up after five wrong codes, nor after the pending token has expired', async () => {
    const { email } = await aUser(company);
    await put({ require_2fa: true });
    const { pending_2fa_token } = (await logIn(company.slug, email, PASSWORD)).body;
    const { secret } = (await setup({ pending_2fa_token })).body;
    for (let tries = 0; tries < 5; tries += 1) {
      expect((await enable({ pending_2fa_token, totp_token: wrongCode(secret) })).status).toBe(400);
    }
    expect((await enable({ pending_2fa_token, totp_token: computeCode(secret) })).status).toBe(401);
    const next = (await logIn(company.slug, email, PASSWORD)).body;
    advanceClock(next.expires_in * 1000 + 1000);
    expect((await setup({ pending_2fa_token: next.pending_2fa_token })).status).toBe(401);
  });

  it('cannot be set up with the pending token of a user who has one already', async () => {
    const { email, as } = await aUser(company);
    await enrolAuthenticator(as);
    const { pending_2fa_token } = (await logIn(company.slug, email, PASSWORD)).body;
    expect((await setup({ pending_2fa_token })).status).toBe(401);
    for (const token of ['x', 'x'.repeat(5000)]) {
      expect((await setup({ pending_2fa_token: token })).status).toBe(401);
      const json = { pending_2fa_token: token, totp_token: '123456' };
      expect((await call('POST', '/v1/auth/2fa/login', { json })).status).toBe(401);
    }
  });
});

describe('the setting sso_only', () => {
  const SSO = [403, 'SSO_REQUIRED'];
  const requestCode = (email: string) =>
    call('POST', '/v1/auth/passwordless/request', { json: { company_slug: company.slug, email } });
  const requestReset = (email: string, company_slug?: string) =>
    call('POST', '/v1/users/reset-password/request', { json: { email, company_slug } });
  const confirmReset = (token: string | null) =>
    call('POST', '/v1/users/reset-password/confirm', { json: { token, password: NEW_PASSWORD } });
  const tokenOf = (email: string) => readLink(readNewestMail(email)).searchParams.get('token');

  it('lets nobody but the owner sign in with a password, whether or not the email exists', async () => {
    const { email } = await aUser(company);
    await put({ sso_only: true });
    for (const who of [email, 'nobody@nowhere.test']) {
      expect(readStatusAndCode(await logIn(company.slug, who, PASSWORD))).toEqual(SSO);
      expect(readStatusAndCode(await logIn(company.slug, who, 'wrong-password'))).toEqual(SSO);
    }
    expect((await logIn(company.slug, company.owner.email, PASSWORD)).status).toBe(200);
    expect((await logIn(company.slug, company.owner.email, 'wrong-password')).status).toBe(400);
  });

  it('lets nobody but the owner sign in with a mailed code', async () => {
    const { email } = await aUser(company);
    await requestCode(email);
    const code = readCode(readNewestMail(email));
    await put({ sso_only: true });
    for (const who of [email, 'nobody@nowhere.test']) {
      expect(readStatusAndCode(await requestCode(who))).toEqual(SSO);
      const json = { company_slug: company.slug, email: who, code };
      expect(readStatusAndCode(await call('POST', '/v1/auth/passwordless/verify', { json }))).toEqual(SSO);
    }
    expect(listMailsTo(email)).toHaveLength(1);
    expect((await requestCode(company.owner.email)).status).toBe(200);
    const json = {
      company_slug: company.slug,
      email: company.owner.email,
      code: readCode(readNewestMail(company.owner.email)),
    };
    expect((await call('POST', '/v1/auth/passwordless/verify', { json })).status).toBe(200);
  });

  it('lets nobody but the owner reset a password', async () => {
    const { email } = await aUser(company);
    await requestReset(email, company.slug);
    const before = tokenOf(email);
    await put({ sso_only: true });
    expect(readStatusAndCode(await requestReset(email, company.slug))).toEqual(SSO);
    expect(readStatusAndCode(await requestReset('nobody@nowhere.test', company.slug))).toEqual(SSO);
    expect((await requestReset(email)).status).toBe(200);
    expect(listMailsTo(email)).toHaveLength(1);
    expect(readStatusAndCode(await confirmReset(before))).toEqual(SSO);
    expect((await requestReset(company.owner.email, company.slug)).status).toBe(200);
    expect((await confirmReset(tokenOf(company.owner.email))).status).toBe(200);
  });

  it('lets nobody but the owner sign in with a social token', async () => {
    const { email } = await aUser(company);
    const issuer = `${inject('forgerUrl')}/plain`;
    await company.as.put('/v1/auth/social/config', { json: { providers: [{ issuer, audience: 'app' }] } });
    await put({ sso_only: true });
    const signIn = async (who: string, sub: string) => {
      const now = Math.floor(Date.now() / 1000);
      const claims = { iss: issuer, aud: 'app', sub, iat: now, exp: now + 300, email: who, email_verified: true };
      const social_token = await new SignJWT(claims)
        .setProtectedHeader({ alg: 'RS256', kid: 'forger-1' })
        .sign(await importJWK(inject('forgerKey'), 'RS256'));
      return call('POST', '/v1/auth/social', { json: { company_slug: company.slug, social_token } });
    };
    expect(readStatusAndCode(await signIn(email, 'member'))).toEqual(SSO);
    expect(readStatusAndCode(await signIn('nobody@nowhere.test', 'nobody'))).toEqual(SSO);
    expect((await signIn(company.owner.email, 'owner')).status).toBe(200);
  });

  it('lets nobody but the owner complete with a second factor what began with a password', async () => {
    const newcomer = await aUser(company);
    const { email, backupCodes } = await createEnrolledUser(company);
    const owners = await enrolAuthenticator(company.as);
    const member = await readPendingToken(company, email);
    const owner = await readPendingToken(company, company.owner.email);
    await put({ require_2fa: true });
    const pending_2fa_token = await readPendingToken(company, newcomer.email);
    const { secret } = await must(call('POST', '/v1/auth/2fa/setup', { json: { pending_2fa_token } }));
    const login = (env?: Record<string, string>) =>
      finishSignIn(member, { backup_code: backupCodes[0] as string }, env);
    const enable = (env?: Record<string, string>) =>
      call('POST', '/v1/auth/2fa/enable', {
        json: { pending_2fa_token, totp_token: computeCode(secret) },
        ...(env && { env }),
      });
    for (const send of [login, enable]) {
      const late = await sendOvertaken(/^update "pending_second_factors"/, () => put({ sso_only: true }), send);
      expect([late, await send()].map(readStatusAndCode)).toEqual([SSO, SSO]);
      if (send === login) expect((await finishSignIn(owner, { totp_token: owners.code() })).status).toBe(200);
      await put({ sso_only: false });
      expect((await send()).status).toBe(200);
    }
  });

  it('ends no session', async () => {
    const { as } = await aUser(company);
    await put({ sso_only: true });
    expect((await as.get('/v1/auth/me')).status).toBe(200);
    const row = await env.CONTROL_DB.prepare('SELECT sso_only FROM companies WHERE id = ?').bind(company.id).first();
    expect(row).toEqual({ sso_only: 1 });
  });
});
