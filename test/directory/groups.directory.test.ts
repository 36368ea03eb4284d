import { beforeAll, describe, expect, it } from 'vitest';
import { BASE_URL, type Caller } from '../support/api.ts';
import { createConsoleGroup, readGlobalGroups } from '../support/console.ts';
import { createRivalEnv } from '../support/rival.ts';
import {
  allow,
  aServiceAccount,
  aServiceAccountThat,
  bind,
  deny,
  must,
  signed,
  withSecret,
} from '../support/signed.ts';
import { aCompany, type Company } from '../support/worlds.ts';
import {
  createDirectory,
  createDirectoryGroup,
  createDirectoryUser,
  GROUP_SCHEMA,
  GROUPS_PATH,
  listMemberIds,
  makeGroupInput,
  makePatch,
  readRefusal,
  USERS_PATH,
} from './support.ts';

let company: Company;
let directory: Caller;
let ids: string[];
beforeAll(async () => {
  company = await aCompany();
  directory = await createDirectory(company);
  const made = await Promise.all(Array.from({ length: 4 }, () => createDirectoryUser(directory)));
  ids = made.map(({ id }) => id).toSorted();
});

const readGroup = (id: string) => must(directory.get(`${GROUPS_PATH}/${id}`));
/** Whom bindings put into a group, deleted users included. */
const listBoundUsers = async (id: string): Promise<string[]> => {
  const { results } = await must(signed(company.apiKey).get(`/groups/${id}/bindings`));
  return results.map((binding: { principal_id: string }) => binding.principal_id);
};

const toMembers = (...values: (string | undefined)[]) => values.map((value) => ({ value }));
const patchGroup = async (id: string, ...operations: object[]) =>
  must(directory.patch(`${GROUPS_PATH}/${id}`, makePatch(...operations)));

