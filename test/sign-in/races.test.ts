import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Caller, call, createCaller } from '../support/api.ts';
import { advanceClock, resetClock } from '../support/clock.ts';
import { readStatusAndCode } from '../support/console.ts';
import { listMailsTo, readCode, readLink, readNewestMail } from '../support/mail.ts';
import { countRows, selectRow, sendOvertaken } from '../support/rival.ts';
import { must, signed } from '../support/signed.ts';
import { aCompany, aUser, type Company, logIn, PASSWORD } from '../support/worlds.ts';
import { isSessionLive } from './support.ts';

const NEXT = 'a-brand-new-passphrase';
const MINUTE = 60_000;

let company: Company;
beforeAll(async () => {
  company = await aCompany();
});
afterEach(resetClock);

const signInAs = async (email: string, password: string): Promise<Caller> =>
  createCaller((await must(logIn(company.slug, email, password))).token);
const changePassword = (as: Caller, current_password: string, new_password: string, env?: Record<string, string>) =>
  as.post('/v1/auth/password', { json: { current_password, new_password }, ...(env && { env }) });
const sendReset = (email: string) =>
  must(call('POST', '/v1/users/reset-password/request', { json: { email, company_slug: company.slug } }));
const readMailedToken = (email: string) => readLink(readNewestMail(email)).searchParams.get('token') as string;
const resetPassword = (token: string, password: string, env?: Record<string, string>) =>
  call('POST', '/v1/users/reset-password/confirm', { json: { token, password }, ...(env && { env }) });

describe('a sign-in', () => {
  const signInOvertaken = (email: string, rival: () => Promise<unknown>) =>
    sendOvertaken(/^insert into "sessions"/, rival, (env) =>
      call('POST', '/v1/auth/login', { json: { company_slug: company.slug, email, password: PASSWORD }, env }),
    );
  const trace = async (id: string) => [
    await countRows('sessions where user_id = ? and ended_at is null', id),
    await countRows('sign_in_networks where user_id = ?', id),
    await selectRow('select last_login_at from users where id = ?', id),
  ];

  it('begins no session and stores nothing when all sessions of the user are ended meanwhile', async () => {
    const { id, email } = await aUser(company);
    const before = await selectRow('select last_login_at from users where id = ?', id);
    await selectRow('delete from sign_in_networks where user_id = ?', id);
    advanceClock(MINUTE);
    const answer = await signInOvertaken(email, () => must(company.as.delete(`/v1/users/${id}/sessions`)));
    expect(answer.status).toBe(401);
    expect(await trace(id)).toEqual([0, 0, before]);
  });

  it('begins no session of a user who is deleted meanwhile', async () => {
    const { id, email } = await aUser(company);
    const answer = await signInOvertaken(email, () => must(signed(company.apiKey).delete(`/users/${id}`)));
    expect(answer.status).toBe(401);
    expect((await trace(id))[0]).toBe(0);
  });
});

describe('a session', () => {
  it('is ended once by its user', async () => {
    const { email, as } = await aUser(company);
    await signInAs(email, PASSWORD);
    const { records } = await must(as.get('/v1/auth/sessions'));
    const { _id } = records.find((session: { current: boolean }) => !session.current);
    const end = (env?: Record<string, string>) => as.delete(`/v1/auth/sessions/${_id}`, env ? { env } : {});
    expect((await sendOvertaken(/^update "sessions" set "ended_at"/, () => must(end()), end)).status).toBe(404);
  });
});

describe('a change of the password', () => {
  it('does nothing and mails nobody when the password is changed meanwhile', async () => {
    const { email, as } = await aUser(company);
    let elsewhere = as;
    const answer = await sendOvertaken(
      /^update "users" set "password_hash"/,
      async () => {
        await must(changePassword(as, PASSWORD, NEXT));
        elsewhere = await signInAs(email, NEXT);
      },
      (env) => changePassword(as, PASSWORD, 'the-one-that-came-too-late', env),
    );
    expect(readStatusAndCode(answer)).toEqual([400, 'INVALID_CREDENTIALS']);
    expect([await isSessionLive(as), await isSessionLive(elsewhere), listMailsTo(email).length]).toEqual([
      true,
      true,
      1,
    ]);
    expect((await logIn(company.slug, email, NEXT)).status).toBe(200);
  });

  it('is refused to a user who is deleted meanwhile', async () => {
    const { id, as } = await aUser(company);
    const answer = await sendOvertaken(
      /^update "users" set "password_hash"/,
      () => must(signed(company.apiKey).delete(`/users/${id}`)),
      (env) => changePassword(as, PASSWORD, NEXT, env),
    );
    expect(answer.status).toBe(400);
  });

  it('ends the other sessions and all links that set a password', async () => {
    const { email, as } = await aUser(company);
    const elsewhere = await signInAs(email, PASSWORD);
    await sendReset(email);
    const token = readMailedToken(email);
    await must(changePassword(as, PASSWORD, NEXT));
    expect([await isSessionLive(as), await isSessionLive(elsewhere)]).toEqual([true, false]);
    expect((await resetPassword(token, 'of-whoever-has-the-link')).status).toBe(400);
  });
});

