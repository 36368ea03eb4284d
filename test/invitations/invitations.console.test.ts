import { env } from 'cloudflare:test';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { call } from '../support/api.ts';
import { later, resetClock, runScheduled } from '../support/clock.ts';
import { statusAndCode } from '../support/console.ts';
import { invite } from '../support/invite.ts';
import { linkIn, mailsTo, mailTo, whileMailIsDown } from '../support/mail.ts';
import { aCompany, aUser, type Company, logIn } from '../support/worlds.ts';

const DAY = 24 * 60 * 60_000;
const PASSWORD = 'chosen-by-the-invited';

let company: Company;
let createdCount = 0;
beforeAll(async () => {
  company = await aCompany();
});
afterEach(resetClock);

const anEmail = () => `invited-${++createdCount}@${company.slug}.test`;
const accept = (token: string, rest: { password?: string; name?: string } = {}) =>
  call('POST', '/v1/users/accept-invitation', { json: { token, password: PASSWORD, ...rest } });
const tokenOf = (email: string) => linkIn(mailTo(email)).searchParams.get('token') as string;
const DEAD = [400, 'INVALID_INVITATION_TOKEN'];
const userOf = (email: string) => env.CONTROL_DB.prepare('SELECT * FROM users WHERE email = ?').bind(email).first();

describe('an invitation', () => {
  it('makes a user who can sign in once it is accepted', async () => {
    const email = anEmail();
    const { user, expiresAt } = await invite(company, email, ['team-1']);
    expect(expiresAt - Date.now()).toBeGreaterThan(7 * DAY - 60_000);
    expect(await userOf(email)).toMatchObject({
      is_active: 0,
      is_verified: 0,
      password_hash: null,
      activated_at: null,
      teams: '["team-1"]',
    });
    expect((await logIn(company.slug, email, PASSWORD)).status).toBe(400);

    const link = linkIn(mailTo(email));
    expect(`${link.origin}${link.pathname}`).toBe('https://console.test/accept-invitation');
    const { status, body } = await accept(tokenOf(email), { name: 'Ina Invited' });
    expect([status, body]).toEqual([200, { success: true, user: { _id: user.id, email, status: 'active' } }]);
    expect(await userOf(email)).toMatchObject({ is_active: 1, is_verified: 1, name: 'Ina Invited' });
    expect((await logIn(company.slug, email, PASSWORD)).body.user).toMatchObject({ _id: user.id, name: 'Ina Invited' });
  });

  it('names the company and the inviter in plain text and HTML, with advice for whoever knows neither', async () => {
    const email = anEmail();
    await invite(company, email);
    const { text, html } = mailTo(email);
    for (const body of [text, html]) {
      expect(body).toContain('Olga Owner');
      expect(body).toContain('Do you not know who this is from');
    }
  });

  it('lasts seven days, after which the user can be invited again', async () => {
    const email = anEmail();
    const first = await invite(company, email);
    later(7 * DAY + 1000);
    expect(statusAndCode(await accept(tokenOf(email)))).toEqual(DEAD);
    await runScheduled();
    const left = await env.CONTROL_DB.prepare('SELECT * FROM invitations WHERE user_id = ?').bind(first.user.id).all();
    expect(left.results).toEqual([]);
    const second = await invite(company, email);
    expect(second.user.id).toBe(first.user.id);
    expect((await accept(tokenOf(email))).status).toBe(200);
  });

  it('is mailed five times a day to one address by all companies together, with the same answer after that', async () => {
    const email = anEmail();
    const elsewhere = await aCompany();
    for (const inviting of [company, elsewhere, company, elsewhere, company]) await invite(inviting, email);
    expect(mailsTo(email)).toHaveLength(5);
    const [fifth, fourth] = mailsTo(email).map((mail) => linkIn(mail).searchParams.get('token') as string);
    later(60_000);
    const fifthAnswer = await (await aUser(await aCompany(), { can: ['*'] })).as.post('/v1/users/invite', {
      json: { email: anEmail() },
    });
    const sixthAnswer = await (await aUser(elsewhere, { can: ['*'] })).as.post('/v1/users/invite', { json: { email } });
    expect(sixthAnswer.status).toBe(fifthAnswer.status);
    expect(Object.keys(sixthAnswer.body).sort()).toEqual(Object.keys(fifthAnswer.body).sort());
    const renewed = await invite(company, email);
    later(61 * 60_000);
    await runScheduled();
    await invite(company, email);
    expect(mailsTo(email)).toHaveLength(5);
    // The links that were mailed go on working, and as long as the last invitation says.
    later(7 * DAY + 30_000);
    expect(renewed.expiresAt).toBeGreaterThan(Date.now() + 7 * DAY + 30_000);
    expect((await accept(fifth as string)).status).toBe(200);
    expect((await accept(fourth as string)).status).toBe(200);
  });

  it('is mailed again the day after', async () => {
    const email = anEmail();
    for (let day = 0; day < 6; day += 1) await invite(company, email);
    expect(mailsTo(email)).toHaveLength(5);
    later(DAY + 60_000);
    await runScheduled();
    await invite(company, email);
    expect(mailsTo(email)).toHaveLength(6);
    expect((await accept(tokenOf(email))).status).toBe(200);
  });

  it('is for its company only, and another invites the same address apart', async () => {
    const email = anEmail();
    const elsewhere = await aCompany();
    await invite(company, email);
    const here = tokenOf(email);
    await invite(elsewhere, email);
    expect((await accept(here)).status).toBe(200);
    expect((await logIn(company.slug, email, PASSWORD)).status).toBe(200);
    expect((await logIn(elsewhere.slug, email, PASSWORD)).status).toBe(400);
  });

  it('is mailed later when no mail can be sent, and its token is not in the database', async () => {
    const email = anEmail();
    await whileMailIsDown(() => invite(company, email));
    later(61_000);
    await runScheduled();
    const token = tokenOf(email);
    const tables = ['invitations', 'mail_requests', 'users'];
    const dumps = await env.CONTROL_DB.batch(tables.map((table) => env.CONTROL_DB.prepare(`SELECT * FROM ${table}`)));
    expect(JSON.stringify(dumps.map(({ results }) => results))).not.toContain(token);
    expect((await accept(token)).status).toBe(200);
  });

  it('stays the only mail, whatever codes or links are requested for its address', async () => {
    const email = anEmail();
    await invite(company, email);
    await call('POST', '/v1/auth/passwordless/request', { json: { company_slug: company.slug, email } });
    await call('POST', '/v1/users/reset-password/request', { json: { email } });
    expect(mailsTo(email)).toHaveLength(1);
  });

  it.each([
    [{ password: 'short-pass1' }, 'password'],
    [{ password: 'x'.repeat(129) }, 'password'],
    [{ password: 'gfhjkmgfhjkm' }, 'password'],
    [{ name: ' ' }, 'name'],
  ])('refuses %j', async (rest, field) => {
    const { status, body } = await accept('token', rest);
    expect([status, body.error, body.details[0].field]).toEqual([422, 'VALIDATION_ERROR', field]);
  });

  it.each(['x', 'x'.repeat(43)])('is refused when it was never sent: %j', async (token) => {
    expect(statusAndCode(await accept(token))).toEqual(DEAD);
  });
});
