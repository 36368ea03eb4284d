import { env } from 'cloudflare:test';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { call, createCaller } from '../support/api.ts';
import { advanceClock, resetClock, runScheduled } from '../support/clock.ts';
import { readStatusAndCode } from '../support/console.ts';
import { listMailsTo, readLink, readNewestMail, whileMailIsDown } from '../support/mail.ts';
import { enrolAuthenticator } from '../support/second-factor.ts';
import { aCompany, aUser, type Company, logIn } from '../support/worlds.ts';

const MINUTE = 60_000;
const NEW_PASSWORD = 'a-brand-new-passphrase';

let company: Company;
beforeAll(async () => {
  company = await aCompany();
});
afterEach(resetClock);

const request = (email: string, slug?: string, env?: Record<string, string>) =>
  call('POST', '/v1/users/reset-password/request', { json: { email, ...(slug && { company_slug: slug }) }, env });
const confirm = (token: string, password = NEW_PASSWORD) =>
  call('POST', '/v1/users/reset-password/confirm', { json: { token, password } });
const tokenIn = (mail = readNewestMail('')) => readLink(mail).searchParams.get('token') as string;
const aToken = async (email: string) => {
  await request(email, company.slug);
  return tokenIn(readNewestMail(email));
};
const DEAD = [400, 'INVALID_RESET_TOKEN'];

describe('a link to reset a password', () => {
  it('sets the password and ends all sessions', async () => {
    const { id, email, as } = await aUser(company);
    const login = await logIn(company.slug, email, company.owner.password);
    const asked = await request(email.toUpperCase());
    expect([asked.status, asked.body]).toEqual([200, { success: true, message: expect.any(String) }]);
    const link = readLink(readNewestMail(email));
    expect(`${link.origin}${link.pathname}`).toBe('https://console.test/reset-password');

    const { status, body } = await confirm(tokenIn(readNewestMail(email)));
    expect([status, body]).toEqual([200, { success: true }]);
    expect((await logIn(company.slug, email, company.owner.password)).status).toBe(400);
    expect((await logIn(company.slug, email, NEW_PASSWORD)).status).toBe(200);
    expect((await as.get('/v1/auth/me')).status).toBe(401);
    expect((await createCaller(login.body.token).get('/v1/auth/me')).status).toBe(401);
    const refreshed = await call('POST', '/v1/auth/refresh', { json: { refresh_token: login.body.refresh_token } });
    expect(refreshed.status).toBe(401);
    const user = await env.CONTROL_DB.prepare('SELECT is_verified FROM users WHERE id = ?').bind(id).first();
    expect(user).toEqual({ is_verified: 1 });
  });

  it('leaves the sessions of other users', async () => {
    const [one, other] = [await aUser(company), await aUser(company)];
    await confirm(await aToken(one.email));
    expect((await other.as.get('/v1/auth/me')).status).toBe(200);
  });

  it('is mailed in plain text and HTML, with advice for whoever did not request it', async () => {
    const { email } = await aUser(company);
    await request(email);
    const { text, html } = readNewestMail(email);
    for (const body of [text, html]) expect(body).toContain('Did you not ask');
    expect(html).toContain(`href="${readLink(readNewestMail(email)).href}"`);
  });

  it('ends a sign-in that waits for the second factor', async () => {
    const { email, as } = await aUser(company);
    const { code } = await enrolAuthenticator(as);
    const { body } = await logIn(company.slug, email, company.owner.password);
    await confirm(await aToken(email));
    const json = { pending_2fa_token: body.pending_2fa_token, totp_token: code() };
    expect((await call('POST', '/v1/auth/2fa/login', { json })).status).toBe(401);
    expect((await logIn(company.slug, email, NEW_PASSWORD)).body).toHaveProperty('requires_2fa', true);
  });

  it('is stored only as a digest, and deleted when it has expired', async () => {
    const { email } = await aUser(company);
    const token = await aToken(email);
    const dump = async () => (await env.CONTROL_DB.prepare('SELECT * FROM password_resets').all()).results;
    expect((await dump()).length).toBeGreaterThan(0);
    expect(JSON.stringify(await dump())).not.toContain(token);
    advanceClock(61 * MINUTE);
    await runScheduled();
    expect(await dump()).toEqual([]);
  });

  it.each(['short-pass1', 'x'.repeat(129), 'gfhjkmgfhjkm'])('refuses the password %j', async (password) => {
    const { email } = await aUser(company);
    const token = await aToken(email);
    const { status, body } = await confirm(token, password);
    expect([status, body.details[0].field]).toEqual([422, 'password']);
    expect((await confirm(token)).status).toBe(200);
  });

  it.each(['x', 'x'.repeat(43), "' OR 1=1 --"])('is refused when it was never sent: %j', async (token) => {
    expect(readStatusAndCode(await confirm(token))).toEqual(DEAD);
  });
});

describe('a request for a password reset link', () => {
  it('mails each active account of the email, with the name of its company', async () => {
    const [first, second] = [await aCompany(), await aCompany()];
    const email = `many-${first.slug}@example.com`;
    const ids = { [first.id]: first.owner.id, [second.id]: second.owner.id };
    for (const id of Object.values(ids)) {
      await env.CONTROL_DB.prepare('UPDATE users SET email = ? WHERE id = ?').bind(email, id).run();
    }
    await request(email);
    expect(listMailsTo(email)).toHaveLength(2);
    const [one, other] = listMailsTo(email).map(({ subject }) => subject) as [string, string];
    expect(one).not.toBe(other);
    await confirm(tokenIn(listMailsTo(email)[0]));
    const logins = await Promise.all([first, second].map(({ slug }) => logIn(slug, email, NEW_PASSWORD)));
    expect(logins.map(({ status }) => status).sort()).toEqual([200, 400]);

    const before = listMailsTo(email).length;
    await request(email, first.slug);
    expect(listMailsTo(email)).toHaveLength(before + 1);
    await confirm(tokenIn(readNewestMail(email)), 'only-in-the-first-company');
    expect((await logIn(first.slug, email, 'only-in-the-first-company')).status).toBe(200);
    expect((await logIn(second.slug, email, 'only-in-the-first-company')).status).toBe(400);
  });

  it('has the same answer for any email, and mails active users only', async () => {
    const [known, inactive] = [await aUser(company), await aUser(company)];
    await env.CONTROL_DB.prepare('UPDATE users SET is_active = 0 WHERE id = ?').bind(inactive.id).run();
    const emails = [known.email, inactive.email, 'nobody@nowhere.test'];
    const answers = [
      ...(await Promise.all(emails.map((email) => request(email)))),
      await request(known.email, 'nobody'),
    ];
    expect(new Set(answers.map(({ status, body }) => JSON.stringify([status, body]))).size).toBe(1);
    expect(emails.map((email) => listMailsTo(email).length)).toEqual([1, 0, 0]);
  });

  it('has its mail sent a minute later if the mail service is down', async () => {
    const { email } = await aUser(company);
    expect((await whileMailIsDown(() => request(email))).status).toBe(200);
    advanceClock(MINUTE + 1000);
    await runScheduled();
    expect((await confirm(tokenIn(readNewestMail(email)))).status).toBe(200);
  });
});
