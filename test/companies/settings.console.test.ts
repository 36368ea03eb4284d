import { importJWK, SignJWT } from 'jose';
import { beforeEach, describe, expect, inject, it } from 'vitest';
import { createEnrolledUser, finishSignIn, readPendingToken } from '../sign-in/support.ts';
import { callApi, createCaller } from '../support/api.ts';
import { advanceClock } from '../support/clock.ts';
import { type Company, createAllowedUser, createOwnedCompany, logIn, PASSWORD } from '../support/companies.ts';
import { readStatusAndCode } from '../support/console.ts';
import { listMailsTo, readCode, readLink, readNewestMail } from '../support/mail.ts';
import { selectRow, sendDuringRace } from '../support/race.ts';
import { computeCode, enrolAuthenticator, makeWrongCode } from '../support/second-factor.ts';
import { expectSuccess } from '../support/signed.ts';

const SETTINGS_PATH = '/v1/company/settings';
const DEFAULT_SETTINGS = { require_2fa: false, sso_only: false, locale: 'en' };
const NEW_PASSWORD = 'a-brand-new-passphrase';

let company: Company;
beforeEach(async () => {
  company = await createOwnedCompany();
});

const putSettings = (json: unknown, as = company.as) => as.put(SETTINGS_PATH, { json });

describe('the settings of a company', () => {
  it('are changed one by one', async () => {
    expect((await company.as.get(SETTINGS_PATH)).body).toEqual(DEFAULT_SETTINGS);
    expect((await putSettings({ locale: 'pt-BR' })).body).toEqual({ ...DEFAULT_SETTINGS, locale: 'pt-BR' });
    expect((await putSettings({ require_2fa: true })).body).toEqual({
      ...DEFAULT_SETTINGS,
      require_2fa: true,
      locale: 'pt-BR',
    });
    expect((await putSettings({})).status).toBe(200);
    expect((await putSettings({ require_2fa: false, sso_only: true, locale: 'es' })).body).toEqual({
      require_2fa: false,
      sso_only: true,
      locale: 'es',
    });
    const other = await createOwnedCompany();
    expect((await other.as.get(SETTINGS_PATH)).body).toEqual(DEFAULT_SETTINGS);
  });

  it('for signing in can be changed only by administrators and the owner', async () => {
    const member = await createAllowedUser(company, { can: ['company:get', 'company:update'] });
    const reader = await createAllowedUser(company, { can: ['company:get'] });
    const administrator = await createAllowedUser(company, { can: ['*'] });
    expect((await reader.as.get(SETTINGS_PATH)).status).toBe(200);
    expect((await putSettings({ locale: 'es' }, reader.as)).status).toBe(403);
    expect((await putSettings({ locale: 'es' }, member.as)).status).toBe(200);
    for (const json of [
      { require_2fa: true },
      { sso_only: true },
      { locale: 'en', sso_only: false, require_2fa: true },
    ]) {
      expect(readStatusAndCode(await putSettings(json, member.as))).toEqual([403, 'FORBIDDEN']);
    }
    expect((await company.as.get(SETTINGS_PATH)).body).toEqual({ ...DEFAULT_SETTINGS, locale: 'es' });
    expect((await putSettings({ sso_only: true }, administrator.as)).status).toBe(200);
  });

  it('can be sent back as they were read, unless an administrator has changed them meanwhile', async () => {
    const { as } = await createAllowedUser(company, { can: ['company:get', 'company:update'] });
    const { body } = await as.get(SETTINGS_PATH);
    const json = { ...body, locale: 'pt-BR' };
    expect(await putSettings(json, as)).toMatchObject({ status: 200, body: json });
    const lateAnswer = await sendDuringRace(
      /^update "companies"/,
      () => putSettings({ sso_only: true }),
      (env) => as.put(SETTINGS_PATH, { json, env }),
    );
    expect(readStatusAndCode(lateAnswer)).toEqual([403, 'FORBIDDEN']);
    expect((await as.get(SETTINGS_PATH)).body).toMatchObject({ sso_only: true });
  });
});

