import { describe, expect, it } from 'vitest';
import { createOwnedCompany } from '../support/companies.ts';
import { createAllowedAccount, createSecretCaller, expectSuccess, makeAllow } from '../support/signed.ts';
import {
  createDirectory,
  createDirectoryGroup,
  createDirectoryUser,
  GROUPS_PATH,
  readRefusal,
  USER_SCHEMA,
  USERS_PATH,
} from './support.ts';

const LIST_RESPONSE = 'urn:ietf:params:scim:api:messages:2.0:ListResponse';

const company = await createOwnedCompany();
const directory = await createDirectory(company);
const ana: Record<string, string> = await createDirectoryUser(directory, {
  userName: 'ana@one.example',
  displayName: 'Ana Éder',
  externalId: 'A-1',
});
const bruno: Record<string, string> = await createDirectoryUser(directory, {
  userName: 'bruno@two.example',
  displayName: 'Bruno',
  externalId: null,
});
const zoe: Record<string, string> = await createDirectoryUser(directory, {
  userName: 'zoe@two.example',
  displayName: 'Zoë "Z" %_',
  active: false,
});
const sales: Record<string, string> = await createDirectoryGroup(directory, {
  displayName: 'Sales',
  members: [{ value: ana.id }, { value: bruno.id }],
});

const searchDirectory = (path: string, query: Record<string, string>) =>
  directory.get(`${path}?${new URLSearchParams(query)}`);
/** Finds the user names or group names that match a filter, without the company's owner. */
async function findNames(path: string, filter: string): Promise<string[]> {
  await expectSuccess(searchDirectory(path, { filter, startIndex: '2', count: '1' }));
  const { totalResults, Resources } = await expectSuccess(searchDirectory(path, { filter, count: '1000' }));
  expect(totalResults).toBe(Resources.length);
  const names = Resources.map(
    (resource: Record<string, string>) => (resource.userName ?? resource.displayName)?.split('@')[0],
  );
  return names.filter((name: string) => ['ana', 'bruno', 'zoe', 'Sales', 'administrators', 'viewers'].includes(name));
}

const ALL_USER_NAMES = ['ana', 'bruno', 'zoe'];

