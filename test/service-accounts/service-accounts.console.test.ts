import { describe, expect, it } from 'vitest';
import { getManagedPolicyByName } from '../../src/permissions/managed-policies.ts';
import { createAllowedUser, createOwnedCompany } from '../support/companies.ts';
import { readStatusAndCode, UNKNOWN_ID } from '../support/console.ts';
import { countRows, selectRow, sendDuringRace } from '../support/race.ts';
import {
  createAllowedAccount,
  createKeyedAccount,
  createPolicyGroup,
  createSignedCaller,
  expectSuccess,
  makeAllow,
  storePolicy,
} from '../support/signed.ts';

const SERVICE_ACCOUNTS_PATH = '/v1/service-accounts';

const [company, other] = await Promise.all([createOwnedCompany(), createOwnedCompany()]);
const [{ actions } = { actions: [] }] = getManagedPolicyByName('ApiKeyManager').document.statements;
/** A user with exactly the permissions of ApiKeyManager. */
const manager = (await createAllowedUser(company, { can: actions })).as;
/** A caller of the organization API, which shows the same records. */
const admin = createSignedCaller(company.apiKey);

const createServiceAccount = (json: Record<string, unknown> = {}) =>
  expectSuccess(manager.post(SERVICE_ACCOUNTS_PATH, { json: { name: 'Robot', ...json } }));

describe('a service account on the console', () => {
  it('is the same one as in the organization API, with the field names of the console', async () => {
    const json = { name: 'Nightly load', description: 'Loads', account_id: company.accountId };
    const { status, body, headers } = await manager.post(SERVICE_ACCOUNTS_PATH, { json });
    expect(status).toBe(201);
    expect(body).toEqual({
      ...json,
      _id: expect.stringMatching(/^[a-f0-9]{24}$/),
      company_id: company.id,
      is_active: true,
      metadata: {},
      created_at: expect.stringMatching(/Z$/),
      updated_at: body.created_at,
      last_used_at: null,
    });
    expect(headers.get('location')).toBe(`${SERVICE_ACCOUNTS_PATH}/${body._id}`);
    expect((await manager.get(`${SERVICE_ACCOUNTS_PATH}/${body._id}`)).body).toEqual(body);
    const { _id: id, company_id: organization_id, ...same } = body;
    expect(await expectSuccess(admin.get(`/service-accounts/${id}`))).toEqual({
      ...same,
      id,
      organization_id,
      deleted_at: null,
    });
  });

  it('is created in the default account of its company if the request names none, whichever account that is', async () => {
    const thirdCompany = await createOwnedCompany();
    const as = { organization: createSignedCaller(thirdCompany.apiKey), console: thirdCompany.as };
    const json = { name: 'Robot' };
    expect((await expectSuccess(as.console.post(SERVICE_ACCOUNTS_PATH, { json }))).account_id).toBe(
      thirdCompany.accountId,
    );
    const account = await expectSuccess(as.organization.post('/accounts', { json: { name: 'Next' } }));
    const moveDefaultAccount = () =>
      expectSuccess(as.organization.patch(`/accounts/${account.id}`, { json: { is_default: true } }));
    const answer = await sendDuringRace(/^insert into "service_accounts"/, moveDefaultAccount, (env) =>
      as.console.post(SERVICE_ACCOUNTS_PATH, { json, env }),
    );
    expect([answer.status, answer.body.account_id]).toEqual([201, account.id]);
    const { _id } = answer.body;
    expect(await selectRow('select account_id from service_accounts where id = ?', _id)).toEqual({
      account_id: account.id,
    });
  });

  it.each([
    ['that is another company’s', () => other.accountId],
    ['that does not exist', () => UNKNOWN_ID],
    ['called default', () => 'default'],
  ])('is not created in an account %s', async (_what, accountId) => {
    const { status, body } = await manager.post(SERVICE_ACCOUNTS_PATH, {
      json: { name: 'R', account_id: accountId() },
    });
    expect([status, body.error, body.details]).toEqual([
      404,
      'ACCOUNT_NOT_FOUND',
      { field: 'account_id', reason: 'not_found' },
    ]);
  });

  it('keeps the fields that are not sent; its keys are refused while it is inactive', async () => {
    const { _id } = await createServiceAccount({ description: 'Stays' });
    const key = await expectSuccess(manager.post(`${SERVICE_ACCOUNTS_PATH}/${_id}/keys`));
    const json = { name: 'Renamed', is_active: false, metadata: { team: 'data' } };
    const changedAccount = await expectSuccess(manager.put(`${SERVICE_ACCOUNTS_PATH}/${_id}`, { json }));
    expect(changedAccount).toMatchObject({ ...json, description: 'Stays' });
    expect((await createSignedCaller(key).get('/accounts')).status).toBe(401);
    await expectSuccess(manager.put(`${SERVICE_ACCOUNTS_PATH}/${_id}`, { json: { is_active: true } }));
    expect((await createSignedCaller(key).get('/accounts')).status).toBe(403);
  });

  it('is deleted once, with its keys and memberships', async () => {
    const serviceAccount = await createAllowedAccount(company, makeAllow('users:list'));
    expect((await manager.delete(`${SERVICE_ACCOUNTS_PATH}/${serviceAccount.id}`)).status).toBe(204);
    expect((await serviceAccount.as.get('/accounts')).status).toBe(401);
    expect(await countRows('group_bindings where principal_id = ?', serviceAccount.id)).toBe(0);
    for (const repeatedAnswer of [
      await manager.delete(`${SERVICE_ACCOUNTS_PATH}/${serviceAccount.id}`),
      await manager.get(`${SERVICE_ACCOUNTS_PATH}/${serviceAccount.id}`),
    ]) {
      expect(readStatusAndCode(repeatedAnswer)).toEqual([404, 'SERVICE_ACCOUNT_NOT_FOUND']);
      expect(JSON.stringify(repeatedAnswer.body)).not.toContain('deleted');
    }
  });
});

