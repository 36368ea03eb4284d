import { describe, expect, it } from 'vitest';
import { createAllowedUser as aColleague, createOwnedCompany } from '../support/companies.ts';
import {
  addToGroups,
  createConsoleGroup,
  createPermission,
  makeGroupInput,
  readGlobalGroups,
  readStatusAndCode,
} from '../support/console.ts';
import { countRows, selectRow, sendDuringRace, sendTwice } from '../support/race.ts';
import {
  bindUser,
  createGrouplessUser,
  createKeyedAccount,
  createPolicyGroup,
  createSignedCaller,
  expectSuccess,
  makeAllow,
  storePolicy,
} from '../support/signed.ts';

const company = await createOwnedCompany();
const admin = createSignedCaller(company.apiKey);
const ownerCaller = company.as;

const createAccount = async (name: string): Promise<string> =>
  (await expectSuccess(admin.post('/accounts', { json: { name } }))).id;
const countBindings = (groupId: string) => countRows('group_bindings where group_id = ?', groupId);
const countAttachedPolicies = (groupId: string) => countRows('group_policies where group_id = ?', groupId);
const countPermissions = (groupId: string) => countRows('group_permissions where group_id = ?', groupId);

describe('the binding of a principal to a group', () => {
  const bindDuringRace = async (groupId: string, json: object, runConcurrently: () => Promise<unknown>) => {
    const { status, body } = await sendDuringRace(/^insert into "group_bindings"/, runConcurrently, (env) =>
      admin.post(`/groups/${groupId}/bindings`, { json, env }),
    );
    return [status, body.error, body.details?.field];
  };

  it.each([
    ['group', 'user', 'id'],
    ['user', 'user', 'principal_id'],
    ['service-account', 'service_account', 'principal_id'],
    ['account', 'user', 'account_id'],
  ])('is answered 404 when the %s is deleted meanwhile', async (deletedKind, principal_type, field) => {
    const id = await createPolicyGroup(company);
    const create = principal_type === 'user' ? createGrouplessUser : createKeyedAccount;
    const { id: principal_id } = await create(company);
    const account_id =
      deletedKind === 'account' ? await createAccount('Gone before anybody is bound') : company.accountId;
    const ids: Record<string, string> = { id, principal_id, account_id };
    const answer = await bindDuringRace(id, { principal_type, principal_id, account_id }, () =>
      expectSuccess(admin.delete(`/${deletedKind}s/${ids[field]}`)),
    );
    expect(answer).toEqual([404, 'NotFound', field]);
    expect(await countBindings(id)).toBe(0);
  });

  it('is answered 409 when another request makes the same binding meanwhile', async () => {
    const [groupId, user] = [await createPolicyGroup(company), await createGrouplessUser(company)];
    const json = { principal_type: 'user', principal_id: user.id, account_id: company.accountId };
    const answer = await bindDuringRace(groupId, json, () => bindUser(company, groupId, user.id));
    expect(answer).toEqual([409, 'AlreadyExists', 'principal_id']);
    expect(await countBindings(groupId)).toBe(1);
  });
});

describe('the attachment of a policy to a group', () => {
  it.each<[string, 'post' | 'delete', string, unknown[], number]>([
    ['answered 404 when the group is deleted', 'delete', '/v1/groups/{group}', [404, 'GROUP_NOT_FOUND'], 0],
    ['answered 404 when the policy is deleted', 'delete', '/v1/policies/{policy}', [404, 'POLICY_NOT_FOUND'], 0],
    ['made once when another request makes it', 'post', '/v1/groups/{group}/policies/{policy}', [204, undefined], 1],
  ])('is %s meanwhile', async (_what, method, concurrentPath, expectedAnswer, attachedCount) => {
    const groupId = await createPolicyGroup(company);
    const policyId = await storePolicy(company, [makeAllow('users:ListUsers')]);
    const path = concurrentPath.replace('{group}', groupId).replace('{policy}', policyId);
    const answer = await sendDuringRace(
      /^insert into "group_policies"/,
      () => expectSuccess(ownerCaller[method](path)),
      (env) => ownerCaller.post(`/v1/groups/${groupId}/policies/${policyId}`, { env }),
    );
    expect(readStatusAndCode(answer)).toEqual(expectedAnswer);
    expect(await countAttachedPolicies(groupId)).toBe(attachedCount);
  });
});

describe('legacy permissions of a group', () => {
  it('prevent the creation of a group when one of them is deleted meanwhile', async () => {
    const [stays, goes] = [await createPermission(company), await createPermission(company)];
    const json = makeGroupInput({ permissionIds: [stays, goes] });
    const deleteConcurrently = () => expectSuccess(ownerCaller.delete(`/v1/permissions/${goes}`));
    const answer = await sendDuringRace(/^insert into "groups"/, deleteConcurrently, (env) =>
      ownerCaller.post('/v1/groups', { json, env }),
    );
    expect(readStatusAndCode(answer)).toEqual([404, 'PERMISSION_NOT_FOUND']);
    expect(await countRows('groups where slug = ?', json.slug)).toBe(0);
    expect(await countRows('group_permissions where permission_id = ?', stays)).toBe(0);
  });

  it('are not added to a group that is deleted meanwhile', async () => {
    const [group, permissionId] = [await createConsoleGroup(company), await createPermission(company)];
    const answer = await sendDuringRace(
      /^insert into "group_permissions"/,
      () => expectSuccess(ownerCaller.delete(`/v1/groups/${group._id}`)),
      (env) =>
        ownerCaller.post(`/v1/groups/${group._id}/permissions`, { json: { permissionIds: [permissionId] }, env }),
    );
    expect(readStatusAndCode(answer)).toEqual([404, 'GROUP_NOT_FOUND']);
    expect(await countPermissions(group._id)).toBe(0);
  });

  it('are added once when another request adds the same permissions meanwhile', async () => {
    const [group, permissionId] = [await createConsoleGroup(company), await createPermission(company)];
    const [path, json] = [`/v1/groups/${group._id}/permissions`, { permissionIds: [permissionId] }];
    const answer = await sendTwice(/^insert into "group_permissions"/, (env) => ownerCaller.post(path, { json, env }));
    expect([answer.status, answer.body.permissionIds]).toEqual([200, [permissionId]]);
  });
});

