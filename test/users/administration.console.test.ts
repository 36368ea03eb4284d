import { beforeAll, describe, expect, it } from 'vitest';
import { call } from '../support/api.ts';
import { addToGroups, createConsoleGroup, readInvalidFields, readStatusAndCode } from '../support/console.ts';
import { readLink, readNewestMail } from '../support/mail.ts';
import { countRows, selectRow } from '../support/rival.ts';
import { must } from '../support/signed.ts';
import { aCompany, aUser, type Company, logIn, PASSWORD } from '../support/worlds.ts';

let company: Company;
let invitations = 0;
beforeAll(async () => {
  company = await aCompany();
});

const path = (id: string) => `/v1/users/${id}`;
const anInvited = async (by = company) => {
  const email = `guest-${++invitations}@${by.slug}.test`;
  const { _id } = await must(by.as.post('/v1/users/invite', { json: { email } }));
  return { id: _id as string, email, token: readLink(readNewestMail(email)).searchParams.get('token') as string };
};
const accept = (token: string) =>
  call('POST', '/v1/users/accept-invitation', { json: { token, password: 'chosen-by-the-invited' } });
const DEAD = [400, 'INVALID_INVITATION_TOKEN'];

describe('a change of a user', () => {
  it('changes only the fields that are sent', async () => {
    const { id } = await aUser(company);
    const before = await must(company.as.get(path(id)));
    const named = await must(company.as.put(path(id), { json: { name: ' Ana Andrade ' } }));
    expect(named).toEqual({ ...before, name: 'Ana Andrade' });
    const json = { team_ids: ['t1', 't2', 't1'] };
    expect(await must(company.as.put(path(id), { json }))).toEqual({ ...named, teams: ['t1', 't2'] });
    const cleared = await must(company.as.put(path(id), { json: { team_ids: [] } }));
    expect(cleared).toEqual(named);
    expect(await must(company.as.put(path(id), { json: {} }))).toEqual(named);
    expect(await must(company.as.get(path(id)))).toEqual(named);
  });

  it('can rename an invited user, who keeps the name on acceptance', async () => {
    const { id, token } = await anInvited();
    expect(await must(company.as.put(path(id), { json: { name: 'Ines' } }))).toMatchObject({ status: 'invited' });
    await must(accept(token));
    expect(await must(company.as.get(path(id)))).toMatchObject({ name: 'Ines', status: 'active' });
  });

  it.each([
    [{ name: '' }, 'name'],
    [{ name: '  ' }, 'name'],
    [{ name: null }, 'name'],
    [{ name: 'a'.repeat(201) }, 'name'],
    [{ name: 'a\u0000b' }, 'name'],
    [{ team_ids: 'x' }, 'team_ids'],
    [{ team_ids: [''] }, 'team_ids.0'],
    [{ team_ids: Array.from({ length: 101 }, (_, n) => `t${n}`) }, 'team_ids'],
  ])('to %j is not valid', async (json, field) => {
    const { id } = await aUser(company);
    expect(readInvalidFields(await company.as.put(path(id), { json }))).toEqual([422, 'VALIDATION_ERROR', field]);
  });
});

