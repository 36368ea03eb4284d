import { describe, expect, it } from 'vitest';
import { completeSignIn } from '../../src/modules/sign-in/service.ts';
import { selectUser, type User } from '../../src/modules/users/service.ts';
import { type Caller, callApi, createCaller } from '../support/api.ts';
import { advanceClock } from '../support/clock.ts';
import { createAllowedUser, createOwnedCompany, logIn, PASSWORD } from '../support/companies.ts';
import { readStatusAndCode } from '../support/console.ts';
import { runInContext } from '../support/context.ts';
import { listMailsTo, readNewestMail } from '../support/mail.ts';
import { runSql } from '../support/race.ts';
import { isSessionLive } from './support.ts';

const NEW_PASSWORD = 'a-brand-new-passphrase';

const company = await createOwnedCompany();

const logInAgain = async (email: string) => createCaller((await logIn(company.slug, email, PASSWORD)).body.token);
const readUser = (id: string) =>
  runInContext({ kind: 'anonymous' }, async (ctx) => (await selectUser(ctx.db, company.id, id))[0] as User);
/** Completes the sign-in of a user who was read earlier. */
const completeStoredSignIn = (user: User) => runInContext({ kind: 'anonymous' }, (ctx) => completeSignIn(ctx, user));

/** Creates a user with two sessions. */
async function createTwiceSignedInUser(allowedActions: string[] = []) {
  const user = await createAllowedUser(company, { can: allowedActions });
  return { ...user, elsewhere: await logInAgain(user.email) };
}

describe('the list of sessions', () => {
  it('has the current sessions of the caller, the newest first', async () => {
    const { email, as } = await createAllowedUser(company);
    const headers = { 'cf-connecting-ip': '203.0.113.7', 'user-agent': 'Browser of the tests' };
    const json = { company_slug: company.slug, email, password: PASSWORD };
    await callApi('POST', '/v1/auth/login', { json, headers });
    const { status, body } = await as.get('/v1/auth/sessions');
    expect([status, body.records.length]).toEqual([200, 2]);
    expect(body.records[0]).toEqual({
      _id: expect.stringMatching(/^[0-9a-f]{24}$/),
      created_at: expect.any(String),
      last_used_at: expect.any(String),
      ip: '203.0.113.7',
      user_agent: 'Browser of the tests',
      current: false,
    });
    expect(body.records[1].current).toBe(true);
  });

  it('shows the minute of the last use and no ended session', async () => {
    const { as, elsewhere } = await createTwiceSignedInUser();
    const sessionsBefore = (await as.get('/v1/auth/sessions')).body.records;
    advanceClock(5 * 60_000);
    await as.get('/v1/auth/me');
    await elsewhere.post('/v1/auth/logout');
    const sessionsAfter = (await as.get('/v1/auth/sessions')).body.records;
    expect(sessionsAfter).toHaveLength(1);
    const ownSession = sessionsBefore.find(({ current }: { current: boolean }) => current);
    expect(Date.parse(sessionsAfter[0].last_used_at) - Date.parse(ownSession.last_used_at)).toBeGreaterThanOrEqual(
      5 * 60_000,
    );
    expect(sessionsAfter[0].created_at).toBe(ownSession.created_at);
  });
});

