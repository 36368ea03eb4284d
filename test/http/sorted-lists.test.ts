import { beforeAll, describe, expect, it } from 'vitest';
import { addContextMember, CONTEXTS_PATH, createShareContext } from '../share-portal/support.ts';
import { createShare } from '../shares/support.ts';
import { createAllowedUser, createProvisionedCompany } from '../support/companies.ts';
import {
  addToGroups,
  createConsoleGroup,
  makeGroupInput,
  makePermissionInput,
  makePolicyInput,
} from '../support/console.ts';
import {
  createKeyedAccount,
  createSignedCaller,
  expectSuccess,
  makeAllow,
  createGrouplessUser as unboundUser,
} from '../support/signed.ts';
import { postDashboard } from '../visualizations/support.ts';

type ListedRecord = Record<string, string | null>;

/** A list that can be searched and sorted. */
interface SortableList {
  createRecord(name: string): Promise<unknown>;
  makePath(): string;
  /** The default sort order. */
  defaultOrder: string | null;
}

const company = await createProvisionedCompany();
const ownerCaller = company.as;
const dashboard: string = (await postDashboard(ownerCaller, []))._id;
const anotherDashboard: string = (await postDashboard(ownerCaller, []))._id;
const context = (await createShareContext(company)).id;
const group: string = (await createConsoleGroup(company))._id;

const createUserNamed = async (name: string) => {
  const { id } = await createAllowedUser(company);
  await expectSuccess(ownerCaller.put(`/v1/users/${id}`, { json: { name } }));
  return id;
};
let slugCount = 0;

const LISTS: Record<string, SortableList> = {
  users: { createRecord: createUserNamed, makePath: () => '/v1/users', defaultOrder: '-created_at' },
  groups: {
    createRecord: (name) => expectSuccess(ownerCaller.post('/v1/groups', { json: makeGroupInput({ name }) })),
    makePath: () => '/v1/groups',
    defaultOrder: '-created_at',
  },
  policies: {
    createRecord: (name) =>
      expectSuccess(ownerCaller.post('/v1/policies', { json: makePolicyInput([makeAllow('users:list')], { name }) })),
    makePath: () => '/v1/policies',
    // Managed ones come first: test/policies/policies.
    defaultOrder: null,
  },
  permissions: {
    createRecord: (name) =>
      expectSuccess(ownerCaller.post('/v1/permissions', { json: makePermissionInput(company, { name }) })),
    makePath: () => '/v1/permissions',
    defaultOrder: '-created_at',
  },
  contexts: {
    createRecord: (name) =>
      expectSuccess(ownerCaller.post(CONTEXTS_PATH, { json: { name, slug: `sorted-${++slugCount}` } })),
    makePath: () => CONTEXTS_PATH,
    defaultOrder: '-created_at',
  },
  'members of a context': {
    createRecord: async (name) =>
      addContextMember(ownerCaller, context, { member_type: 'internal_user', member_id: await createUserNamed(name) }),
    makePath: () => `${CONTEXTS_PATH}/${context}/members`,
    defaultOrder: 'created_at',
  },
  'service accounts': {
    createRecord: (name) => expectSuccess(ownerCaller.post('/v1/service-accounts', { json: { name } })),
    makePath: () => '/v1/service-accounts',
    defaultOrder: '-created_at',
  },
  shares: {
    createRecord: (name) => createShare(company, dashboard, { name }),
    makePath: () => '/api/v1/dashboard-shares',
    defaultOrder: '-created_at',
  },
  'shares of one dashboard': {
    createRecord: (name) => createShare(company, anotherDashboard, { name }),
    makePath: () => `/api/v1/dashboards/${anotherDashboard}/shares`,

    defaultOrder: '-created_at',
  },
};

const SORTED_NAMES = [
  'Beta',
  'água 100% pura',
  'agua_1',
  'alpha',
  'Ähnlich',
  'beta',
  'Gamma',
  'БЕТА',
  'Νίκος Weiß',
  "it's; --",
];
// A policy's name is part of an ARN, a share's or person's may be the same twice.
const UNIQUE_NAME_LISTS = new Set(['groups', 'policies']);

const readId = (listedRecord: ListedRecord) => (listedRecord._id ?? listedRecord.id) as string;
const swapLetterCase = (text: string) => text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
const compareValues = <T extends number | string>(firstValue: T, other: T) =>
  firstValue < other ? -1 : firstValue > other ? 1 : 0;

/** Sorts records by a field, and equal values by id. @returns their ids */
function sortRecords(records: ListedRecord[], sortBy: string): string[] {
  const field = sortBy.replace('-', '');
  const makeSortKey = (listedRecord: ListedRecord) => swapLetterCase(listedRecord[field] ?? '');
  const sortedRecords = records.toSorted(
    (firstValue, other) =>
      compareValues(makeSortKey(firstValue), makeSortKey(other)) || compareValues(readId(firstValue), readId(other)),
  );
  return (sortBy.startsWith('-') ? sortedRecords.reverse() : sortedRecords).map(readId);
}