describe('the deletion of a user', () => {
  it('ends the sessions and memberships, frees the email, and is done once', async () => {
    const user = await aUser(company, { can: ['users:list'] });
    const group = await createConsoleGroup(company);
    await addToGroups(company, user.id, group._id);
    expect((await company.as.delete(path(user.id))).status).toBe(204);
    expect((await user.as.get('/v1/users')).status).toBe(401);
    expect(readStatusAndCode(await logIn(company.slug, user.email, PASSWORD))).toEqual([400, 'INVALID_CREDENTIALS']);
    expect(await countRows('group_bindings where principal_id = ?', user.id)).toBe(0);
    expect(readStatusAndCode(await company.as.get(path(user.id)))).toEqual([404, 'USER_NOT_FOUND']);
    const deletedAgain = await company.as.delete(path(user.id));
    expect(readStatusAndCode(deletedAgain)).toEqual([404, 'USER_NOT_FOUND']);
    expect(JSON.stringify(deletedAgain.body)).not.toContain('deleted');
    const again = await company.as.post('/v1/users/invite', { json: { email: user.email } });
    expect([again.status, again.body._id === user.id]).toEqual([201, false]);
  });

  it('revokes an invitation, whose link stops working', async () => {
    const { id, email, token } = await anInvited();
    expect((await company.as.delete(path(id))).status).toBe(204);
    expect(readStatusAndCode(await call('GET', `/v1/users/invitation?token=${token}`))).toEqual(DEAD);
    expect(readStatusAndCode(await accept(token))).toEqual(DEAD);
    const { records } = await must(company.as.get(`/v1/users?search=${email}`));
    expect(records).toEqual([]);
    // The same address can be invited anew, and the old link stays dead.
    await must(company.as.post('/v1/users/invite', { json: { email } }));
    expect(readStatusAndCode(await accept(token))).toEqual(DEAD);
    await must(accept(readLink(readNewestMail(email)).searchParams.get('token') as string));
  });

  it('is refused for oneself and for the owner', async () => {
    const manager = await aUser(company, { can: ['users:*'] });
    for (const [as, id] of [
      [manager.as, manager.id],
      [company.as, company.owner.id],
    ] as const) {
      expect(readStatusAndCode(await as.delete(path(id)))).toEqual([400, 'CANNOT_DELETE_SELF']);
    }
    expect(readStatusAndCode(await manager.as.delete(path(company.owner.id)))).toEqual([400, 'CANNOT_DELETE_OWNER']);
    for (const as of [manager.as, company.as]) expect((await as.get('/v1/auth/me')).status).toBe(200);
  });
});

describe('the link of an invitation', () => {
  const shown = (token: string) => call('GET', `/v1/users/invitation?token=${encodeURIComponent(token)}`);

  it('reveals to its holder only the user it is for', async () => {
    const { email, token } = await anInvited();
    const { status, body } = await shown(token);
    expect([status, body]).toEqual([
      200,
      {
        email,
        name: email.split('@')[0],
        company: { name: expect.stringMatching(/^Company /), slug: company.slug, branding: {} },
        expires_at: expect.any(String),
      },
    ]);
    expect(Date.parse(body.expires_at)).toBeGreaterThan(Date.now() + 6 * 24 * 60 * 60_000);
    // Looking at it does not use it up.
    await must(accept(token));
  });

  it('shows the brand of its company', async () => {
    const branded = await aCompany();
    await must(branded.as.put('/v1/company/branding', { json: { name: 'Branded', radius: 3 } }));
    const { token } = await anInvited(branded);
    expect((await must(shown(token))).company).toMatchObject({
      slug: branded.slug,
      branding: { name: 'Branded', radius: 3 },
    });
  });

  it('fails in the same way, whatever is wrong with the token', async () => {
    const used = await anInvited();
    await must(accept(used.token));
    const expired = await anInvited();
    await selectRow('update invitations set expires_at = ? where user_id = ?', Date.now() - 1, expired.id);
    const renewed = await anInvited();
    await must(company.as.post('/v1/users/invite', { json: { email: renewed.email } }));
    const answers = await Promise.all(
      [used.token, expired.token, renewed.token, 'unknown', 'x\u0000y', 'a'.repeat(10_000)].map(shown),
    );
    expect(answers.map(readStatusAndCode)).toEqual(answers.map(() => DEAD));
    expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1);
  });

  it('needs a token', async () => {
    for (const query of ['', '?token=']) {
      expect(readInvalidFields(await call('GET', `/v1/users/invitation${query}`))).toEqual([
        422,
        'VALIDATION_ERROR',
        'token',
      ]);
    }
  });
});
