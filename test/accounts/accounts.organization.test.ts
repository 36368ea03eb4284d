import { beforeAll, describe, expect, it } from 'vitest';
import type { Caller } from '../support/api.ts';
import { aGroup, allow, aServiceAccount, aServiceAccountThat, aUser, bind, must, signed } from '../support/signed.ts';
import { aCompany, type Company } from '../support/worlds.ts';

let company: Company;
let other: Company;
let admin: Caller;

beforeAll(async () => {
  [company, other] = await Promise.all([aCompany(), aCompany()]);
  admin = signed(company.apiKey);
});

let names = 0;
const aName = () => `Account ${names++}`;
const anAccount = async (json: Record<string, unknown> = {}) =>
  must(admin.post('/accounts', { json: { name: aName(), ...json } }));

describe('the creation of an account', () => {
  it('answers the account', async () => {
    const name = aName();
    const { status, body } = await admin.post('/accounts', { json: { name, metadata: { team: 'north' } } });
    expect(status).toBe(201);
    expect(body).toEqual({
      id: expect.stringMatching(/^[a-f0-9]{24}$/),
      name,
      organization_id: company.id,
      is_default: false,
      is_active: true,
      metadata: { team: 'north' },
      created_at: expect.stringMatching(/^\d{4}-.*Z$/),
      updated_at: body.created_at,
      deleted_at: null,
    });
    expect((await admin.get(`/accounts/${body.id}`)).body).toEqual(body);
  });

  it('refuses a taken name, and accepts the name of a deleted account', async () => {
    const { id, name } = await anAccount();
    const again = await admin.post('/accounts', { json: { name } });
    expect([again.status, again.body.error, again.body.details]).toEqual([
      409,
      'AlreadyExists',
      { field: 'name', reason: 'taken' },
    ]);
    await must(admin.delete(`/accounts/${id}`));
    expect((await admin.post('/accounts', { json: { name } })).status).toBe(201);
  });

  it('accepts a name that another organization uses', async () => {
    const { name } = await anAccount();
    expect((await signed(other.apiKey).post('/accounts', { json: { name } })).status).toBe(201);
  });

  it.each([
    ['no name', {}, 'name'],
    ['a blank name', { name: ' ' }, 'name'],
    ['a long name', { name: 'n'.repeat(201) }, 'name'],
    ['a number for a name', { name: 7 }, 'name'],
    ['a text for is_default', { name: 'A', is_default: 'yes' }, 'is_default'],
    ['a list for metadata', { name: 'A', metadata: [] }, 'metadata'],
    [
      '51 keys of metadata',
      { name: 'A', metadata: Object.fromEntries([...Array(51).keys()].map((k) => [k, 1])) },
      'metadata',
    ],
    ['metadata over 16 KiB', { name: 'A', metadata: { text: 'é'.repeat(8200) } }, 'metadata'],
    ['a key __proto__ of metadata', { name: 'A', metadata: JSON.parse('{"__proto__":1}') }, 'metadata.__proto__'],
  ])('refuses %s, naming the field', async (_what, json, field) => {
    const { status, body } = await admin.post('/accounts', { json });
    expect([status, body.error]).toEqual([422, 'ValidationError']);
    expect(body.details).toEqual([expect.objectContaining({ field, message: expect.any(String) })]);
  });

  it('refuses a number of metadata that JSON cannot hold, naming the field', async () => {
    const body = '{"name":"A","metadata":{"sizes":[1e999]}}';
    const answer = await admin.post('/accounts', { body, headers: { 'content-type': 'application/json' } });
    expect(answer.status).toBe(422);
    expect(answer.body.details).toEqual([
      { field: 'metadata.sizes', reason: 'too_large', message: 'holds a number that is too large' },
    ]);
  });

  it('tells the limit of a parameter, however large its number is', async () => {
    const { body } = await admin.get('/accounts?quantity=99999999999999999999&page=-99999999999999999999');
    expect(body.details).toMatchObject([
      { field: 'page', message: 'must be at least 1', limits: { min: 1 } },
      { field: 'quantity', message: 'must be at most 100', limits: { max: 100 } },
    ]);
    const token = await admin.post('/tokens', { json: { expires_in: 1e20 } });
    expect(token.body.details).toMatchObject([{ field: 'expires_in', limits: { max: 600 } }]);
  });
});