describe('the list of service accounts on the console', () => {
  it('has the newest first, no deleted service accounts, and inactive service accounts only if requested', async () => {
    const { id: account_id } = await expectSuccess(
      admin.post('/accounts', { json: { name: 'Listed on the console' } }),
    );
    const createdIds: string[] = [];
    for (let createdCount = 0; createdCount < 4; createdCount++)
      createdIds.push((await createServiceAccount({ account_id }))._id);
    const [first, inactive, deleted, last] = createdIds as [string, string, string, string];
    await expectSuccess(manager.put(`${SERVICE_ACCOUNTS_PATH}/${inactive}`, { json: { is_active: false } }));
    await expectSuccess(manager.delete(`${SERVICE_ACCOUNTS_PATH}/${deleted}`));
    const listAccounts = async (query = '') => {
      const { total, quantity, records } = await expectSuccess(
        manager.get(`${SERVICE_ACCOUNTS_PATH}?account_id=${account_id}${query}`),
      );
      return [total, quantity, records.map(({ _id }: { _id: string }) => _id)];
    };
    expect(await listAccounts()).toEqual([2, 2, [last, first]]);
    expect(await listAccounts('&include_inactive=true')).toEqual([3, 3, [last, inactive, first]]);
    expect(await listAccounts('&include_inactive=true&per_page=1&page=2')).toEqual([3, 1, [inactive]]);
    expect((await expectSuccess(manager.get(`${SERVICE_ACCOUNTS_PATH}?account_id=${other.accountId}`))).total).toBe(0);
  });
});