/** Reads every record of a list, page by page. */
async function readAllPages(path: string, query: Record<string, string>, perPage: number) {
  const records: ListedRecord[] = [];
  for (let page = 1; ; page += 1) {
    const pageQuery = new URLSearchParams({ ...query, page: String(page), per_page: String(perPage) });
    const { total, records: pageRecords } = await expectSuccess(ownerCaller.get(`${path}?${pageQuery}`));
    records.push(...pageRecords);
    if (pageRecords.length < perPage || records.length >= total) {
      expect(records).toHaveLength(total);
      return records;
    }
  }
}

/** Searches, and the names that they find. */
const SEARCHES: [search: string, names: string[]][] = [
  ['ÁGUA', ['água 100% pura']],
  ['%', ['água 100% pura']],
  ['BETA', ['Beta', 'beta']],
  ['бет', ['БЕТА']],
  ['ähn', ['Ähnlich']],
  ['ΝΊΚΟΣ WEIẞ', ['Νίκος Weiß']],
  ['νίκοσ weiß', ['Νίκος Weiß']],
  ['100% P', ['água 100% pura']],
  ['A_1', ['agua_1']],
  ["'S; --", ["it's; --"]],
  ['alp*', []],
  ['\u0000', []],
  ['\\', []],
];
const INVALID_ORDERS = ['password_hash', '', 'id', '--name', 'NAME', 'name,created_at'];

describe.each(Object.entries(LISTS))('the list of %s', (title, { createRecord, makePath, defaultOrder }) => {
  // All lists are searched and ordered by the same code: the first shows all that it does, the others that they use it.
  const caseCount = title === 'users' ? undefined : 2;

  beforeAll(async () => {
    for (const name of UNIQUE_NAME_LISTS.has(title) ? SORTED_NAMES : [...SORTED_NAMES, 'Gamma'])
      await createRecord(name);
  });

  it('is searched for a text of 200 letters, and refuses one of 10,000', async () => {
    const letters = Array.from({ length: 200 }, (_, at) =>
      String.fromCodePoint(0x430 + (at % 32) + (at > 99 ? 80 : 0)),
    );
    expect(
      (await expectSuccess(ownerCaller.get(`${makePath()}?search=${encodeURIComponent(letters.join(''))}`))).total,
    ).toBe(0);
    const { status, body } = await ownerCaller.get(`${makePath()}?search=${'x'.repeat(10_000)}`);
    expect([status, body.details[0].field]).toEqual([422, 'search']);
  });

  it.each(SEARCHES.slice(0, caseCount))('is searched for %j, literally and in any case', async (search, names) => {
    const { total, records } = await expectSuccess(
      ownerCaller.get(`${makePath()}?per_page=100&search=${encodeURIComponent(search)}`),
    );
    expect([total, records.map(({ name }: ListedRecord) => name).toSorted()]).toEqual([names.length, names.toSorted()]);
  });

  it('is sorted by the requested field, equal values by id, on pages that contain every record once', async () => {
    const allRecords = await readAllPages(makePath(), {}, 100);
    for (const sortBy of ['name', '-name', 'created_at', '-created_at']) {
      const sortedIds = (await readAllPages(makePath(), { sort_by: sortBy }, 4)).map(readId);
      expect([sortBy, sortedIds]).toEqual([sortBy, sortRecords(allRecords, sortBy)]);
    }
    if (defaultOrder) expect(allRecords.map(readId)).toEqual(sortRecords(allRecords, defaultOrder));
    const foundRecords = await readAllPages(makePath(), { search: 'a', sort_by: 'name' }, 2);
    expect(foundRecords.map(readId)).toEqual(sortRecords(foundRecords, 'name'));
  });

  it.each(INVALID_ORDERS.slice(0, caseCount))('refuses sort_by=%j', async (field) => {
    const { status, body } = await ownerCaller.get(`${makePath()}?sort_by=${field}`);
    expect([status, body.details[0].field]).toEqual([422, 'sort_by']);
    expect(body.details[0].message).toContain('name, created_at');
  });
});

