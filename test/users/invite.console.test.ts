import { decodeJwt } from 'jose';
import { describe, expect, it } from 'vitest';
import { callApi } from '../support/api.ts';
import { advanceClock } from '../support/clock.ts';
import { createAllowedUser, createOwnedCompany, logIn } from '../support/companies.ts';
import { createConsoleGroup, readInvalidFields, readStatusAndCode, UNKNOWN_ID } from '../support/console.ts';
import { listMailsTo, readLink, readNewestMail } from '../support/mail.ts';
import { countRows, selectRow, sendDuringRace } from '../support/race.ts';
import { expectSuccess } from '../support/signed.ts';

const DAY_MS = 24 * 60 * 60_000;
const PASSWORD = 'chosen-by-the-invited';

let emailCount = 0;
const company = await createOwnedCompany();

const makeEmail = () => `guest-${++emailCount}@${company.slug}.test`;
const inviteUser = (json: Record<string, unknown>) => company.as.post('/v1/users/invite', { json });
const acceptInvitation = (email: string, token = readLink(readNewestMail(email)).searchParams.get('token')) =>
  callApi('POST', '/v1/users/accept-invitation', { json: { token, password: PASSWORD } });

describe('an invitation', () => {
  it('creates an invited user with teams and groups, and mails a link to accept the invitation', async () => {
    const email = makeEmail();
    const { _id: groupId } = await createConsoleGroup(company, {
      roles: [{ name: 'Reader', target: 'users', actions: ['read'] }],
    });
    const invitedAt = Date.now();
    const { status, body } = await inviteUser({
      email: email.toUpperCase(),
      team_ids: ['t1', 't2'],
      group_ids: [groupId],
    });
    expect([status, body]).toEqual([
      201,
      {
        _id: expect.stringMatching(/^[a-f0-9]{24}$/),
        email,
        name: email.split('@')[0],
        company_id: company.id,
        status: 'invited',
        teams: ['t1', 't2'],
        group_ids: [groupId],
        created_at: expect.any(String),
        invitation_expires_at: expect.any(String),
      },
    ]);
    const lifetimeMs = Date.parse(body.invitation_expires_at) - invitedAt;
    expect(lifetimeMs).toBeGreaterThanOrEqual(7 * DAY_MS);
    expect(lifetimeMs).toBeLessThan(7 * DAY_MS + 60_000);
    expect(readNewestMail(email).text).toContain('Olga Owner');

    expect((await acceptInvitation(email)).status).toBe(200);
    const login = await logIn(company.slug, email, PASSWORD);
    const usersAnswer = await callApi('GET', '/v1/users', { headers: { authorization: `Bearer ${login.body.token}` } });
    expect(usersAnswer.status).toBe(200);
  });

  it('sets the team claim of the user’s session token to the first of its teams', async () => {
    const email = makeEmail();
    await expectSuccess(inviteUser({ email, team_ids: ['t2', 't1'] }));
    await expectSuccess(acceptInvitation(email));
    const { body } = await logIn(company.slug, email, PASSWORD);
    expect(decodeJwt(body.token).team_id).toBe('t2');
  });

  it('is renewed by a second invitation, whose link works while the earlier link stops working', async () => {
    const email = makeEmail();
    const { _id: groupId } = await createConsoleGroup(company);
    const first = await inviteUser({ email, team_ids: ['t1'] });
    const oldToken = readLink(readNewestMail(email)).searchParams.get('token');
    advanceClock(6 * DAY_MS);
    const secondSession = await company.as.post('/v1/auth/refresh', { json: { refresh_token: company.refreshToken } });
    const owner = { authorization: `Bearer ${secondSession.body.token}` };
    const json = { email, group_ids: [groupId] };
    const secondInvitation = await callApi('POST', '/v1/users/invite', { json, headers: owner });
    expect([secondInvitation.status, secondInvitation.body._id]).toEqual([201, first.body._id]);
    expect(secondInvitation.body).toMatchObject({ status: 'invited', teams: ['t1'], group_ids: [groupId] });
    expect(secondInvitation.body.invitation_expires_at > first.body.invitation_expires_at).toBe(true);
    expect(listMailsTo(email)).toHaveLength(2);
    expect(readStatusAndCode(await acceptInvitation(email, oldToken))).toEqual([400, 'INVALID_INVITATION_TOKEN']);
    expect((await acceptInvitation(email)).status).toBe(200);
  });

  it('is refused for a user who is in the company already', async () => {
    const activeUser = await createAllowedUser(company);
    const inactiveUser = await createAllowedUser(company);
    await company.as.post(`/v1/users/${inactiveUser.id}/deactivate`);
    for (const { email } of [activeUser, inactiveUser]) {
      for (const address of [email, email.toUpperCase()]) {
        expect(readStatusAndCode(await inviteUser({ email: address }))).toEqual([400, 'USER_EMAIL_DUPLICATE']);
      }
      expect(listMailsTo(email)).toEqual([]);
    }
    const other = await createOwnedCompany();
    expect((await other.as.post('/v1/users/invite', { json: { email: activeUser.email } })).status).toBe(201);
  });

  it('is renewed, for one user, when the same address is invited meanwhile', async () => {
    const email = makeEmail();
    const lateInvitation = await sendDuringRace(
      /^insert into "users"/,
      () => expectSuccess(inviteUser({ email })),
      (env) => company.as.post('/v1/users/invite', { json: { email }, env }),
    );
    expect(lateInvitation.status).toBe(201);
    expect(await countRows('users where email = ?', email)).toBe(1);
    expect(listMailsTo(email)).toHaveLength(2);
    expect((await acceptInvitation(email)).status).toBe(200);
  });

  it('is refused, and invites nobody, into a group that does not exist', async () => {
    const { _id: foreignGroupId } = await createConsoleGroup(await createOwnedCompany());
    for (const unknownGroupId of [foreignGroupId, UNKNOWN_ID]) {
      const email = makeEmail();
      const answer = await inviteUser({ email, group_ids: [(await createConsoleGroup(company))._id, unknownGroupId] });
      expect(readStatusAndCode(answer)).toEqual([404, 'GROUP_NOT_FOUND']);
      expect(answer.body.details.ids).toEqual([unknownGroupId]);
      expect(listMailsTo(email)).toEqual([]);
      const foundUser = await selectRow('SELECT id FROM users WHERE email = ?', email);
      expect(foundUser).toBeNull();
    }
  });

  it.each([
    [{ email: 'nobody' }, 'email'],
    [{ email: 'a@b.test', team_ids: Array.from({ length: 101 }, (_, n) => `t${n}`) }, 'team_ids'],
  ])('of %j is not valid', async (json, field) => {
    expect(readInvalidFields(await inviteUser(json))).toEqual([422, 'VALIDATION_ERROR', field]);
  });
});
