import { beforeAll, describe, expect, it } from 'vitest';
import type { Caller } from '../support/api.ts';
import {
  addToGroups,
  createConsoleGroup,
  createPermission,
  makeGroupInput,
  readGlobalGroups,
  readStatusAndCode,
} from '../support/console.ts';
import { countRows, selectRow, sendOvertaken } from '../support/rival.ts';
import { aGroup, allow, aPolicy, aServiceAccount, aUser, bind, must, signed } from '../support/signed.ts';
import { aUser as aColleague, aCompany, type Company } from '../support/worlds.ts';

let company: Company;
let admin: Caller;
let asOwner: Company['as'];
beforeAll(async () => {
  company = await aCompany();
  admin = signed(company.apiKey);
  asOwner = company.as;
});

const createAccount = async (name: string): Promise<string> =>
  (await must(admin.post('/accounts', { json: { name } }))).id;
const listBound = (groupId: string) => countRows('group_bindings where group_id = ?', groupId);
const listAttached = (groupId: string) => countRows('group_policies where group_id = ?', groupId);
const listPermissions = (groupId: string) => countRows('group_permissions where group_id = ?', groupId);

describe('the binding of a principal to a group', () => {
  const entering = /^insert into "group_bindings"/;
  const binding = (groupId: string, principal_id: string, account_id = company.accountId, principal_type = 'user') =>
    ({
      path: `/groups/${groupId}/bindings`,
      json: { principal_type, principal_id, account_id },
    }) as const;
  const bindOvertaken = async ({ path, json }: ReturnType<typeof binding>, rival: () => Promise<unknown>) => {
    const { status, body } = await sendOvertaken(entering, rival, (env) => admin.post(path, { json, env }));
    return [status, body.error, body.details?.field];
  };

  it('is answered 404 when the group is deleted meanwhile', async () => {
    const [groupId, user] = [await aGroup(company), await aUser(company)];
    const answer = await bindOvertaken(binding(groupId, user.id), () => must(admin.delete(`/groups/${groupId}`)));
    expect(answer).toEqual([404, 'NotFound', 'id']);
    expect(await listBound(groupId)).toBe(0);
  });

  it('is answered 404 when the user is deleted meanwhile', async () => {
    const [groupId, user] = [await aGroup(company), await aUser(company)];
    const answer = await bindOvertaken(binding(groupId, user.id), () => must(admin.delete(`/users/${user.id}`)));
    expect(answer).toEqual([404, 'NotFound', 'principal_id']);
    expect(await listBound(groupId)).toBe(0);
  });

  it('is answered 404 when the service account is deleted meanwhile', async () => {
    const [groupId, robot] = [await aGroup(company), await aServiceAccount(company)];
    const answer = await bindOvertaken(binding(groupId, robot.id, robot.accountId, 'service_account'), () =>
      must(admin.delete(`/service-accounts/${robot.id}`)),
    );
    expect(answer).toEqual([404, 'NotFound', 'principal_id']);
    expect(await listBound(groupId)).toBe(0);
  });

  it('is answered 404 when the account is deleted meanwhile', async () => {
    const [groupId, user] = [await aGroup(company), await aUser(company)];
    const accountId = await createAccount('Gone before anybody is bound');
    const answer = await bindOvertaken(binding(groupId, user.id, accountId), () =>
      must(admin.delete(`/accounts/${accountId}`)),
    );
    expect(answer).toEqual([404, 'NotFound', 'account_id']);
    expect(await listBound(groupId)).toBe(0);
  });

  it('is answered 409 when somebody else makes the same meanwhile', async () => {
    const [groupId, user] = [await aGroup(company), await aUser(company)];
    const answer = await bindOvertaken(binding(groupId, user.id), () => bind(company, groupId, user.id));
    expect(answer).toEqual([409, 'AlreadyExists', 'principal_id']);
    expect(await listBound(groupId)).toBe(1);
  });
});

