import { env } from 'cloudflare:test';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { clock } from '../../src/context.ts';
import { type Answer, bearer, type Caller, call } from '../support/api.ts';
import { resetClock, standAt } from '../support/clock.ts';
import { codeIn, mailTo } from '../support/mail.ts';
import { runScheduled } from '../support/scheduled.ts';
import { codeOf, enrol, nextStep, wrongCode } from '../support/second-factor.ts';
import { aCompany, aUser, type Company, logIn } from '../support/worlds.ts';

let company: Company;
beforeAll(async () => {
  company = await aCompany();
});
afterEach(resetClock);

const finish = (pendingToken: string, code: { totp_token?: string; backup_code?: string }) =>
  call('POST', '/v1/auth/2fa/login', { json: { pending_2fa_token: pendingToken, ...code } });
const password = (email: string) => logIn(company.slug, email, company.owner.password);
const pendingOf = async (email: string): Promise<string> => (await password(email)).body.pending_2fa_token;
const statusAndCode = ({ status, body }: Answer) => [status, body.error];
const WRONG = [400, 'INVALID_2FA_CODE'];

/** A user with an enabled authenticator. */
async function anEnrolledUser() {
  const user = await aUser(company);
  return { ...user, ...(await enrol(user.as)) };
}

describe('enrolment', () => {
  it('gives a secret for the app, and ten backup codes once a code of it was seen', async () => {
    const { as, email, id } = await aUser(company);
    const { status, body } = await as.post('/v1/auth/2fa/setup');
    expect(status).toBe(200);
    const url = new URL(body.otpauth_url);
    expect([url.protocol, url.host, url.searchParams.get('secret')]).toEqual(['otpauth:', 'totp', body.secret]);
    expect(decodeURIComponent(url.pathname)).toContain(email);
    expect(body.secret).toMatch(/^[A-Z2-7]{32}$/);
    expect((await password(email)).body).toHaveProperty('token');

    const enabled = await as.post('/v1/auth/2fa/enable', { json: { totp_token: codeOf(body.secret) } });
    expect(enabled.status).toBe(200);
    expect(new Set(enabled.body.backup_codes).size).toBe(10);
    const user = await env.CONTROL_DB.prepare('SELECT mfa_enabled FROM users WHERE id = ?').bind(id).first();
    expect(user).toEqual({ mfa_enabled: 1 });
  });

  it('replaces a secret that was never confirmed, and keeps one that was', async () => {
    const { as } = await aUser(company);
    const first = (await as.post('/v1/auth/2fa/setup')).body.secret;
    const second = (await as.post('/v1/auth/2fa/setup')).body.secret;
    const enable = (secret: string) => as.post('/v1/auth/2fa/enable', { json: { totp_token: codeOf(secret) } });
    expect(statusAndCode(await enable(first))).toEqual(WRONG);
    expect((await enable(second)).status).toBe(200);
    expect(statusAndCode(await enable(second))).toEqual([409, '2FA_ALREADY_ENABLED']);
    expect(statusAndCode(await as.post('/v1/auth/2fa/setup'))).toEqual([409, '2FA_ALREADY_ENABLED']);
  });

  it('gives one set of backup codes when enabled many times at once', async () => {
    const { as, id } = await aUser(company);
    const { secret } = (await as.post('/v1/auth/2fa/setup')).body;
    const answers = await Promise.all(
      [-1, 0, 1, 0].map((steps) => as.post('/v1/auth/2fa/enable', { json: { totp_token: codeOf(secret, steps) } })),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    const codes = await env.CONTROL_DB.prepare(
      'SELECT count(*) AS n FROM backup_codes WHERE factor_id = (SELECT id FROM second_factors WHERE user_id = ?)',
    )
      .bind(id)
      .first();
    expect(codes).toEqual({ n: 10 });
  });

  it.each(['enable', 'disable', 'backup-codes'])('cannot %s what was not set up', async (what) => {
    const { as } = await aUser(company);
    const json = { enable: { totp_token: '123456' }, disable: { password: 'x' }, 'backup-codes': undefined }[what];
    const { status, body } = await as.post(`/v1/auth/2fa/${what}`, { json });
    expect([status, body.error]).toEqual([409, what === 'enable' ? '2FA_NOT_SET_UP' : '2FA_NOT_ENABLED']);
  });

  it.each(['setup', 'enable', 'disable', 'backup-codes'])('needs a session to %s', async (what) => {
    expect((await call('POST', `/v1/auth/2fa/${what}`, { json: {} })).status).toBe(401);
  });

  it('stores the secret encrypted and the backup codes hashed', async () => {
    const { secret, backupCodes } = await anEnrolledUser();
    const tables = ['second_factors', 'backup_codes', 'used_totp_steps', 'pending_second_factors', 'users'];
    const dumps = await env.CONTROL_DB.batch(tables.map((table) => env.CONTROL_DB.prepare(`SELECT * FROM ${table}`)));
    const dump = JSON.stringify(dumps.map(({ results }) => results));
    for (const hidden of [secret, ...backupCodes, ...backupCodes.map((code) => code.replace('-', ''))]) {
      expect(dump).not.toContain(hidden);
    }
  });
});

describe('a sign-in with a second factor', () => {
  it('asks for it after the password, and then answers the session', async () => {
    const { id, email, code } = await anEnrolledUser();
    const first = await password(email);
    expect([first.status, first.body]).toEqual([
      200,
      { requires_2fa: true, pending_2fa_token: expect.any(String), expires_in: 300, methods: ['totp', 'backup_code'] },
    ]);
    const { status, body } = await finish(first.body.pending_2fa_token, { totp_token: code() });
    expect(status).toBe(200);
    expect(body).toMatchObject({ expires_in: 600, refresh_expires_in: 604_800, user: { _id: id, email } });
    expect((await bearer(body.token).get('/v1/auth/me')).status).toBe(200);
  });

  it('asks for it after a mailed code', async () => {
    const { email, code } = await anEnrolledUser();
    await call('POST', '/v1/auth/passwordless/request', { json: { company_slug: company.slug, email } });
    const json = { company_slug: company.slug, email, code: codeIn(mailTo(email)) };
    const { body } = await call('POST', '/v1/auth/passwordless/verify', { json });
    expect(body).toMatchObject({ requires_2fa: true });
    expect((await finish(body.pending_2fa_token, { totp_token: code() })).status).toBe(200);
  });

  it('takes the code of the step before and after, no other', async () => {
    const { email, code } = await anEnrolledUser();
    nextStep();
    expect(statusAndCode(await finish(await pendingOf(email), { totp_token: code(-2) }))).toEqual(WRONG);
    expect(statusAndCode(await finish(await pendingOf(email), { totp_token: code(2) }))).toEqual(WRONG);
    expect((await finish(await pendingOf(email), { totp_token: code(1) })).status).toBe(200);
    expect((await finish(await pendingOf(email), { totp_token: code(-1) })).status).toBe(200);
  });

  it('takes a code once, also when it is used many times at once', async () => {
    const { email, code } = await anEnrolledUser();
    const pending = await Promise.all(Array.from({ length: 4 }, () => pendingOf(email)));
    const answers = await Promise.all(pending.map((token) => finish(token, { totp_token: code() })));
    expect(answers.map(statusAndCode).sort()).toEqual([[200, undefined], WRONG, WRONG, WRONG].sort());
    expect(statusAndCode(await finish(await pendingOf(email), { totp_token: code() }))).toEqual(WRONG);
    nextStep();
    expect((await finish(await pendingOf(email), { totp_token: code() })).status).toBe(200);
  });

  it('does not take the code that enabled the factor', async () => {
    const { email, code } = await anEnrolledUser();
    expect(statusAndCode(await finish(await pendingOf(email), { totp_token: code(-1) }))).toEqual(WRONG);
  });

  it('takes each backup code once, as people type it', async () => {
    const { email, backupCodes } = await anEnrolledUser();
    const [one, other] = backupCodes as [string, string];
    const pending = [await pendingOf(email), await pendingOf(email)];
    const answers = await Promise.all(pending.map((token) => finish(token, { backup_code: one })));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400]);
    const typed = ` ${other.replace('-', ' ').toUpperCase()} `;
    expect((await finish(await pendingOf(email), { backup_code: typed })).status).toBe(200);
    expect(statusAndCode(await finish(await pendingOf(email), { backup_code: other }))).toEqual(WRONG);
  });

  it("takes nobody else's code", async () => {
    const [one, other] = [await anEnrolledUser(), await anEnrolledUser()];
    const pending = await pendingOf(one.email);
    expect(statusAndCode(await finish(pending, { totp_token: other.code() }))).toEqual(WRONG);
    expect(statusAndCode(await finish(pending, { backup_code: other.backupCodes[0] }))).toEqual(WRONG);
  });

  it.each([
    [{}],
    [{ totp_token: '123456', backup_code: 'abcde-fghjk' }],
    [{ totp_token: '12345' }],
    [{ totp_token: 123456 as never }],
    [{ backup_code: '' }],
    [{ backup_code: 'x'.repeat(65) }],
  ])('refuses %j', async (code) => {
    expect(statusAndCode(await finish('token', code))).toEqual([422, 'VALIDATION_ERROR']);
  });
});

