import { describe, expect, it } from 'vitest';
import { callApi } from '../support/api.ts';
import { createAllowedUser, createOwnedCompany, logIn } from '../support/companies.ts';
import {
  addToGroups,
  createConsoleGroup,
  createPermission,
  readGlobalGroups,
  readInvalidFields,
  readStatusAndCode,
  UNKNOWN_ID,
} from '../support/console.ts';
import { inviteUser } from '../support/invite.ts';
import { readLink, readNewestMail } from '../support/mail.ts';
import { sendDuringRace } from '../support/race.ts';
import { bindUser, createSignedCaller, expectSuccess, createGrouplessUser as unboundUser } from '../support/signed.ts';

const company = await createOwnedCompany();

const getUser = (id: string) => company.as.get(`/v1/users/${id}`);
const readGroupIds = async (id: string): Promise<string[]> => (await expectSuccess(getUser(id))).group_ids;
const sendGroups = (method: 'post' | 'put' | 'delete', id: string, group_ids: unknown) =>
  company.as[method](`/v1/users/${id}/groups`, { json: { group_ids } });

it('a user is shown with teams, groups and status', async () => {
  const { administrators } = await readGlobalGroups(company);
  const { status, body } = await getUser(company.owner.id);
  expect([status, body]).toEqual([
    200,
    {
      _id: company.owner.id,
      email: company.owner.email,
      name: 'Olga Owner',
      company_id: company.id,
      status: 'active',
      teams: [],
      group_ids: [administrators],
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    },
  ]);
});

describe('the list of users', () => {
  it('pages through all users once, with the exact total', async () => {
    const crowdedCompany = await createOwnedCompany();
    const ids = [crowdedCompany.owner.id];
    for (let count = 0; count < 4; count += 1) ids.push((await unboundUser(crowdedCompany)).id);
    const listedIds: string[] = [];
    for (const page of [1, 2, 3, 4]) {
      const { body } = await crowdedCompany.as.get(`/v1/users?page=${page}&per_page=2`);
      expect([body.total, body.quantity]).toEqual([5, body.records.length]);
      listedIds.push(...body.records.map((user: { _id: string }) => user._id));
    }
    expect(listedIds.toSorted()).toEqual(ids.toSorted());
  });

  it('shows no group that a Deny hides from the caller, in any response', async () => {
    const { id } = await createAllowedUser(company, { can: [] });
    const [hiddenGroup, openGroup] = [await createConsoleGroup(company), await createConsoleGroup(company)];
    await expectSuccess(sendGroups('post', id, [hiddenGroup._id, openGroup._id]));
    const { as } = await createAllowedUser(company, {
      can: ['*'],
      denied: ['groups:get'],
      deniedArns: [`arn:svc:groups::${company.id}:group/${hiddenGroup._id}`],
    });
    const { records } = await expectSuccess(as.get('/v1/users?per_page=100'));
    const answers = [
      records.find(({ _id }: { _id: string }) => _id === id),
      await expectSuccess(as.get(`/v1/users/${id}`)),
      await expectSuccess(as.put(`/v1/users/${id}`, { json: { name: 'Named' } })),
      await expectSuccess(as.post(`/v1/users/${id}/groups`, { json: { group_ids: [openGroup._id] } })),
    ];
    for (const { group_ids } of answers) {
      expect(group_ids).toContain(openGroup._id);
      expect(group_ids).not.toContain(hiddenGroup._id);
    }
    // The user is in it all the same.
    expect(await readGroupIds(id)).toContain(hiddenGroup._id);
  });

  it('shows the groups themselves only with include=groups', async () => {
    const { id } = await createAllowedUser(company);
    const ownGroupIds = await readGroupIds(id);
    const group = await createConsoleGroup(company);
    await addToGroups(company, id, group._id);
    const plainList = await expectSuccess(company.as.get('/v1/users?per_page=100'));
    const expandedList = await expectSuccess(company.as.get('/v1/users?per_page=100&include=groups'));
    const findRecord = (list: { records: { _id: string }[] }) => list.records.find(({ _id }) => _id === id);
    expect(findRecord(plainList)).not.toHaveProperty('groups');
    expect(findRecord(plainList)).toMatchObject({ group_ids: [...ownGroupIds, group._id].toSorted() });
    expect(findRecord(expandedList)).toMatchObject({ group_ids: [...ownGroupIds, group._id].toSorted() });
    expect((findRecord(expandedList) as unknown as { groups: unknown[] }).groups).toContainEqual({
      _id: group._id,
      name: group.name,
      slug: group.slug,
    });
  });
});

