import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { authorizeOauthClient } from '../oauth/support.ts';
import { type Caller, callApi, createCaller } from '../support/api.ts';
import { advanceClock } from '../support/clock.ts';
import { createAllowedUser, createOwnedCompany, logIn, PASSWORD } from '../support/companies.ts';
import { readStatusAndCode } from '../support/console.ts';
import { listMailsTo, readNewestMail } from '../support/mail.ts';
import { runSql } from '../support/race.ts';
import { computeCode, enrolAuthenticator, makeWrongCode } from '../support/second-factor.ts';
import { createEnrolledUser, isSessionLive, postFactor, readPendingToken } from './support.ts';

const company = await createOwnedCompany();

const listMailSubjects = (email: string) => listMailsTo(email).map(({ subject }) => subject.split(':')[0]);
const setColumn = (id: string, assignment: string) => runSql(`UPDATE users SET ${assignment} WHERE id = ?`, id);
const NO_PASSWORD_ERROR = [400, 'INVALID_CREDENTIALS'];
const NO_CODE_ERROR = [400, 'INVALID_2FA_CODE'];

/** Starts another session for a user who has enrolled a second factor. */
async function signInElsewhere(email: string, backupCode: string | undefined): Promise<Caller> {
  const json = { pending_2fa_token: await readPendingToken(company, email), backup_code: backupCode };
  return createCaller((await callApi('POST', '/v1/auth/2fa/login', { json })).body.token);
}

describe('an access token alone', () => {
  it('cannot set up a second factor', async () => {
    const { as, email } = await createAllowedUser(company);
    for (const json of [{}, { password: 'wrong-password' }]) {
      expect(readStatusAndCode(await postFactor(as, 'setup', json))).toEqual(NO_PASSWORD_ERROR);
    }
    expect(readStatusAndCode(await as.post('/v1/auth/2fa/setup'))).toEqual(NO_PASSWORD_ERROR);
    expect((await logIn(company.slug, email, PASSWORD)).body).toHaveProperty('token');
  });

  it('cannot enable a second factor that was set up', async () => {
    const { as, email } = await createAllowedUser(company);
    const { secret } = (await postFactor(as, 'setup', { password: PASSWORD })).body;
    const totp_token = computeCode(secret);
    for (const json of [{ totp_token }, { totp_token, password: 'wrong-password' }]) {
      expect(readStatusAndCode(await postFactor(as, 'enable', json))).toEqual(NO_PASSWORD_ERROR);
    }
    expect((await logIn(company.slug, email, PASSWORD)).body).toHaveProperty('token');
    expect((await postFactor(as, 'enable', { totp_token, password: PASSWORD })).status).toBe(200);
  });

  it.each(['disable', 'backup-codes'])('cannot call %s', async (action) => {
    const { as, email, secret, backupCodes } = await createEnrolledUser(company);
    expect(readStatusAndCode(await postFactor(as, action))).toEqual(NO_PASSWORD_ERROR);
    expect(readStatusAndCode(await postFactor(as, action, { password: 'wrong-password' }))).toEqual(NO_PASSWORD_ERROR);
    expect(readStatusAndCode(await postFactor(as, action, { totp_token: makeWrongCode(secret) }))).toEqual(
      NO_CODE_ERROR,
    );
    expect(readStatusAndCode(await postFactor(as, action, { backup_code: 'abcde-fghjk' }))).toEqual(NO_CODE_ERROR);
    expect(await isSessionLive(await signInElsewhere(email, backupCodes[0]))).toBe(true);
  });

  it('cannot reset the second factor of its own user', async () => {
    const { id, as, email } = await createAllowedUser(company, { can: ['users:update'] });
    await enrolAuthenticator(as);
    expect((await as.delete(`/v1/users/${id}/2fa`)).status).toBe(403);
    expect(await readPendingToken(company, email)).toEqual(expect.any(String));
  });

  it.each(['setup', 'enable'])('is required together with the password for %s', async (action) => {
    for (const json of [{}, { password: PASSWORD }, { totp_token: '123456', password: PASSWORD }]) {
      expect((await callApi('POST', `/v1/auth/2fa/${action}`, { json })).status).toBe(401);
    }
  });

  it('allows as few guesses of the password as a sign-in', async () => {
    const { as, email } = await createAllowedUser(company);
    const answers = await Promise.all(
      Array.from({ length: 11 }, () => postFactor(as, 'setup', { password: 'wrong-password' })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array(10).fill(400), 429]);
    expect((await logIn(company.slug, email, PASSWORD)).status).toBe(429);
  });
});

it('a wrong code of a second factor does not count as a wrong password', async () => {
  const { as, email } = await createAllowedUser(company);
  const { secret } = (await postFactor(as, 'setup', { password: PASSWORD })).body;
  const json = { totp_token: makeWrongCode(secret), password: PASSWORD };
  const answers = await Promise.all(Array.from({ length: 10 }, () => postFactor(as, 'enable', json)));
  expect(new Set(answers.map((answer) => readStatusAndCode(answer).join()))).toEqual(new Set([NO_CODE_ERROR.join()]));
  expect((await logIn(company.slug, email, PASSWORD)).status).toBe(200);
  expect((await postFactor(as, 'enable', json)).status).toBe(429);
});

