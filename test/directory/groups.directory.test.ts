import { env } from 'cloudflare:workers';
import { describe, expect, it } from 'vitest';
import { BASE_URL } from '../support/api.ts';
import { createOwnedCompany } from '../support/companies.ts';
import { createConsoleGroup, readGlobalGroups } from '../support/console.ts';
import { createRacingEnv } from '../support/race.ts';
import {
  bindUser,
  createAllowedAccount,
  createKeyedAccount,
  createSecretCaller,
  createSignedCaller,
  expectSuccess,
  makeAllow,
  makeDeny,
} from '../support/signed.ts';
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

const company = await createOwnedCompany();
const directory = await createDirectory(company);
const createdUsers = await Promise.all(Array.from({ length: 4 }, () => createDirectoryUser(directory)));
const ids = createdUsers.map(({ id }) => id).toSorted();

const readGroup = (id: string) => expectSuccess(directory.get(`${GROUPS_PATH}/${id}`));
/** Lists the users whom bindings put into a group, including deleted users. */
const listBoundUsers = async (id: string): Promise<string[]> => {
  const { results } = await expectSuccess(createSignedCaller(company.apiKey).get(`/groups/${id}/bindings`));
  return results.map((binding: { principal_id: string }) => binding.principal_id);
};

const toMembers = (...values: (string | undefined)[]) => values.map((value) => ({ value }));
const patchGroup = async (id: string, ...operations: object[]) =>
  expectSuccess(directory.patch(`${GROUPS_PATH}/${id}`, makePatch(...operations)));

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
    expect(await expectSuccess(company.as.get(`/v1/groups/${body.id}`))).toMatchObject({
      name: 'Sales',
      slug: 'sales',
    });
    const memberUser = await expectSuccess(directory.get(`${USERS_PATH}/${ids[0]}`));
    expect(memberUser.groups).toContainEqual({ value: body.id, $ref: location, display: 'Sales', type: 'direct' });
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

  it('cannot have the displayName of another group in another case, and may change the case of its own displayName', async () => {
    const group = await createDirectoryGroup(directory, { displayName: 'Any case', members: toMembers(ids[0]) });
    const path = `${GROUPS_PATH}/${group.id}`;
    const { _id, name } = await createConsoleGroup(company);
    const renameOperation = { op: 'replace', value: { displayName: name.toUpperCase(), members: [] } };
    for (const refusedAnswer of [
      await directory.post(GROUPS_PATH, { json: makeGroupInput({ displayName: 'ANY CASE' }) }),
      await directory.put(path, { json: makeGroupInput({ displayName: name.toUpperCase() }) }),
      await directory.patch(path, makePatch(renameOperation)),
    ])
      expect(readRefusal(refusedAnswer)).toEqual([409, 'uniqueness']);
    expect(await readGroup(group.id)).toEqual(group);
    expect((await patchGroup(group.id, { ...renameOperation, value: { displayName: 'ANY Case' } })).displayName).toBe(
      'ANY Case',
    );
    // What people made stays, and is changed otherwise.
    await expectSuccess(company.as.put(`/v1/groups/${_id}`, { json: { name: 'ANY CASE' } }));
    const ownNameOperation = { op: 'replace', value: { displayName: 'ANY Case', externalId: 'any-case' } };
    expect((await patchGroup(group.id, ownNameOperation)).externalId).toBe('any-case');
    await expectSuccess(company.as.delete(`/v1/groups/${_id}`));
    expect((await patchGroup(group.id, { ...renameOperation, value: { displayName: 'any case' } })).displayName).toBe(
      'any case',
    );
  });

  it('cannot have the displayName of another group in another case of non-ASCII letters, and is found in any case', async () => {
    // The last one has more distinct letters than a nested expression of the database could replace.
    const names = [
      'Équipe Ñandú',
      'Отдел кадров и обучения',
      'Ελλάδα',
      'Οδός',
      'àáâãäåæçèéêëìíîï ñòóôõöøùúûüý абвгдежзийклмнопрстуфхцчшщъыьэюя αβγδεζηθικλμνξοπρςστυφχψω',
    ];
    for (const displayName of names) {
      const { id } = await createDirectoryGroup(directory, { displayName });
      for (const otherName of [displayName.toUpperCase(), displayName.toLowerCase()]) {
        const refusedAnswer = await directory.post(GROUPS_PATH, { json: makeGroupInput({ displayName: otherName }) });
        expect(readRefusal(refusedAnswer)).toEqual([409, 'uniqueness']);
        const filter = encodeURIComponent(`displayName eq "${otherName}"`);
        expect((await expectSuccess(directory.get(`${GROUPS_PATH}?filter=${filter}`))).Resources).toMatchObject([
          { id },
        ]);
      }
    }
    await createDirectoryGroup(directory, { displayName: 'Equipe Nandu' });
  });

  it('is replaced by PUT including its members, as Okta sends it, and keeps fields that are not sent', async () => {
    const group = await createDirectoryGroup(directory, { members: toMembers(ids[0], ids[1]), externalId: 'put' });
    const json = { schemas: [GROUP_SCHEMA], id: group.id, displayName: 'Put', members: toMembers(ids[1], ids[2]) };
    const body = await expectSuccess(directory.put(`${GROUPS_PATH}/${group.id}`, { json }));
    expect([body.displayName, body.externalId, listMemberIds(body)]).toEqual(['Put', 'put', [ids[1], ids[2]]]);
    expect(await expectSuccess(directory.put(`${GROUPS_PATH}/${group.id}`, { json }))).toEqual(body);
    const { members: _, ...nameOnly } = json;
    expect(await expectSuccess(directory.put(`${GROUPS_PATH}/${group.id}`, { json: nameOnly }))).toEqual(body);
    const emptiedGroup = await expectSuccess(
      directory.put(`${GROUPS_PATH}/${group.id}`, { json: { ...json, members: [] } }),
    );
    expect(emptiedGroup.members).toEqual([]);
  });

  it('is modified when users enter or leave it by any route, while its record on the console stays unmodified', async () => {
    const [group, leaver] = [await createDirectoryGroup(directory), await createDirectoryUser(directory)];
    const record = () => company.as.get(`/v1/groups/${group.id}`);
    const recordBefore = await record();
    let { lastModified } = group.meta;
    const expectModified = async () => {
      const { meta } = await readGroup(group.id);
      expect(Date.parse(meta.lastModified)).toBeGreaterThan(Date.parse(lastModified));
      const filterQuery = `?filter=${encodeURIComponent(`id eq "${group.id}" and meta.lastModified gt "${lastModified}"`)}`;
      expect((await expectSuccess(directory.get(`${GROUPS_PATH}${filterQuery}`))).totalResults).toBe(1);
      lastModified = meta.lastModified;
    };
    const addOperation = { op: 'add', path: 'members', value: toMembers(ids[0], leaver.id) };
    expect((await patchGroup(group.id, addOperation)).meta.lastModified).not.toBe(lastModified);
    await expectModified();
    await patchGroup(group.id, addOperation);
    await createKeyedAccount(company, [group.id]);
    expect((await readGroup(group.id)).meta.lastModified).toBe(lastModified);
    await patchGroup(group.id, { op: 'remove', path: 'members', value: toMembers(ids[0]) });
    await expectModified();
    await expectSuccess(company.as.post(`/v1/users/${ids[0]}/groups`, { json: { group_ids: [group.id] } }));
    await expectModified();
    await expectSuccess(directory.delete(`${USERS_PATH}/${leaver.id}`));
    await expectModified();
    const { Resources } = await expectSuccess(
      directory.get(`${GROUPS_PATH}?sortBy=meta.lastModified&sortOrder=descending&count=1`),
    );
    expect(Resources[0].id).toBe(group.id);
    const recordAfter = await record();
    expect([recordAfter.headers.get('etag'), recordAfter.body]).toEqual([
      recordBefore.headers.get('etag'),
      recordBefore.body,
    ]);
  });

  it('keeps its service accounts, which SCIM does not show', async () => {
    const group = await createDirectoryGroup(directory, { members: toMembers(ids[0]) });
    const serviceAccount = await createKeyedAccount(company, [group.id]);
    const body = await patchGroup(group.id, { op: 'replace', path: 'members', value: [] });
    expect(body.members).toEqual([]);
    expect(await listBoundUsers(group.id)).toEqual([serviceAccount.id]);
  });

  it('has the members of the default account, and leaves members of other accounts and of other groups as they are', async () => {
    const group = await createDirectoryGroup(directory, { members: toMembers(ids[0]) });
    const otherGroup = await createDirectoryGroup(directory, { members: toMembers(ids[0]) });
    const { id: account } = await expectSuccess(
      createSignedCaller(company.apiKey).post('/accounts', { json: { name: `A ${group.id}` } }),
    );
    for (const id of [ids[0], ids[1]]) await bindUser(company, group.id, id as string, account);
    expect(listMemberIds(await readGroup(group.id))).toEqual([ids[0]]);
    const countFound = async (path: string, filter: string) =>
      (await expectSuccess(directory.get(`${path}?filter=${encodeURIComponent(filter)}`))).totalResults;
    expect(await countFound(USERS_PATH, `groups eq "${group.id}"`)).toBe(1);
    expect(await countFound(GROUPS_PATH, `id eq "${group.id}" and members eq "${ids[1]}"`)).toBe(0);
    expect((await expectSuccess(directory.get(`${USERS_PATH}/${ids[1]}`))).groups).not.toContainEqual(
      expect.objectContaining({ value: group.id }),
    );
    expect((await patchGroup(group.id, { op: 'remove', path: `members[value eq "${ids[0]}"]` })).members).toEqual([]);
    expect((await listBoundUsers(group.id)).toSorted()).toEqual([ids[0], ids[1]].toSorted());
    expect(listMemberIds(await readGroup(otherGroup.id))).toEqual([ids[0]]);
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
  ])('cannot be made with %.60j', async (wrongFields, expectedField) => {
    const answer = await directory.post(GROUPS_PATH, { json: makeGroupInput(wrongFields) });
    expect(readRefusal(answer)).toEqual([400, 'invalidValue']);
    expect(answer.body.detail).toContain(expectedField);
  });
});