describe('a change of an account', () => {
  it('changes what is sent, and refreshes updated_at', async () => {
    const before = await anAccount({ metadata: { a: 1 } });
    const name = aName();
    const after = await must(admin.patch(`/accounts/${before.id}`, { json: { name } }));
    expect(after).toEqual({ ...before, name, updated_at: expect.any(String) });
    expect(after.updated_at >= before.updated_at).toBe(true);
    expect(await must(admin.patch(`/accounts/${before.id}`, { json: { metadata: { b: 2 } } }))).toMatchObject({
      name,
      metadata: { b: 2 },
    });
  });

  it('refuses a taken name', async () => {
    const [one, two] = await Promise.all([anAccount(), anAccount()]);
    expect((await admin.patch(`/accounts/${one.id}`, { json: { name: two.name } })).status).toBe(409);
    expect((await admin.get(`/accounts/${one.id}`)).body.name).toBe(one.name);
  });
});

describe('the deletion of an account', () => {
  it('hides the account, keeps its row, and answers 400 the second time', async () => {
    const { id } = await anAccount();
    const first = await admin.delete(`/accounts/${id}`);
    expect([first.status, first.body]).toEqual([204, '']);
    expect((await admin.get(`/accounts/${id}`)).status).toBe(404);
    expect((await admin.patch(`/accounts/${id}`, { json: { name: aName() } })).status).toBe(404);
    const second = await admin.delete(`/accounts/${id}`);
    expect([second.status, second.body.error]).toEqual([400, 'AlreadyDeleted']);
    expect(second.body.message).toMatch(/already deleted/);
  });

  it('is refused while users or service accounts are attached, and says how many', async () => {
    const { id } = await anAccount();
    const groups = await Promise.all([aGroup(company), aGroup(company)]);
    const [ann, bob] = await Promise.all([aUser(company), aUser(company)]);
    for (const groupId of groups) await bind(company, groupId, ann.id, id);
    const binding = await bind(company, groups[0] as string, bob.id, id);
    const robot = await aServiceAccount(company, [], id);
    const refused = await admin.delete(`/accounts/${id}`);
    expect([refused.status, refused.body.error]).toEqual([409, 'AlreadyExists']);
    expect(refused.body.message).toContain('2 users and 1 service account are');
    expect(refused.body.details).toMatchObject({ users: 2, service_accounts: 1 });

    await must(admin.delete(`/users/${ann.id}`));
    await must(admin.delete(`/groups/${groups[0]}/bindings/${binding.id}`));
    expect((await admin.delete(`/accounts/${id}`)).body.message).toContain('0 users and 1 service account ');
    await must(admin.delete(`/service-accounts/${robot.id}`));
    expect((await admin.delete(`/accounts/${id}`)).status).toBe(204);
  });
});

describe('deleted accounts', () => {
  it('are listed for administrators, newest first, and restored by them', async () => {
    const { id, name } = await anAccount({ metadata: { kept: true } });
    await must(admin.delete(`/accounts/${id}`));
    const { total, page, results } = await must(admin.get('/admin/deleted/accounts?quantity=1'));
    expect([page, results]).toEqual([1, [expect.objectContaining({ id, deleted_at: expect.stringMatching(/Z$/) })]]);
    const everything = await must(admin.get('/accounts?include_deleted=true&quantity=100'));
    const living = await must(admin.get('/accounts?quantity=100'));
    expect(everything.total).toBe(living.total + total);
    expect(new Set(living.results.map((one: { deleted_at: unknown }) => one.deleted_at))).toEqual(new Set([null]));

    const restored = await admin.post(`/admin/restore/account/${id}`);
    expect(restored.status).toBe(200);
    expect(restored.body).toMatchObject({ id, name, deleted_at: null, is_default: false, metadata: { kept: true } });
    expect((await admin.get(`/accounts/${id}`)).body).toEqual(restored.body);
  });

  it('are not restored under a taken name, nor when they are not deleted', async () => {
    const { id, name } = await anAccount();
    const living = await admin.post(`/admin/restore/account/${id}`);
    expect([living.status, living.body.error]).toEqual([409, 'AlreadyExists']);
    await must(admin.delete(`/accounts/${id}`));
    await anAccount({ name });
    const taken = await admin.post(`/admin/restore/account/${id}`);
    expect([taken.status, taken.body.error]).toEqual([409, 'AlreadyExists']);
    expect((await admin.post(`/admin/restore/account/${'0'.repeat(24)}`)).status).toBe(404);
  });

  it.each(['accounts', 'users', 'groups', 'service-accounts'])(
    'are refused to others before the rest of the query is validated: %s',
    async (what) => {
      const robot = await aServiceAccountThat(company, allow(`${what}:*`));
      for (const query of ['', '&page=0', '&surprise=1', '&include_deleted=false']) {
        const { status } = await robot.as.get(`/${what}?include_deleted=true${query}`);
        expect([query, status]).toEqual([query, 403]);
      }
      expect((await robot.as.get(`/${what}?include_deleted=false`)).status).toBe(200);
      expect((await admin.get(`/${what}?include_deleted=true&page=0`)).status).toBe(422);
    },
  );
});
