import { beforeAll, describe, expect, it } from 'vitest';
import type { ApiResponse, Caller } from '../support/api.ts';
import { createConsoleGroup } from '../support/console.ts';
import { sendOvertaken } from '../support/rival.ts';
import { allow, aPolicy, aServiceAccountThat, bind, must, withSecret } from '../support/signed.ts';
import { aCompany, type Company } from '../support/worlds.ts';
import { createDirectory, createDirectoryUser, makePatch, USERS_PATH } from './support.ts';

let company: Company;
let directory: Caller;
/** May change users, and nothing else. */
let weak: Caller;
beforeAll(async () => {
  company = await aCompany();
  directory = await createDirectory(company);
  weak = withSecret(await aServiceAccountThat(company, allow('users:update', 'users:get')));
});

let addressCount = 0;
const makeTakenAddress = () => {
  addressCount += 1;
  return `mine-${addressCount}@example.com`;
};

interface Person {
  id: string;
  userName: string;
  version: string;
  /** A group that the person is in. */
  group: string;
  /** A policy that is attached to it. */
  policy: string;
}

/** Somebody in a group that allows what the weak one may do, too. */
async function createPerson(): Promise<Person> {
  const { id, userName } = await createDirectoryUser(directory);
  const group = (await createConsoleGroup(company))._id;
  const policy = await aPolicy(company, [allow('users:get')]);
  await must(company.as.post(`/v1/groups/${group}/policies/${policy}`));
  await bind(company, group, id);
  return { id, userName, version: (await directory.get(`${USERS_PATH}/${id}`)).body.meta.version, group, policy };
}

/** A group that allows this. */
async function createGroupAllowing(...actions: Parameters<typeof allow>): Promise<string> {
  const group = (await createConsoleGroup(company))._id;
  await must(company.as.post(`/v1/groups/${group}/policies/${await aPolicy(company, [allow(...actions)])}`));
  return group;
}

/** The weak one takes the address of somebody, and a rival comes in between. */
const takeAddressOvertaken = (
  { id }: Person,
  to: string,
  rival: () => Promise<unknown>,
  headers: Record<string, string> = {},
): Promise<ApiResponse> =>
  sendOvertaken(/^update "users"/, rival, (env) =>
    weak.patch(`${USERS_PATH}/${id}`, { ...makePatch({ op: 'replace', path: 'userName', value: to }), env, headers }),
  );

const readAddress = async ({ id }: Person): Promise<string> =>
  (await must(directory.get(`${USERS_PATH}/${id}`))).userName;

describe('a new email address that SCIM sets', () => {
  it.each<[string, (person: Person) => Promise<unknown>]>([
    [
      'enters a group that may do more',
      async ({ id }) => bind(company, await createGroupAllowing('policies:create'), id),
    ],
    [
      'may do more by a policy that is attached',
      async ({ group }) =>
        must(company.as.post(`/v1/groups/${group}/policies/${await aPolicy(company, [allow('policies:create')])}`)),
    ],
    [
      'may do more by a policy that is changed',
      ({ policy }) =>
        must(
          company.as.put(`/v1/policies/${policy}`, {
            json: { document: { version: '2024-01-01', statements: [allow('policies:create')] } },
          }),
        ),
    ],
    [
      'may do more by a legacy permission',
      async ({ group }) => {
        const json = {
          name: `Older ${group}`,
          description: 'Of the older model.',
          target: { company_id: company.id, service_name: 'policies' },
          actions: ['create'],
        };
        const { _id } = await must(company.as.post('/v1/permissions', { json }));
        await must(company.as.post(`/v1/groups/${group}/permissions`, { json: { permissionIds: [_id] } }));
      },
    ],
  ])('is not given to somebody who meanwhile %s', async (_, rival) => {
    const person = await createPerson();
    const answer = await takeAddressOvertaken(person, makeTakenAddress(), () => rival(person));
    expect([answer.status, await readAddress(person)]).toEqual([403, person.userName]);
  });

  it('is given to a user who meanwhile gets only permissions that the caller has', async () => {
    const person = await createPerson();
    const to = makeTakenAddress();
    const answer = await takeAddressOvertaken(person, to, async () =>
      bind(company, await createGroupAllowing('users:update'), person.id),
    );
    expect([answer.status, await readAddress(person)]).toEqual([200, to]);
  });

  it('for a version in If-Match is refused if the user meanwhile changes or may do more', async () => {
    const [renamed, strong] = [await createPerson(), await createPerson()];
    const sent = ({ version }: Person) => ({ 'if-match': version });
    const rename = () => must(company.as.put(`/v1/users/${renamed.id}`, { json: { name: 'Rival' } }));
    const late = await takeAddressOvertaken(renamed, makeTakenAddress(), rename, sent(renamed));
    expect([late.status, await readAddress(renamed)]).toEqual([412, renamed.userName]);
    const attach = async () =>
      must(
        company.as.post(`/v1/groups/${strong.group}/policies/${await aPolicy(company, [allow('policies:create')])}`),
      );
    const refused = await takeAddressOvertaken(strong, makeTakenAddress(), attach, sent(strong));
    expect([refused.status, await readAddress(strong)]).toEqual([403, strong.userName]);
  });

  it('is given together with all other changes of the request, or nothing is', async () => {
    const { id } = await createDirectoryUser(directory);
    const other = await createDirectoryUser(directory);
    const sending = makePatch({
      op: 'replace',
      value: { userName: other.userName, displayName: 'New', active: false },
    });
    expect((await directory.patch(`${USERS_PATH}/${id}`, sending)).status).toBe(409);
    expect(await must(directory.get(`${USERS_PATH}/${id}`))).toMatchObject({ active: true });
    const owner = company.owner.id;
    const before = await must(directory.get(`${USERS_PATH}/${owner}`));
    const ofOwner = makePatch({ op: 'replace', value: { displayName: 'Taken over', active: false } });
    expect((await directory.patch(`${USERS_PATH}/${owner}`, ofOwner)).status).toBe(403);
    expect(await must(directory.get(`${USERS_PATH}/${owner}`))).toEqual(before);
  });
});