describe('the deactivation of a user', () => {
  it('ends the sessions, and the activation lets the user sign in again', async () => {
    const user = await createAllowedUser(company, { can: ['users:list'] });
    const answer = await company.as.post(`/v1/users/${user.id}/deactivate`);
    expect([answer.status, answer.body]).toEqual([200, { _id: user.id, email: user.email, status: 'inactive' }]);
    expect((await user.as.get('/v1/users')).status).toBe(401);
    expect(readStatusAndCode(await logIn(company.slug, user.email, company.owner.password))).toEqual([
      403,
      'FORBIDDEN',
    ]);
    expect((await getUser(user.id)).body.status).toBe('inactive');

    const activationAnswer = await company.as.post(`/v1/users/${user.id}/activate`);
    expect([activationAnswer.status, activationAnswer.body]).toEqual([
      200,
      { _id: user.id, email: user.email, status: 'active' },
    ]);
    expect((await logIn(company.slug, user.email, company.owner.password)).status).toBe(200);
    expect((await user.as.get('/v1/users')).status).toBe(401);
  });

  it('is refused for oneself and for the owner', async () => {
    const manager = await createAllowedUser(company, { can: ['users:*'] });
    for (const [as, id] of [
      [manager.as, manager.id],
      [company.as, company.owner.id],
    ] as const) {
      expect(readStatusAndCode(await as.post(`/v1/users/${id}/deactivate`))).toEqual([400, 'CANNOT_DEACTIVATE_SELF']);
    }
    expect(readStatusAndCode(await manager.as.post(`/v1/users/${company.owner.id}/deactivate`))).toEqual([
      400,
      'CANNOT_DEACTIVATE_OWNER',
    ]);
    expect((await company.as.get('/v1/auth/me')).status).toBe(200);
  });

  it('is refused, like the activation, for a user who has not accepted the invitation', async () => {
    const json = { email: `waiting@${company.slug}.test` };
    const { _id } = await expectSuccess(company.as.post('/v1/users/invite', { json }));
    for (const verb of ['activate', 'deactivate']) {
      expect(readStatusAndCode(await company.as.post(`/v1/users/${_id}/${verb}`))).toEqual([409, 'USER_STILL_INVITED']);
    }
    expect((await getUser(_id)).body.status).toBe('invited');
  });
});