describe('a pending token', () => {
  const DEAD = [401, 'UNAUTHORIZED'];

  it('is worth nothing by itself', async () => {
    const { email } = await anEnrolledUser();
    const pending = await pendingOf(email);
    expect((await bearer(pending).get('/v1/auth/me')).status).toBe(401);
    expect((await call('POST', '/v1/auth/refresh', { json: { refresh_token: pending } })).status).toBe(401);
  });

  it('is used once', async () => {
    const { email, code } = await anEnrolledUser();
    const pending = await pendingOf(email);
    expect((await finish(pending, { totp_token: code() })).status).toBe(200);
    nextStep();
    expect(statusAndCode(await finish(pending, { totp_token: code() }))).toEqual(DEAD);
  });

  it('begins one session when two good codes come at once', async () => {
    const { email, code, backupCodes } = await anEnrolledUser();
    const pending = await pendingOf(email);
    const answers = await Promise.all([
      finish(pending, { totp_token: code() }),
      finish(pending, { backup_code: backupCodes[0] }),
    ]);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  });

  it('lives 300 seconds', async () => {
    const { email, code } = await anEnrolledUser();
    const pending = await pendingOf(email);
    standAt(clock.now() + 300_000 + 1000);
    expect(statusAndCode(await finish(pending, { totp_token: code() }))).toEqual(DEAD);
  });

  it.each(['', 'a', 'x'.repeat(43)])('that nobody was given is refused: %j', async (token) => {
    const { status } = await finish(token, { totp_token: '123456' });
    expect(status).toBe(token === '' ? 422 : 401);
  });

  it('dies with the fifth wrong code; the sixth of six guesses at once is refused too', async () => {
    const { email, secret, code } = await anEnrolledUser();
    const pending = await pendingOf(email);
    const guesses = await Promise.all(
      Array.from({ length: 6 }, () => finish(pending, { totp_token: wrongCode(secret) })),
    );
    expect(guesses.map(statusAndCode).sort()).toEqual([...Array(5).fill(WRONG), DEAD].sort());
    expect(statusAndCode(await finish(pending, { totp_token: code() }))).toEqual(DEAD);
    expect((await finish(await pendingOf(email), { totp_token: code() })).status).toBe(200);
  });

  it('dies when the user is deactivated', async () => {
    const { id, email, code } = await anEnrolledUser();
    const pending = await pendingOf(email);
    await env.CONTROL_DB.prepare('UPDATE users SET is_active = 0 WHERE id = ?').bind(id).run();
    expect(statusAndCode(await finish(pending, { totp_token: code() }))).toEqual(DEAD);
  });

  it('is stored only as a digest, and forgotten when it has expired', async () => {
    const { email } = await anEnrolledUser();
    const pending = await pendingOf(email);
    const dump = async () =>
      (await env.CONTROL_DB.prepare('SELECT * FROM pending_second_factors').all<{ digest: string }>()).results;
    expect((await dump()).length).toBeGreaterThan(0);
    expect(JSON.stringify(await dump())).not.toContain(pending);
    standAt(clock.now() + 600_000);
    await runScheduled();
    expect(await dump()).toEqual([]);
  });
});