describe('the list of users', () => {
  const listIds = async (query: string): Promise<string[]> =>
    (await expectSuccess(ownerCaller.get(`/v1/users?per_page=100&${query}`))).records.map(readId);

  it('is searched by email too', async () => {
    const { id, email } = await createAllowedUser(company);
    expect(await listIds(`search=${email.toUpperCase()}`)).toEqual([id]);
  });

  it('is sorted by email and by the last sign-in', async () => {
    const { records } = await expectSuccess(ownerCaller.get('/v1/users?per_page=100'));
    expect(await listIds('sort_by=email')).toEqual(sortRecords(records, 'email'));
    const { id } = await unboundUser(company);
    const latestIds = await listIds('sort_by=-last_login_at');
    expect(latestIds.at(-1)).toBe(id);
    expect(await listIds('sort_by=last_login_at')).toEqual(latestIds.toReversed());
  });

  it('is filtered by status and group, with exact totals', async () => {
    const [invited] = [
      await expectSuccess(ownerCaller.post('/v1/users/invite', { json: { email: `narrow@${company.slug}.test` } })),
    ];
    const [inactive, active] = [await createUserNamed('Narrow inactive'), await createUserNamed('Narrow active')];
    await expectSuccess(ownerCaller.post(`/v1/users/${inactive}/deactivate`));
    for (const id of [invited._id, inactive, active]) await addToGroups(company, id, group);
    const countFiltered = async (query: string) => {
      const { total, records } = await expectSuccess(ownerCaller.get(`/v1/users?per_page=100&${query}`));
      expect(records).toHaveLength(total);
      return records.map(readId).toSorted();
    };
    expect(await countFiltered(`group_id=${group}`)).toEqual([invited._id, inactive, active].toSorted());
    expect(await countFiltered(`group_id=${group}&status=invited`)).toEqual([invited._id]);
    expect(await countFiltered(`group_id=${group}&status=inactive`)).toEqual([inactive]);
    expect(await countFiltered(`group_id=${group}&status=active`)).toEqual([active]);
    expect(await countFiltered(`group_id=${group}&search=narrow a`)).toEqual([active]);
    expect(await countFiltered('status=inactive')).toEqual([inactive]);
    expect(await countFiltered(`group_id=${'0'.repeat(24)}`)).toEqual([]);
    const { status, body } = await ownerCaller.get('/v1/users?status=deleted');
    expect([status, body.details[0].field]).toEqual([422, 'status']);
  });

  it('is empty when it is filtered by a group of another company', async () => {
    const other = await createProvisionedCompany();
    const otherGroup = await createConsoleGroup(other);
    await addToGroups(other, (await createAllowedUser(other)).id, otherGroup._id);
    expect(await listIds(`group_id=${otherGroup._id}`)).toEqual([]);
  });
});

describe('the members of a group', () => {
  const listMembers = async (id: string, query = '') =>
    expectSuccess(ownerCaller.get(`/v1/groups/${id}/members?per_page=100${query}`));

  it('are users and service accounts, sorted by name, in pages', async () => {
    const { _id } = await createConsoleGroup(company);
    const [zoe, ana, Bea] = [await createUserNamed('zoe'), await createUserNamed('Ana'), await createUserNamed('Bea')];
    const serviceAccount = await createKeyedAccount(company);
    for (const id of [zoe, ana, Bea]) await addToGroups(company, id, _id);
    const json = { principal_type: 'service_account', principal_id: serviceAccount.id, account_id: company.accountId };
    await expectSuccess(createSignedCaller(company.apiKey).post(`/groups/${_id}/bindings`, { json }));
    const { total, quantity, records } = await listMembers(_id);
    expect([total, quantity]).toEqual([4, 4]);
    expect(records.map(({ name }: ListedRecord) => name)).toEqual(['Ana', 'Bea', 'Robot', 'zoe']);
    expect(records.slice(1, 3)).toEqual([
      {
        principal_type: 'user',
        principal_id: Bea,
        name: 'Bea',
        email: expect.stringContaining('@'),
        account_id: company.accountId,
      },
      {
        principal_type: 'service_account',
        principal_id: serviceAccount.id,
        name: 'Robot',
        email: null,
        account_id: company.accountId,
      },
    ]);
    const pagedMembers = [];
    for (const page of [1, 2, 3, 4]) {
      pagedMembers.push(
        ...(await expectSuccess(ownerCaller.get(`/v1/groups/${_id}/members?per_page=1&page=${page}`))).records,
      );
    }
    expect(pagedMembers).toEqual(records);
    expect((await listMembers(_id, '&search=ROB')).records).toEqual([records[2]]);
    expect((await listMembers(_id, `&search=${encodeURIComponent(records[0].email)}`)).records).toEqual([records[0]]);
    expect((await listMembers(_id, '&search=%25')).total).toBe(0);
  });

  it('are answered 404 for a group of another company, or a group that does not exist', async () => {
    const other = await createProvisionedCompany();
    for (const id of [(await createConsoleGroup(other))._id, '0'.repeat(24), '%00']) {
      const { status, body } = await ownerCaller.get(`/v1/groups/${id}/members`);
      expect([status, body.error]).toEqual([404, 'GROUP_NOT_FOUND']);
    }
  });

  it.each([
    ['service-accounts:GetServiceAccount', 'service-accounts', 'service-account'],
    ['users:list_integration_users', 'users', 'user'],
  ])('do not include a service account that a Deny of %s hides from the caller', async (action, service, type) => {
    const { _id } = await createConsoleGroup(company);
    const serviceAccount = await createKeyedAccount(company);
    const json = { principal_type: 'service_account', principal_id: serviceAccount.id, account_id: company.accountId };
    await expectSuccess(createSignedCaller(company.apiKey).post(`/groups/${_id}/bindings`, { json }));
    const deniedUser = await createAllowedUser(company, {
      can: ['*'],
      denied: [action],
      deniedArns: [`arn:svc:${service}::${company.id}:${type}/${serviceAccount.id}`],
    });
    expect((await listMembers(_id)).total).toBe(1);
    expect((await expectSuccess(deniedUser.as.get(`/v1/groups/${_id}/members`))).total).toBe(0);
  });
});
