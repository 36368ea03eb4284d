import { describe, expect, it } from 'vitest';
import { callApi, createCaller } from '../support/api.ts';
import { advanceClock, runScheduled } from '../support/clock.ts';
import { createAllowedUser, createOwnedCompany, logIn } from '../support/companies.ts';
import { readStatusAndCode } from '../support/console.ts';
import { listMailsTo, readLink, readNewestMail, runWhileMailIsDown } from '../support/mail.ts';
import { runSql, selectRow, selectRows } from '../support/race.ts';
import { enrolAuthenticator } from '../support/second-factor.ts';

const MINUTE_MS = 60_000;
const NEW_PASSWORD = 'a-brand-new-passphrase';

const company = await createOwnedCompany();

const request = (email: string, slug?: string, env?: Record<string, string>) =>
  callApi('POST', '/v1/users/reset-password/request', { json: { email, ...(slug && { company_slug: slug }) }, env });
const confirmReset = (token: string, password = NEW_PASSWORD) =>
  callApi('POST', '/v1/users/reset-password/confirm', { json: { token, password } });
const readToken = (mail = readNewestMail('')) => readLink(mail).searchParams.get('token') as string;
const requestToken = async (email: string) => {
  await request(email, company.slug);
  return readToken(readNewestMail(email));
};
const INVALID_TOKEN_ERROR = [400, 'INVALID_RESET_TOKEN'];

describe('a link to reset a password', () => {
  it('sets the password and ends all sessions', async () => {
    const { id, email, as } = await createAllowedUser(company);
    const login = await logIn(company.slug, email, company.owner.password);
    const requestAnswer = await request(email.toUpperCase());
    expect([requestAnswer.status, requestAnswer.body]).toEqual([200, { success: true, message: expect.any(String) }]);
    const link = readLink(readNewestMail(email));
    expect(`${link.origin}${link.pathname}`).toBe('https://console.test/reset-password');

    const { status, body } = await confirmReset(readToken(readNewestMail(email)));
    expect([status, body]).toEqual([200, { success: true }]);
    expect((await logIn(company.slug, email, company.owner.password)).status).toBe(400);
    expect((await logIn(company.slug, email, NEW_PASSWORD)).status).toBe(200);
    expect((await as.get('/v1/auth/me')).status).toBe(401);
    expect((await createCaller(login.body.token).get('/v1/auth/me')).status).toBe(401);
    const refreshAnswer = await callApi('POST', '/v1/auth/refresh', {
      json: { refresh_token: login.body.refresh_token },
    });
    expect(refreshAnswer.status).toBe(401);
    const user = await selectRow('SELECT is_verified FROM users WHERE id = ?', id);
    expect(user).toEqual({ is_verified: 1 });
  });

  it('does not end the sessions of other users', async () => {
    const [one, other] = [await createAllowedUser(company), await createAllowedUser(company)];
    await confirmReset(await requestToken(one.email));
    expect((await other.as.get('/v1/auth/me')).status).toBe(200);
  });

  it('is mailed in plain text and HTML, with advice for whoever did not request it', async () => {
    const { email } = await createAllowedUser(company);
    await request(email);
    const { text, html } = readNewestMail(email);
    for (const body of [text, html]) expect(body).toContain('Did you not ask');
    expect(html).toContain(`href="${readLink(readNewestMail(email)).href}"`);
  });

  it('ends a sign-in that waits for the second factor', async () => {
    const { email, as } = await createAllowedUser(company);
    const { makeCode } = await enrolAuthenticator(as);
    const { body } = await logIn(company.slug, email, company.owner.password);
    await confirmReset(await requestToken(email));
    const json = { pending_2fa_token: body.pending_2fa_token, totp_token: makeCode() };
    expect((await callApi('POST', '/v1/auth/2fa/login', { json })).status).toBe(401);
    expect((await logIn(company.slug, email, NEW_PASSWORD)).body).toHaveProperty('requires_2fa', true);
  });

  it('is stored only as a digest, and deleted when it has expired', async () => {
    const { email } = await createAllowedUser(company);
    const token = await requestToken(email);
    const readResetRows = () => selectRows('SELECT * FROM password_resets');
    expect((await readResetRows()).length).toBeGreaterThan(0);
    expect(JSON.stringify(await readResetRows())).not.toContain(token);
    advanceClock(61 * MINUTE_MS);
    await runScheduled();
    expect(await readResetRows()).toEqual([]);
  });

  it.each(['short-pass1', 'x'.repeat(129), 'gfhjkmgfhjkm'])('refuses the password %j', async (password) => {
    const { email } = await createAllowedUser(company);
    const token = await requestToken(email);
    const { status, body } = await confirmReset(token, password);
    expect([status, body.details[0].field]).toEqual([422, 'password']);
    expect((await confirmReset(token)).status).toBe(200);
  });

  it.each(['x', 'x'.repeat(43), "' OR 1=1 --"])('is refused when its token was never sent: %j', async (token) => {
    expect(readStatusAndCode(await confirmReset(token))).toEqual(INVALID_TOKEN_ERROR);
  });
});

describe('a request for a password reset link', () => {
  it('is mailed to each active account of the e-mail address, with the name of its company', async () => {
    const [first, second] = [await createOwnedCompany(), await createOwnedCompany()];
    const email = `many-${first.slug}@example.com`;
    const ids = { [first.id]: first.owner.id, [second.id]: second.owner.id };
    for (const id of Object.values(ids)) {
      await runSql('UPDATE users SET email = ? WHERE id = ?', email, id);
    }
    await request(email);
    expect(listMailsTo(email)).toHaveLength(2);
    const [firstSubject, secondSubject] = listMailsTo(email).map(({ subject }) => subject) as [string, string];
    expect(firstSubject).not.toBe(secondSubject);
    await confirmReset(readToken(listMailsTo(email)[0]));
    const logins = await Promise.all([first, second].map(({ slug }) => logIn(slug, email, NEW_PASSWORD)));
    expect(logins.map(({ status }) => status).sort()).toEqual([200, 400]);

    const mailCountBefore = listMailsTo(email).length;
    await request(email, first.slug);
    expect(listMailsTo(email)).toHaveLength(mailCountBefore + 1);
    await confirmReset(readToken(readNewestMail(email)), 'only-in-the-first-company');
    expect((await logIn(first.slug, email, 'only-in-the-first-company')).status).toBe(200);
    expect((await logIn(second.slug, email, 'only-in-the-first-company')).status).toBe(400);
  });

  it('gets the same answer for any e-mail address, and only active users get a mail', async () => {
    const [known, inactive] = [await createAllowedUser(company), await createAllowedUser(company)];
    await runSql('UPDATE users SET is_active = 0 WHERE id = ?', inactive.id);
    const emails = [known.email, inactive.email, 'nobody@nowhere.test'];
    const answers = [
      ...(await Promise.all(emails.map((email) => request(email)))),
      await request(known.email, 'nobody'),
    ];
    expect(new Set(answers.map(({ status, body }) => JSON.stringify([status, body]))).size).toBe(1);
    expect(emails.map((email) => listMailsTo(email).length)).toEqual([1, 0, 0]);
  });

  it('has its mail sent a minute later if the mail service is down', async () => {
    const { email } = await createAllowedUser(company);
    expect((await runWhileMailIsDown(() => request(email))).status).toBe(200);
    advanceClock(MINUTE_MS + 1000);
    await runScheduled();
    expect((await confirmReset(readToken(readNewestMail(email)))).status).toBe(200);
  });
});