describe('a SCIM filter in a search', () => {
  it.each([
    ['userName eq "ana@one.example"', ['ana']],
    ['USERNAME EQ "ANA@one.example"', ['ana']],
    [`${USER_SCHEMA}:userName eq "ana@one.example"`, ['ana']],
    ['userName ne "ana@one.example"', ['bruno', 'zoe']],
    ['userName co "TWO."', ['bruno', 'zoe']],
    ['userName sw "b"', ['bruno']],
    ['userName ew "one.example"', ['ana']],
    ['userName gt "ana@one.example" and userName lt "z"', ['bruno']],
    ['userName ge "ana@one.example" and userName le "bruno@two.example"', ['ana', 'bruno']],
    ['userName pr', ALL_USER_NAMES],
    ['displayName eq "bruno"', ['bruno']],
    ['displayName eq "ANA éder"', ['ana']],
    ['displayName ne "ana éDER"', ['bruno', 'zoe']],
    ['displayName co "éder"', ['ana']],
    ['displayName sw "ANA é"', ['ana']],
    ['displayName ew "%_"', ['zoe']],
    ['displayName co "\\"z\\" "', ['zoe']],
    ['displayName co ""', ALL_USER_NAMES],
    ['name.formatted eq "Bruno"', ['bruno']],
    ['name.familyName pr', []],
    ['externalId eq "A-1"', ['ana']],
    ['externalId eq "a-1"', []],
    ['externalId eq null', ['bruno']],
    ['not (externalId pr)', ['bruno']],
    ['externalId ne "A-1"', ['bruno', 'zoe']],
    ['active eq true', ['ana', 'bruno']],
    ['active eq "False"', ['zoe']],
    ['not (active eq true) or userName sw "a"', ['ana', 'zoe']],
    ['emails eq "ana@one.example"', ['ana']],
    ['emails.value co "two"', ['bruno', 'zoe']],
    ['emails[type eq "work" and value ew "two.example"]', ['bruno', 'zoe']],
    ['emails[type eq "home"]', []],
    ['not (emails[type eq "home"])', ALL_USER_NAMES],
    ['emails[type eq "work"].value eq "ana@one.example"', ['ana']],
    ['emails[primary eq true and not (value sw "a")]', ['bruno', 'zoe']],
    ['groups pr', ['ana', 'bruno']],
    ['groups.display eq "sales" and active eq true', ['ana', 'bruno']],
    ['groups[display sw "Sa" and type eq "direct"] and userName sw "b"', ['bruno']],
    ['title pr', []],
    ['title ne "Boss"', ALL_USER_NAMES],
    ['phoneNumbers[type eq "work"]', []],
    ['urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department eq "D"', []],
    ['userName pr and manager eq "M"', []],
    ['meta.resourceType eq "User" and userName sw "a"', ['ana']],
    ['meta.created gt "2020-01-01T00:00:00Z" and meta.lastModified lt "2999-01-01T00:00:00+02:00"', ALL_USER_NAMES],
    ['meta.created lt "2020-01-01T00:00:00Z"', []],
    ['userName sw "a" or userName sw "b" and active eq false', ['ana']],
    ['(userName sw "a" or userName sw "z") and active eq false', ['zoe']],
    ['schemas eq "urn:ietf:params:scim:schemas:core:2.0:User"', ALL_USER_NAMES],
  ])('finds the right users: %s', async (filter, names) => {
    expect((await findNames(USERS_PATH, filter)).toSorted()).toEqual(names);
  });

  it('finds users by their groups, and groups by their members', async () => {
    expect(await findNames(USERS_PATH, `groups.value eq "${sales.id}"`)).toEqual(['ana', 'bruno']);
    expect(await findNames(GROUPS_PATH, `members eq "${ana.id}"`)).toEqual(['Sales']);
    expect(
      await findNames(GROUPS_PATH, `id eq "${sales.id}" and members[value eq "${bruno.id}" and type eq "User"]`),
    ).toEqual(['Sales']);
    expect(await findNames(GROUPS_PATH, `members.value eq "${zoe.id}"`)).toEqual([]);
    expect(await findNames(GROUPS_PATH, 'members.display co "ana"')).toEqual(['Sales']);
    expect(await findNames(GROUPS_PATH, 'displayName eq "SALES"')).toEqual(['Sales']);
    const name = 'АБВГДЕЁЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯ Σίσυφος ẞ İ';
    const { id } = await createDirectoryGroup(directory, { displayName: name });
    const findByName = async (groupName: string) =>
      (await expectSuccess(searchDirectory(GROUPS_PATH, { filter: `displayName eq "${groupName}"` }))).Resources;
    expect(await findByName(name)).toMatchObject([{ id }]);
    expect(await findNames(USERS_PATH, `groups.display eq "${name}"`)).toEqual([]);
    expect(await findNames(GROUPS_PATH, `members.display eq "${name}"`)).toEqual([]);
    const bothTypesAnswer = await expectSuccess(
      directory.post('/scim/v2/.search', { json: { filter: `displayName eq "${name}"` } }),
    );
    expect(bothTypesAnswer.Resources).toMatchObject([{ id }]);
    expect(await findNames(GROUPS_PATH, 'not (members pr) and displayName eq "viewers"')).toEqual(['viewers']);
  });

  it.each([
    'userName',
    'userName eq',
    'userName is "x"',
    'userName eq x',
    "userName eq 'x'",
    'userName eq "x',
    'userName eq "x" and',
    'userName eq "x" userName eq "y"',
    '(userName eq "x"',
    'not userName eq "x"',
    'emails[type eq "work"',
    'emails[emails[type eq "a"]]',
    'a.b.c eq "x"',
    'surprise eq "x"',
    'urn:of:nobody:userName eq "x"',
    '__proto__ pr',
    'constructor eq "x"',
    'active gt true',
    'active eq "maybe"',
    'userName eq 7',
    'userName gt null',
    'active co "t"',
    'meta.created gt "yesterday"',
    'userName eq "\\ud800"',
    `${'('.repeat(10_000)}userName pr${')'.repeat(10_000)}`,
    `${'('.repeat(11)}userName pr${')'.repeat(11)}`,
    Array.from({ length: 25 }, () => 'userName pr').join(' or '),
    `userName eq "${'x'.repeat(8000)}"`,
  ])('is refused: %.60s', async (filter) => {
    const answer = await directory.post(`${USERS_PATH}/.search`, { json: { filter } });
    expect([answer.status, answer.body.scimType]).toEqual([
      400,
      filter.length > 8000 ? expect.any(String) : 'invalidFilter',
    ]);
    expect(answer.body.detail.length).toBeLessThan(400);
  });

  it('may be as deep and as long as its limits', async () => {
    const manyTermFilter = Array.from({ length: 24 }, (_, index) => `userName sw "a${index}" `).join('or ');
    expect(await findNames(USERS_PATH, `${'('.repeat(10)}${manyTermFilter}${')'.repeat(10)}`)).toEqual([]);
    const longTermFilter = Array.from({ length: 24 }, () => 'displayName co "ãéíõüçñøåæðþßœ"').join(' and ');
    expect(await findNames(USERS_PATH, longTermFilter)).toEqual([]);
    expect(await findNames(USERS_PATH, longTermFilter.replaceAll(' co ', ' eq '))).toEqual([]);
    const groups = Array.from({ length: 24 }, () => 'groups.display co "x"').join(' or ');
    expect(await findNames(USERS_PATH, groups)).toEqual([]);
  });

  it('of a client that is denied some users may have at most eight terms about groups or members', async () => {
    const denyStatement = {
      effect: 'Deny' as const,
      actions: ['users:get', 'groups:get', 'users:list', 'groups:list'],
    };
    const deniedAccount = await createAllowedAccount(company, makeAllow('users:*', 'groups:*'), {
      ...denyStatement,
      resources: [
        `arn:svc:users::${company.id}:user/f*`,
        `arn:svc:groups::${company.id}:group/${sales.id}`,
        `arn:svc:users::${company.id}:user/${ana.id}`,
        `arn:svc:groups::${company.id}:group/e*`,
      ],
    });
    const by = createSecretCaller(deniedAccount);
    const searchWithDenials = (path: string, filter: string) =>
      by.post(`${path}/.search`, { json: { filter, startIndex: 2, count: 1 } });
    for (const count of [5, 8, 9, 20, 24]) {
      const groups = Array.from({ length: count }, () => 'groups.display co "x"').join(' or ');
      expect((await searchWithDenials(USERS_PATH, groups)).status).toBe(count <= 8 ? 200 : 400);
      const members = Array.from({ length: count }, () => 'members.display co "x"').join(' or ');
      expect((await searchWithDenials(GROUPS_PATH, members)).status).toBe(count <= 8 ? 200 : 400);
    }
    expect((await searchWithDenials(USERS_PATH, `groups.value eq "${sales.id}"`)).body.totalResults).toBe(0);
  });
});

