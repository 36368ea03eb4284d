import { env } from 'cloudflare:test';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Caller, call, createCaller } from '../support/api.ts';
import { advanceClock, resetClock } from '../support/clock.ts';
import { readStatusAndCode } from '../support/console.ts';
import { listMailsTo, readNewestMail } from '../support/mail.ts';
import { computeCode, enrolAuthenticator, wrongCode } from '../support/second-factor.ts';
import { aCompany, aUser, type Company, logIn, PASSWORD } from '../support/worlds.ts';
import { createEnrolledUser, isSessionLive, postFactor, readPendingToken } from './support.ts';

let company: Company;
beforeAll(async () => {
  company = await aCompany();
});
afterEach(resetClock);

const listMailSubjects = (email: string) => listMailsTo(email).map(({ subject }) => subject.split(':')[0]);
const setColumn = (id: string, what: string) =>
  env.CONTROL_DB.prepare(`UPDATE users SET ${what} WHERE id = ?`).bind(id).run();
const NO_PASSWORD = [400, 'INVALID_CREDENTIALS'];
const NO_CODE = [400, 'INVALID_2FA_CODE'];

/** Another session of somebody who has enrolled. */
async function signInElsewhere(email: string, backupCode: string | undefined): Promise<Caller> {
  const json = { pending_2fa_token: await readPendingToken(company, email), backup_code: backupCode };
  return createCaller((await call('POST', '/v1/auth/2fa/login', { json })).body.token);
}

describe('an access token alone', () => {
  it('cannot set up a second factor', async () => {
    const { as, email } = await aUser(company);
    for (const json of [{}, { password: 'wrong-password' }]) {
      expect(readStatusAndCode(await postFactor(as, 'setup', json))).toEqual(NO_PASSWORD);
    }
    expect(readStatusAndCode(await as.post('/v1/auth/2fa/setup'))).toEqual(NO_PASSWORD);
    expect((await logIn(company.slug, email, PASSWORD)).body).toHaveProperty('token');
  });

  it('cannot enable a second factor that was set up', async () => {
    const { as, email } = await aUser(company);
    const { secret } = (await postFactor(as, 'setup', { password: PASSWORD })).body;
    const totp_token = computeCode(secret);
    for (const json of [{ totp_token }, { totp_token, password: 'wrong-password' }]) {
      expect(readStatusAndCode(await postFactor(as, 'enable', json))).toEqual(NO_PASSWORD);
    }
    expect((await logIn(company.slug, email, PASSWORD)).body).toHaveProperty('token');
    expect((await postFactor(as, 'enable', { totp_token, password: PASSWORD })).status).toBe(200);
  });

  it.each(['disable', 'backup-codes'])('cannot call %s', async (what) => {
    const { as, email, secret, backupCodes } = await createEnrolledUser(company);
    expect(readStatusAndCode(await postFactor(as, what))).toEqual(NO_PASSWORD);
    expect(readStatusAndCode(await postFactor(as, what, { password: 'wrong-password' }))).toEqual(NO_PASSWORD);
    expect(readStatusAndCode(await postFactor(as, what, { totp_token: wrongCode(secret) }))).toEqual(NO_CODE);
    expect(readStatusAndCode(await postFactor(as, what, { backup_code: 'abcde-fghjk' }))).toEqual(NO_CODE);
    expect(await isSessionLive(await signInElsewhere(email, backupCodes[0]))).toBe(true);
  });

  it('cannot reset the second factor of its own user', async () => {
    const { id, as, email } = await aUser(company, { can: ['users:update'] });
    await enrolAuthenticator(as);
    expect((await as.delete(`/v1/users/${id}/2fa`)).status).toBe(403);
    expect(await readPendingToken(company, email)).toEqual(expect.any(String));
  });

  it.each(['setup', 'enable'])('is required besides the password for %s', async (what) => {
    for (const json of [{}, { password: PASSWORD }, { totp_token: '123456', password: PASSWORD }]) {
      expect((await call('POST', `/v1/auth/2fa/${what}`, { json })).status).toBe(401);
    }
  });

  it('allows as few guesses of the password as a sign-in', async () => {
    const { as, email } = await aUser(company);
    const answers = await Promise.all(
      Array.from({ length: 11 }, () => postFactor(as, 'setup', { password: 'wrong-password' })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array(10).fill(400), 429]);
    expect((await logIn(company.slug, email, PASSWORD)).status).toBe(429);
  });
});

describe('a wrong code of a second factor', () => {
  it('does not count as a wrong password', async () => {
    const { as, email } = await aUser(company);
    const { secret } = (await postFactor(as, 'setup', { password: PASSWORD })).body;
    const json = { totp_token: wrongCode(secret), password: PASSWORD };
    const answers = await Promise.all(Array.from({ length: 10 }, () => postFactor(as, 'enable', json)));
    expect(new Set(answers.map((answer) => readStatusAndCode(answer).join()))).toEqual(new Set([NO_CODE.join()]));
    expect((await logIn(company.slug, email, PASSWORD)).status).toBe(200);
    expect((await postFactor(as, 'enable', json)).status).toBe(429);
  });
});

