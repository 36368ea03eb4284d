import { describe, expect, it } from 'vitest';
import { callApi } from '../support/api.ts';
import { createAllowedUser, createOwnedCompany, logIn, PASSWORD } from '../support/companies.ts';
import { addToGroups, createConsoleGroup, readInvalidFields, readStatusAndCode } from '../support/console.ts';
import { readLink, readNewestMail } from '../support/mail.ts';
import { countRows, selectRow } from '../support/race.ts';
import { expectSuccess } from '../support/signed.ts';

let invitationCount = 0;
const company = await createOwnedCompany();

const makePath = (id: string) => `/v1/users/${id}`;
const inviteUser = async (by = company) => {
  const email = `guest-${++invitationCount}@${by.slug}.test`;
  const { _id } = await expectSuccess(by.as.post('/v1/users/invite', { json: { email } }));
  return { id: _id as string, email, token: readLink(readNewestMail(email)).searchParams.get('token') as string };
};
const acceptInvitation = (token: string) =>
  callApi('POST', '/v1/users/accept-invitation', { json: { token, password: 'chosen-by-the-invited' } });
const INVALID_TOKEN_ERROR = [400, 'INVALID_INVITATION_TOKEN'];

describe('a change of a user', () => {
  it('sets only the fields that are sent', async () => {
    const { id } = await createAllowedUser(company);
    const userBefore = await expectSuccess(company.as.get(makePath(id)));
    const namedUser = await expectSuccess(company.as.put(makePath(id), { json: { name: ' Ana Andrade ' } }));
    expect(namedUser).toEqual({ ...userBefore, name: 'Ana Andrade' });
    const json = { team_ids: ['t1', 't2', 't1'] };
    expect(await expectSuccess(company.as.put(makePath(id), { json }))).toEqual({ ...namedUser, teams: ['t1', 't2'] });
    const userWithoutTeams = await expectSuccess(company.as.put(makePath(id), { json: { team_ids: [] } }));
    expect(userWithoutTeams).toEqual(namedUser);
    expect(await expectSuccess(company.as.put(makePath(id), { json: {} }))).toEqual(namedUser);
    expect(await expectSuccess(company.as.get(makePath(id)))).toEqual(namedUser);
  });

  it('can rename an invited user, who keeps the name on acceptance', async () => {
    const { id, token } = await inviteUser();
    expect(await expectSuccess(company.as.put(makePath(id), { json: { name: 'Ines' } }))).toMatchObject({
      status: 'invited',
    });
    await expectSuccess(acceptInvitation(token));
    expect(await expectSuccess(company.as.get(makePath(id)))).toMatchObject({ name: 'Ines', status: 'active' });
  });

  it.each([
    [{ name: '' }, 'name'],
    [{ name: '  ' }, 'name'],
    [{ name: 'a'.repeat(201) }, 'name'],
    [{ name: 'a\u0000b' }, 'name'],
    [{ team_ids: [''] }, 'team_ids.0'],
    [{ team_ids: Array.from({ length: 101 }, (_, n) => `t${n}`) }, 'team_ids'],
  ])('to %j is not valid', async (json, field) => {
    const { id } = await createAllowedUser(company);
    expect(readInvalidFields(await company.as.put(makePath(id), { json }))).toEqual([422, 'VALIDATION_ERROR', field]);
  });
});