describe('a second factor that the company requires', () => {
  const startSetup = (json: unknown) => callApi('POST', '/v1/auth/2fa/setup', { json });
  const enableFactor = (json: unknown) => callApi('POST', '/v1/auth/2fa/enable', { json });

  it('has to be set up at the next sign-in by users without one', async () => {
    const { id, email, as } = await createAllowedUser(company);
    await putSettings({ require_2fa: true });
    const { status, body } = await logIn(company.slug, email, PASSWORD);
    expect([status, body]).toEqual([
      200,
      { requires_2fa_setup: true, pending_2fa_token: expect.any(String), expires_in: expect.any(Number) },
    ]);
    const { pending_2fa_token } = body;
    expect((await createCaller(pending_2fa_token).get('/v1/auth/me')).status).toBe(401);
    const loginBody = { pending_2fa_token, totp_token: '123456' };
    expect((await callApi('POST', '/v1/auth/2fa/login', { json: loginBody })).status).toBe(401);

    const newFactor = await startSetup({ pending_2fa_token });
    expect([newFactor.status, newFactor.body.otpauth_url]).toEqual([
      200,
      expect.stringContaining(newFactor.body.secret),
    ]);
    const wrongCodeAnswer = await enableFactor({ pending_2fa_token, totp_token: makeWrongCode(newFactor.body.secret) });
    expect(readStatusAndCode(wrongCodeAnswer)).toEqual([400, 'INVALID_2FA_CODE']);
    expect(readStatusAndCode(await enableFactor({ pending_2fa_token }))).toEqual([422, 'VALIDATION_ERROR']);
    const totp_token = computeCode(newFactor.body.secret);
    const doneAnswer = await enableFactor({ pending_2fa_token, totp_token });
    expect(doneAnswer.status).toBe(200);
    expect(doneAnswer.body).toMatchObject({ refresh_token: expect.any(String), user: { _id: id, email } });
    expect(doneAnswer.body.backup_codes).toHaveLength(10);
    expect((await createCaller(doneAnswer.body.token).get('/v1/auth/me')).status).toBe(200);
    // The session that was there before has ended; the token is spent.
    expect((await as.get('/v1/auth/me')).status).toBe(401);
    expect((await enableFactor({ pending_2fa_token, totp_token })).status).toBe(401);
    expect((await startSetup({ pending_2fa_token })).status).toBe(401);
    expect(readNewestMail(email).subject).toMatch(/^Your second factor was enabled/);
    expect((await logIn(company.slug, email, PASSWORD)).body).toHaveProperty('requires_2fa', true);
  });

  it('is required for every way to sign in, and for the owner too', async () => {
    await putSettings({ require_2fa: true });
    const { email } = company.owner;
    await callApi('POST', '/v1/auth/passwordless/request', { json: { company_slug: company.slug, email } });
    const json = { company_slug: company.slug, email, code: readCode(readNewestMail(email)) };
    const { body } = await callApi('POST', '/v1/auth/passwordless/verify', { json });
    expect(body).toHaveProperty('requires_2fa_setup', true);
  });

  it('is requested from users who have one', async () => {
    const { email, as } = await createAllowedUser(company);
    await enrolAuthenticator(as);
    await putSettings({ require_2fa: true });
    expect((await logIn(company.slug, email, PASSWORD)).body).toHaveProperty('requires_2fa', true);
  });

  it('cannot be set up after five wrong codes, nor after the pending token has expired', async () => {
    const { email } = await createAllowedUser(company);
    await putSettings({ require_2fa: true });
    const { pending_2fa_token } = (await logIn(company.slug, email, PASSWORD)).body;
    const { secret } = (await startSetup({ pending_2fa_token })).body;
    for (let tryCount = 0; tryCount < 5; tryCount += 1) {
      expect((await enableFactor({ pending_2fa_token, totp_token: makeWrongCode(secret) })).status).toBe(400);
    }
    expect((await enableFactor({ pending_2fa_token, totp_token: computeCode(secret) })).status).toBe(401);
    const nextSignIn = (await logIn(company.slug, email, PASSWORD)).body;
    advanceClock(nextSignIn.expires_in * 1000 + 1000);
    expect((await startSetup({ pending_2fa_token: nextSignIn.pending_2fa_token })).status).toBe(401);
  });

  it('cannot be set up with the pending token of a user who already has a second factor', async () => {
    const { email, as } = await createAllowedUser(company);
    await enrolAuthenticator(as);
    const { pending_2fa_token } = (await logIn(company.slug, email, PASSWORD)).body;
    expect((await startSetup({ pending_2fa_token })).status).toBe(401);
    for (const token of ['x', 'x'.repeat(5000)]) {
      expect((await startSetup({ pending_2fa_token: token })).status).toBe(401);
      const json = { pending_2fa_token: token, totp_token: '123456' };
      expect((await callApi('POST', '/v1/auth/2fa/login', { json })).status).toBe(401);
    }
  });
});

