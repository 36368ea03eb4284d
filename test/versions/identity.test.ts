import { describe, expect, it } from 'vitest';
import { createTable, makeColumn } from '../managed-tables/support.ts';
import { makePath, operator } from '../organizations/support.ts';
import type { Caller } from '../support/api.ts';
import { type Company, createOwnedCompany, createProvisionedCompany, logIn, PASSWORD } from '../support/companies.ts';
import { addToGroups, createConsoleGroup, createPermission } from '../support/console.ts';
import { sendDuringRace } from '../support/race.ts';
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
import { describeVersions } from './describe-versions.ts';
import { IDENTITY_KINDS } from './kinds.ts';

describeVersions(IDENTITY_KINDS);

const readTag = async (by: Caller, path: string) => (await by.get(path)).headers.get('etag') as string;

describe('the version (ETag) of a record', () => {
  it('changes with every visible change, by whichever API it is made', async () => {
    const company = await createOwnedCompany();
    const { as } = company;
    const admin = createSignedCaller(company.apiKey);
    const policyId = await storePolicy(company, [makeAllow('users:ListUsers')]);
    const groupId = (await createConsoleGroup(company))._id;
    const { id: userId } = await createGrouplessUser(company);
    const visibleChanges: [Caller, string, () => Promise<unknown>][] = [
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
    for (const [by, path, change] of visibleChanges) {
      const tagBefore = await readTag(by, path);
      expect(await readTag(by, path)).toBe(tagBefore);
      await change();
      expect([path, await readTag(by, path)]).not.toEqual([path, tagBefore]);
    }
  });

  it('does not change with times of last use and counters, even during a write', async () => {
    const company = await createOwnedCompany();
    const admin = createSignedCaller(company.apiKey);
    const serviceAccount = await createKeyedAccount(company);
    const path = `/service-accounts/${serviceAccount.id}`;
    const tag = await readTag(admin, path);
    await createSignedCaller(serviceAccount.key).get('/users');
    expect((await admin.get(path)).body.last_used_at).not.toBeNull();
    expect(await readTag(admin, path)).toBe(tag);
    const { id: userId, email, password } = await createGrouplessUser(company);
    const userTags = [await readTag(admin, `/users/${userId}`), await readTag(company.as, `/v1/users/${userId}`)];
    expect((await logIn(company.slug, email, password)).status).toBe(200);
    expect((await admin.get(`/users/${userId}`)).body.last_login_at).not.toBeNull();
    expect([await readTag(admin, `/users/${userId}`), await readTag(company.as, `/v1/users/${userId}`)]).toEqual(
      userTags,
    );
    const groupId = await createPolicyGroup(company);
    const groupTag = await readTag(admin, `/groups/${groupId}`);
    const renamedGroup = await sendDuringRace(
      /^update "groups"/,
      async () => bindUser(company, groupId, (await createGrouplessUser(company)).id),
      (env) =>
        admin.patch(`/groups/${groupId}`, { json: { name: 'Of one now' }, headers: { 'If-Match': groupTag }, env }),
    );
    expect([renamedGroup.status, renamedGroup.body.name, renamedGroup.body.member_count]).toEqual([
      200,
      'Of one now',
      1,
    ]);
  });

  it('does not change with the measured sizes of an organization, even during a write', async () => {
    const company = await createProvisionedCompany();
    const path = makePath(company);
    const tag = await readTag(operator, path);
    const json = { name: 'Of one table now' };
    const renamedOrganization = await sendDuringRace(
      /^update "companies"/,
      async () => {
        await createTable(company.as, 'measured', [makeColumn('city')]);
        await expectSuccess(operator.get(path));
      },
      (env) => operator.patch(path, { json, headers: { 'If-Match': tag }, env }),
    );
    expect(renamedOrganization).toMatchObject({ status: 200, body: { ...json, usage: { tables: 1 } } });
  });

  it.each([
    ['accounts', () => ({ name: 'Left' })],
    ['service-accounts', ({ accountId }: Company) => ({ name: 'Left', account_id: accountId })],
    ['groups', () => ({ name: 'Left' })],
    ['users', () => ({ email: 'left@left.test', password: PASSWORD })],
  ])(
    'does not replace the error of a second deletion, that the record is already deleted: %s',
    async (kind, makeBody) => {
      const company = await createOwnedCompany();
      const admin = createSignedCaller(company.apiKey);
      const { id } = await expectSuccess(admin.post(`/${kind}`, { json: makeBody(company) }));
      const headers = { 'If-Match': await readTag(admin, `/${kind}/${id}`) };
      const deleteRecord = (of = id) => admin.delete(`/${kind}/${of}`, { headers });
      const concurrentDeletions = await Promise.all([deleteRecord(), deleteRecord(), deleteRecord()]);
      expect(concurrentDeletions.map(({ status }) => status).toSorted()).toEqual([204, 400, 400]);
      const laterDeletion = await deleteRecord();
      expect([laterDeletion.status, laterDeletion.body.error]).toEqual([400, 'AlreadyDeleted']);
      expect((await deleteRecord('0'.repeat(24))).status).toBe(404);
    },
  );

  it('is refused when an If-Match is malformed', async () => {
    const company = await createOwnedCompany();
    const groupId = (await createConsoleGroup(company))._id;
    for (const tag of ['abc', '"abc', '"a" "b"', 'W/', '"a", b', '*, "a"', ',']) {
      const { status, body } = await company.as.put(`/v1/groups/${groupId}`, {
        json: { name: 'Renamed' },
        headers: { 'If-Match': tag },
      });
      expect([tag, status, body.details?.[0]?.field]).toEqual([tag, 422, 'If-Match']);
    }
    const knownAnswer = await company.as.get(`/v1/groups/${groupId}`, { headers: { 'If-None-Match': 'abc' } });
    expect(knownAnswer.status).toBe(200);
  });

  it('is compared only after authentication and only for records of the company', async () => {
    const company = await createOwnedCompany();
    const other = await createOwnedCompany();
    const groupId = (await createConsoleGroup(company))._id;
    const headers = { 'If-Match': '"00000000000000000000000000000000"' };
    const putGroup = (as: Caller, id: string) => as.put(`/v1/groups/${id}`, { json: { name: 'Theirs' }, headers });
    expect((await putGroup(other.as, groupId)).status).toBe(404);
    expect((await putGroup(company.as, 'f'.repeat(24))).status).toBe(404);
    const unauthenticatedAnswer = await company.as.put(`/v1/groups/${groupId}`, {
      json: { name: 'Theirs' },
      headers: { ...headers, authorization: 'Bearer nobody' },
    });
    expect(unauthenticatedAnswer.status).toBe(401);
  });
});