describe('a change of the second factor', () => {
  it('is mailed to the user and ends their other sessions when it enables one', async () => {
    const { email, as } = await createAllowedUser(company);
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
  ])('is mailed to the user and ends their other sessions: %s', async (action, subject) => {
    const { as, email, backupCodes, makeCode } = await createEnrolledUser(company);
    const other = await signInElsewhere(email, backupCodes[0]);
    const pendingToken = await readPendingToken(company, email);
    expect((await postFactor(as, action, { password: PASSWORD })).status).toBe(200);
    expect([await isSessionLive(as), await isSessionLive(other)]).toEqual([true, false]);
    expect(listMailSubjects(email)[0]).toBe(subject);
    const json = { pending_2fa_token: pendingToken, totp_token: makeCode() };
    expect((await callApi('POST', '/v1/auth/2fa/login', { json })).status).toBe(401);
  });

  it('is accepted with a code in place of the password when it makes backup codes', async () => {
    const { as, backupCodes, makeCode } = await createEnrolledUser(company);
    const first = await postFactor(as, 'backup-codes', { totp_token: makeCode() });
    expect([first.status, first.body.backup_codes.length]).toEqual([200, 10]);
    expect(readStatusAndCode(await postFactor(as, 'backup-codes', { totp_token: makeCode() }))).toEqual(NO_CODE_ERROR);
    expect(readStatusAndCode(await postFactor(as, 'backup-codes', { backup_code: backupCodes[0] }))).toEqual(
      NO_CODE_ERROR,
    );
    const secondCodes = await postFactor(as, 'backup-codes', { backup_code: first.body.backup_codes[0] });
    expect(secondCodes.status).toBe(200);
    expect(secondCodes.body.backup_codes).not.toContain(first.body.backup_codes[1]);
  });
});

describe('a user without a password', () => {
  const REAUTHENTICATION_ERROR = [403, 'REAUTHENTICATION_REQUIRED'];

  it('sets up a second factor within ten minutes of a sign-in', async () => {
    const { id, as } = await createAllowedUser(company);
    await setColumn(id, 'password_hash = NULL');
    const { status, body } = await postFactor(as, 'setup');
    expect(status).toBe(200);
    advanceClock(9 * 60_000);
    expect((await postFactor(as, 'setup', { password: PASSWORD })).status).toBe(400);
    await runSql('UPDATE sessions SET created_at = created_at - 660000 WHERE user_id = ?', id);
    expect(readStatusAndCode(await postFactor(as, 'setup'))).toEqual(REAUTHENTICATION_ERROR);
    expect(readStatusAndCode(await postFactor(as, 'enable', { totp_token: computeCode(body.secret) }))).toEqual(
      REAUTHENTICATION_ERROR,
    );
  });

  it('must send a code of the second factor where one is enabled', async () => {
    const { id, as, makeCode } = await createEnrolledUser(company);
    await setColumn(id, 'password_hash = NULL');
    expect(readStatusAndCode(await postFactor(as, 'disable'))).toEqual(NO_CODE_ERROR);
    expect((await postFactor(as, 'disable', { totp_token: makeCode() })).status).toBe(200);
  });
});

describe('the reset of a second factor', () => {
  const resetFactor = (as: Caller, id: string) => as.delete(`/v1/users/${id}/2fa`);

  it('removes the factor, ends the sessions and mails the user', async () => {
    const { id, as, email } = await createEnrolledUser(company);
    const manager = await createAllowedUser(company, { can: ['users:update'] });
    const pendingToken = await readPendingToken(company, email);
    expect((await resetFactor((await createAllowedUser(company)).as, id)).status).toBe(403);
    const { status, body } = await resetFactor(manager.as, id);
    expect([status, body]).toEqual([204, '']);
    expect(await isSessionLive(as)).toBe(false);
    expect(listMailSubjects(email)[0]).toBe('Your second factor was reset');
    expect((await logIn(company.slug, email, PASSWORD)).body).toHaveProperty('token');
    const json = { pending_2fa_token: pendingToken, totp_token: '123456' };
    expect((await callApi('POST', '/v1/auth/2fa/login', { json })).status).toBe(401);
    expect((await resetFactor(manager.as, id)).status).toBe(404);
    const remainingFactors = await env.CONTROL_DB.prepare('SELECT * FROM second_factors WHERE user_id = ?')
      .bind(id)
      .all();
    expect(remainingFactors.results).toEqual([]);
  });

  it('is refused to a caller who has fewer permissions than the user', async () => {
    const powerfulUser = await createAllowedUser(company, { can: ['users:update', 'dashboards:create'] });
    await enrolAuthenticator(powerfulUser.as);
    const manager = await createAllowedUser(company, { can: ['users:update'] });
    expect((await resetFactor(manager.as, powerfulUser.id)).status).toBe(403);
    const equalUser = await createAllowedUser(company, { can: ['users:update', 'dashboards:create'] });
    expect((await resetFactor(equalUser.as, powerfulUser.id)).status).toBe(204);
  });

  it('is refused for the owner to all but administrators, whatever their groups', async () => {
    const otherCompany = await createOwnedCompany();
    const { as, owner } = otherCompany;
    const manager = await createAllowedUser(otherCompany, { can: ['users:update'] });
    const administrator = await createAllowedUser(otherCompany, { can: ['*'] });
    await enrolAuthenticator(as);
    await runSql('DELETE FROM group_bindings WHERE principal_id = ?', owner.id);
    expect((await resetFactor(manager.as, owner.id)).status).toBe(403);
    const { program } = await authorizeOauthClient(administrator.as, { scope: 'users:update' });
    expect((await resetFactor(program, owner.id)).status).toBe(403);
    expect((await resetFactor(administrator.as, owner.id)).status).toBe(204);
  });
});
