import { beforeAll, describe, expect, it } from 'vitest';
import type { Caller } from '../support/api.ts';
import { type Company, createOwnedCompany } from '../support/companies.ts';
import { runSql, selectRow } from '../support/race.ts';
import {
  createGrouplessUser,
  createKeyedAccount,
  createPolicyGroup,
  createSignedCaller,
  expectSuccess,
} from '../support/signed.ts';

/** The company whose lists the tests read in every order, forwards and backwards, to the last page and beyond. */
let company: Company;
let admin: Caller;

const USER_COUNT = 137;
type ListedRecord = Record<string, string | null> & { id: string };

beforeAll(async () => {
  company = await createOwnedCompany();
  admin = createSignedCaller(company.apiKey);
  // Ties in every ordering but the email's, and every fifth user deleted.
  await runSql(
    `with recursive n (i) as (select 1 union all select i + 1 from n where i < ${USER_COUNT})
     insert into users (id, company_id, email, name, is_active, teams, metadata, created_at, updated_at, last_login_at, deleted_at)
     select lower(hex(randomblob(12))), ?, printf('u%03d@lists.test', (i * 37) % 1000), 'U', 1, '[]', '{}',
       1700000000000 + (i % 10) * 1000, 1700000000000 + (i % 7) * 1000,
       iif(i % 3 = 0, null, 1700000000000 + (i % 4) * 1000), iif(i % 5 = 0, 1700000000000, null) from n`,
    company.id,
  );
});

/** Reads every page of a list, one after the other. */
async function readAllPages(path: string, quantity: number): Promise<{ total: number; results: ListedRecord[] }> {
  const results: ListedRecord[] = [];
  for (let page = 1; ; page++) {
    const separator = path.includes('?') ? '&' : '?';
    const body = await expectSuccess(admin.get(`${path}${separator}quantity=${quantity}&page=${page}`));
    expect(body.page).toBe(page);
    results.push(...body.results);
    if (body.results.length < quantity) return { total: body.total, results };
  }
}

/** Sorts records as the database must: null before all values, ties by id. */
function sortIds(records: ListedRecord[], field: string, descending: boolean): string[] {
  const makeSortKey = (record: ListedRecord): string => `${record[field] ?? ''} ${record.id}`;
  const ids = records.toSorted((a, b) => (makeSortKey(a) < makeSortKey(b) ? -1 : 1)).map(({ id }) => id);
  return descending ? ids.reverse() : ids;
}

const listIds = (records: ListedRecord[]): string[] => records.map(({ id }) => id);

describe('the list of users', () => {
  it.each(['created_at', 'updated_at', 'email', 'last_login_at'])(
    'is ordered by %s, and contains each user once over all pages',
    async (field) => {
      for (const deletedQuery of ['', '&include_deleted=true']) {
        for (const orderPrefix of ['', '-']) {
          const { total, results } = await readAllPages(`/users?order_by=${orderPrefix}${field}${deletedQuery}`, 25);
          expect(total).toBe(results.length);
          expect(new Set(listIds(results)).size).toBe(total);
          expect(listIds(results)).toEqual(sortIds(results, field, orderPrefix === '-'));
        }
      }
    },
  );

  it('counts the users exactly, with or without deleted users', async () => {
    const { living, ever } = (await selectRow<{ living: number; ever: number }>(
      'select sum(deleted_at is null) as living, count(*) as ever from users where company_id = ?',
      company.id,
    )) ?? { living: -1, ever: -1 };
    expect((await expectSuccess(admin.get('/users'))).total).toBe(living);
    expect((await expectSuccess(admin.get('/users?include_deleted=true'))).total).toBe(ever);
    expect(ever - living).toBe(Math.floor(USER_COUNT / 5));
  });

  it('shows the newest 20 users when the request has no parameters', async () => {
    const { results, page } = await expectSuccess(admin.get('/users'));
    expect([page, results.length]).toEqual([1, 20]);
    expect(listIds(results)).toEqual(
      listIds((await expectSuccess(admin.get('/users?order_by=-created_at&quantity=20'))).results),
    );
  });

  it('has the same order at every page size', async () => {
    const forwardList = await readAllPages('/users?order_by=email', 100);
    for (const quantity of [3, 7, 55]) {
      expect(listIds((await readAllPages('/users?order_by=email', quantity)).results)).toEqual(
        listIds(forwardList.results),
      );
    }
  });

  it('is empty beyond its end, with its total', async () => {
    const { total } = await expectSuccess(admin.get('/users'));
    for (const page of [100, 1_000_000_000]) {
      expect(await expectSuccess(admin.get(`/users?page=${page}`))).toEqual({ total, page, results: [] });
    }
  });

  it('is filtered by account in every order, also on late pages', async () => {
    const { id: account } = await expectSuccess(admin.post('/accounts', { json: { name: 'Crowded' } }));
    const groupId = await createPolicyGroup(company);
    await runSql(
      `insert into group_bindings (id, company_id, group_id, principal_type, principal_id, account_id, created_at)
       select lower(hex(randomblob(12))), company_id, ?, 'user', id, ?, 0 from users
       where company_id = ? and deleted_at is null and email like 'u%1@lists.test'`,
      groupId,
      account,
      company.id,
    );
    for (const order of ['email', '-created_at', '-last_login_at']) {
      const { total, results } = await readAllPages(`/users?account_id=${account}&order_by=${order}`, 3);
      expect(total).toBe(results.length);
      expect(total).toBeGreaterThan(6);
      expect(listIds(results)).toEqual(sortIds(results, order.replace('-', ''), order.startsWith('-')));
    }
  });
});