it('answers 429 from the eleventh wrong code of a user on, whatever the pending token, and to the right code too', async () => {
  const { email, secret, code } = await anEnrolledUser();
  const pending = await Promise.all(Array.from({ length: 3 }, () => pendingOf(email)));
  const guesses = await Promise.all(
    pending.flatMap((token) => Array.from({ length: 4 }, () => finish(token, { totp_token: wrongCode(secret) }))),
  );
  expect(guesses.map(({ status }) => status).sort()).toEqual([...Array(10).fill(400), 429, 429]);
  const refused = await finish(await pendingOf(email), { totp_token: code() });
  expect(statusAndCode(refused)).toEqual([429, 'RateLimitExceeded']);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(800);
});

describe('a new set of backup codes', () => {
  it('replaces the old', async () => {
    const { as, email, backupCodes } = await anEnrolledUser();
    const { status, body } = await as.post('/v1/auth/2fa/backup-codes');
    expect([status, body.backup_codes.length]).toEqual([200, 10]);
    expect(statusAndCode(await finish(await pendingOf(email), { backup_code: backupCodes[0] }))).toEqual(WRONG);
    expect((await finish(await pendingOf(email), { backup_code: body.backup_codes[0] })).status).toBe(200);
  });
});

describe('disabling', () => {
  const disable = (as: Caller, json: unknown) => as.post('/v1/auth/2fa/disable', { json });
  const isAskedFor = async (email: string) => 'requires_2fa' in (await password(email)).body;

  it('takes the password', async () => {
    const { as, email } = await anEnrolledUser();
    expect(statusAndCode(await disable(as, { password: 'wrong-password' }))).toEqual([400, 'INVALID_CREDENTIALS']);
    expect(await isAskedFor(email)).toBe(true);
    const { status, body } = await disable(as, { password: company.owner.password });
    expect([status, body]).toEqual([200, { success: true }]);
    expect(await isAskedFor(email)).toBe(false);
  });

  it.each(['totp_token', 'backup_code'])('takes a code that is not spent: %s', async (kind) => {
    const { as, email, secret, code, backupCodes } = await anEnrolledUser();
    const wrong = { totp_token: wrongCode(secret), backup_code: 'abcde-fghjk' }[kind];
    await finish(await pendingOf(email), { backup_code: backupCodes[0] });
    const spent = { totp_token: code(-1), backup_code: backupCodes[0] }[kind];
    expect(statusAndCode(await disable(as, { [kind]: wrong }))).toEqual(WRONG);
    expect(statusAndCode(await disable(as, { [kind]: spent }))).toEqual(WRONG);
    expect(await isAskedFor(email)).toBe(true);
    const right = { totp_token: code(), backup_code: backupCodes[3] }[kind];
    expect((await disable(as, { [kind]: right })).status).toBe(200);
    expect(await isAskedFor(email)).toBe(false);
  });

  it('ends pending tokens, and leaves nothing behind', async () => {
    const { id, as, email, code } = await anEnrolledUser();
    const pending = await pendingOf(email);
    await disable(as, { password: company.owner.password });
    expect((await finish(pending, { totp_token: code() })).status).toBe(401);
    const left = await env.CONTROL_DB.prepare('SELECT * FROM second_factors WHERE user_id = ?').bind(id).all();
    expect(left.results).toEqual([]);
    expect((await enrol(as)).backupCodes).toHaveLength(10);
  });

  it('counts wrong passwords with those of signing in', async () => {
    const { as, email } = await anEnrolledUser();
    const answers = await Promise.all(Array.from({ length: 11 }, () => disable(as, { password: 'wrong-password' })));
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array(10).fill(400), 429]);
    expect((await password(email)).status).toBe(429);
  });

  it.each([[{}], [{ password: 'x', totp_token: '123456' }]])('refuses %j', async (json) => {
    const { as } = await aUser(company);
    expect(statusAndCode(await disable(as, json))).toEqual([422, 'VALIDATION_ERROR']);
  });
});