describe('the addition of a user to groups', () => {
  const BINDING_INSERT_PATTERN = /^insert into "group_bindings"/;

  it.each(['group', 'user'])('is answered 404 when the %s is deleted meanwhile', async (deletedKind) => {
    const [user, group] = [await createGrouplessUser(company), await createConsoleGroup(company)];
    const deleteConcurrently = () =>
      deletedKind === 'group' ? ownerCaller.delete(`/v1/groups/${group._id}`) : admin.delete(`/users/${user.id}`);
    const answer = await sendDuringRace(
      BINDING_INSERT_PATTERN,
      () => expectSuccess(deleteConcurrently()),
      (env) => ownerCaller.post(`/v1/users/${user.id}/groups`, { json: { group_ids: [group._id] }, env }),
    );
    expect(readStatusAndCode(answer)).toEqual([404, `${deletedKind.toUpperCase()}_NOT_FOUND`]);
    expect(await countBindings(group._id)).toBe(0);
  });

  it('checks the permission again for a membership that was removed meanwhile', async () => {
    const policyId = await storePolicy(company, [makeAllow('*')]);
    const [powerful, member, user] = [
      await createPolicyGroup(company, policyId),
      await createGrouplessUser(company),
      await createGrouplessUser(company),
    ];
    await addToGroups(company, user.id, powerful);
    await addToGroups(company, member.id, powerful);
    const { as: assigner } = await aColleague(company, { can: ['users:assign_groups'] });
    const answer = await sendDuringRace(
      BINDING_INSERT_PATTERN,
      () => expectSuccess(ownerCaller.delete(`/v1/users/${user.id}/groups`, { json: { group_ids: [powerful] } })),
      (env) => assigner.post(`/v1/users/${user.id}/groups`, { json: { group_ids: [powerful] }, env }),
    );
    expect(answer.status).toBe(403);
    expect(await countBindings(powerful)).toBe(1);
  });
});

describe('a group', () => {
  it('keeps its members and policies if it is a global group that a caller tries to delete', async () => {
    const [{ viewers }, user, permissionId] = [
      await readGlobalGroups(company),
      await createGrouplessUser(company),
      await createPermission(company),
    ];
    await addToGroups(company, user.id, viewers);
    await expectSuccess(
      ownerCaller.post(`/v1/groups/${viewers}/permissions`, { json: { permissionIds: [permissionId] } }),
    );
    expect((await ownerCaller.delete(`/v1/groups/${viewers}`)).status).toBe(400);
    expect([
      await countBindings(viewers),
      await countAttachedPolicies(viewers),
      await countPermissions(viewers),
    ]).toEqual([1, 1, 1]);
    expect((await ownerCaller.put(`/v1/groups/${viewers}`, { json: { name: 'Renamed' } })).status).toBe(400);
  });

  it('is not changed once it is deleted', async () => {
    const id = await createPolicyGroup(company);
    const answer = await sendDuringRace(
      /^update "groups"/,
      () => expectSuccess(admin.delete(`/groups/${id}`)),
      (env) => admin.patch(`/groups/${id}`, { json: { name: 'Renamed after its end' }, env }),
    );
    expect(answer.status).toBe(404);
    expect(await selectRow('select name from groups where id = ?', id)).not.toEqual({ name: 'Renamed after its end' });
  });

  it('is deleted once by two requests at the same time', async () => {
    const id = await createPolicyGroup(company);
    const deleteConcurrently = () => expectSuccess(admin.delete(`/groups/${id}`));
    const answer = await sendDuringRace(/^update "groups"/, deleteConcurrently, (env) =>
      admin.delete(`/groups/${id}`, { env }),
    );
    expect([answer.status, answer.body.details.reason]).toEqual([400, 'already_deleted']);
  });

  it('is refused a name or slug that another group takes meanwhile', async () => {
    for (const takenField of ['name', 'slug'] as const) {
      const concurrentGroup = makeGroupInput();
      const json = makeGroupInput({ [takenField]: concurrentGroup[takenField] });
      const answer = await sendDuringRace(
        /^insert into "groups"/,
        () => expectSuccess(ownerCaller.post('/v1/groups', { json: concurrentGroup })),
        (env) => ownerCaller.post('/v1/groups', { json, env }),
      );
      expect(answer.status).toBe(409);
      expect(await countRows(`groups where ${takenField} = ?`, concurrentGroup[takenField])).toBe(1);
    }
  });

  it('gets another slug when another group takes the slug of its name meanwhile', async () => {
    const answer = await sendDuringRace(
      /^insert into "groups"/,
      () => expectSuccess(admin.post('/groups', { json: { name: 'Same slug!' } })),
      (env) => admin.post('/groups', { json: { name: 'Same slug?' }, env }),
    );
    expect(answer.status).toBe(201);
    expect(await countRows("groups where slug like 'same-slug%'")).toBe(2);
  });
});