describe('the other lists of the organization API', () => {
  it.each([
    ['/accounts', ['created_at', 'updated_at', 'name']],
    ['/admin/deleted/accounts', ['created_at', 'updated_at', 'name']],
    ['/service-accounts', ['created_at', 'updated_at', 'name', 'last_used_at']],
    ['/groups', ['created_at', 'updated_at', 'name']],
  ])('%s can be ordered by %j', async (path, fields) => {
    const createRecords = {
      '/accounts': (n: number) => admin.post('/accounts', { json: { name: `Listed ${n % 2} ${n}` } }),
      '/admin/deleted/accounts': async (n: number) =>
        admin.delete(`/accounts/${(await expectSuccess(admin.post('/accounts', { json: { name: `Gone ${n}` } }))).id}`),
      '/service-accounts': () =>
        createKeyedAccount(company).then((serviceAccount) => serviceAccount.as.get('/accounts')),
      '/groups': (n: number) => admin.post('/groups', { json: { name: `Listed ${n}` } }),
    }[path] as (n: number) => Promise<unknown>;
    await Promise.all([1, 2, 3, 4, 5].map(createRecords));
    for (const field of fields) {
      for (const orderPrefix of ['', '-']) {
        const { total, results } = await readAllPages(`${path}?order_by=${orderPrefix}${field}`, 2);
        expect(total).toBe(results.length);
        expect(total).toBeGreaterThanOrEqual(5);
        expect(listIds(results)).toEqual(sortIds(results, field, orderPrefix === '-'));
      }
    }
  });

  it('of keys and bindings are paged and ordered', async () => {
    const serviceAccount = await createKeyedAccount(company);
    for (let n = 0; n < 4; n++)
      await expectSuccess(admin.post(`/service-accounts/${serviceAccount.id}/keys`, { json: {} }));
    await serviceAccount.as.get('/accounts');
    for (const order of ['created_at', '-last_used_at', 'updated_at']) {
      const { total, results } = await readAllPages(`/service-accounts/${serviceAccount.id}/keys?order_by=${order}`, 2);
      expect([total, results.length]).toEqual([5, 5]);
    }
    const groupId = await createPolicyGroup(company);
    for (let n = 0; n < 5; n++) {
      const json = {
        principal_type: 'user',
        principal_id: (await createGrouplessUser(company)).id,
        account_id: company.accountId,
      };
      await expectSuccess(admin.post(`/groups/${groupId}/bindings`, { json }));
    }
    const { results } = await readAllPages(`/groups/${groupId}/bindings`, 2);
    expect(listIds(results)).toEqual(sortIds(results, 'created_at', true));
  });
});

describe('the query of a list', () => {
  // All lists have the same schema of pages and orders: that of users shows what it refuses, the others that they have it.
  const INVALID_PAGES = [
    'quantity=101',
    'page=0',
    'page=-1',
    'page=1.5',
    'page=x',
    'page=',
    'quantity=0',
    'quantity=1e1',
    'page=1&page=2',
  ];
  const INVALID_ORDERS = ['password_hash', '-', '', '--name', 'created_at,name', 'CREATED_AT', '__proto__', 'id desc'];
  const LIST_PATHS = ['/accounts', '/admin/deleted/accounts', '/service-accounts', '/groups', '/users'];

  it.each(
    LIST_PATHS.flatMap((path) =>
      (path === '/users' ? INVALID_PAGES : INVALID_PAGES.slice(0, 1)).map((query) => [path, query]),
    ),
  )('is refused for %s?%s', async (path, query) => {
    const { status, body } = await admin.get(`${path}?${query}`);
    expect([status, body.error]).toEqual([422, 'ValidationError']);
    expect(body.details[0].field).toBe((query as string).split('=')[0]);
  });

  it.each(LIST_PATHS.map((path) => [path]))(
    'is refused for %s with an unknown field, and the refusal names the known fields',
    async (path) => {
      for (const order of path === '/users' ? INVALID_ORDERS : INVALID_ORDERS.slice(0, 1)) {
        const { status, body } = await admin.get(`${path}?order_by=${encodeURIComponent(order)}`);
        expect([status, body.error, body.details[0].field]).toEqual([422, 'ValidationError', 'order_by']);
        expect(body.details[0].message).toContain('created_at, updated_at, ');
      }
    },
  );

  it.each([
    ['/users', 'include_deleted=1'],
    ['/service-accounts', 'include_inactive=yes'],
    ['/users', 'include_deleted='],
  ])('is refused for %s?%s, which is neither true nor false', async (path, query) => {
    expect((await admin.get(`${path}?${query}`)).status).toBe(422);
  });
});
