import { describe, expect, it } from 'vitest';
import { column, createTable } from '../managed-tables/support.ts';
import { makePath, operator } from '../organizations/looking.ts';
import type { Caller } from '../support/api.ts';
import { addToGroups, createConsoleGroup, createPermission } from '../support/console.ts';
import { sendOvertaken } from '../support/rival.ts';
import { aGroup, allow, aPolicy, aServiceAccount, aUser, bind, must, signed } from '../support/signed.ts';
import { aCompany, aProvisionedCompany, type Company, logIn, PASSWORD } from '../support/worlds.ts';
import { describeVersions } from './held.ts';
import { IDENTITY_KINDS } from './kinds.ts';

describeVersions(IDENTITY_KINDS);

const tagOf = async (by: Caller, path: string) => (await by.get(path)).headers.get('etag') as string;

describe('the version (ETag) of a record', () => {
  it('changes with every visible change, by whichever API it is made', async () => {
    const company = await aCompany();
    const { as } = company;
    const admin = signed(company.apiKey);
    const policyId = await aPolicy(company, [allow('users:ListUsers')]);
    const groupId = (await createConsoleGroup(company))._id;
    const { id: userId } = await aUser(company);
    const changing: [Caller, string, () => Promise<unknown>][] = [
      [admin, `/groups/${groupId}`, () => as.post(`/v1/groups/${groupId}/policies/${policyId}`)],
      [as, `/v1/groups/${groupId}`, () => admin.delete(`/groups/${groupId}/policies/${policyId}`)],
      [
        as,
        `/v1/groups/${groupId}`,
        async () =>
          as.post(`/v1/groups/${groupId}/permissions`, { json: { permissionIds: [await createPermission(company)] } }),
      ],
      [as, `/v1/users/${userId}`, () => addToGroups(company, userId, groupId)],
      [as, `/v1/users/${userId}`, () => admin.delete(`/groups/${groupId}`)],
      [admin, `/users/${userId}`, () => admin.patch(`/users/${userId}`, { json: { is_active: false } })],
    ];
    for (const [by, path, change] of changing) {
      const before = await tagOf(by, path);
      expect(await tagOf(by, path)).toBe(before);
      await change();
      expect([path, await tagOf(by, path)]).not.toEqual([path, before]);
    }
  });

  it('does not change with times of last use and counters, even during a write', async () => {
    const company = await aCompany();
    const admin = signed(company.apiKey);
    const robot = await aServiceAccount(company);
    const path = `/service-accounts/${robot.id}`;
    const tag = await tagOf(admin, path);
    await signed(robot.key).get('/users');
    expect((await admin.get(path)).body.last_used_at).not.toBeNull();
    expect(await tagOf(admin, path)).toBe(tag);
    const { id: userId, email, password } = await aUser(company);
    const ofUser = [await tagOf(admin, `/users/${userId}`), await tagOf(company.as, `/v1/users/${userId}`)];
    expect((await logIn(company.slug, email, password)).status).toBe(200);
    expect((await admin.get(`/users/${userId}`)).body.last_login_at).not.toBeNull();
    expect([await tagOf(admin, `/users/${userId}`), await tagOf(company.as, `/v1/users/${userId}`)]).toEqual(ofUser);
    const groupId = await aGroup(company);
    const groupTag = await tagOf(admin, `/groups/${groupId}`);
    const renamed = await sendOvertaken(
      /^update "groups"/,
      async () => bind(company, groupId, (await aUser(company)).id),
      (env) =>
        admin.patch(`/groups/${groupId}`, { json: { name: 'Of one now' }, headers: { 'If-Match': groupTag }, env }),
    );
    expect([renamed.status, renamed.body.name, renamed.body.member_count]).toEqual([200, 'Of one now', 1]);
  });

  it('does not change with the measured sizes of an organization, even during a write', async () => {
    const company = await aProvisionedCompany();
    const path = makePath(company);
    const tag = await tagOf(operator, path);
    const json = { name: 'Of one table now' };
    const renamed = await sendOvertaken(
      /^update "companies"/,
      async () => {
        await createTable(company.as, 'measured', [column('city')]);
        await must(operator.get(path));
      },
      (env) => operator.patch(path, { json, headers: { 'If-Match': tag }, env }),
    );
    expect(renamed).toMatchObject({ status: 200, body: { ...json, usage: { tables: 1 } } });
  });

  it.each([
    ['accounts', () => ({ name: 'Left' })],
    ['service-accounts', ({ accountId }: Company) => ({ name: 'Left', account_id: accountId })],
    ['groups', () => ({ name: 'Left' })],
    ['users', () => ({ email: 'left@left.test', password: PASSWORD })],
  ])('in a second deletion leaves the answer that the record is already deleted: %s', async (kind, makeBody) => {
    const company = await aCompany();
    const admin = signed(company.apiKey);
    const { id } = await must(admin.post(`/${kind}`, { json: makeBody(company) }));
    const headers = { 'If-Match': await tagOf(admin, `/${kind}/${id}`) };
    const remove = (of = id) => admin.delete(`/${kind}/${of}`, { headers });
    const together = await Promise.all([remove(), remove(), remove()]);
    expect(together.map(({ status }) => status).toSorted()).toEqual([204, 400, 400]);
    const later = await remove();
    expect([later.status, later.body.error]).toEqual([400, 'AlreadyDeleted']);
    expect((await remove('0'.repeat(24))).status).toBe(404);
  });

  it('is refused when an If-Match is malformed', async () => {
    const company = await aCompany();
    const groupId = (await createConsoleGroup(company))._id;
    for (const tag of ['abc', '"abc', '"a" "b"', 'W/', '"a", b', '*, "a"', ',']) {
      const { status, body } = await company.as.put(`/v1/groups/${groupId}`, {
        json: { name: 'Renamed' },
        headers: { 'If-Match': tag },
      });
      expect([tag, status, body.details?.[0]?.field]).toEqual([tag, 422, 'If-Match']);
    }
    const known = await company.as.get(`/v1/groups/${groupId}`, { headers: { 'If-None-Match': 'abc' } });
    expect(known.status).toBe(200);
  });

  it('is compared only after authentication and only for records of the company', async () => {
    const company = await aCompany();
    const other = await aCompany();
    const groupId = (await createConsoleGroup(company))._id;
    const headers = { 'If-Match': '"00000000000000000000000000000000"' };
    const put = (as: Caller, id: string) => as.put(`/v1/groups/${id}`, { json: { name: 'Theirs' }, headers });
    expect((await put(other.as, groupId)).status).toBe(404);
    expect((await put(company.as, 'f'.repeat(24))).status).toBe(404);
    const nobody = await company.as.put(`/v1/groups/${groupId}`, {
      json: { name: 'Theirs' },
      headers: { ...headers, authorization: 'Bearer nobody' },
    });
    expect(nobody.status).toBe(401);
  });
});
