import { beforeAll, describe, expect, it } from 'vitest';
import { aContext, aMember, CONTEXTS_PATH } from '../share-portal/support.ts';
import { aShare } from '../shares/support.ts';
import type { Caller } from '../support/api.ts';
import {
  addToGroups,
  createConsoleGroup,
  makeGroupInput,
  makePermissionInput,
  makePolicyInput,
} from '../support/console.ts';
import { allow, aServiceAccount, must, signed, aUser as unboundUser } from '../support/signed.ts';
import { aProvisionedCompany, aUser, type Company } from '../support/worlds.ts';
import { aDashboard } from '../visualizations/support.ts';

type Shown = Record<string, string | null>;

/** A list that can be searched and sorted. */
interface Sorted {
  make(name: string): Promise<unknown>;
  path(): string;
  /** What its default order is. */
  standard: string | null;
  /** The field that holds the name. */
  named?: string;
}

let company: Company;
let asOwner: Caller;
let dashboard: string;
let anotherDashboard: string;
let context: string;
let group: string;
beforeAll(async () => {
  company = await aProvisionedCompany();
  asOwner = company.as;
  dashboard = (await aDashboard(asOwner, []))._id;
  anotherDashboard = (await aDashboard(asOwner, []))._id;
  context = (await aContext(company)).id;
  group = (await createConsoleGroup(company))._id;
});

const createPerson = async (name: string) => {
  const { id } = await aUser(company);
  await must(asOwner.put(`/v1/users/${id}`, { json: { name } }));
  return id;
};
let slugs = 0;

const LISTS: Record<string, Sorted> = {
  users: { make: createPerson, path: () => '/v1/users', standard: '-created_at' },
  groups: {
    make: (name) => must(asOwner.post('/v1/groups', { json: makeGroupInput({ name }) })),
    path: () => '/v1/groups',
    standard: '-created_at',
  },
  policies: {
    make: (name) => must(asOwner.post('/v1/policies', { json: makePolicyInput([allow('users:list')], { name }) })),
    path: () => '/v1/policies',
    // Managed ones come first: test/policies/policies.
    standard: null,
  },
  permissions: {
    make: (name) => must(asOwner.post('/v1/permissions', { json: makePermissionInput(company, { name }) })),
    path: () => '/v1/permissions',
    standard: '-created_at',
  },
  contexts: {
    make: (name) => must(asOwner.post(CONTEXTS_PATH, { json: { name, slug: `sorted-${++slugs}` } })),
    path: () => CONTEXTS_PATH,
    standard: '-created_at',
  },
  'members of a context': {
    make: async (name) =>
      aMember(asOwner, context, { member_type: 'internal_user', member_id: await createPerson(name) }),
    path: () => `${CONTEXTS_PATH}/${context}/members`,
    standard: 'created_at',
  },
  'service accounts': {
    make: (name) => must(asOwner.post('/v1/service-accounts', { json: { name } })),
    path: () => '/v1/service-accounts',
    standard: '-created_at',
  },
  shares: {
    make: (name) => aShare(company, dashboard, { name }),
    path: () => '/api/v1/dashboard-shares',
    standard: '-created_at',
  },
  'shares of one dashboard': {
    make: (name) => aShare(company, anotherDashboard, { name }),
    path: () => `/api/v1/dashboards/${anotherDashboard}/shares`,

    standard: '-created_at',
  },
};

const NAMES = ['Beta', 'água 100% pura', 'agua_1', 'alpha', 'Ähnlich', 'beta', 'Gamma', 'БЕТА', "it's; --"];
// A policy's name is part of an ARN, a share's or person's may be the same twice.
const UNIQUE = new Set(['groups', 'policies']);

const readId = (shown: Shown) => (shown._id ?? shown.id) as string;
const swapLetterCase = (text: string) => text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
const compare = <T extends number | string>(one: T, other: T) => (one < other ? -1 : one > other ? 1 : 0);

/** In the order of a field, ties by id. */
function sortRecords(records: Shown[], sortBy: string): string[] {
  const field = sortBy.replace('-', '');
  const key = (shown: Shown) => swapLetterCase(shown[field] ?? '');
  const sorted = records.toSorted((one, other) => compare(key(one), key(other)) || compare(readId(one), readId(other)));
  return (sortBy.startsWith('-') ? sorted.reverse() : sorted).map(readId);
}