describe('a SCIM list', () => {
  it('is paged from any start index, with the exact total', async () => {
    const allUsers = await expectSuccess(searchDirectory(USERS_PATH, { sortBy: 'userName', sortOrder: 'descending' }));
    expect(allUsers).toMatchObject({ schemas: [LIST_RESPONSE], startIndex: 1 });
    expect(allUsers.itemsPerPage).toBe(allUsers.totalResults);
    const names = allUsers.Resources.map(({ userName }: { userName: string }) => userName);
    expect(names).toEqual(names.toSorted().toReversed());
    for (const [startIndex, count] of [
      [2, 2],
      [1, 1],
      [3, 100],
      [4, 1],
      [99, 5],
    ] as const) {
      const page = await expectSuccess(
        searchDirectory(USERS_PATH, {
          sortBy: 'userName',
          sortOrder: 'descending',
          startIndex: `${startIndex}`,
          count: `${count}`,
        }),
      );
      const expectedNames = names.slice(startIndex - 1, startIndex - 1 + count);
      expect(page).toMatchObject({ totalResults: names.length, startIndex, itemsPerPage: expectedNames.length });
      expect(page.Resources.map(({ userName }: { userName: string }) => userName)).toEqual(expectedNames);
    }
  });

  it.each([
    [USERS_PATH, 'id'],
    [USERS_PATH, 'externalId'],
    [USERS_PATH, 'emails'],
    [USERS_PATH, 'emails.value'],
    [USERS_PATH, 'active'],
    [USERS_PATH, 'urn:ietf:params:scim:schemas:core:2.0:User:userName'],
    [GROUPS_PATH, 'id'],
    [GROUPS_PATH, 'externalId'],
  ])('%s is ordered by %s', async (path, sortBy) => {
    const readSorted = async (sortOrder: string) =>
      (await expectSuccess(searchDirectory(path, { sortBy, sortOrder }))).Resources.map(
        (resource: Record<string, unknown>) =>
          resource[sortBy.replace(/^emails.*/, 'userName').replace(/^urn:.*:/, '')] ?? '',
      );
    const ascendingValues = await readSorted('ascending');
    expect(ascendingValues.length).toBeGreaterThan(1);
    expect(ascendingValues).toEqual(ascendingValues.toSorted((first: never, other: never) => (first < other ? -1 : 1)));
    expect(await readSorted('descending')).toEqual(ascendingValues.toReversed());
  });

  it.each(['title', 'name.familyName', 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:manager.value'])(
    'is in the default order if no user has the attribute %s',
    async (sortBy) => {
      const readIds = async (query: Record<string, string>) =>
        (await expectSuccess(searchDirectory(USERS_PATH, query))).Resources.map(({ id }: { id: string }) => id);
      expect(await readIds({ sortBy })).toEqual(await readIds({}));
    },
  );

  it.each([
    [{ count: '0' }, 0],
    [{ count: '-5' }, 0],
    [{ startIndex: '-1', count: '1' }, 1],
    [{ startIndex: '0', count: '2' }, 2],
    [{ count: '5000' }, 4],
  ])('clamps %j to the limits', async (query, items) => {
    const { totalResults, itemsPerPage, Resources } = await expectSuccess(searchDirectory(USERS_PATH, query));
    expect([totalResults, itemsPerPage, Resources.length]).toEqual([4, items, items]);
  });

  it.each([
    { count: 'ten' },
    { startIndex: '1.5' },
    { sortBy: 'shoeSize' },
    { sortBy: 'urn:ietf:params:scim:schemas:core:2.0:Group:userName' },
    { sortBy: 'userName', sortOrder: 'up' },
  ])('refuses %j', async (query) => {
    expect(readRefusal(await searchDirectory(USERS_PATH, Object(query)))).toEqual([400, 'invalidValue']);
  });

  it('refuses an unknown parameter, and names it', async () => {
    const { status, body } = await searchDirectory(USERS_PATH, { surprise: '1' });
    expect([status, body.detail]).toEqual([422, expect.stringContaining('surprise')]);
  });

  it.each([
    [{ attributes: 'userName' }, ['id', 'schemas', 'userName']],
    [{ attributes: 'USERNAME,name.formatted' }, ['id', 'name', 'schemas', 'userName']],
    [{ attributes: `${USER_SCHEMA}:active` }, ['active', 'id', 'schemas']],
    [
      { excludedAttributes: 'groups,meta,emails,name,id' },
      ['active', 'displayName', 'externalId', 'id', 'schemas', 'userName'],
    ],
    [{ attributes: 'nothing' }, ['id', 'schemas']],
  ])('shows only the attributes requested by %j', async (query, names) => {
    const filter = 'userName eq "ana@one.example"';
    const { Resources } = await expectSuccess(searchDirectory(USERS_PATH, { filter, ...query }));
    expect(Object.keys(Resources[0]).toSorted()).toEqual(names);
  });

  it('shows single sub-attributes on request', async () => {
    const { Resources } = await expectSuccess(
      searchDirectory(USERS_PATH, { filter: 'userName sw "ana"', attributes: 'emails.value,meta.location' }),
    );
    expect(Resources).toEqual([
      {
        schemas: [USER_SCHEMA],
        id: ana.id,
        emails: [{ value: 'ana@one.example' }],
        meta: { location: expect.any(String) },
      },
    ]);
    const usersWithoutAttributes = await expectSuccess(
      searchDirectory(USERS_PATH, { filter: 'userName sw "ana"', excludedAttributes: 'emails.type' }),
    );
    expect(usersWithoutAttributes.Resources[0].emails).toEqual([{ value: 'ana@one.example', primary: true }]);
  });

  it('leaves out attributes whose sub-attributes are all excluded', async () => {
    const name = { givenName: 'Carla', familyName: 'Cruz' };
    const { id } = await createDirectoryUser(directory, { userName: 'carla@three.example', name });
    const listShownAttributes = async (query: string) =>
      Object.keys(await expectSuccess(directory.get(`${USERS_PATH}/${id}?${query}`)));
    expect(await listShownAttributes('attributes=name.givenName,emails.display')).toEqual(['schemas', 'id']);
    expect(await listShownAttributes('excludedAttributes=name.formatted')).not.toContain('name');
    expect(await listShownAttributes('excludedAttributes=name.givenName')).toContain('name');
    await expectSuccess(directory.delete(`${USERS_PATH}/${id}`));
  });

  it('leaves out the members of groups on request', async () => {
    const [without] = (
      await expectSuccess(
        searchDirectory(GROUPS_PATH, { filter: 'displayName eq "Sales"', excludedAttributes: 'members' }),
      )
    ).Resources;
    expect([without.members, without.meta.version]).toEqual([undefined, undefined]);
    const groupWithoutMembers = await directory.get(`${GROUPS_PATH}/${sales.id}?excludedAttributes=members`);
    expect([groupWithoutMembers.body.members, groupWithoutMembers.headers.get('etag')]).toEqual([
      undefined,
      groupWithoutMembers.body.meta.version,
    ]);
  });
});

describe('a SCIM search by POST', () => {
  it('takes the parameters of a list in its body', async () => {
    const query = { filter: 'userName co "two"', count: 1, startIndex: 2, sortBy: 'userName' };
    const json = {
      schemas: ['urn:ietf:params:scim:api:messages:2.0:SearchRequest'],
      ...query,
      attributes: ['userName'],
    };
    expect(await expectSuccess(directory.post(`${USERS_PATH}/.search`, { json }))).toEqual({
      schemas: [LIST_RESPONSE],
      totalResults: 2,
      startIndex: 2,
      itemsPerPage: 1,
      Resources: [{ schemas: [USER_SCHEMA], id: zoe.id, userName: 'zoe@two.example' }],
    });
  });

  it('of both resource types shows users, then groups, on consecutive pages', async () => {
    const at = '/scim/v2/.search';
    const allResources = await expectSuccess(
      directory.post(at, { json: { filter: 'displayName pr', attributes: ['displayName'] } }),
    );
    const kinds = allResources.Resources.map(({ schemas }: { schemas: string[] }) => schemas[0]?.split(':').at(-1));
    expect(kinds.join(' ')).toMatch(/^(User )+(Group ?)+$/);
    expect(allResources.totalResults).toBe(allResources.Resources.length);
    const pages: unknown[] = [];
    for (let startIndex = 1; startIndex <= allResources.totalResults; startIndex += 3) {
      const json = { filter: 'displayName pr', attributes: ['displayName'], startIndex, count: 3 };
      pages.push(...(await expectSuccess(directory.post(at, { json }))).Resources);
    }
    expect(pages).toEqual(allResources.Resources);
    const json = { filter: 'userName sw "ana" or members.display eq "bruno"' };
    expect((await expectSuccess(directory.post(at, { json }))).totalResults).toBe(2);
    const groupsOnly = await expectSuccess(directory.post(at, { json: { filter: 'meta.resourceType eq "group"' } }));
    expect(groupsOnly.Resources.every(({ members }: { members?: unknown }) => members)).toBe(true);
  });

  it('shows no resource that the caller may not list', async () => {
    const by = createSecretCaller(await createAllowedAccount(company, makeAllow('groups:list')));
    const { Resources } = await expectSuccess(by.post('/scim/v2/.search', { json: {} }));
    expect(Resources.map(({ meta }: { meta: { resourceType: string } }) => meta.resourceType)).not.toContain('User');
    expect(Resources.length).toBeGreaterThan(0);
  });

  it.each([
    [[], 'invalidSyntax'],
    [{ filter: 7 }, 'invalidValue'],
    [{ filter: 'x'.repeat(8001) }, 'invalidValue'],
    [{ count: 'ten' }, 'invalidValue'],
    [{ startIndex: 1.5 }, 'invalidValue'],
    [{ attributes: Array.from({ length: 101 }, () => 'id') }, 'invalidValue'],
    [{ attributes: [7] }, 'invalidValue'],
    [{ excludedAttributes: ['x'.repeat(201)] }, 'invalidValue'],
    [{ sortBy: {} }, 'invalidValue'],
  ])('refuses %.60j', async (json, scimType) => {
    expect(readRefusal(await directory.post(`${GROUPS_PATH}/.search`, { json }))).toEqual([400, scimType]);
  });

  it('refuses a body of 70,000 characters', async () => {
    const requestOptions = {
      body: `{"filter":"${' '.repeat(70_000)}"}`,
      headers: { 'content-type': 'application/scim+json' },
    };
    expect((await directory.post(`${USERS_PATH}/.search`, requestOptions)).status).toBe(413);
  });
});

describe('SCIM discovery', () => {
  it.each(['ServiceProviderConfig', 'ResourceTypes', 'Schemas'])(
    'of %s is not filtered, and never paged',
    async (resourcePath) => {
      const refusedAnswer = await directory.get(`/scim/v2/${resourcePath}?filter=id%20pr`);
      expect([refusedAnswer.status, refusedAnswer.body.scimType]).toEqual([403, undefined]);
      const wholeList = await expectSuccess(directory.get(`/scim/v2/${resourcePath}`));
      expect(
        await expectSuccess(
          directory.get(`/scim/v2/${resourcePath}?startIndex=2&count=1&sortBy=id&sortOrder=descending`),
        ),
      ).toEqual(wholeList);
    },
  );

  it('returns the configuration, the resource types and the schemas', async () => {
    const serviceConfig = await expectSuccess(directory.get('/scim/v2/ServiceProviderConfig'));
    expect(serviceConfig).toMatchObject({
      patch: { supported: true },
      bulk: { supported: false },
      filter: { maxResults: 1000 },
      etag: { supported: true },
    });
    for (const [path, thing] of [
      ['/scim/v2/ResourceTypes', 'resource type'],
      ['/scim/v2/Schemas', 'schema'],
    ] as const) {
      const { totalResults, Resources } = await expectSuccess(directory.get(path));
      expect([totalResults, Resources.length]).toEqual([2, 2]);
      for (const resource of Resources) {
        expect(resource.meta.location).toContain(`${path}/${resource.id}`);
        expect(await expectSuccess(directory.get(`${path}/${resource.id}`))).toEqual(resource);
      }
      const missingAnswer = await directory.get(`${path}/Nothing`);
      expect([...readRefusal(missingAnswer), missingAnswer.body.detail]).toEqual([
        404,
        undefined,
        `There is no such ${thing}.`,
      ]);
    }
  });

  it('describes exactly the attributes of a user that are returned', async () => {
    const {
      Resources: [user],
    } = await expectSuccess(searchDirectory(USERS_PATH, { filter: 'userName sw "ana"' }));
    const { attributes } = await expectSuccess(directory.get(`/scim/v2/Schemas/${USER_SCHEMA}`));
    const describedNames = attributes.map(({ name }: { name: string }) => name).toSorted();
    const COMMON_ATTRIBUTES = ['schemas', 'id', 'meta'];
    expect(
      Object.keys(user)
        .filter((name) => !COMMON_ATTRIBUTES.includes(name))
        .toSorted(),
    ).toEqual(describedNames);
    for (const { name, subAttributes } of attributes) {
      const [one] = [user[name]].flat();
      for (const subAttribute of subAttributes ? Object.keys(one) : [])
        expect(subAttributes.map((subAttribute: { name: string }) => subAttribute.name)).toContain(subAttribute);
    }
  });
});