describe('a SCIM group', () => {
  it('is made with its members, and is the same group on the console', async () => {
    const json = makeGroupInput({
      displayName: 'Sales',
      externalId: 'sales',
      members: toMembers(ids[0], ids[1], ids[0]),
    });
    const { status, headers, body } = await directory.post(GROUPS_PATH, { json });
    const location = `${BASE_URL}${GROUPS_PATH}/${body.id}`;
    expect([status, body]).toEqual([
      201,
      {
        schemas: [GROUP_SCHEMA],
        id: expect.any(String),
        externalId: 'sales',
        displayName: 'Sales',
        members: [ids[0], ids[1]].map((value) => ({
          value,
          $ref: `${BASE_URL}${USERS_PATH}/${value}`,
          display: expect.stringMatching(/^Person/),
          type: 'User',
        })),
        meta: expect.objectContaining({ resourceType: 'Group', location }),
      },
    ]);
    expect([headers.get('location'), headers.get('etag')]).toEqual([location, body.meta.version]);
    expect((await directory.get(`${GROUPS_PATH}/${body.id}`)).headers.get('etag')).toBe(body.meta.version);
    expect(await must(company.as.get(`/v1/groups/${body.id}`))).toMatchObject({ name: 'Sales', slug: 'sales' });
    const inGroup = await must(directory.get(`${USERS_PATH}/${ids[0]}`));
    expect(inGroup.groups).toContainEqual({ value: body.id, $ref: location, display: 'Sales', type: 'direct' });
  });

  it('is made once per displayName and per externalId', async () => {
    const { displayName, externalId } = await createDirectoryGroup(directory, { externalId: 'once' });
    expect(readRefusal(await directory.post(GROUPS_PATH, { json: makeGroupInput({ displayName }) }))).toEqual([
      409,
      'uniqueness',
    ]);
    expect(readRefusal(await directory.post(GROUPS_PATH, { json: makeGroupInput({ externalId }) }))).toEqual([
      409,
      'uniqueness',
    ]);
  });

  it('has no displayName of another group in another case, and may change the case of its own', async () => {
    const group = await createDirectoryGroup(directory, { displayName: 'Any case', members: toMembers(ids[0]) });
    const path = `${GROUPS_PATH}/${group.id}`;
    const { _id, name } = await createConsoleGroup(company);
    const renamed = { op: 'replace', value: { displayName: name.toUpperCase(), members: [] } };
    for (const refused of [
      await directory.post(GROUPS_PATH, { json: makeGroupInput({ displayName: 'ANY CASE' }) }),
      await directory.put(path, { json: makeGroupInput({ displayName: name.toUpperCase() }) }),
      await directory.patch(path, makePatch(renamed)),
    ])
      expect(readRefusal(refused)).toEqual([409, 'uniqueness']);
    expect(await readGroup(group.id)).toEqual(group);
    expect((await patchGroup(group.id, { ...renamed, value: { displayName: 'ANY Case' } })).displayName).toBe(
      'ANY Case',
    );
    // What people made stays, and is changed otherwise.
    await must(company.as.put(`/v1/groups/${_id}`, { json: { name: 'ANY CASE' } }));
    const kept = { op: 'replace', value: { displayName: 'ANY Case', externalId: 'any-case' } };
    expect((await patchGroup(group.id, kept)).externalId).toBe('any-case');
    await must(company.as.delete(`/v1/groups/${_id}`));
    expect((await patchGroup(group.id, { ...renamed, value: { displayName: 'any case' } })).displayName).toBe(
      'any case',
    );
  });

  it('has no displayName of another group in another case of letters beyond ASCII, and is found by it', async () => {
    const names = ['Équipe Ñandú', 'Отдел кадров и обучения', 'Ελλάδα'];
    for (const displayName of names) {
      const { id } = await createDirectoryGroup(directory, { displayName });
      for (const other of [displayName.toUpperCase(), displayName.toLowerCase()]) {
        const refused = await directory.post(GROUPS_PATH, { json: makeGroupInput({ displayName: other }) });
        expect(readRefusal(refused)).toEqual([409, 'uniqueness']);
        const filter = encodeURIComponent(`displayName eq "${other}"`);
        expect((await must(directory.get(`${GROUPS_PATH}?filter=${filter}`))).Resources).toMatchObject([{ id }]);
      }
    }
    await createDirectoryGroup(directory, { displayName: 'Equipe Nandu' });
  });

  it('is replaced by PUT, members and all, as Okta sends it, and keeps what is not sent', async () => {
    const group = await createDirectoryGroup(directory, { members: toMembers(ids[0], ids[1]), externalId: 'put' });
    const json = { schemas: [GROUP_SCHEMA], id: group.id, displayName: 'Put', members: toMembers(ids[1], ids[2]) };
    const body = await must(directory.put(`${GROUPS_PATH}/${group.id}`, { json }));
    expect([body.displayName, body.externalId, listMemberIds(body)]).toEqual(['Put', 'put', [ids[1], ids[2]]]);
    expect(await must(directory.put(`${GROUPS_PATH}/${group.id}`, { json }))).toEqual(body);
    const { members: _, ...nameOnly } = json;
    expect(await must(directory.put(`${GROUPS_PATH}/${group.id}`, { json: nameOnly }))).toEqual(body);
    const empty = await must(directory.put(`${GROUPS_PATH}/${group.id}`, { json: { ...json, members: [] } }));
    expect(empty.members).toEqual([]);
  });

  it('is modified when users enter or leave it by any route, and its record of the console is not', async () => {
    const [group, leaver] = [await createDirectoryGroup(directory), await createDirectoryUser(directory)];
    const record = () => company.as.get(`/v1/groups/${group.id}`);
    const before = await record();
    let { lastModified } = group.meta;
    const expectModified = async () => {
      const { meta } = await readGroup(group.id);
      expect(Date.parse(meta.lastModified)).toBeGreaterThan(Date.parse(lastModified));
      const asked = `?filter=${encodeURIComponent(`id eq "${group.id}" and meta.lastModified gt "${lastModified}"`)}`;
      expect((await must(directory.get(`${GROUPS_PATH}${asked}`))).totalResults).toBe(1);
      lastModified = meta.lastModified;
    };
    const add = { op: 'add', path: 'members', value: toMembers(ids[0], leaver.id) };
    expect((await patchGroup(group.id, add)).meta.lastModified).not.toBe(lastModified);
    await expectModified();
    await patchGroup(group.id, add);
    await aServiceAccount(company, [group.id]);
    expect((await readGroup(group.id)).meta.lastModified).toBe(lastModified);
    await patchGroup(group.id, { op: 'remove', path: 'members', value: toMembers(ids[0]) });
    await expectModified();
    await must(company.as.post(`/v1/users/${ids[0]}/groups`, { json: { group_ids: [group.id] } }));
    await expectModified();
    await must(directory.delete(`${USERS_PATH}/${leaver.id}`));
    await expectModified();
    const { Resources } = await must(
      directory.get(`${GROUPS_PATH}?sortBy=meta.lastModified&sortOrder=descending&count=1`),
    );
    expect(Resources[0].id).toBe(group.id);
    const after = await record();
    expect([after.headers.get('etag'), after.body]).toEqual([before.headers.get('etag'), before.body]);
  });

  it('keeps its service accounts, which SCIM does not show', async () => {
    const group = await createDirectoryGroup(directory, { members: toMembers(ids[0]) });
    const robot = await aServiceAccount(company, [group.id]);
    const body = await patchGroup(group.id, { op: 'replace', path: 'members', value: [] });
    expect(body.members).toEqual([]);
    expect(await listBoundUsers(group.id)).toEqual([robot.id]);
  });

  it('has the members of the default account, and leaves those of others and of other groups as they are', async () => {
    const group = await createDirectoryGroup(directory, { members: toMembers(ids[0]) });
    const other = await createDirectoryGroup(directory, { members: toMembers(ids[0]) });
    const { id: account } = await must(signed(company.apiKey).post('/accounts', { json: { name: `A ${group.id}` } }));
    for (const id of [ids[0], ids[1]]) await bind(company, group.id, id as string, account);
    expect(listMemberIds(await readGroup(group.id))).toEqual([ids[0]]);
    const found = async (path: string, filter: string) =>
      (await must(directory.get(`${path}?filter=${encodeURIComponent(filter)}`))).totalResults;
    expect(await found(USERS_PATH, `groups eq "${group.id}"`)).toBe(1);
    expect(await found(GROUPS_PATH, `id eq "${group.id}" and members eq "${ids[1]}"`)).toBe(0);
    expect((await must(directory.get(`${USERS_PATH}/${ids[1]}`))).groups).not.toContainEqual(
      expect.objectContaining({ value: group.id }),
    );
    expect((await patchGroup(group.id, { op: 'remove', path: `members[value eq "${ids[0]}"]` })).members).toEqual([]);
    expect((await listBoundUsers(group.id)).toSorted()).toEqual([ids[0], ids[1]].toSorted());
    expect(listMemberIds(await readGroup(other.id))).toEqual([ids[0]]);
  });

  it('is deleted, and then not found', async () => {
    const { id } = await createDirectoryGroup(directory, { members: toMembers(ids[0]) });
    expect((await directory.delete(`${GROUPS_PATH}/${id}`)).status).toBe(204);
    expect(readRefusal(await directory.get(`${GROUPS_PATH}/${id}`))).toEqual([404, undefined]);
    expect(readRefusal(await directory.delete(`${GROUPS_PATH}/${id}`))).toEqual([404, undefined]);
  });

  it.each([
    [{ displayName: undefined }, 'displayName'],
    [{ displayName: ' ' }, 'displayName'],
    [{ displayName: 'a\nb' }, 'displayName'],
    [{ members: [{}] }, 'members'],
    [{ members: [{ value: 7 }] }, 'members'],
    [{ members: [''] }, 'members'],
    [{ members: Array.from({ length: 20_001 }, () => 'x') }, 'members'],
  ])('is not made with %.60j', async (wrong, says) => {
    const answer = await directory.post(GROUPS_PATH, { json: makeGroupInput(wrong) });
    expect(readRefusal(answer)).toEqual([400, 'invalidValue']);
    expect(answer.body.detail).toContain(says);
  });
});