/** Every record of a list, page by page. */
async function readAllPages(path: string, query: Record<string, string>, perPage: number) {
  const records: Shown[] = [];
  for (let page = 1; ; page += 1) {
    const asked = new URLSearchParams({ ...query, page: String(page), per_page: String(perPage) });
    const { total, records: found } = await must(asOwner.get(`${path}?${asked}`));
    records.push(...found);
    if (found.length < perPage || records.length >= total) {
      expect(records).toHaveLength(total);
      return records;
    }
  }
}

describe.each(Object.entries(LISTS))('the list of %s', (title, { make, path, standard }) => {
  beforeAll(async () => {
    for (const name of UNIQUE.has(title) ? NAMES : [...NAMES, 'Gamma']) await make(name);
  });

  it.each([
    ['BETA', ['Beta', 'beta']],
    ['бет', ['БЕТА']],
    ['ÁGUA', ['água 100% pura']],
    ['ähn', ['Ähnlich']],
    ['100% P', ['água 100% pura']],
    ['%', ['água 100% pura']],
    ['A_1', ['agua_1']],
    ["'S; --", ["it's; --"]],
    ['alp*', []],
    ['\u0000', []],
    ['\\', []],
  ])('is searched for %j, literally and in any case', async (search, names) => {
    const { total, records } = await must(asOwner.get(`${path()}?per_page=100&search=${encodeURIComponent(search)}`));
    expect([total, records.map(({ name }: Shown) => name).toSorted()]).toEqual([names.length, names.toSorted()]);
  });

  it('is searched for a text of 200 letters, and refuses one of 10,000', async () => {
    const letters = Array.from({ length: 200 }, (_, at) =>
      String.fromCodePoint(0x430 + (at % 32) + (at > 99 ? 80 : 0)),
    );
    expect((await must(asOwner.get(`${path()}?search=${encodeURIComponent(letters.join(''))}`))).total).toBe(0);
    const { status, body } = await asOwner.get(`${path()}?search=${'x'.repeat(10_000)}`);
    expect([status, body.details[0].field]).toEqual([422, 'search']);
  });

  it('is sorted as asked for, ties by id, on pages that hold every record once', async () => {
    const all = await readAllPages(path(), {}, 100);
    for (const sortBy of ['name', '-name', 'created_at', '-created_at']) {
      const sorted = (await readAllPages(path(), { sort_by: sortBy }, 4)).map(readId);
      expect([sortBy, sorted]).toEqual([sortBy, sortRecords(all, sortBy)]);
    }
    if (standard) expect(all.map(readId)).toEqual(sortRecords(all, standard));
    const found = await readAllPages(path(), { search: 'a', sort_by: 'name' }, 2);
    expect(found.map(readId)).toEqual(sortRecords(found, 'name'));
  });

  it.each(['', 'id', '--name', 'NAME', 'name,created_at', 'password_hash'])('refuses sort_by=%j', async (field) => {
    const { status, body } = await asOwner.get(`${path()}?sort_by=${field}`);
    expect([status, body.details[0].field]).toEqual([422, 'sort_by']);
    expect(body.details[0].message).toContain('name, created_at');
  });
});