describe('an API key on the console', () => {
  it('shows its secret once, and is listed without it', async () => {
    const { _id: id } = await createServiceAccount();
    const { status, body } = await manager.post(`${SERVICE_ACCOUNTS_PATH}/${id}/keys`, { json: { description: 'CI' } });
    expect([status, body]).toEqual([
      201,
      {
        _id: expect.any(String),
        access_key: expect.stringMatching(new RegExp(`^sa_${company.slug}_${company.accountId}_[a-z2-7]{20}$`)),
        secret_key: expect.stringMatching(/^[\w-]{43}$/),
        description: 'CI',
        service_account_id: id,
        expires_at: expect.any(String),
        is_active: true,
        created_at: expect.any(String),
        last_used_at: null,
      },
    ]);
    const { secret_key, ...shown } = body;
    const listedKeys = await expectSuccess(manager.get(`${SERVICE_ACCOUNTS_PATH}/${id}/keys`));
    expect(listedKeys).toEqual({ total: 1, quantity: 1, records: [shown] });
    expect(JSON.stringify(listedKeys)).not.toContain(secret_key);
  });

  it('is revoked once, and stays listed', async () => {
    const { _id } = await createServiceAccount();
    const key = await expectSuccess(manager.post(`${SERVICE_ACCOUNTS_PATH}/${_id}/keys`));
    expect((await manager.delete(`${SERVICE_ACCOUNTS_PATH}/${_id}/keys/${key._id}`)).status).toBe(204);
    expect((await expectSuccess(manager.get(`${SERVICE_ACCOUNTS_PATH}/${_id}/keys`))).records).toMatchObject([
      { is_active: false },
    ]);
    const repeatedRevocation = await manager.delete(`${SERVICE_ACCOUNTS_PATH}/${_id}/keys/${key._id}`);
    expect(readStatusAndCode(repeatedRevocation)).toEqual([404, 'API_KEY_NOT_FOUND']);
    expect(repeatedRevocation.body).toMatchObject({ details: { field: 'key_id', reason: 'not_found' } });
    expect(readStatusAndCode(await manager.delete(`${SERVICE_ACCOUNTS_PATH}/${_id}/keys/${UNKNOWN_ID}`))).toEqual([
      404,
      'API_KEY_NOT_FOUND',
    ]);
  });
});

describe('the limit of what a new key of the console may do', () => {
  it('refuses a key for a service account with more permissions than the caller, and accepts keys for all others', async () => {
    const { as } = await createAllowedUser(company, { can: ['api_keys:create', 'users:*'] });
    const widerAccount = await createAllowedAccount(company, makeAllow('users:*', 'groups:GetGroup'));
    const narrowerAccount = await createAllowedAccount(company, makeAllow('users:ListUsers'));
    const keys = await countRows('api_keys where service_account_id = ?', widerAccount.id);
    const refusedKey = await as.post(`${SERVICE_ACCOUNTS_PATH}/${widerAccount.id}/keys`, { json: {} });
    expect([refusedKey.status, refusedKey.body.error, refusedKey.body.details.action]).toEqual([
      403,
      'FORBIDDEN',
      'groups:GetGroup',
    ]);
    expect(await countRows('api_keys where service_account_id = ?', widerAccount.id)).toBe(keys);
    expect((await as.post(`${SERVICE_ACCOUNTS_PATH}/${narrowerAccount.id}/keys`, { json: {} })).status).toBe(201);
    expect((await company.as.post(`${SERVICE_ACCOUNTS_PATH}/${widerAccount.id}/keys`, { json: {} })).status).toBe(201);
  });

  it('applies to an idempotent replay: the key is shown again only if a new key were allowed', async () => {
    const { as } = await createAllowedUser(company, { can: ['api_keys:create'] });
    const serviceAccount = await createKeyedAccount(company);
    const keyRequest = { json: {}, headers: { 'idempotency-key': 'a-key-of-the-console' } };
    const first = await as.post(`${SERVICE_ACCOUNTS_PATH}/${serviceAccount.id}/keys`, keyRequest);
    const repeatedKey = await as.post(`${SERVICE_ACCOUNTS_PATH}/${serviceAccount.id}/keys`, keyRequest);
    expect([first.status, repeatedKey.status, repeatedKey.headers.get('idempotency-replayed')]).toEqual([
      201,
      201,
      'true',
    ]);
    expect(repeatedKey.body).toEqual(first.body);

    const groupId = await createPolicyGroup(company, await storePolicy(company, [makeAllow('*')]));
    const json = { principal_type: 'service_account', principal_id: serviceAccount.id, account_id: company.accountId };
    await expectSuccess(admin.post(`/groups/${groupId}/bindings`, { json }));
    const refusedReplay = await as.post(`${SERVICE_ACCOUNTS_PATH}/${serviceAccount.id}/keys`, keyRequest);
    expect([refusedReplay.status, refusedReplay.body.secret_key]).toEqual([403, undefined]);
  });
});
