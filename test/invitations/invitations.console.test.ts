import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { callApi } from '../support/api.ts';
import { advanceClock, runScheduled } from '../support/clock.ts';
import { createAllowedUser, createOwnedCompany, logIn } from '../support/companies.ts';
import { readStatusAndCode } from '../support/console.ts';
import { inviteUser } from '../support/invite.ts';
import { listMailsTo, readLink, readNewestMail, runWhileMailIsDown } from '../support/mail.ts';
import { selectRow } from '../support/race.ts';

const DAY_MS = 24 * 60 * 60_000;
const PASSWORD = 'chosen-by-the-invited';

let emailCount = 0;
const company = await createOwnedCompany();

const createEmail = () => `invited-${++emailCount}@${company.slug}.test`;
const acceptInvitation = (token: string, extraFields: { password?: string; name?: string } = {}) =>
  callApi('POST', '/v1/users/accept-invitation', { json: { token, password: PASSWORD, ...extraFields } });
const readInvitationToken = (email: string) => readLink(readNewestMail(email)).searchParams.get('token') as string;
const INVALID_TOKEN_ERROR = [400, 'INVALID_INVITATION_TOKEN'];
const selectUser = (email: string) => selectRow('SELECT * FROM users WHERE email = ?', email);

describe('an invitation', () => {
  it('makes a user who can sign in once it is accepted', async () => {
    const email = createEmail();
    const { user, expiresAt } = await inviteUser(company, email, ['team-1']);
    expect(expiresAt - Date.now()).toBeGreaterThan(7 * DAY_MS - 60_000);
    expect(await selectUser(email)).toMatchObject({
      is_active: 0,
      is_verified: 0,
      password_hash: null,
      activated_at: null,
      teams: '["team-1"]',
    });
    expect((await logIn(company.slug, email, PASSWORD)).status).toBe(400);

    const link = readLink(readNewestMail(email));
    expect(`${link.origin}${link.pathname}`).toBe('https://console.test/accept-invitation');
    const { status, body } = await acceptInvitation(readInvitationToken(email), { name: 'Ina Invited' });
    expect([status, body]).toEqual([200, { success: true, user: { _id: user.id, email, status: 'active' } }]);
    expect(await selectUser(email)).toMatchObject({ is_active: 1, is_verified: 1, name: 'Ina Invited' });
    expect((await logIn(company.slug, email, PASSWORD)).body.user).toMatchObject({ _id: user.id, name: 'Ina Invited' });
  });

  it('names the company and the inviter in plain text and HTML, with advice for recipients who know neither', async () => {
    const email = createEmail();
    await inviteUser(company, email);
    const { text, html } = readNewestMail(email);
    for (const body of [text, html]) {
      expect(body).toContain('Olga Owner');
      expect(body).toContain('Do you not know who this is from');
    }
  });

  it('lasts seven days, after which the user can be invited again', async () => {
    const email = createEmail();
    const first = await inviteUser(company, email);
    advanceClock(7 * DAY_MS + 1000);
    expect(readStatusAndCode(await acceptInvitation(readInvitationToken(email)))).toEqual(INVALID_TOKEN_ERROR);
    await runScheduled();
    const remainingInvitations = await env.CONTROL_DB.prepare('SELECT * FROM invitations WHERE user_id = ?')
      .bind(first.user.id)
      .all();
    expect(remainingInvitations.results).toEqual([]);
    const secondInvitation = await inviteUser(company, email);
    expect(secondInvitation.user.id).toBe(first.user.id);
    expect((await acceptInvitation(readInvitationToken(email))).status).toBe(200);
  });

  it('is mailed at most five times a day to one address by all companies together; further invitations get the same answer', async () => {
    const email = createEmail();
    const otherCompany = await createOwnedCompany();
    for (const invitingCompany of [company, otherCompany, company, otherCompany, company])
      await inviteUser(invitingCompany, email);
    expect(listMailsTo(email)).toHaveLength(5);
    const [fifth, fourth] = listMailsTo(email).map((mail) => readLink(mail).searchParams.get('token') as string);
    advanceClock(60_000);
    const fifthAnswer = await (await createAllowedUser(await createOwnedCompany(), { can: ['*'] })).as.post(
      '/v1/users/invite',
      {
        json: { email: createEmail() },
      },
    );
    const sixthAnswer = await (await createAllowedUser(otherCompany, { can: ['*'] })).as.post('/v1/users/invite', {
      json: { email },
    });
    expect(sixthAnswer.status).toBe(fifthAnswer.status);
    expect(Object.keys(sixthAnswer.body).sort()).toEqual(Object.keys(fifthAnswer.body).sort());
    const renewedInvitation = await inviteUser(company, email);
    advanceClock(61 * 60_000);
    await runScheduled();
    await inviteUser(company, email);
    expect(listMailsTo(email)).toHaveLength(5);
    // The links that were mailed go on working, and as long as the last invitation says.
    advanceClock(7 * DAY_MS + 30_000);
    expect(renewedInvitation.expiresAt).toBeGreaterThan(Date.now() + 7 * DAY_MS + 30_000);
    expect((await acceptInvitation(fifth as string)).status).toBe(200);
    expect((await acceptInvitation(fourth as string)).status).toBe(200);
  });

  it('is mailed again the day after', async () => {
    const email = createEmail();
    for (let day = 0; day < 6; day += 1) await inviteUser(company, email);
    expect(listMailsTo(email)).toHaveLength(5);
    advanceClock(DAY_MS + 60_000);
    await runScheduled();
    await inviteUser(company, email);
    expect(listMailsTo(email)).toHaveLength(6);
    expect((await acceptInvitation(readInvitationToken(email))).status).toBe(200);
  });

  it('is valid for its company only, and another company invites the same address separately', async () => {
    const email = createEmail();
    const otherCompany = await createOwnedCompany();
    await inviteUser(company, email);
    const ownToken = readInvitationToken(email);
    await inviteUser(otherCompany, email);
    expect((await acceptInvitation(ownToken)).status).toBe(200);
    expect((await logIn(company.slug, email, PASSWORD)).status).toBe(200);
    expect((await logIn(otherCompany.slug, email, PASSWORD)).status).toBe(400);
  });

  it('is mailed later when no mail can be sent, and its token is not in the database', async () => {
    const email = createEmail();
    await runWhileMailIsDown(() => inviteUser(company, email));
    advanceClock(61_000);
    await runScheduled();
    const token = readInvitationToken(email);
    const tables = ['invitations', 'mail_requests', 'users'];
    const dumps = await env.CONTROL_DB.batch(tables.map((table) => env.CONTROL_DB.prepare(`SELECT * FROM ${table}`)));
    expect(JSON.stringify(dumps.map(({ results }) => results))).not.toContain(token);
    expect((await acceptInvitation(token)).status).toBe(200);
  });

  it('stays the only mail, whatever codes or links are requested for its address', async () => {
    const email = createEmail();
    await inviteUser(company, email);
    await callApi('POST', '/v1/auth/passwordless/request', { json: { company_slug: company.slug, email } });
    await callApi('POST', '/v1/users/reset-password/request', { json: { email } });
    expect(listMailsTo(email)).toHaveLength(1);
  });

  it.each([
    [{ password: 'short-pass1' }, 'password'],
    [{ password: 'x'.repeat(129) }, 'password'],
    [{ password: 'gfhjkmgfhjkm' }, 'password'],
    [{ name: ' ' }, 'name'],
  ])('refuses %j', async (extraFields, field) => {
    const { status, body } = await acceptInvitation('token', extraFields);
    expect([status, body.error, body.details[0].field]).toEqual([422, 'VALIDATION_ERROR', field]);
  });

  it.each(['x', 'x'.repeat(43)])('is refused when it was never sent: %j', async (token) => {
    expect(readStatusAndCode(await acceptInvitation(token))).toEqual(INVALID_TOKEN_ERROR);
  });
});