describe('a link that sets a new password', () => {
  const DEAD = [400, 'INVALID_RESET_TOKEN'];
  const resetOvertaken = (token: string, rival: () => Promise<unknown>) =>
    sendOvertaken(/^update "password_resets"/, rival, (env) => resetPassword(token, 'the-one-that-came-too-late', env));

  it('works once, and its second use ends neither sessions nor other links', async () => {
    const { email } = await aUser(company);
    await sendReset(email);
    const token = readMailedToken(email);
    let [session, next]: [Caller | undefined, string | undefined] = [undefined, undefined];
    const answer = await resetOvertaken(token, async () => {
      await must(resetPassword(token, NEXT));
      session = await signInAs(email, NEXT);
      await sendReset(email);
      next = readMailedToken(email);
    });
    expect(readStatusAndCode(answer)).toEqual(DEAD);
    expect(await isSessionLive(session as unknown as Caller)).toBe(true);
    expect((await resetPassword(next as unknown as string, 'yet-another-passphrase')).status).toBe(200);
  });

  it('works once when it is used twice in a row', async () => {
    const { email } = await aUser(company);
    await sendReset(email);
    const token = readMailedToken(email);
    await must(resetPassword(token, NEXT));
    expect(readStatusAndCode(await resetPassword(token, PASSWORD))).toEqual(DEAD);
  });

  it('ends all other links and the sessions when it is used', async () => {
    const { email, as } = await aUser(company);
    await sendReset(email);
    const first = readMailedToken(email);
    await sendReset(email);
    await must(resetPassword(readMailedToken(email), NEXT));
    expect(readStatusAndCode(await resetPassword(first, PASSWORD))).toEqual(DEAD);
    expect(await isSessionLive(as)).toBe(false);
  });

  it('is refused after an hour', async () => {
    const [one, other] = [await aUser(company), await aUser(company)];
    for (const { email } of [one, other]) await sendReset(email);
    advanceClock(59 * MINUTE);
    expect((await resetPassword(readMailedToken(one.email), NEXT)).status).toBe(200);
    advanceClock(61 * MINUTE);
    expect(readStatusAndCode(await resetPassword(readMailedToken(other.email), NEXT))).toEqual(DEAD);
  });

  it('is refused when its user is deactivated or deleted meanwhile', async () => {
    for (const end of [
      (id: string) => must(company.as.post(`/v1/users/${id}/deactivate`)),
      (id: string) => must(signed(company.apiKey).delete(`/users/${id}`)),
    ]) {
      const { id, email } = await aUser(company);
      await sendReset(email);
      expect(readStatusAndCode(await resetOvertaken(readMailedToken(email), () => end(id)))).toEqual(DEAD);
    }
  });

  it('is mailed at most five times an hour to one address, with or without a company', async () => {
    const [{ email }, other] = [await aUser(company), await aUser(company)];
    for (let asked = 0; asked < 3; asked += 1) {
      await sendReset(email);
      await must(call('POST', '/v1/users/reset-password/request', { json: { email } }));
    }
    await sendReset(other.email);
    expect([listMailsTo(email).length, listMailsTo(other.email).length]).toEqual([5, 1]);
    advanceClock(61 * MINUTE);
    await sendReset(email);
    expect(listMailsTo(email)).toHaveLength(6);
  });
});

describe('a mailed code', () => {
  const verify = (email: string, code: string, env?: Record<string, string>) =>
    call('POST', '/v1/auth/passwordless/verify', {
      json: { company_slug: company.slug, email, code },
      ...(env && { env }),
    });
  const aCode = async (email: string): Promise<string> => {
    await must(call('POST', '/v1/auth/passwordless/request', { json: { company_slug: company.slug, email } }));
    return readCode(readNewestMail(email));
  };
  const wrong = (code: string): string => (code === '000000' ? '000001' : '000000');

  it('works once', async () => {
    const { email } = await aUser(company);
    const code = await aCode(email);
    const trying = /^update "passwordless_codes"/;
    expect(
      (
        await sendOvertaken(
          trying,
          () => must(verify(email, code)),
          (env) => verify(email, code, env),
        )
      ).status,
    ).toBe(400);
  });

  it('is refused after ten minutes or five wrong tries', async () => {
    const { email } = await aUser(company);
    const code = await aCode(email);
    for (let tries = 0; tries < 5; tries += 1) expect((await verify(email, wrong(code))).status).toBe(400);
    expect((await verify(email, code)).status).toBe(400);
    const next = await aCode(email);
    advanceClock(10 * MINUTE + 1000);
    expect((await verify(email, next)).status).toBe(400);
  });
});