describe('the groups of a user', () => {
  it('are added, replaced, taken away and cleared', async () => {
    const { id } = await unboundUser(company);
    const [a, b, c] = await Promise.all([1, 2, 3].map(async () => (await createConsoleGroup(company))._id as string));
    const steps = [
      ['post', [a, b, a], [a, b]],
      ['post', [b], [a, b]],
      ['put', [b, c], [b, c]],
      ['delete', [a, b], [c]],
      ['put', [c], [c]],
      ['put', [], []],
      ['delete', [], []],
    ] as const;
    for (const [method, sent, left] of steps) {
      const { status, body } = await sendGroups(method, id, sent);
      expect([status, body._id, body.group_ids]).toEqual([200, id, left.toSorted()]);
      expect(await readGroupIds(id)).toEqual(left.toSorted());
    }
  });

  it('are refused when one of them does not exist', async () => {
    const { id } = await unboundUser(company);
    const { _id: ownGroupId } = await createConsoleGroup(company);
    const { _id: foreignGroupId } = await createConsoleGroup(await createOwnedCompany());
    const { _id: deleted } = await createConsoleGroup(company);
    await company.as.delete(`/v1/groups/${deleted}`);
    for (const unknownGroupId of [foreignGroupId, deleted, UNKNOWN_ID, 'x']) {
      for (const method of ['post', 'put', 'delete'] as const) {
        const answer = await sendGroups(method, id, [ownGroupId, unknownGroupId]);
        expect(readStatusAndCode(answer)).toEqual([404, 'GROUP_NOT_FOUND']);
        expect(answer.body.details).toMatchObject({ field: 'group_ids', ids: [unknownGroupId] });
      }
    }
    expect(await readGroupIds(id)).toEqual([]);
  });

  it.each([
    ['post', []],
    ['put', Array.from({ length: 101 }, (_, number) => `g${number}`)],
  ] as const)('are refused by a %s with %j', async (method, groupIds) => {
    const answer = await sendGroups(method, company.owner.id, groupIds);
    expect(answer.status).toBe(422);
    expect(String((readInvalidFields(answer)[2] as string).split('.')[0])).toBe('group_ids');
  });

  it('are the groups of the last replacement, even if another replacement comes meanwhile', async () => {
    const { id } = await unboundUser(company);
    const [rivalId, lastId] = [(await createConsoleGroup(company))._id, (await createConsoleGroup(company))._id];
    const { status, body } = await sendDuringRace(
      /^insert into "group_bindings"/,
      () => expectSuccess(sendGroups('put', id, [rivalId])),
      (env) => company.as.put(`/v1/users/${id}/groups`, { json: { group_ids: [lastId] }, env }),
    );
    expect([status, body.group_ids, await readGroupIds(id)]).toEqual([200, [lastId], [lastId]]);
  });

  it('can be as many as a hundred', async () => {
    const { id } = await unboundUser(company);
    const permissionId = await createPermission(company);
    const ids: string[] = [];
    for (let count = 0; count < 100; count += 1) {
      ids.push((await createConsoleGroup(company, { permissionIds: [permissionId] }))._id);
    }
    const manager = await createAllowedUser(company, { can: ['users:*', 'groups:*', 'permissions:*'] });
    const { status, body } = await manager.as.put(`/v1/users/${id}/groups`, { json: { group_ids: ids } });
    expect([status, body.group_ids]).toEqual([200, ids.toSorted()]);
    expect((await company.as.get('/v1/users?include=groups&per_page=100')).status).toBe(200);
  });
});