describe('the members of a SCIM group', () => {
  const createNonUsers = async () => {
    const strangeUser = await createDirectoryUser(await createDirectory(await createOwnedCompany()));
    const serviceAccount = await createKeyedAccount(company);
    const deletedUser = await createDirectoryUser(directory);
    await expectSuccess(directory.delete(`${USERS_PATH}/${deletedUser.id}`));
    return [strangeUser.id, serviceAccount.id, deletedUser.id, 'f'.repeat(24), 'none'];
  };

  it('that are not users of the company are all refused alike, and nothing is changed', async () => {
    const group = await createDirectoryGroup(directory, { members: toMembers(ids[0]) });
    const refusals: unknown[] = [];
    for (const id of await createNonUsers()) {
      const name = `With a stranger ${id}`;
      const createAnswer = await directory.post(GROUPS_PATH, {
        json: makeGroupInput({ displayName: name, members: toMembers(ids[0], id) }),
      });
      expect(readRefusal(createAnswer)).toEqual([400, 'invalidValue']);
      const addPatch = makePatch({ op: 'add', path: 'members', value: toMembers(ids[1], id) });
      const { status, body } = await directory.patch(`${GROUPS_PATH}/${group.id}`, addPatch);
      refusals.push([status, JSON.stringify(body).replaceAll(id, 'ID')]);
      expect(
        (await expectSuccess(directory.get(`${GROUPS_PATH}?filter=${encodeURIComponent(`displayName eq "${name}"`)}`)))
          .totalResults,
      ).toBe(0);
    }
    expect(new Set(refusals.map((refusal) => JSON.stringify(refusal))).size).toBe(1);
    expect(await readGroup(group.id)).toEqual(group);
  });

  it('that the caller may not see are neither shown, added nor removed', async () => {
    const hiddenUserId = ids[3] as string;
    const group = await createDirectoryGroup(directory, { members: toMembers(ids[0], hiddenUserId) });
    const arn = `arn:svc:users::${company.id}:user/${hiddenUserId}`;
    const by = createSecretCaller(
      await createAllowedAccount(company, makeAllow('users:*', 'groups:*'), {
        ...makeDeny('users:get'),
        resources: [arn],
      }),
    );
    expect(listMemberIds(await expectSuccess(by.get(`${GROUPS_PATH}/${group.id}`)))).toEqual([ids[0]]);
    const countFound = async (filter: string) =>
      (await expectSuccess(by.get(`${GROUPS_PATH}?filter=${encodeURIComponent(filter)}`))).totalResults;
    expect(await countFound(`id eq "${group.id}" and members eq "${hiddenUserId}"`)).toBe(0);
    expect(await countFound(`id eq "${group.id}" and members eq "${ids[0]}"`)).toBe(1);
    expect(
      listMemberIds(
        await expectSuccess(by.put(`${GROUPS_PATH}/${group.id}`, { json: makeGroupInput({ members: [] }) })),
      ),
    ).toEqual([]);
    expect(listMemberIds(await readGroup(group.id))).toEqual([hiddenUserId]);
    const addPatch = makePatch({ op: 'add', path: 'members', value: toMembers(hiddenUserId) });
    expect(readRefusal(await by.patch(`${GROUPS_PATH}/${group.id}`, addPatch))).toEqual([400, 'invalidValue']);
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
    const sentOperations = operations(ids[2] as string);
    const body = await patchGroup(group.id, ...sentOperations);
    expect(listMemberIds(body)).toEqual(expected.map((index) => ids[index]));
    expect(await patchGroup(group.id, ...sentOperations)).toEqual(body);
    expect(await readGroup(group.id)).toEqual(body);
  });

  it.each([
    [{ op: 'remove', path: 'members[value eq' }, 'invalidPath'],
    [{ op: 'add', path: 'members', value: [7] }, 'invalidValue'],
    [{ op: 'remove', path: 'displayName' }, 'invalidValue'],
    [{ op: 'replace', path: 'displayName', value: null }, 'unchanged'],
    [{ op: 'remove' }, 'noTarget'],
    [{ op: 'replace', path: 'members[value eq "nobody"]', value: {} }, 'noTarget'],
    [{ op: 'replace', path: 'members[display eq "nobody"].display', value: 'x' }, 'noTarget'],
  ])('are not changed by %j', async (operation, scimType) => {
    const group = await createDirectoryGroup(directory, { members: toMembers(ids[0]) });
    const answer = await directory.patch(`${GROUPS_PATH}/${group.id}`, makePatch(operation));
    if (scimType !== 'unchanged') expect(readRefusal(answer)).toEqual([400, scimType]);
    expect(await readGroup(group.id)).toEqual(group);
  });

  it('are not added to a group that may do more than the SCIM client', async () => {
    const strongGroup = await createDirectoryGroup(directory);
    const json = {
      name: `Strong ${strongGroup.id}`,
      document: { version: '2024-01-01', statements: [makeAllow('policies:create')] },
    };
    const { _id: policy } = await expectSuccess(company.as.post('/v1/policies', { json }));
    await expectSuccess(company.as.post(`/v1/groups/${strongGroup.id}/policies/${policy}`));
    const by = createSecretCaller(await createAllowedAccount(company, makeAllow('users:*', 'groups:*')));
    const addPatch = makePatch({ op: 'add', path: 'members', value: toMembers(ids[0]) });
    expect((await by.patch(`${GROUPS_PATH}/${strongGroup.id}`, addPatch)).status).toBe(403);
    expect((await readGroup(strongGroup.id)).members).toEqual([]);
    await patchGroup(strongGroup.id, { op: 'add', path: 'members', value: toMembers(ids[0]) });
    expect(
      (await by.patch(`${GROUPS_PATH}/${strongGroup.id}`, makePatch({ op: 'remove', path: 'members' }))).body.members,
    ).toEqual([]);
  });

  it('are not removed from a group whose Deny forbids actions that the SCIM client may not take', async () => {
    const group = await createDirectoryGroup(directory, { members: toMembers(ids[0]) });
    const json = {
      name: `Denying ${group.id}`,
      document: { version: '2024-01-01', statements: [makeDeny('policies:create')] },
    };
    const { _id: policy } = await expectSuccess(company.as.post('/v1/policies', { json }));
    await expectSuccess(company.as.post(`/v1/groups/${group.id}/policies/${policy}`));
    const by = createSecretCaller(await createAllowedAccount(company, makeAllow('users:*', 'groups:*')));
    expect((await by.patch(`${GROUPS_PATH}/${group.id}`, makePatch({ op: 'remove', path: 'members' }))).status).toBe(
      403,
    );
    expect(listMemberIds(await readGroup(group.id))).toEqual([ids[0]]);
  });

  it('that others change meanwhile are read again before they are replaced', async () => {
    const group = await createDirectoryGroup(directory, { members: toMembers(ids[0]) });
    const concurrentBind = createRacingEnv(/^insert into "group_bindings"/, () =>
      bindUser(company, group.id, ids[1] as string),
    );
    const memberPatch = {
      ...makePatch({ op: 'replace', path: 'members', value: toMembers(ids[2]) }),
      env: concurrentBind.env,
    };
    expect(listMemberIds(await expectSuccess(directory.patch(`${GROUPS_PATH}/${group.id}`, memberPatch)))).toEqual([
      ids[2],
    ]);
    expect(concurrentBind.hasRun()).toBe(true);
    expect(listMemberIds(await readGroup(group.id))).toEqual([ids[2]]);
  });

  it('that are deleted meanwhile are refused', async () => {
    const group = await createDirectoryGroup(directory, { members: toMembers(ids[0]) });
    const deletedUser = await createDirectoryUser(directory);
    const concurrentDeletion = createRacingEnv(/^insert into "group_bindings"/, () =>
      expectSuccess(directory.delete(`${USERS_PATH}/${deletedUser.id}`)),
    );
    const memberPatch = {
      ...makePatch({ op: 'add', path: 'members', value: toMembers(deletedUser.id) }),
      env: concurrentDeletion.env,
    };
    expect(readRefusal(await directory.patch(`${GROUPS_PATH}/${group.id}`, memberPatch))).toEqual([
      400,
      'invalidValue',
    ]);
    expect([concurrentDeletion.hasRun(), await readGroup(group.id)]).toEqual([true, group]);
    expect(await listBoundUsers(group.id)).not.toContain(deletedUser.id);
  });

  it('enter no group that is deleted meanwhile', async () => {
    const group = await createDirectoryGroup(directory);
    const concurrentDeletion = createRacingEnv(/^insert into "group_bindings"/, () =>
      expectSuccess(directory.delete(`${GROUPS_PATH}/${group.id}`)),
    );
    const memberPatch = {
      ...makePatch({ op: 'add', path: 'members', value: toMembers(ids[0]) }),
      env: concurrentDeletion.env,
    };
    expect((await directory.patch(`${GROUPS_PATH}/${group.id}`, memberPatch)).status).toBe(404);
    expect(concurrentDeletion.hasRun()).toBe(true);
    // No answer shows the members of a deleted group.
    const bindingsQuery = env.CONTROL_DB.prepare('select principal_id from group_bindings where group_id = ?');
    expect((await bindingsQuery.bind(group.id).all()).results).toEqual([]);
  });
});

describe('a global group in SCIM', () => {
  it('is shown, but cannot be changed', async () => {
    const { administrators: id } = await readGlobalGroups(company);
    const groupBefore = await readGroup(id);
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
    expect(await readGroup(id)).toEqual(groupBefore);
  });
});

describe('the ETag of a SCIM group', () => {
  it('changes with its members, and a stale one in If-Match changes nothing', async () => {
    const group = await createDirectoryGroup(directory, { members: toMembers(ids[0]) });
    await bindUser(company, group.id, ids[1] as string);
    const { headers } = await directory.get(`${GROUPS_PATH}/${group.id}`);
    expect(headers.get('etag')).not.toBe(group.meta.version);
    const staleHeaders = { headers: { 'if-match': group.meta.version } };
    const removePatch = makePatch({ op: 'remove', path: 'members' });
    expect(
      readRefusal(await directory.patch(`${GROUPS_PATH}/${group.id}`, { ...removePatch, ...staleHeaders })),
    ).toEqual([412, undefined]);
    const currentHeaders = { headers: { 'if-match': headers.get('etag') as string } };
    expect(
      (await directory.patch(`${GROUPS_PATH}/${group.id}`, { ...removePatch, ...currentHeaders })).body.members,
    ).toEqual([]);
  });
});
