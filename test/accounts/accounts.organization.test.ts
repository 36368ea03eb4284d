import { describe, expect, it } from 'vitest';
import { createOwnedCompany } from '../support/companies.ts';
import {
  bindUser,
  createAllowedAccount,
  createGrouplessUser,
  createKeyedAccount,
  createPolicyGroup,
  createSignedCaller,
  expectSuccess,
  makeAllow,
} from '../support/signed.ts';

const [company, other] = await Promise.all([createOwnedCompany(), createOwnedCompany()]);
const admin = createSignedCaller(company.apiKey);

let nameCount = 0;
const makeAccountName = () => `Account ${nameCount++}`;
const createAccount = async (json: Record<string, unknown> = {}) =>
  expectSuccess(admin.post('/accounts', { json: { name: makeAccountName(), ...json } }));

describe('the creation of an account', () => {
  it('returns the account', async () => {
    const name = makeAccountName();
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
    const { id, name } = await createAccount();
    const secondAnswer = await admin.post('/accounts', { json: { name } });
    expect([secondAnswer.status, secondAnswer.body.error, secondAnswer.body.details]).toEqual([
      409,
      'AlreadyExists',
      { field: 'name', reason: 'taken' },
    ]);
    await expectSuccess(admin.delete(`/accounts/${id}`));
    expect((await admin.post('/accounts', { json: { name } })).status).toBe(201);
  });

  it('accepts a name that another organization uses', async () => {
    const { name } = await createAccount();
    expect((await createSignedCaller(other.apiKey).post('/accounts', { json: { name } })).status).toBe(201);
  });

  it.each([
    ['a blank name', { name: ' ' }, 'name'],
    ['a long name', { name: 'n'.repeat(201) }, 'name'],
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

  it('keeps all digits of the numbers in the metadata, as text where a double cannot hold them', async () => {
    const numbers = '{"n":[9007199254740993,1e999,0.1234567890123456789012],"f":1.10,"i":9007199254740991}';
    const metadata = { n: ['9007199254740993', '1e999', '0.1234567890123456789012'], f: 1.1, i: 9007199254740991 };
    const headers = { 'content-type': 'application/json' };
    const send = (method: 'post' | 'patch' | 'put', path: string, fields = '', as = admin) =>
      expectSuccess(as[method](path, { headers, body: `{${fields}"metadata":${numbers}}` }));
    const user = await createGrouplessUser(company);
    const keyedAccount = await createKeyedAccount(company);
    const records = [
      await send('post', '/accounts', '"name":"Of many digits",'),
      await send('patch', `/accounts/${company.accountId}`),
      await send('post', '/users', `"email":"digits@${company.slug}.test","password":"quiet-harbour-lantern",`),
      await send('patch', `/users/${user.id}`),
      await send('post', '/service-accounts', `"name":"Robot","account_id":"${company.accountId}",`),
      await send('patch', `/service-accounts/${keyedAccount.id}`),
      await send('post', '/v1/service-accounts', '"name":"Robot",', company.as),
      await send('put', `/v1/service-accounts/${keyedAccount.id}`, '', company.as),
    ];
    for (const record of records) expect(record.metadata).toEqual(metadata);
    const { id, metadata: read } = await expectSuccess(admin.get(`/accounts/${records[0].id}`));
    expect((await expectSuccess(admin.patch(`/accounts/${id}`, { json: { metadata: read } }))).metadata).toEqual(read);
  });

  it('states the limit of a parameter, however large the sent number is', async () => {
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
  it('changes the sent fields, and refreshes updated_at', async () => {
    const oldAccount = await createAccount({ metadata: { a: 1 } });
    const name = makeAccountName();
    const newAccount = await expectSuccess(admin.patch(`/accounts/${oldAccount.id}`, { json: { name } }));
    expect(newAccount).toEqual({ ...oldAccount, name, updated_at: expect.any(String) });
    expect(newAccount.updated_at >= oldAccount.updated_at).toBe(true);
    expect(
      await expectSuccess(admin.patch(`/accounts/${oldAccount.id}`, { json: { metadata: { b: 2 } } })),
    ).toMatchObject({
      name,
      metadata: { b: 2 },
    });
  });

  it('refuses a taken name', async () => {
    const [firstAccount, secondAccount] = await Promise.all([createAccount(), createAccount()]);
    expect((await admin.patch(`/accounts/${firstAccount.id}`, { json: { name: secondAccount.name } })).status).toBe(
      409,
    );
    expect((await admin.get(`/accounts/${firstAccount.id}`)).body.name).toBe(firstAccount.name);
  });
});

describe('the deletion of an account', () => {
  it('hides the account, keeps its row, and answers 400 the second time', async () => {
    const { id } = await createAccount();
    const first = await admin.delete(`/accounts/${id}`);
    expect([first.status, first.body]).toEqual([204, '']);
    expect((await admin.get(`/accounts/${id}`)).status).toBe(404);
    expect((await admin.patch(`/accounts/${id}`, { json: { name: makeAccountName() } })).status).toBe(404);
    const secondAnswer = await admin.delete(`/accounts/${id}`);
    expect([secondAnswer.status, secondAnswer.body.error]).toEqual([400, 'AlreadyDeleted']);
    expect(secondAnswer.body.message).toMatch(/already deleted/);
  });

  it('is refused while users or service accounts are attached, and says how many', async () => {
    const { id } = await createAccount();
    const groups = await Promise.all([createPolicyGroup(company), createPolicyGroup(company)]);
    const [ann, bob] = await Promise.all([createGrouplessUser(company), createGrouplessUser(company)]);
    for (const groupId of groups) await bindUser(company, groupId, ann.id, id);
    const secondBinding = await bindUser(company, groups[0] as string, bob.id, id);
    const serviceAccount = await createKeyedAccount(company, [], id);
    const refusedAnswer = await admin.delete(`/accounts/${id}`);
    expect([refusedAnswer.status, refusedAnswer.body.error]).toEqual([409, 'AlreadyExists']);
    expect(refusedAnswer.body.message).toContain('2 users and 1 service account are');
    expect(refusedAnswer.body.details).toMatchObject({ users: 2, service_accounts: 1 });

    await expectSuccess(admin.delete(`/users/${ann.id}`));
    await expectSuccess(admin.delete(`/groups/${groups[0]}/bindings/${secondBinding.id}`));
    expect((await admin.delete(`/accounts/${id}`)).body.message).toContain('0 users and 1 service account ');
    await expectSuccess(admin.delete(`/service-accounts/${serviceAccount.id}`));
    expect((await admin.delete(`/accounts/${id}`)).status).toBe(204);
  });
});

describe('deleted accounts', () => {
  it('are listed for administrators, newest first, and restored by them', async () => {
    const { id, name } = await createAccount({ metadata: { kept: true } });
    await expectSuccess(admin.delete(`/accounts/${id}`));
    const { total, page, results } = await expectSuccess(admin.get('/admin/deleted/accounts?quantity=1'));
    expect([page, results]).toEqual([1, [expect.objectContaining({ id, deleted_at: expect.stringMatching(/Z$/) })]]);
    const allAccounts = await expectSuccess(admin.get('/accounts?include_deleted=true&quantity=100'));
    const currentAccounts = await expectSuccess(admin.get('/accounts?quantity=100'));
    expect(allAccounts.total).toBe(currentAccounts.total + total);
    expect(
      new Set(currentAccounts.results.map((eachAccount: { deleted_at: unknown }) => eachAccount.deleted_at)),
    ).toEqual(new Set([null]));

    const restoreAnswer = await admin.post(`/admin/restore/account/${id}`);
    expect(restoreAnswer.status).toBe(200);
    expect(restoreAnswer.body).toMatchObject({
      id,
      name,
      deleted_at: null,
      is_default: false,
      metadata: { kept: true },
    });
    expect((await admin.get(`/accounts/${id}`)).body).toEqual(restoreAnswer.body);
  });

  it('are not restored under a taken name, and a restore of an account that is not deleted is refused', async () => {
    const { id, name } = await createAccount();
    const undeletedAnswer = await admin.post(`/admin/restore/account/${id}`);
    expect([undeletedAnswer.status, undeletedAnswer.body.error]).toEqual([409, 'AlreadyExists']);
    await expectSuccess(admin.delete(`/accounts/${id}`));
    await createAccount({ name });
    const takenNameAnswer = await admin.post(`/admin/restore/account/${id}`);
    expect([takenNameAnswer.status, takenNameAnswer.body.error]).toEqual([409, 'AlreadyExists']);
    expect((await admin.post(`/admin/restore/account/${'0'.repeat(24)}`)).status).toBe(404);
  });

  it.each(['accounts', 'users', 'groups', 'service-accounts'])(
    'are refused to callers who are not administrators before the rest of the query is validated: %s',
    async (serviceName) => {
      const serviceAccount = await createAllowedAccount(company, makeAllow(`${serviceName}:*`));
      for (const query of ['', '&page=0', '&surprise=1', '&include_deleted=false']) {
        const { status } = await serviceAccount.as.get(`/${serviceName}?include_deleted=true${query}`);
        expect([query, status]).toEqual([query, 403]);
      }
      expect((await serviceAccount.as.get(`/${serviceName}?include_deleted=false`)).status).toBe(200);
      expect((await admin.get(`/${serviceName}?include_deleted=true&page=0`)).status).toBe(422);
    },
  );
});

// The last, because other accounts become the default.
describe('the default account', () => {
  const listDefaultAccounts = async () =>
    (await expectSuccess(admin.get('/accounts?quantity=100'))).results.filter(
      (eachAccount: { is_default: boolean }) => eachAccount.is_default,
    );

  it('moves to a new account', async () => {
    const { id } = await createAccount({ is_default: true });
    expect((await listDefaultAccounts()).map((eachAccount: { id: string }) => eachAccount.id)).toEqual([id]);
  });

  it('changes when another account is made the default, and cannot be unset by a change of the default account itself', async () => {
    const { id } = await createAccount();
    expect((await expectSuccess(admin.patch(`/accounts/${id}`, { json: { is_default: true } }))).is_default).toBe(true);
    expect((await listDefaultAccounts()).map((eachAccount: { id: string }) => eachAccount.id)).toEqual([id]);
    const unsetAnswer = await admin.patch(`/accounts/${id}`, { json: { is_default: false } });
    expect([unsetAnswer.status, unsetAnswer.body.details[0].field]).toEqual([422, 'is_default']);
  });

  it('stays the same when the account that is to become the default has a taken name', async () => {
    const { name } = await createAccount();
    const defaultsBefore = await listDefaultAccounts();
    expect((await admin.post('/accounts', { json: { name, is_default: true } })).status).toBe(409);
    expect(await listDefaultAccounts()).toEqual(defaultsBefore);
  });

  it('cannot be made inactive, and an inactive account cannot become the default', async () => {
    const [{ id }] = await listDefaultAccounts();
    const inactiveAccount = await createAccount();
    await expectSuccess(admin.patch(`/accounts/${inactiveAccount.id}`, { json: { is_active: false } }));
    for (const [account, json] of [
      [id, { is_active: false }],
      [inactiveAccount.id, { is_default: true }],
      [inactiveAccount.id, { is_default: true, is_active: false }],
    ] as const) {
      const { status, body } = await admin.patch(`/accounts/${account}`, { json });
      expect([status, body.error]).toEqual([409, 'AlreadyExists']);
    }
    expect((await listDefaultAccounts()).map((eachAccount: { id: string }) => eachAccount.id)).toEqual([id]);
    expect(
      await expectSuccess(
        admin.patch(`/accounts/${inactiveAccount.id}`, { json: { is_default: true, is_active: true } }),
      ),
    ).toMatchObject({
      is_default: true,
      is_active: true,
    });
  });

  it('cannot be deleted', async () => {
    const [{ id }] = await listDefaultAccounts();
    const { status, body } = await admin.delete(`/accounts/${id}`);
    expect([status, body.error, body.details.reason]).toEqual([409, 'AlreadyExists', 'is_default']);
  });
});