describe('the setting sso_only', () => {
  const SSO_REQUIRED_ERROR = [403, 'SSO_REQUIRED'];
  const requestCode = (email: string) =>
    callApi('POST', '/v1/auth/passwordless/request', { json: { company_slug: company.slug, email } });
  const requestReset = (email: string, company_slug?: string) =>
    callApi('POST', '/v1/users/reset-password/request', { json: { email, company_slug } });
  const confirmPasswordReset = (token: string | null) =>
    callApi('POST', '/v1/users/reset-password/confirm', { json: { token, password: NEW_PASSWORD } });
  const readResetToken = (email: string) => readLink(readNewestMail(email)).searchParams.get('token');

  it('refuses password sign-ins of everybody but the owner, whether or not the email exists', async () => {
    const { email } = await createAllowedUser(company);
    await putSettings({ sso_only: true });
    for (const emailAddress of [email, 'nobody@nowhere.test']) {
      expect(readStatusAndCode(await logIn(company.slug, emailAddress, PASSWORD))).toEqual(SSO_REQUIRED_ERROR);
      expect(readStatusAndCode(await logIn(company.slug, emailAddress, 'wrong-password'))).toEqual(SSO_REQUIRED_ERROR);
    }
    expect((await logIn(company.slug, company.owner.email, PASSWORD)).status).toBe(200);
    expect((await logIn(company.slug, company.owner.email, 'wrong-password')).status).toBe(400);
  });

  it('refuses sign-ins with a mailed code of everybody but the owner', async () => {
    const { email } = await createAllowedUser(company);
    await requestCode(email);
    const code = readCode(readNewestMail(email));
    await putSettings({ sso_only: true });
    for (const emailAddress of [email, 'nobody@nowhere.test']) {
      expect(readStatusAndCode(await requestCode(emailAddress))).toEqual(SSO_REQUIRED_ERROR);
      const json = { company_slug: company.slug, email: emailAddress, code };
      expect(readStatusAndCode(await callApi('POST', '/v1/auth/passwordless/verify', { json }))).toEqual(
        SSO_REQUIRED_ERROR,
      );
    }
    expect(listMailsTo(email)).toHaveLength(1);
    expect((await requestCode(company.owner.email)).status).toBe(200);
    const json = {
      company_slug: company.slug,
      email: company.owner.email,
      code: readCode(readNewestMail(company.owner.email)),
    };
    expect((await callApi('POST', '/v1/auth/passwordless/verify', { json })).status).toBe(200);
  });

  it('refuses password resets of everybody but the owner', async () => {
    const { email } = await createAllowedUser(company);
    await requestReset(email, company.slug);
    const tokenBefore = readResetToken(email);
    await putSettings({ sso_only: true });
    expect(readStatusAndCode(await requestReset(email, company.slug))).toEqual(SSO_REQUIRED_ERROR);
    expect(readStatusAndCode(await requestReset('nobody@nowhere.test', company.slug))).toEqual(SSO_REQUIRED_ERROR);
    expect((await requestReset(email)).status).toBe(200);
    expect(listMailsTo(email)).toHaveLength(1);
    expect(readStatusAndCode(await confirmPasswordReset(tokenBefore))).toEqual(SSO_REQUIRED_ERROR);
    expect((await requestReset(company.owner.email, company.slug)).status).toBe(200);
    expect((await confirmPasswordReset(readResetToken(company.owner.email))).status).toBe(200);
  });

  it('refuses sign-ins with a social token of everybody but the owner', async () => {
    const { email } = await createAllowedUser(company);
    const issuer = `${inject('forgerUrl')}/plain`;
    await company.as.put('/v1/auth/social/config', { json: { providers: [{ issuer, audience: 'app' }] } });
    await putSettings({ sso_only: true });
    const signIn = async (emailAddress: string, subjectId: string) => {
      const now = Math.floor(Date.now() / 1000);
      const claims = {
        iss: issuer,
        aud: 'app',
        sub: subjectId,
        iat: now,
        exp: now + 300,
        email: emailAddress,
        email_verified: true,
      };
      const social_token = await new SignJWT(claims)
        .setProtectedHeader({ alg: 'RS256', kid: 'forger-1' })
        .sign(await importJWK(inject('forgerKey'), 'RS256'));
      return callApi('POST', '/v1/auth/social', { json: { company_slug: company.slug, social_token } });
    };
    expect(readStatusAndCode(await signIn(email, 'member'))).toEqual(SSO_REQUIRED_ERROR);
    expect(readStatusAndCode(await signIn('nobody@nowhere.test', 'nobody'))).toEqual(SSO_REQUIRED_ERROR);
    expect((await signIn(company.owner.email, 'owner')).status).toBe(200);
  });

  it('prevents everybody but the owner from completing with a second factor what began with a password', async () => {
    const userWithoutFactor = await createAllowedUser(company);
    const { email, backupCodes } = await createEnrolledUser(company);
    const ownerFactor = await enrolAuthenticator(company.as);
    const member = await readPendingToken(company, email);
    const owner = await readPendingToken(company, company.owner.email);
    await putSettings({ require_2fa: true });
    const pending_2fa_token = await readPendingToken(company, userWithoutFactor.email);
    const { secret } = await expectSuccess(callApi('POST', '/v1/auth/2fa/setup', { json: { pending_2fa_token } }));
    const loginWithFactor = (env?: Record<string, string>) =>
      finishSignIn(member, { backup_code: backupCodes[0] as string }, env);
    const enableFactor = (env?: Record<string, string>) =>
      callApi('POST', '/v1/auth/2fa/enable', {
        json: { pending_2fa_token, totp_token: computeCode(secret) },
        env,
      });
    for (const sendRequest of [loginWithFactor, enableFactor]) {
      const lateAnswer = await sendDuringRace(
        /^update "pending_second_factors"/,
        () => putSettings({ sso_only: true }),
        sendRequest,
      );
      expect([lateAnswer, await sendRequest()].map(readStatusAndCode)).toEqual([
        SSO_REQUIRED_ERROR,
        SSO_REQUIRED_ERROR,
      ]);
      if (sendRequest === loginWithFactor)
        expect((await finishSignIn(owner, { totp_token: ownerFactor.makeCode() })).status).toBe(200);
      await putSettings({ sso_only: false });
      expect((await sendRequest()).status).toBe(200);
    }
  });

  it('ends no session', async () => {
    const { as } = await createAllowedUser(company);
    await putSettings({ sso_only: true });
    expect((await as.get('/v1/auth/me')).status).toBe(200);
    const row = await selectRow('SELECT sso_only FROM companies WHERE id = ?', company.id);
    expect(row).toEqual({ sso_only: 1 });
  });
});