describe('the members of a SCIM group', () => {
  const strangers = async () => {
    const other = await createDirectoryUser(await createDirectory(await aCompany()));
    const robot = await aServiceAccount(company);
    const gone = await createDirectoryUser(directory);
    await must(directory.delete(`${USERS_PATH}/${gone.id}`));
    return [other.id, robot.id, gone.id, 'f'.repeat(24), 'none'];
  };

  it('that are no users of the company are all refused alike, and nothing is changed', async () => {
    const group = await createDirectoryGroup(directory, { members: toMembers(ids[0]) });
    const told: unknown[] = [];
    for (const id of await strangers()) {
      const name = `With a stranger ${id}`;
      const posted = await directory.post(GROUPS_PATH, {
        json: makeGroupInput({ displayName: name, members: toMembers(ids[0], id) }),
      });
      expect(readRefusal(posted)).toEqual([400, 'invalidValue']);
      const adding = makePatch({ op: 'add', path: 'members', value: toMembers(ids[1], id) });
      const { status, body } = await directory.patch(`${GROUPS_PATH}/${group.id}`, adding);
      told.push([status, JSON.stringify(body).replaceAll(id, 'ID')]);
      expect(
        (await must(directory.get(`${GROUPS_PATH}?filter=${encodeURIComponent(`displayName eq "${name}"`)}`)))
          .totalResults,
      ).toBe(0);
    }
    expect(new Set(told.map((each) => JSON.stringify(each))).size).toBe(1);
    expect(await readGroup(group.id)).toEqual(group);
  });

  it('that the caller may not see are neither shown, added nor removed', async () => {
    const hidden = ids[3] as string;
    const group = await createDirectoryGroup(directory, { members: toMembers(ids[0], hidden) });
    const arn = `arn:svc:users::${company.id}:user/${hidden}`;
    const by = withSecret(
      await aServiceAccountThat(company, allow('users:*', 'groups:*'), { ...deny('users:get'), resources: [arn] }),
    );
    expect(listMemberIds(await must(by.get(`${GROUPS_PATH}/${group.id}`)))).toEqual([ids[0]]);
    const found = async (filter: string) =>
      (await must(by.get(`${GROUPS_PATH}?filter=${encodeURIComponent(filter)}`))).totalResults;
    expect(await found(`id eq "${group.id}" and members eq "${hidden}"`)).toBe(0);
    expect(await found(`id eq "${group.id}" and members eq "${ids[0]}"`)).toBe(1);
    expect(
      listMemberIds(await must(by.put(`${GROUPS_PATH}/${group.id}`, { json: makeGroupInput({ members: [] }) }))),
    ).toEqual([]);
    expect(listMemberIds(await readGroup(group.id))).toEqual([hidden]);
    const adding = makePatch({ op: 'add', path: 'members', value: toMembers(hidden) });
    expect(readRefusal(await by.patch(`${GROUPS_PATH}/${group.id}`, adding))).toEqual([400, 'invalidValue']);
  });

  it.each([
    ['add', (id: string) => [{ op: 'add', path: 'members', value: toMembers(id) }], [0, 1, 2]],
    ['add one, not as a list', (id: string) => [{ op: 'Add', path: 'members', value: { value: id } }], [0, 1, 2]],
    ['add without a path', (id: string) => [{ op: 'add', value: { members: toMembers(id) } }], [0, 1, 2]],
    ['add a present member', () => [{ op: 'add', path: 'members', value: toMembers(ids[0]) }], [0, 1]],
    ['remove by value path', () => [{ op: 'remove', path: `members[value eq "${ids[0]}"]` }], [1]],
    ['remove by value', () => [{ op: 'Remove', path: 'members', value: toMembers(ids[0]) }], [1]],
    [
      'remove by a filter with or',
      () => [{ op: 'remove', path: `members[value eq "${ids[0]}" or not (value ne "${ids[1]}")]` }],
      [],
    ],
    ['remove by name', () => [{ op: 'remove', path: 'members[display sw "person" and type eq "User"]' }], []],
    ['remove an absent one', (id: string) => [{ op: 'remove', path: `members[value eq "${id}"]` }], [0, 1]],
    ['remove all', () => [{ op: 'remove', path: 'members' }], []],
    ['replace', (id: string) => [{ op: 'replace', path: 'members', value: toMembers(id) }], [2]],
    ['replace without a path', (id: string) => [{ op: 'Replace', value: { id: 'x', members: toMembers(id) } }], [2]],
    [
      'remove all and add two',
      (id: string) => [
        { op: 'remove', path: 'members' },
        { op: 'add', path: 'members', value: toMembers(id) },
        { op: 'add', path: 'members', value: toMembers(ids[0]) },
      ],
      [0, 2],
    ],
    [
      'replace the display, which is ignored',
      () => [{ op: 'replace', path: `members[value eq "${ids[0]}"].display`, value: 'x' }],
      [0, 1],
    ],
  ])('are changed by PATCH: %s', async (_, operations, expected) => {
    const group = await createDirectoryGroup(directory, { members: toMembers(ids[0], ids[1]) });
    const sending = operations(ids[2] as string);
    const body = await patchGroup(group.id, ...sending);
    expect(listMemberIds(body)).toEqual(expected.map((index) => ids[index]));
    expect(await patchGroup(group.id, ...sending)).toEqual(body);
    expect(await readGroup(group.id)).toEqual(body);
  });

  it.each([
    [{ op: 'remove', path: 'members[value eq' }, 'invalidPath'],
    [{ op: 'add', path: 'members', value: [7] }, 'invalidValue'],
    [{ op: 'remove', path: 'displayName' }, 'invalidValue'],
    [{ op: 'replace', path: 'displayName', value: null }, 'unchanged'],
    [{ op: 'remove' }, 'noTarget'],
  ])('are not changed by %j', async (operation, scimType) => {
    const group = await createDirectoryGroup(directory, { members: toMembers(ids[0]) });
    const answer = await directory.patch(`${GROUPS_PATH}/${group.id}`, makePatch(operation));
    if (scimType !== 'unchanged') expect(readRefusal(answer)).toEqual([400, scimType]);
    expect(await readGroup(group.id)).toEqual(group);
  });

  it('are not added to a group that may do more than the SCIM client', async () => {
    const strong = await createDirectoryGroup(directory);
    const json = {
      name: `Strong ${strong.id}`,
      document: { version: '2024-01-01', statements: [allow('policies:create')] },
    };
    const { _id: policy } = await must(company.as.post('/v1/policies', { json }));
    await must(company.as.post(`/v1/groups/${strong.id}/policies/${policy}`));
    const by = withSecret(await aServiceAccountThat(company, allow('users:*', 'groups:*')));
    const adding = makePatch({ op: 'add', path: 'members', value: toMembers(ids[0]) });
    expect((await by.patch(`${GROUPS_PATH}/${strong.id}`, adding)).status).toBe(403);
    expect((await readGroup(strong.id)).members).toEqual([]);
    await patchGroup(strong.id, { op: 'add', path: 'members', value: toMembers(ids[0]) });
    expect(
      (await by.patch(`${GROUPS_PATH}/${strong.id}`, makePatch({ op: 'remove', path: 'members' }))).body.members,
    ).toEqual([]);
  });

  it('are not removed from a group whose Deny forbids more than the SCIM client may do', async () => {
    const group = await createDirectoryGroup(directory, { members: toMembers(ids[0]) });
    const json = {
      name: `Denying ${group.id}`,
      document: { version: '2024-01-01', statements: [deny('policies:create')] },
    };
    const { _id: policy } = await must(company.as.post('/v1/policies', { json }));
    await must(company.as.post(`/v1/groups/${group.id}/policies/${policy}`));
    const by = withSecret(await aServiceAccountThat(company, allow('users:*', 'groups:*')));
    expect((await by.patch(`${GROUPS_PATH}/${group.id}`, makePatch({ op: 'remove', path: 'members' }))).status).toBe(
      403,
    );
    expect(listMemberIds(await readGroup(group.id))).toEqual([ids[0]]);
  });

  it('that others change meanwhile are read again before they are replaced', async () => {
    const group = await createDirectoryGroup(directory, { members: toMembers(ids[0]) });
    const rival = createRivalEnv(/^insert into "group_bindings"/, () => bind(company, group.id, ids[1] as string));
    const sending = { ...makePatch({ op: 'replace', path: 'members', value: toMembers(ids[2]) }), env: rival.env };
    expect(listMemberIds(await must(directory.patch(`${GROUPS_PATH}/${group.id}`, sending)))).toEqual([ids[2]]);
    expect(rival.hasRun()).toBe(true);
    expect(listMemberIds(await readGroup(group.id))).toEqual([ids[2]]);
  });

  it('that are deleted meanwhile are refused', async () => {
    const group = await createDirectoryGroup(directory, { members: toMembers(ids[0]) });
    const gone = await createDirectoryUser(directory);
    const rival = createRivalEnv(/^insert into "group_bindings"/, () =>
      must(directory.delete(`${USERS_PATH}/${gone.id}`)),
    );
    const sending = { ...makePatch({ op: 'add', path: 'members', value: toMembers(gone.id) }), env: rival.env };
    expect(readRefusal(await directory.patch(`${GROUPS_PATH}/${group.id}`, sending))).toEqual([400, 'invalidValue']);
    expect([rival.hasRun(), await readGroup(group.id)]).toEqual([true, group]);
    expect(await listBoundUsers(group.id)).not.toContain(gone.id);
  });

  it('enter no group that is deleted meanwhile', async () => {
    const group = await createDirectoryGroup(directory);
    const rival = createRivalEnv(/^insert into "group_bindings"/, () =>
      must(directory.delete(`${GROUPS_PATH}/${group.id}`)),
    );
    const sending = { ...makePatch({ op: 'add', path: 'members', value: toMembers(ids[0]) }), env: rival.env };
    expect((await directory.patch(`${GROUPS_PATH}/${group.id}`, sending)).status).toBe(404);
    expect(rival.hasRun()).toBe(true);
    const inGroups = (await must(directory.get(`${USERS_PATH}/${ids[0]}`))).groups.map(
      ({ value }: { value: string }) => value,
    );
    expect(inGroups).not.toContain(group.id);
  });
});