describe('a change of the second factor', () => {
  it('is mailed to the user and ends their other sessions when it enables one', async () => {
    const { email, as } = await aUser(company);
    const other = createCaller((await logIn(company.slug, email, PASSWORD)).body.token);
    await postFactor(as, 'setup', { password: PASSWORD });
    expect(listMailSubjects(email)).toEqual([]);
    expect(await isSessionLive(other)).toBe(true);
    await enrolAuthenticator(as);
    expect([await isSessionLive(as), await isSessionLive(other)]).toEqual([true, false]);
    expect(listMailSubjects(email)).toEqual(['Your second factor was enabled']);
    expect(readNewestMail(email).text).toContain('Was this not you?');
  });

  it.each([
    ['disable', 'Your second factor was disabled'],
    ['backup-codes', 'You have new backup codes'],
  ])('is mailed to the user and ends their other sessions: %s', async (what, subject) => {
    const { as, email, backupCodes, code } = await createEnrolledUser(company);
    const other = await signInElsewhere(email, backupCodes[0]);
    const waiting = await readPendingToken(company, email);
    expect((await postFactor(as, what, { password: PASSWORD })).status).toBe(200);
    expect([await isSessionLive(as), await isSessionLive(other)]).toEqual([true, false]);
    expect(listMailSubjects(email)[0]).toBe(subject);
    const json = { pending_2fa_token: waiting, totp_token: code() };
    expect((await call('POST', '/v1/auth/2fa/login', { json })).status).toBe(401);
  });

  it('is accepted with a code in place of the password when it makes backup codes', async () => {
    const { as, backupCodes, code } = await createEnrolledUser(company);
    const first = await postFactor(as, 'backup-codes', { totp_token: code() });
    expect([first.status, first.body.backup_codes.length]).toEqual([200, 10]);
    expect(readStatusAndCode(await postFactor(as, 'backup-codes', { totp_token: code() }))).toEqual(NO_CODE);
    expect(readStatusAndCode(await postFactor(as, 'backup-codes', { backup_code: backupCodes[0] }))).toEqual(NO_CODE);
    const second = await postFactor(as, 'backup-codes', { backup_code: first.body.backup_codes[0] });
    expect(second.status).toBe(200);
    expect(second.body.backup_codes).not.toContain(first.body.backup_codes[1]);
  });
});

describe('a user without a password', () => {
  const AGAIN = [403, 'REAUTHENTICATION_REQUIRED'];

  it('sets up a second factor within ten minutes of a sign-in', async () => {
    const { id, as } = await aUser(company);
    await setColumn(id, 'password_hash = NULL');
    const { status, body } = await postFactor(as, 'setup');
    expect(status).toBe(200);
    advanceClock(9 * 60_000);
    expect((await postFactor(as, 'setup', { password: PASSWORD })).status).toBe(400);
    await env.CONTROL_DB.prepare('UPDATE sessions SET created_at = created_at - 660000 WHERE user_id = ?')
      .bind(id)
      .run();
    expect(readStatusAndCode(await postFactor(as, 'setup'))).toEqual(AGAIN);
    expect(readStatusAndCode(await postFactor(as, 'enable', { totp_token: computeCode(body.secret) }))).toEqual(AGAIN);
  });

  it('needs a code of the second factor where one is enabled', async () => {
    const { id, as, code } = await createEnrolledUser(company);
    await setColumn(id, 'password_hash = NULL');
    expect(readStatusAndCode(await postFactor(as, 'disable'))).toEqual(NO_CODE);
    expect((await postFactor(as, 'disable', { totp_token: code() })).status).toBe(200);
  });
});

describe('the reset of a second factor', () => {
  const reset = (as: Caller, id: string) => as.delete(`/v1/users/${id}/2fa`);

  it('removes the factor, ends the sessions and mails the user', async () => {
    const { id, as, email } = await createEnrolledUser(company);
    const manager = await aUser(company, { can: ['users:update'] });
    const waiting = await readPendingToken(company, email);
    expect((await reset((await aUser(company)).as, id)).status).toBe(403);
    const { status, body } = await reset(manager.as, id);
    expect([status, body]).toEqual([204, '']);
    expect(await isSessionLive(as)).toBe(false);
    expect(listMailSubjects(email)[0]).toBe('Your second factor was reset');
    expect((await logIn(company.slug, email, PASSWORD)).body).toHaveProperty('token');
    const json = { pending_2fa_token: waiting, totp_token: '123456' };
    expect((await call('POST', '/v1/auth/2fa/login', { json })).status).toBe(401);
    expect((await reset(manager.as, id)).status).toBe(404);
    const left = await env.CONTROL_DB.prepare('SELECT * FROM second_factors WHERE user_id = ?').bind(id).all();
    expect(left.results).toEqual([]);
  });

  it('is refused to a caller who may do less than the user', async () => {
    const powerful = await aUser(company, { can: ['users:update', 'dashboards:create'] });
    await enrolAuthenticator(powerful.as);
    const manager = await aUser(company, { can: ['users:update'] });
    expect((await reset(manager.as, powerful.id)).status).toBe(403);
    const equal = await aUser(company, { can: ['users:update', 'dashboards:create'] });
    expect((await reset(equal.as, powerful.id)).status).toBe(204);
  });

  it('is refused for the owner to all but administrators, whatever their groups', async () => {
    const there = await aCompany();
    const { as, owner } = there;
    const manager = await aUser(there, { can: ['users:update'] });
    const administrator = await aUser(there, { can: ['*'] });
    await enrolAuthenticator(as);
    await env.CONTROL_DB.prepare('DELETE FROM group_bindings WHERE principal_id = ?').bind(owner.id).run();
    expect((await reset(manager.as, owner.id)).status).toBe(403);
    expect((await reset(administrator.as, owner.id)).status).toBe(204);
  });
});