describe('the attachment of a policy to a group', () => {
  const attach = (groupId: string, policyId: string, rival: () => Promise<unknown>) =>
    sendOvertaken(/^insert into "group_policies"/, rival, (env) =>
      asOwner.post(`/v1/groups/${groupId}/policies/${policyId}`, { env }),
    );

  it('is answered 404 when the group is deleted meanwhile', async () => {
    const [groupId, policyId] = [await aGroup(company), await aPolicy(company, [allow('users:ListUsers')])];
    const answer = await attach(groupId, policyId, () => must(admin.delete(`/groups/${groupId}`)));
    expect(readStatusAndCode(answer)).toEqual([404, 'GROUP_NOT_FOUND']);
    expect(await listAttached(groupId)).toBe(0);
  });

  it('is answered 404 when the policy is deleted meanwhile', async () => {
    const [groupId, policyId] = [await aGroup(company), await aPolicy(company, [allow('users:ListUsers')])];
    const answer = await attach(groupId, policyId, () => must(asOwner.delete(`/v1/policies/${policyId}`)));
    expect(readStatusAndCode(answer)).toEqual([404, 'POLICY_NOT_FOUND']);
    expect(await listAttached(groupId)).toBe(0);
  });

  it('is made once when somebody else makes it meanwhile', async () => {
    const [groupId, policyId] = [await aGroup(company), await aPolicy(company, [allow('users:ListUsers')])];
    const path = `/v1/groups/${groupId}/policies/${policyId}`;
    expect((await attach(groupId, policyId, () => must(asOwner.post(path)))).status).toBe(204);
    expect(await listAttached(groupId)).toBe(1);
  });
});

describe('legacy permissions of a group', () => {
  it('keep a group from being made when one of them is deleted meanwhile', async () => {
    const [stays, goes] = [await createPermission(company), await createPermission(company)];
    const json = makeGroupInput({ permissionIds: [stays, goes] });
    const rival = () => must(asOwner.delete(`/v1/permissions/${goes}`));
    const answer = await sendOvertaken(/^insert into "groups"/, rival, (env) =>
      asOwner.post('/v1/groups', { json, env }),
    );
    expect(readStatusAndCode(answer)).toEqual([404, 'PERMISSION_NOT_FOUND']);
    expect(await countRows('groups where slug = ?', json.slug)).toBe(0);
    expect(await countRows('group_permissions where permission_id = ?', stays)).toBe(0);
  });

  it('are not added to a group that is deleted meanwhile', async () => {
    const [group, permissionId] = [await createConsoleGroup(company), await createPermission(company)];
    const answer = await sendOvertaken(
      /^insert into "group_permissions"/,
      () => must(asOwner.delete(`/v1/groups/${group._id}`)),
      (env) => asOwner.post(`/v1/groups/${group._id}/permissions`, { json: { permissionIds: [permissionId] }, env }),
    );
    expect(readStatusAndCode(answer)).toEqual([404, 'GROUP_NOT_FOUND']);
    expect(await listPermissions(group._id)).toBe(0);
  });

  it('are added once when somebody else adds the same meanwhile', async () => {
    const [group, permissionId] = [await createConsoleGroup(company), await createPermission(company)];
    const [path, json] = [`/v1/groups/${group._id}/permissions`, { permissionIds: [permissionId] }];
    const answer = await sendOvertaken(
      /^insert into "group_permissions"/,
      () => must(asOwner.post(path, { json })),
      (env) => asOwner.post(path, { json, env }),
    );
    expect([answer.status, answer.body.permissionIds]).toEqual([200, [permissionId]]);
  });
});