describe('the users of the organization API', () => {
  const createAdmin = () => createSignedCaller(company.apiKey);

  it('are in the groups that the console added them to, within the default account', async () => {
    const { id } = await unboundUser(company);
    const { _id: groupId } = await createConsoleGroup(company);
    await addToGroups(company, id, groupId);
    const { results } = await expectSuccess(createAdmin().get(`/groups/${groupId}/bindings`));
    expect(results).toMatchObject([{ principal_type: 'user', principal_id: id, account_id: company.accountId }]);
    expect(
      (await createAdmin().get(`/users?account_id=${company.accountId}&quantity=100`)).body.results,
    ).toContainEqual(expect.objectContaining({ id }));
    await sendGroups('put', id, []);
    expect((await createAdmin().get(`/groups/${groupId}/bindings`)).body.total).toBe(0);
  });

  it('are counted once, and enter and leave a group on the console within the default account alone', async () => {
    const { id, email } = await unboundUser(company);
    const { _id: groupId } = await createConsoleGroup(company);
    const readVersion = async () => (await getUser(id)).headers.get('etag');
    const versionBefore = await readVersion();
    const { id: account } = await expectSuccess(createAdmin().post('/accounts', { json: { name: 'second' } }));
    await bindUser(company, groupId, id, account);
    const listBoundAccounts = async () =>
      (await expectSuccess(createAdmin().get(`/groups/${groupId}/bindings`))).results.map(
        (binding: { account_id: string }) => binding.account_id,
      );
    expect(await readGroupIds(id)).toEqual([]);
    expect((await expectSuccess(company.as.get(`/v1/users?group_id=${groupId}`))).total).toBe(0);
    const { records: foundUsers } = await expectSuccess(company.as.get(`/v1/users?include=groups&search=${email}`));
    expect(foundUsers).toMatchObject([{ _id: id, group_ids: [], groups: [] }]);
    expect(await readVersion()).toBe(versionBefore);

    expect((await addToGroups(company, id, groupId)).group_ids).toEqual([groupId]);
    expect((await listBoundAccounts()).toSorted()).toEqual([account, company.accountId].toSorted());
    expect((await createAdmin().get(`/groups/${groupId}`)).body.member_count).toBe(1);
    const { records } = await expectSuccess(company.as.get(`/v1/users?include=groups&group_id=${groupId}`));
    expect(records).toMatchObject([{ _id: id, group_ids: [groupId], groups: [{ _id: groupId }] }]);
    for (const method of ['delete', 'put'] as const) {
      await addToGroups(company, id, groupId);
      expect((await sendGroups(method, id, method === 'put' ? [] : [groupId])).body.group_ids).toEqual([]);
      expect(await listBoundAccounts()).toEqual([account]);
    }
    expect((await createAdmin().get(`/groups/${groupId}`)).body.member_count).toBe(1);

    // What the default account is decides.
    await expectSuccess(createAdmin().patch(`/accounts/${account}`, { json: { is_default: true } }));
    expect([await readGroupIds(id), (await readVersion()) === versionBefore]).toEqual([[groupId], false]);
    await expectSuccess(createAdmin().patch(`/accounts/${company.accountId}`, { json: { is_default: true } }));
    expect([await readGroupIds(id), await readVersion()]).toEqual([[], versionBefore]);
  });

  it('have the same status as on the console', async () => {
    const createdUser = await unboundUser(company);
    expect((await getUser(createdUser.id)).body).toMatchObject({
      status: 'active',
      name: createdUser.email.split('@')[0],
    });
    await company.as.post(`/v1/users/${createdUser.id}/deactivate`);
    expect((await createAdmin().get(`/users/${createdUser.id}`)).body).toMatchObject({
      is_active: false,
      is_verified: false,
    });
    await expectSuccess(createAdmin().patch(`/users/${createdUser.id}`, { json: { is_active: true } }));
    expect((await getUser(createdUser.id)).body.status).toBe('active');

    const json = { email: `both@${company.slug}.test` };
    const invitedUser = await expectSuccess(company.as.post('/v1/users/invite', { json }));
    expect((await createAdmin().get(`/users/${invitedUser._id}`)).body).toMatchObject({
      is_active: false,
      is_verified: false,
    });
    expect((await createAdmin().patch(`/users/${invitedUser._id}`, { json: { is_active: true } })).status).toBe(409);
    await expectSuccess(createAdmin().delete(`/users/${invitedUser._id}`));
    expect(readStatusAndCode(await getUser(invitedUser._id))).toEqual([404, 'USER_NOT_FOUND']);
    expect((await company.as.get('/v1/users?per_page=100')).body.records).not.toContainEqual(
      expect.objectContaining({ _id: invitedUser._id }),
    );
  });

  it('cannot accept their invitation once set to inactive, and can be invited again', async () => {
    const email = `ended@${company.slug}.test`;
    const { user } = await inviteUser(company, email);
    const readToken = () => readLink(readNewestMail(email)).searchParams.get('token');
    const token = readToken();
    const acceptInvitation = (token: string | null) =>
      callApi('POST', '/v1/users/accept-invitation', { json: { token, password: 'chosen-by-the-invited' } });
    for (let round = 0; round < 2; round += 1) {
      const answer = await createAdmin().patch(`/users/${user.id}`, { json: { is_active: false } });
      expect([answer.status, answer.body.is_active]).toEqual([200, false]);
      expect(readStatusAndCode(await acceptInvitation(token))).toEqual([400, 'INVALID_INVITATION_TOKEN']);
    }
    expect(readStatusAndCode(await company.as.post(`/v1/users/${user.id}/deactivate`))).toEqual([
      409,
      'USER_STILL_INVITED',
    ]);
    expect((await getUser(user.id)).body.status).toBe('invited');
    await inviteUser(company, email);
    await expectSuccess(acceptInvitation(readToken()));
    expect((await getUser(user.id)).body.status).toBe('active');
  });
});