describe('the list of users', () => {
  const ids = async (query: string): Promise<string[]> =>
    (await must(asOwner.get(`/v1/users?per_page=100&${query}`))).records.map(readId);

  it('is searched by email too', async () => {
    const { id, email } = await aUser(company);
    expect(await ids(`search=${email.toUpperCase()}`)).toEqual([id]);
  });

  it('is sorted by email and by the last sign-in', async () => {
    const { records } = await must(asOwner.get('/v1/users?per_page=100'));
    expect(await ids('sort_by=email')).toEqual(sortRecords(records, 'email'));
    const { id } = await unboundUser(company);
    const latest = await ids('sort_by=-last_login_at');
    expect(latest.at(-1)).toBe(id);
    expect(await ids('sort_by=last_login_at')).toEqual(latest.toReversed());
  });

  it('is filtered by status and group, with exact totals', async () => {
    const [invited] = [
      await must(asOwner.post('/v1/users/invite', { json: { email: `narrow@${company.slug}.test` } })),
    ];
    const [inactive, active] = [await createPerson('Narrow inactive'), await createPerson('Narrow active')];
    await must(asOwner.post(`/v1/users/${inactive}/deactivate`));
    for (const id of [invited._id, inactive, active]) await addToGroups(company, id, group);
    const narrowed = async (query: string) => {
      const { total, records } = await must(asOwner.get(`/v1/users?per_page=100&${query}`));
      expect(records).toHaveLength(total);
      return records.map(readId).toSorted();
    };
    expect(await narrowed(`group_id=${group}`)).toEqual([invited._id, inactive, active].toSorted());
    expect(await narrowed(`group_id=${group}&status=invited`)).toEqual([invited._id]);
    expect(await narrowed(`group_id=${group}&status=inactive`)).toEqual([inactive]);
    expect(await narrowed(`group_id=${group}&status=active`)).toEqual([active]);
    expect(await narrowed(`group_id=${group}&search=narrow a`)).toEqual([active]);
    expect(await narrowed('status=inactive')).toEqual([inactive]);
    expect(await narrowed(`group_id=${'0'.repeat(24)}`)).toEqual([]);
    const { status, body } = await asOwner.get('/v1/users?status=deleted');
    expect([status, body.details[0].field]).toEqual([422, 'status']);
  });

  it('is empty when it is filtered by a group of another company', async () => {
    const other = await aProvisionedCompany();
    const theirs = await createConsoleGroup(other);
    await addToGroups(other, (await aUser(other)).id, theirs._id);
    expect(await ids(`group_id=${theirs._id}`)).toEqual([]);
  });
});

describe('the members of a group', () => {
  const members = async (id: string, query = '') => must(asOwner.get(`/v1/groups/${id}/members?per_page=100${query}`));

  it('are users and service accounts, sorted by name, in pages', async () => {
    const { _id } = await createConsoleGroup(company);
    const [zoe, ana, Bea] = [await createPerson('zoe'), await createPerson('Ana'), await createPerson('Bea')];
    const robot = await aServiceAccount(company);
    for (const id of [zoe, ana, Bea]) await addToGroups(company, id, _id);
    const json = { principal_type: 'service_account', principal_id: robot.id, account_id: company.accountId };
    await must(signed(company.apiKey).post(`/groups/${_id}/bindings`, { json }));
    const { total, quantity, records } = await members(_id);
    expect([total, quantity]).toEqual([4, 4]);
    expect(records.map(({ name }: Shown) => name)).toEqual(['Ana', 'Bea', 'Robot', 'zoe']);
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
        principal_id: robot.id,
        name: 'Robot',
        email: null,
        account_id: company.accountId,
      },
    ]);
    const paged = [];
    for (const page of [1, 2, 3, 4]) {
      paged.push(...(await must(asOwner.get(`/v1/groups/${_id}/members?per_page=1&page=${page}`))).records);
    }
    expect(paged).toEqual(records);
    expect((await members(_id, '&search=ROB')).records).toEqual([records[2]]);
    expect((await members(_id, `&search=${encodeURIComponent(records[0].email)}`)).records).toEqual([records[0]]);
    expect((await members(_id, '&search=%25')).total).toBe(0);
  });

  it('are answered 404 for a group of another company, or one that does not exist', async () => {
    const other = await aProvisionedCompany();
    for (const id of [(await createConsoleGroup(other))._id, '0'.repeat(24), '%00']) {
      const { status, body } = await asOwner.get(`/v1/groups/${id}/members`);
      expect([status, body.error]).toEqual([404, 'GROUP_NOT_FOUND']);
    }
  });

  it.each([
    ['service-accounts:GetServiceAccount', 'service-accounts', 'service-account'],
    ['users:list_integration_users', 'users', 'user'],
  ])('do not include a service account that a Deny of %s hides from the caller', async (action, service, type) => {
    const { _id } = await createConsoleGroup(company);
    const robot = await aServiceAccount(company);
    const json = { principal_type: 'service_account', principal_id: robot.id, account_id: company.accountId };
    await must(signed(company.apiKey).post(`/groups/${_id}/bindings`, { json }));
    const denied = await aUser(company, {
      can: ['*'],
      denied: [action],
      deniedOn: [`arn:svc:${service}::${company.id}:${type}/${robot.id}`],
    });
    expect((await members(_id)).total).toBe(1);
    expect((await must(denied.as.get(`/v1/groups/${_id}/members`))).total).toBe(0);
  });
});