describe('a global group in SCIM', () => {
  it('is shown, but cannot be changed', async () => {
    const { administrators: id } = await readGlobalGroups(company);
    const before = await readGroup(id);
    for (const answer of [
      await directory.put(`${GROUPS_PATH}/${id}`, { json: makeGroupInput() }),
      await directory.patch(
        `${GROUPS_PATH}/${id}`,
        makePatch({ op: 'add', path: 'members', value: toMembers(ids[0]) }),
      ),
      await directory.patch(`${GROUPS_PATH}/${id}`, makePatch({ op: 'replace', path: 'displayName', value: 'x' })),
      await directory.patch(
        `${GROUPS_PATH}/${id}`,
        makePatch({ op: 'remove', path: `members[value eq "${company.owner.id}"]` }),
      ),
      await directory.patch(`${GROUPS_PATH}/${id}`, makePatch({ op: 'replace', path: 'members', value: [] })),
      await directory.delete(`${GROUPS_PATH}/${id}`),
    ])
      expect(readRefusal(answer)).toEqual([403, 'mutability']);
    expect(await readGroup(id)).toEqual(before);
  });
});

describe('the ETag of a SCIM group', () => {
  it('changes with its members, and a stale one in If-Match changes nothing', async () => {
    const group = await createDirectoryGroup(directory, { members: toMembers(ids[0]) });
    await bind(company, group.id, ids[1] as string);
    const { headers } = await directory.get(`${GROUPS_PATH}/${group.id}`);
    expect(headers.get('etag')).not.toBe(group.meta.version);
    const stale = { headers: { 'if-match': group.meta.version } };
    const removing = makePatch({ op: 'remove', path: 'members' });
    expect(readRefusal(await directory.patch(`${GROUPS_PATH}/${group.id}`, { ...removing, ...stale }))).toEqual([
      412,
      undefined,
    ]);
    const fresh = { headers: { 'if-match': headers.get('etag') as string } };
    expect((await directory.patch(`${GROUPS_PATH}/${group.id}`, { ...removing, ...fresh })).body.members).toEqual([]);
  });
});
