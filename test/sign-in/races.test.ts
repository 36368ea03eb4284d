import { describe, expect, it } from 'vitest';
import { type Caller, callApi, createCaller } from '../support/api.ts';
import { advanceClock } from '../support/clock.ts';
import { createAllowedUser, createOwnedCompany, logIn, PASSWORD } from '../support/companies.ts';
import { readStatusAndCode } from '../support/console.ts';
import { listMailsTo, readCode, readLink, readNewestMail } from '../support/mail.ts';
import { countRows, selectRow, sendDuringRace, sendTwice } from '../support/race.ts';
import { createSignedCaller, expectSuccess } from '../support/signed.ts';
import { isSessionLive } from './support.ts';

const NEXT_PASSWORD = 'a-brand-new-passphrase';
const MINUTE_MS = 60_000;

const company = await createOwnedCompany();

const signInAs = async (email: string, password: string): Promise<Caller> =>
  createCaller((await expectSuccess(logIn(company.slug, email, password))).token);
const changePassword = (as: Caller, current_password: string, new_password: string, env?: Record<string, string>) =>
  as.post('/v1/auth/password', { json: { current_password, new_password }, env });
const requestReset = (email: string) =>
  expectSuccess(callApi('POST', '/v1/users/reset-password/request', { json: { email, company_slug: company.slug } }));
const readMailedToken = (email: string) => readLink(readNewestMail(email)).searchParams.get('token') as string;
const resetPassword = (token: string, password: string, env?: Record<string, string>) =>
  callApi('POST', '/v1/users/reset-password/confirm', { json: { token, password }, env });

describe('a sign-in', () => {
  const signInDuringRace = (email: string, concurrentChange: () => Promise<unknown>) =>
    sendDuringRace(/^insert into "sessions"/, concurrentChange, (env) =>
      callApi('POST', '/v1/auth/login', { json: { company_slug: company.slug, email, password: PASSWORD }, env }),
    );
  const readSignInTrace = async (id: string) => [
    await countRows('sessions where user_id = ? and ended_at is null', id),
    await countRows('sign_in_networks where user_id = ?', id),
    await selectRow('select last_login_at from users where id = ?', id),
  ];

  it('begins no session and stores nothing when all sessions of the user are ended meanwhile', async () => {
    const { id, email } = await createAllowedUser(company);
    const lastLoginBefore = await selectRow('select last_login_at from users where id = ?', id);
    await selectRow('delete from sign_in_networks where user_id = ?', id);
    advanceClock(MINUTE_MS);
    const answer = await signInDuringRace(email, () => expectSuccess(company.as.delete(`/v1/users/${id}/sessions`)));
    expect(answer.status).toBe(401);
    expect(await readSignInTrace(id)).toEqual([0, 0, lastLoginBefore]);
  });

  it('begins no session of a user who is deleted meanwhile', async () => {
    const { id, email } = await createAllowedUser(company);
    const answer = await signInDuringRace(email, () =>
      expectSuccess(createSignedCaller(company.apiKey).delete(`/users/${id}`)),
    );
    expect(answer.status).toBe(401);
    expect((await readSignInTrace(id))[0]).toBe(0);
  });
});

it('a session is ended once by its user', async () => {
  const { email, as } = await createAllowedUser(company);
  await signInAs(email, PASSWORD);
  const { records } = await expectSuccess(as.get('/v1/auth/sessions'));
  const { _id } = records.find((session: { current: boolean }) => !session.current);
  const end = (env?: Record<string, string>) => as.delete(`/v1/auth/sessions/${_id}`, { env });
  expect((await sendTwice(/^update "sessions" set "ended_at"/, end)).status).toBe(404);
});

describe('a change of the password', () => {
  it('does nothing and mails nobody when the password is changed meanwhile', async () => {
    const { email, as } = await createAllowedUser(company);
    let otherSession = as;
    const answer = await sendDuringRace(
      /^update "users" set "password_hash"/,
      async () => {
        await expectSuccess(changePassword(as, PASSWORD, NEXT_PASSWORD));
        otherSession = await signInAs(email, NEXT_PASSWORD);
      },
      (env) => changePassword(as, PASSWORD, 'the-one-that-came-too-late', env),
    );
    expect(readStatusAndCode(answer)).toEqual([400, 'INVALID_CREDENTIALS']);
    expect([await isSessionLive(as), await isSessionLive(otherSession), listMailsTo(email).length]).toEqual([
      true,
      true,
      1,
    ]);
    expect((await logIn(company.slug, email, NEXT_PASSWORD)).status).toBe(200);
  });

  it('is refused for a user who is deleted meanwhile', async () => {
    const { id, as } = await createAllowedUser(company);
    const answer = await sendDuringRace(
      /^update "users" set "password_hash"/,
      () => expectSuccess(createSignedCaller(company.apiKey).delete(`/users/${id}`)),
      (env) => changePassword(as, PASSWORD, NEXT_PASSWORD, env),
    );
    expect(answer.status).toBe(400);
  });

  it('ends the other sessions and all links that set a password', async () => {
    const { email, as } = await createAllowedUser(company);
    const otherSession = await signInAs(email, PASSWORD);
    await requestReset(email);
    const token = readMailedToken(email);
    await expectSuccess(changePassword(as, PASSWORD, NEXT_PASSWORD));
    expect([await isSessionLive(as), await isSessionLive(otherSession)]).toEqual([true, false]);
    expect((await resetPassword(token, 'of-whoever-has-the-link')).status).toBe(400);
  });
});