describe('the addition of a user to groups', () => {
  const joining = /^insert into "group_bindings"/;
  const join = (userId: string, groupIds: string[], rival: () => Promise<unknown>) =>
    sendOvertaken(joining, rival, (env) =>
      asOwner.post(`/v1/users/${userId}/groups`, { json: { group_ids: groupIds }, env }),
    );

  it('is answered 404 when a group is deleted meanwhile', async () => {
    const [user, group] = [await aUser(company), await createConsoleGroup(company)];
    const answer = await join(user.id, [group._id], () => must(asOwner.delete(`/v1/groups/${group._id}`)));
    expect(readStatusAndCode(answer)).toEqual([404, 'GROUP_NOT_FOUND']);
    expect(await listBound(group._id)).toBe(0);
  });

  it('is answered 404 when the user is deleted meanwhile', async () => {
    const [user, group] = [await aUser(company), await createConsoleGroup(company)];
    const answer = await join(user.id, [group._id], () => must(admin.delete(`/users/${user.id}`)));
    expect(readStatusAndCode(answer)).toEqual([404, 'USER_NOT_FOUND']);
    expect(await listBound(group._id)).toBe(0);
  });

  it('checks the permission again for a membership that was removed meanwhile', async () => {
    const policyId = await aPolicy(company, [allow('*')]);
    const [powerful, member, user] = [await aGroup(company, policyId), await aUser(company), await aUser(company)];
    await addToGroups(company, user.id, powerful);
    await addToGroups(company, member.id, powerful);
    const { as: helper } = await aColleague(company, { can: ['users:assign_groups'] });
    const answer = await sendOvertaken(
      joining,
      () => must(asOwner.delete(`/v1/users/${user.id}/groups`, { json: { group_ids: [powerful] } })),
      (env) => helper.post(`/v1/users/${user.id}/groups`, { json: { group_ids: [powerful] }, env }),
    );
    expect(answer.status).toBe(403);
    expect(await listBound(powerful)).toBe(1);
  });
});

describe('a group', () => {
  it('keeps its members and policies if it is a global one that somebody tries to delete', async () => {
    const [{ viewers }, user, permissionId] = [
      await readGlobalGroups(company),
      await aUser(company),
      await createPermission(company),
    ];
    await addToGroups(company, user.id, viewers);
    await must(asOwner.post(`/v1/groups/${viewers}/permissions`, { json: { permissionIds: [permissionId] } }));
    expect((await asOwner.delete(`/v1/groups/${viewers}`)).status).toBe(400);
    expect([await listBound(viewers), await listAttached(viewers), await listPermissions(viewers)]).toEqual([1, 1, 1]);
    expect((await asOwner.put(`/v1/groups/${viewers}`, { json: { name: 'Renamed' } })).status).toBe(400);
  });

  it('is not changed once it is deleted', async () => {
    const id = await aGroup(company);
    const answer = await sendOvertaken(
      /^update "groups"/,
      () => must(admin.delete(`/groups/${id}`)),
      (env) => admin.patch(`/groups/${id}`, { json: { name: 'Renamed after its end' }, env }),
    );
    expect(answer.status).toBe(404);
    expect(await selectRow('select name from groups where id = ?', id)).not.toEqual({ name: 'Renamed after its end' });
  });

  it('is deleted once by two requests at the same time', async () => {
    const id = await aGroup(company);
    const rival = () => must(admin.delete(`/groups/${id}`));
    const answer = await sendOvertaken(/^update "groups"/, rival, (env) => admin.delete(`/groups/${id}`, { env }));
    expect([answer.status, answer.body.details.reason]).toEqual([400, 'already_deleted']);
  });

  it('is refused a name or slug that another group takes meanwhile', async () => {
    for (const taken of ['name', 'slug'] as const) {
      const rival = makeGroupInput();
      const json = makeGroupInput({ [taken]: rival[taken] });
      const answer = await sendOvertaken(
        /^insert into "groups"/,
        () => must(asOwner.post('/v1/groups', { json: rival })),
        (env) => asOwner.post('/v1/groups', { json, env }),
      );
      expect(answer.status).toBe(409);
      expect(await countRows(`groups where ${taken} = ?`, rival[taken])).toBe(1);
    }
  });

  it('gets another slug when another group takes the one of its name meanwhile', async () => {
    const answer = await sendOvertaken(
      /^insert into "groups"/,
      () => must(admin.post('/groups', { json: { name: 'Same slug!' } })),
      (env) => admin.post('/groups', { json: { name: 'Same slug?' }, env }),
    );
    expect(answer.status).toBe(201);
    expect(await countRows("groups where slug like 'same-slug%'")).toBe(2);
  });
});
