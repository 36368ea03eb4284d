import { describe, expect, it } from 'vitest';
import type { ApiResponse } from '../support/api.ts';
import { createOwnedCompany } from '../support/companies.ts';
import { createConsoleGroup } from '../support/console.ts';
import { sendDuringRace } from '../support/race.ts';
import {
  bindUser,
  createAllowedAccount,
  createSecretCaller,
  expectSuccess,
  makeAllow,
  storePolicy,
} from '../support/signed.ts';
import { createDirectory, createDirectoryUser, makePatch, USERS_PATH } from './support.ts';

const company = await createOwnedCompany();
const directory = await createDirectory(company);
/** A caller that may update users, and do nothing else. */
const limitedCaller = createSecretCaller(await createAllowedAccount(company, makeAllow('users:update', 'users:get')));

let addressCount = 0;
const makeTakenAddress = () => {
  return `mine-${++addressCount}@example.com`;
};

interface TestPerson {
  id: string;
  userName: string;
  version: string;
  /** The id of a group that the user is in. */
  groupId: string;
  /** The id of a policy that is attached to the group. */
  policyId: string;
}

/** Creates a user in a group that allows no more than `limitedCaller` may do. */
async function createPerson(): Promise<TestPerson> {
  const { id, userName } = await createDirectoryUser(directory);
  const group = (await createConsoleGroup(company))._id;
  const policy = await storePolicy(company, [makeAllow('users:get')]);
  await expectSuccess(company.as.post(`/v1/groups/${group}/policies/${policy}`));
  await bindUser(company, group, id);
  return {
    id,
    userName,
    version: (await directory.get(`${USERS_PATH}/${id}`)).body.meta.version,
    groupId: group,
    policyId: policy,
  };
}

async function createGroupWithActions(...actions: Parameters<typeof makeAllow>): Promise<string> {
  const group = (await createConsoleGroup(company))._id;
  await expectSuccess(
    company.as.post(`/v1/groups/${group}/policies/${await storePolicy(company, [makeAllow(...actions)])}`),
  );
  return group;
}

/** Changes a user's email address as `limitedCaller`, and runs a concurrent request just before the new address is written. */
const changeAddressDuringRace = (
  { id }: TestPerson,
  to: string,
  runConcurrently: () => Promise<unknown>,
  headers: Record<string, string> = {},
): Promise<ApiResponse> =>
  sendDuringRace(/^update "users"/, runConcurrently, (env) =>
    limitedCaller.patch(`${USERS_PATH}/${id}`, {
      ...makePatch({ op: 'replace', path: 'userName', value: to }),
      env,
      headers,
    }),
  );

const readAddress = async ({ id }: TestPerson): Promise<string> =>
  (await expectSuccess(directory.get(`${USERS_PATH}/${id}`))).userName;

describe('a new email address that SCIM sets', () => {
  it.each<[string, (person: TestPerson) => Promise<unknown>]>([
    [
      'enters a group that may do more',
      async ({ id }) => bindUser(company, await createGroupWithActions('policies:create'), id),
    ],
    [
      'may do more by a policy that is attached',
      async ({ groupId }) =>
        expectSuccess(
          company.as.post(
            `/v1/groups/${groupId}/policies/${await storePolicy(company, [makeAllow('policies:create')])}`,
          ),
        ),
    ],
    [
      'may do more by a policy that is changed',
      ({ policyId }) =>
        expectSuccess(
          company.as.put(`/v1/policies/${policyId}`, {
            json: { document: { version: '2024-01-01', statements: [makeAllow('policies:create')] } },
          }),
        ),
    ],
    [
      'may do more by a legacy permission',
      async ({ groupId }) => {
        const json = {
          name: `Older ${groupId}`,
          description: 'Of the older model.',
          target: { company_id: company.id, service_name: 'policies' },
          actions: ['create'],
        };
        const { _id } = await expectSuccess(company.as.post('/v1/permissions', { json }));
        await expectSuccess(company.as.post(`/v1/groups/${groupId}/permissions`, { json: { permissionIds: [_id] } }));
      },
    ],
  ])('is not given to somebody who meanwhile %s', async (_, runConcurrently) => {
    const person = await createPerson();
    const answer = await changeAddressDuringRace(person, makeTakenAddress(), () => runConcurrently(person));
    expect([answer.status, await readAddress(person)]).toEqual([403, person.userName]);
  });

  it('is set for a user who meanwhile gets only permissions that the caller has', async () => {
    const person = await createPerson();
    const to = makeTakenAddress();
    const answer = await changeAddressDuringRace(person, to, async () =>
      bindUser(company, await createGroupWithActions('users:update'), person.id),
    );
    expect([answer.status, await readAddress(person)]).toEqual([200, to]);
  });

  it('for a version in If-Match is refused if the user meanwhile changes or may do more', async () => {
    const [renamed, strong] = [await createPerson(), await createPerson()];
    const makeVersionHeaders = ({ version }: TestPerson) => ({ 'if-match': version });
    const renameConcurrently = () =>
      expectSuccess(company.as.put(`/v1/users/${renamed.id}`, { json: { name: 'Rival' } }));
    const renamedAnswer = await changeAddressDuringRace(
      renamed,
      makeTakenAddress(),
      renameConcurrently,
      makeVersionHeaders(renamed),
    );
    expect([renamedAnswer.status, await readAddress(renamed)]).toEqual([412, renamed.userName]);
    const attachConcurrently = async () =>
      expectSuccess(
        company.as.post(
          `/v1/groups/${strong.groupId}/policies/${await storePolicy(company, [makeAllow('policies:create')])}`,
        ),
      );
    const strongerAnswer = await changeAddressDuringRace(
      strong,
      makeTakenAddress(),
      attachConcurrently,
      makeVersionHeaders(strong),
    );
    expect([strongerAnswer.status, await readAddress(strong)]).toEqual([403, strong.userName]);
  });

  it('is set together with all other changes of the request, or nothing is set', async () => {
    const { id } = await createDirectoryUser(directory);
    const otherUser = await createDirectoryUser(directory);
    const conflictingPatch = makePatch({
      op: 'replace',
      value: { userName: otherUser.userName, displayName: 'New', active: false },
    });
    expect((await directory.patch(`${USERS_PATH}/${id}`, conflictingPatch)).status).toBe(409);
    expect(await expectSuccess(directory.get(`${USERS_PATH}/${id}`))).toMatchObject({ active: true });
    const owner = company.owner.id;
    const ownerBefore = await expectSuccess(directory.get(`${USERS_PATH}/${owner}`));
    const ownerPatch = makePatch({ op: 'replace', value: { displayName: 'Taken over', active: false } });
    expect((await directory.patch(`${USERS_PATH}/${owner}`, ownerPatch)).status).toBe(403);
    expect(await expectSuccess(directory.get(`${USERS_PATH}/${owner}`))).toEqual(ownerBefore);
  });
});