describe('a link that sets a new password', () => {
  const INVALID_TOKEN_ERROR = [400, 'INVALID_RESET_TOKEN'];
  const resetPasswordDuringRace = (token: string, concurrentChange: () => Promise<unknown>) =>
    sendDuringRace(/^update "password_resets"/, concurrentChange, (env) =>
      resetPassword(token, 'the-one-that-came-too-late', env),
    );

  it('works once, and its second use ends neither sessions nor other links', async () => {
    const { email } = await createAllowedUser(company);
    await requestReset(email);
    const token = readMailedToken(email);
    let [session, next]: [Caller | undefined, string | undefined] = [undefined, undefined];
    const answer = await resetPasswordDuringRace(token, async () => {
      await expectSuccess(resetPassword(token, NEXT_PASSWORD));
      session = await signInAs(email, NEXT_PASSWORD);
      await requestReset(email);
      next = readMailedToken(email);
    });
    expect(readStatusAndCode(answer)).toEqual(INVALID_TOKEN_ERROR);
    expect(await isSessionLive(session as unknown as Caller)).toBe(true);
    expect((await resetPassword(next as unknown as string, 'yet-another-passphrase')).status).toBe(200);
  });

  it('works once when it is used twice in a row', async () => {
    const { email } = await createAllowedUser(company);
    await requestReset(email);
    const token = readMailedToken(email);
    await expectSuccess(resetPassword(token, NEXT_PASSWORD));
    expect(readStatusAndCode(await resetPassword(token, PASSWORD))).toEqual(INVALID_TOKEN_ERROR);
  });

  it('ends all other links and the sessions when it is used', async () => {
    const { email, as } = await createAllowedUser(company);
    await requestReset(email);
    const first = readMailedToken(email);
    await requestReset(email);
    await expectSuccess(resetPassword(readMailedToken(email), NEXT_PASSWORD));
    expect(readStatusAndCode(await resetPassword(first, PASSWORD))).toEqual(INVALID_TOKEN_ERROR);
    expect(await isSessionLive(as)).toBe(false);
  });

  it('is refused after an hour', async () => {
    const [one, other] = [await createAllowedUser(company), await createAllowedUser(company)];
    for (const { email } of [one, other]) await requestReset(email);
    advanceClock(59 * MINUTE_MS);
    expect((await resetPassword(readMailedToken(one.email), NEXT_PASSWORD)).status).toBe(200);
    advanceClock(61 * MINUTE_MS);
    expect(readStatusAndCode(await resetPassword(readMailedToken(other.email), NEXT_PASSWORD))).toEqual(
      INVALID_TOKEN_ERROR,
    );
  });

  it('is refused when its user is deactivated or deleted meanwhile', async () => {
    for (const end of [
      (id: string) => expectSuccess(company.as.post(`/v1/users/${id}/deactivate`)),
      (id: string) => expectSuccess(createSignedCaller(company.apiKey).delete(`/users/${id}`)),
    ]) {
      const { id, email } = await createAllowedUser(company);
      await requestReset(email);
      expect(readStatusAndCode(await resetPasswordDuringRace(readMailedToken(email), () => end(id)))).toEqual(
        INVALID_TOKEN_ERROR,
      );
    }
  });

  it('is mailed at most five times an hour to one address, with or without a company', async () => {
    const [{ email }, other] = [await createAllowedUser(company), await createAllowedUser(company)];
    for (let requestCount = 0; requestCount < 3; requestCount += 1) {
      await requestReset(email);
      await expectSuccess(callApi('POST', '/v1/users/reset-password/request', { json: { email } }));
    }
    await requestReset(other.email);
    expect([listMailsTo(email).length, listMailsTo(other.email).length]).toEqual([5, 1]);
    advanceClock(61 * MINUTE_MS);
    await requestReset(email);
    expect(listMailsTo(email)).toHaveLength(6);
  });
});

describe('a mailed code', () => {
  const verifyCode = (email: string, code: string, env?: Record<string, string>) =>
    callApi('POST', '/v1/auth/passwordless/verify', {
      json: { company_slug: company.slug, email, code },
      env,
    });
  const requestMailedCode = async (email: string): Promise<string> => {
    await expectSuccess(
      callApi('POST', '/v1/auth/passwordless/request', { json: { company_slug: company.slug, email } }),
    );
    return readCode(readNewestMail(email));
  };
  const makeWrongCode = (code: string): string => (code === '000000' ? '000001' : '000000');

  it('works once', async () => {
    const { email } = await createAllowedUser(company);
    const code = await requestMailedCode(email);
    const codeUpdatePattern = /^update "passwordless_codes"/;
    expect((await sendTwice(codeUpdatePattern, (env) => verifyCode(email, code, env))).status).toBe(400);
  });

  it('is refused after ten minutes or five wrong tries', async () => {
    const { email } = await createAllowedUser(company);
    const code = await requestMailedCode(email);
    for (let attempt = 0; attempt < 5; attempt += 1)
      expect((await verifyCode(email, makeWrongCode(code))).status).toBe(400);
    expect((await verifyCode(email, code)).status).toBe(400);
    const nextCode = await requestMailedCode(email);
    advanceClock(10 * MINUTE_MS + 1000);
    expect((await verifyCode(email, nextCode)).status).toBe(400);
  });
});
