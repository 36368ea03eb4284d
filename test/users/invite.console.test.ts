import { env } from 'cloudflare:test';
import { decodeJwt } from 'jose';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { call } from '../support/api.ts';
import { advanceClock, resetClock } from '../support/clock.ts';
import { createConsoleGroup, readInvalidFields, readStatusAndCode, UNKNOWN_ID } from '../support/console.ts';
import { listMailsTo, readLink, readNewestMail } from '../support/mail.ts';
import { countRows, sendOvertaken } from '../support/rival.ts';
import { must } from '../support/signed.ts';
import { aCompany, aUser, type Company, logIn } from '../support/worlds.ts';

const DAY = 24 * 60 * 60_000;
const PASSWORD = 'chosen-by-the-invited';

let company: Company;
let createdCount = 0;
beforeAll(async () => {
  company = await aCompany();
});
afterEach(resetClock);

const anEmail = () => `guest-${++createdCount}@${company.slug}.test`;
const invite = (json: Record<string, unknown>) => company.as.post('/v1/users/invite', { json });
const accept = (email: string, token = readLink(readNewestMail(email)).searchParams.get('token')) =>
  call('POST', '/v1/users/accept-invitation', { json: { token, password: PASSWORD } });

describe('an invitation', () => {
  it('creates an invited user with teams and groups, and mails a link to accept the invitation', async () => {
    const email = anEmail();
    const { _id: groupId } = await createConsoleGroup(company, {
      roles: [{ name: 'Reader', target: 'users', actions: ['read'] }],
    });
    const before = Date.now();
    const { status, body } = await invite({ email: email.toUpperCase(), team_ids: ['t1', 't2'], group_ids: [groupId] });
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
    const lifetime = Date.parse(body.invitation_expires_at) - before;
    expect(lifetime).toBeGreaterThanOrEqual(7 * DAY);
    expect(lifetime).toBeLessThan(7 * DAY + 60_000);
    expect(readNewestMail(email).text).toContain('Olga Owner');

    expect((await accept(email)).status).toBe(200);
    const login = await logIn(company.slug, email, PASSWORD);
    const seen = await call('GET', '/v1/users', { headers: { authorization: `Bearer ${login.body.token}` } });
    expect(seen.status).toBe(200);
  });

  it('sets the team claim of the user’s session token to the first of its teams', async () => {
    const email = anEmail();
    await must(invite({ email, team_ids: ['t2', 't1'] }));
    await must(accept(email));
    const { body } = await logIn(company.slug, email, PASSWORD);
    expect(decodeJwt(body.token).team_id).toBe('t2');
  });

  it('is renewed by another, whose link works while the earlier link stops working', async () => {
    const email = anEmail();
    const { _id: groupId } = await createConsoleGroup(company);
    const first = await invite({ email, team_ids: ['t1'] });
    const old = readLink(readNewestMail(email)).searchParams.get('token');
    advanceClock(6 * DAY);
    const again = await company.as.post('/v1/auth/refresh', { json: { refresh_token: company.refreshToken } });
    const owner = { authorization: `Bearer ${again.body.token}` };
    const json = { email, group_ids: [groupId] };
    const second = await call('POST', '/v1/users/invite', { json, headers: owner });
    expect([second.status, second.body._id]).toEqual([201, first.body._id]);
    expect(second.body).toMatchObject({ status: 'invited', teams: ['t1'], group_ids: [groupId] });
    expect(second.body.invitation_expires_at > first.body.invitation_expires_at).toBe(true);
    expect(listMailsTo(email)).toHaveLength(2);
    expect(readStatusAndCode(await accept(email, old))).toEqual([400, 'INVALID_INVITATION_TOKEN']);
    expect((await accept(email)).status).toBe(200);
  });

  it('is refused for somebody who is in the company already', async () => {
    const active = await aUser(company);
    const inactive = await aUser(company);
    await company.as.post(`/v1/users/${inactive.id}/deactivate`);
    for (const { email } of [active, inactive]) {
      for (const address of [email, email.toUpperCase()]) {
        expect(readStatusAndCode(await invite({ email: address }))).toEqual([400, 'USER_EMAIL_DUPLICATE']);
      }
      expect(listMailsTo(email)).toEqual([]);
    }
    const other = await aCompany();
    expect((await other.as.post('/v1/users/invite', { json: { email: active.email } })).status).toBe(201);
  });

  it('is renewed, for one user, when the same address is invited meanwhile', async () => {
    const email = anEmail();
    const late = await sendOvertaken(
      /^insert into "users"/,
      () => must(invite({ email })),
      (env) => company.as.post('/v1/users/invite', { json: { email }, env }),
    );
    expect(late.status).toBe(201);
    expect(await countRows('users where email = ?', email)).toBe(1);
    expect(listMailsTo(email)).toHaveLength(2);
    expect((await accept(email)).status).toBe(200);
  });

  it('is refused, and invites nobody, into a group that does not exist', async () => {
    const { _id: foreign } = await createConsoleGroup(await aCompany());
    for (const unknown of [foreign, UNKNOWN_ID]) {
      const email = anEmail();
      const answer = await invite({ email, group_ids: [(await createConsoleGroup(company))._id, unknown] });
      expect(readStatusAndCode(answer)).toEqual([404, 'GROUP_NOT_FOUND']);
      expect(answer.body.details.ids).toEqual([unknown]);
      expect(listMailsTo(email)).toEqual([]);
      const found = await env.CONTROL_DB.prepare('SELECT id FROM users WHERE email = ?').bind(email).first();
      expect(found).toBeNull();
    }
  });

  it.each([
    [{}, 'email'],
    [{ email: 'nobody' }, 'email'],
    [{ email: 7 }, 'email'],
    [{ email: 'a@b.test', team_ids: 'x' }, 'team_ids'],
    [{ email: 'a@b.test', group_ids: [1] }, 'group_ids.0'],
    [{ email: 'a@b.test', team_ids: Array.from({ length: 101 }, (_, n) => `t${n}`) }, 'team_ids'],
  ])('of %j is not valid', async (json, field) => {
    expect(readInvalidFields(await invite(json))).toEqual([422, 'VALIDATION_ERROR', field]);
  });
});