describe('a request to end sessions', () => {
  it('can end one session of the caller', async () => {
    const { as, elsewhere } = await createTwiceSignedInUser();
    const { records } = (await as.get('/v1/auth/sessions')).body;
    const [otherSession] = records.filter(({ current }: { current: boolean }) => !current);
    const { status, body } = await as.delete(`/v1/auth/sessions/${otherSession._id}`);
    expect([status, body]).toEqual([204, '']);
    expect([await isSessionLive(as), await isSessionLive(elsewhere)]).toEqual([true, false]);
    expect(readStatusAndCode(await as.delete(`/v1/auth/sessions/${otherSession._id}`))).toEqual([
      404,
      'SESSION_NOT_FOUND',
    ]);
  });

  it('never ends a session of another user', async () => {
    const [{ as }, other] = [await createAllowedUser(company), await createAllowedUser(company)];
    const [theirs] = (await other.as.get('/v1/auth/sessions')).body.records;
    expect((await as.delete(`/v1/auth/sessions/${theirs._id}`)).status).toBe(404);
    expect(await isSessionLive(other.as)).toBe(true);
  });

  it('can end all other sessions of the caller, and a sign-in in progress', async () => {
    const { id, as, elsewhere } = await createTwiceSignedInUser();
    const otherUser = await createAllowedUser(company);
    const user = await readUser(id);
    expect((await as.delete('/v1/auth/sessions')).status).toBe(204);
    expect([await isSessionLive(as), await isSessionLive(elsewhere), await isSessionLive(otherUser.as)]).toEqual([
      true,
      false,
      true,
    ]);
    await expect(completeStoredSignIn(user)).rejects.toMatchObject({ reason: 'sign_in.sessions_ended' });
  });

  it('can end all sessions of a user, for a caller with users:update', async () => {
    const { id, as, elsewhere } = await createTwiceSignedInUser();
    const manager = await createAllowedUser(company, { can: ['users:update'] });
    const user = await readUser(id);
    expect((await elsewhere.delete(`/v1/users/${id}/sessions`)).status).toBe(403);
    expect((await manager.as.delete(`/v1/users/${id}/sessions`)).status).toBe(204);
    expect([await isSessionLive(as), await isSessionLive(elsewhere), await isSessionLive(manager.as)]).toEqual([
      false,
      false,
      true,
    ]);
    await expect(completeStoredSignIn(user)).rejects.toMatchObject({ reason: 'sign_in.sessions_ended' });
    expect(readStatusAndCode(await manager.as.delete(`/v1/users/${'0'.repeat(24)}/sessions`))).toEqual([
      404,
      'USER_NOT_FOUND',
    ]);
  });
});

describe('a change of the password', () => {
  const changePassword = (as: Caller, current_password: string, new_password = NEW_PASSWORD) =>
    as.post('/v1/auth/password', { json: { current_password, new_password } });

  it('requires the old password, ends all other sessions and mails the user', async () => {
    const { id, email, as, elsewhere } = await createTwiceSignedInUser();
    const user = await readUser(id);
    const { status, body } = await changePassword(as, PASSWORD);
    expect([status, body]).toEqual([200, { success: true }]);
    expect([await isSessionLive(as), await isSessionLive(elsewhere)]).toEqual([true, false]);
    expect((await logIn(company.slug, email, PASSWORD)).status).toBe(400);
    expect((await logIn(company.slug, email, NEW_PASSWORD)).status).toBe(200);
    expect(readNewestMail(email).subject).toMatch(/^Your password was changed/);
    await expect(completeStoredSignIn(user)).rejects.toMatchObject({ reason: 'sign_in.sessions_ended' });
  });

  it('is refused with a wrong password, which counts as a failed sign-in', async () => {
    const { email, as, elsewhere } = await createTwiceSignedInUser();
    const answers = await Promise.all(Array.from({ length: 10 }, () => changePassword(as, 'wrong-password')));
    expect(new Set(answers.map((answer) => readStatusAndCode(answer).join()))).toEqual(
      new Set(['400,INVALID_CREDENTIALS']),
    );
    expect((await changePassword(as, PASSWORD)).status).toBe(429);
    expect((await logIn(company.slug, email, PASSWORD)).status).toBe(429);
    expect(await isSessionLive(elsewhere)).toBe(true);
    expect(listMailsTo(email)).toEqual([]);
  });

  it.each(['eleven-long', 'x'.repeat(129), 'gfhjkmgfhjkm'])('refuses %j', async (password) => {
    const { as } = await createAllowedUser(company);
    const { status, body } = await changePassword(as, PASSWORD, password);
    expect([status, body.details[0].field]).toEqual([422, 'new_password']);
  });

  it('is refused for a user without a password', async () => {
    const { id, as } = await createAllowedUser(company);
    await runSql('UPDATE users SET password_hash = NULL WHERE id = ?', id);
    expect(readStatusAndCode(await changePassword(as, PASSWORD))).toEqual([400, 'INVALID_CREDENTIALS']);
  });
});