describe('the deletion of a user', () => {
  it('ends the sessions and memberships, frees the e-mail address, and is done once', async () => {
    const user = await createAllowedUser(company, { can: ['users:list'] });
    const group = await createConsoleGroup(company);
    await addToGroups(company, user.id, group._id);
    expect((await company.as.delete(makePath(user.id))).status).toBe(204);
    expect((await user.as.get('/v1/users')).status).toBe(401);
    expect(readStatusAndCode(await logIn(company.slug, user.email, PASSWORD))).toEqual([400, 'INVALID_CREDENTIALS']);
    expect(await countRows('group_bindings where principal_id = ?', user.id)).toBe(0);
    expect(readStatusAndCode(await company.as.get(makePath(user.id)))).toEqual([404, 'USER_NOT_FOUND']);
    const secondDeletion = await company.as.delete(makePath(user.id));
    expect(readStatusAndCode(secondDeletion)).toEqual([404, 'USER_NOT_FOUND']);
    expect(JSON.stringify(secondDeletion.body)).not.toContain('deleted');
    const secondInvitation = await company.as.post('/v1/users/invite', { json: { email: user.email } });
    expect([secondInvitation.status, secondInvitation.body._id === user.id]).toEqual([201, false]);
  });

  it('revokes an invitation, whose link stops working', async () => {
    const { id, email, token } = await inviteUser();
    expect((await company.as.delete(makePath(id))).status).toBe(204);
    expect(readStatusAndCode(await callApi('GET', `/v1/users/invitation?token=${token}`))).toEqual(INVALID_TOKEN_ERROR);
    expect(readStatusAndCode(await acceptInvitation(token))).toEqual(INVALID_TOKEN_ERROR);
    const { records } = await expectSuccess(company.as.get(`/v1/users?search=${email}`));
    expect(records).toEqual([]);
    // The same address can be invited anew, and the old link stays dead.
    await expectSuccess(company.as.post('/v1/users/invite', { json: { email } }));
    expect(readStatusAndCode(await acceptInvitation(token))).toEqual(INVALID_TOKEN_ERROR);
    await expectSuccess(acceptInvitation(readLink(readNewestMail(email)).searchParams.get('token') as string));
  });

  it('is refused for oneself and for the owner', async () => {
    const manager = await createAllowedUser(company, { can: ['users:*'] });
    for (const [as, id] of [
      [manager.as, manager.id],
      [company.as, company.owner.id],
    ] as const) {
      expect(readStatusAndCode(await as.delete(makePath(id)))).toEqual([400, 'CANNOT_DELETE_SELF']);
    }
    const ownerDeletion = await manager.as.delete(makePath(company.owner.id));
    expect([...readStatusAndCode(ownerDeletion), ownerDeletion.body.message]).toEqual([
      400,
      'CANNOT_DEACTIVATE_OWNER',
      'The owner cannot be deleted.',
    ]);
    for (const as of [manager.as, company.as]) expect((await as.get('/v1/auth/me')).status).toBe(200);
  });
});

describe('the link of an invitation', () => {
  const readInvitation = (token: string) => callApi('GET', `/v1/users/invitation?token=${encodeURIComponent(token)}`);

  it('reveals to its holder only the user whom it is for', async () => {
    const { email, token } = await inviteUser();
    const { status, body } = await readInvitation(token);
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
    await expectSuccess(acceptInvitation(token));
  });

  it('shows the brand of its company', async () => {
    const brandedCompany = await createOwnedCompany();
    await expectSuccess(brandedCompany.as.put('/v1/company/branding', { json: { name: 'Branded', radius: 3 } }));
    const { token } = await inviteUser(brandedCompany);
    expect((await expectSuccess(readInvitation(token))).company).toMatchObject({
      slug: brandedCompany.slug,
      branding: { name: 'Branded', radius: 3 },
    });
  });

  it('fails in the same way, whatever is wrong with the token', async () => {
    const usedInvitation = await inviteUser();
    await expectSuccess(acceptInvitation(usedInvitation.token));
    const expiredInvitation = await inviteUser();
    await selectRow('update invitations set expires_at = ? where user_id = ?', Date.now() - 1, expiredInvitation.id);
    const renewedInvitation = await inviteUser();
    await expectSuccess(company.as.post('/v1/users/invite', { json: { email: renewedInvitation.email } }));
    const answers = await Promise.all(
      [
        usedInvitation.token,
        expiredInvitation.token,
        renewedInvitation.token,
        'unknown',
        'x\u0000y',
        'a'.repeat(10_000),
      ].map(readInvitation),
    );
    expect(answers.map(readStatusAndCode)).toEqual(answers.map(() => INVALID_TOKEN_ERROR));
    expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1);
  });

  it('requires a token', async () => {
    for (const query of ['', '?token=']) {
      expect(readInvalidFields(await callApi('GET', `/v1/users/invitation${query}`))).toEqual([
        422,
        'VALIDATION_ERROR',
        'token',
      ]);
    }
  });
});
