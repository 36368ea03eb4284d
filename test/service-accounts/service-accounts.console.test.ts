import { beforeAll, describe, expect, it } from 'vitest';
import { managedPolicyNamed } from '../../src/permissions/managed-policies.ts';
import type { Caller } from '../support/api.ts';
import { readStatusAndCode, UNKNOWN_ID } from '../support/console.ts';
import { countRows, selectRow, sendOvertaken } from '../support/rival.ts';
import { aGroup, allow, aPolicy, aServiceAccount, aServiceAccountThat, must, signed } from '../support/signed.ts';
import { aCompany, aUser, type Company } from '../support/worlds.ts';

const PATH = '/v1/service-accounts';

let company: Company;
let other: Company;
/** Somebody who may do what ApiKeyManager allows, and nothing else. */
let manager: Caller;
/** The organization API, for what it shows of the same records. */
let admin: Caller;
beforeAll(async () => {
  [company, other] = await Promise.all([aCompany(), aCompany()]);
  const [{ actions } = { actions: [] }] = managedPolicyNamed('ApiKeyManager').document.statements;
  manager = (await aUser(company, { can: actions })).as;
  admin = signed(company.apiKey);
});

const aMachine = (json: Record<string, unknown> = {}) => must(manager.post(PATH, { json: { name: 'Robot', ...json } }));

describe('a service account on the console', () => {
  it('is the same one as in the organization API, with the field names of the console', async () => {
    const json = { name: 'Nightly load', description: 'Loads', account_id: company.accountId };
    const { status, body, headers } = await manager.post(PATH, { json });
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
    expect(headers.get('location')).toBe(`${PATH}/${body._id}`);
    expect((await manager.get(`${PATH}/${body._id}`)).body).toEqual(body);
    const { _id: id, company_id: organization_id, ...same } = body;
    expect(await must(admin.get(`/service-accounts/${id}`))).toEqual({
      ...same,
      id,
      organization_id,
      deleted_at: null,
    });
  });

  it('is made in the default account of its company if it names none, whichever that is', async () => {
    const third = await aCompany();
    const as = { organization: signed(third.apiKey), console: third.as };
    const json = { name: 'Robot' };
    expect((await must(as.console.post(PATH, { json }))).account_id).toBe(third.accountId);
    const account = await must(as.organization.post('/accounts', { json: { name: 'Next' } }));
    const moves = () => must(as.organization.patch(`/accounts/${account.id}`, { json: { is_default: true } }));
    const answer = await sendOvertaken(/^insert into "service_accounts"/, moves, (env) =>
      as.console.post(PATH, { json, env }),
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
  ])('is not made in an account %s', async (_what, accountId) => {
    const { status, body } = await manager.post(PATH, { json: { name: 'R', account_id: accountId() } });
    expect([status, body.error, body.details]).toEqual([
      404,
      'ACCOUNT_NOT_FOUND',
      { field: 'account_id', reason: 'not_found' },
    ]);
  });

  it.each([
    ['no name', {}, 'name'],
    ['an account that is null', { name: 'R', account_id: null }, 'account_id'],
    ['a long description', { name: 'R', description: 'd'.repeat(2001) }, 'description'],
  ])('is refused with %s', async (_what, json, field) => {
    const { status, body } = await manager.post(PATH, { json });
    expect([status, body.error]).toEqual([422, 'VALIDATION_ERROR']);
    expect(body.details).toContainEqual(expect.objectContaining({ field, message: expect.any(String) }));
  });

  it('keeps the fields that are not sent; its keys are refused while it is inactive', async () => {
    const { _id } = await aMachine({ description: 'Stays' });
    const key = await must(manager.post(`${PATH}/${_id}/keys`));
    const json = { name: 'Renamed', is_active: false, metadata: { team: 'data' } };
    const changed = await must(manager.put(`${PATH}/${_id}`, { json }));
    expect(changed).toMatchObject({ ...json, description: 'Stays' });
    expect((await signed(key).get('/accounts')).status).toBe(401);
    await must(manager.put(`${PATH}/${_id}`, { json: { is_active: true } }));
    expect((await signed(key).get('/accounts')).status).toBe(403);
  });

  it('is deleted once, with its keys and memberships', async () => {
    const robot = await aServiceAccountThat(company, allow('users:list'));
    expect((await manager.delete(`${PATH}/${robot.id}`)).status).toBe(204);
    expect((await robot.as.get('/accounts')).status).toBe(401);
    expect(await countRows('group_bindings where principal_id = ?', robot.id)).toBe(0);
    for (const again of [await manager.delete(`${PATH}/${robot.id}`), await manager.get(`${PATH}/${robot.id}`)]) {
      expect(readStatusAndCode(again)).toEqual([404, 'SERVICE_ACCOUNT_NOT_FOUND']);
      expect(JSON.stringify(again.body)).not.toContain('deleted');
    }
  });
});

describe('the list of service accounts on the console', () => {
  it('has the newest first, without deleted ones, and without inactive ones unless requested', async () => {
    const { id: account_id } = await must(admin.post('/accounts', { json: { name: 'Listed on the console' } }));
    const made: string[] = [];
    for (let left = 0; left < 4; left++) made.push((await aMachine({ account_id }))._id);
    const [first, inactive, deleted, last] = made as [string, string, string, string];
    await must(manager.put(`${PATH}/${inactive}`, { json: { is_active: false } }));
    await must(manager.delete(`${PATH}/${deleted}`));
    const listed = async (query = '') => {
      const { total, quantity, records } = await must(manager.get(`${PATH}?account_id=${account_id}${query}`));
      return [total, quantity, records.map(({ _id }: { _id: string }) => _id)];
    };
    expect(await listed()).toEqual([2, 2, [last, first]]);
    expect(await listed('&include_inactive=true')).toEqual([3, 3, [last, inactive, first]]);
    expect(await listed('&include_inactive=true&per_page=1&page=2')).toEqual([3, 1, [inactive]]);
    expect((await must(manager.get(`${PATH}?account_id=${other.accountId}`))).total).toBe(0);
  });
});

describe('an API key on the console', () => {
  it('shows its secret once, and is listed without it', async () => {
    const { _id: id } = await aMachine();
    const { status, body } = await manager.post(`${PATH}/${id}/keys`, { json: { description: 'CI' } });
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
    const listed = await must(manager.get(`${PATH}/${id}/keys`));
    expect(listed).toEqual({ total: 1, quantity: 1, records: [shown] });
    expect(JSON.stringify(listed)).not.toContain(secret_key);
  });

  it('is revoked once, and stays listed', async () => {
    const { _id } = await aMachine();
    const key = await must(manager.post(`${PATH}/${_id}/keys`));
    expect((await manager.delete(`${PATH}/${_id}/keys/${key._id}`)).status).toBe(204);
    expect((await must(manager.get(`${PATH}/${_id}/keys`))).records).toMatchObject([{ is_active: false }]);
    const again = await manager.delete(`${PATH}/${_id}/keys/${key._id}`);
    expect(readStatusAndCode(again)).toEqual([404, 'API_KEY_NOT_FOUND']);
    expect(again.body).toMatchObject({ details: { field: 'key_id', reason: 'not_found' } });
    expect(readStatusAndCode(await manager.delete(`${PATH}/${_id}/keys/${UNKNOWN_ID}`))).toEqual([
      404,
      'API_KEY_NOT_FOUND',
    ]);
  });
});

describe('the limit of what a new key of the console may do', () => {
  it('refuses a key for a service account that may do more than the caller, and accepts one for any other', async () => {
    const { as } = await aUser(company, { can: ['api_keys:create', 'users:*'] });
    const wider = await aServiceAccountThat(company, allow('users:*', 'groups:GetGroup'));
    const narrower = await aServiceAccountThat(company, allow('users:ListUsers'));
    const keys = await countRows('api_keys where service_account_id = ?', wider.id);
    const refused = await as.post(`${PATH}/${wider.id}/keys`, { json: {} });
    expect([refused.status, refused.body.error, refused.body.details.action]).toEqual([
      403,
      'FORBIDDEN',
      'groups:GetGroup',
    ]);
    expect(await countRows('api_keys where service_account_id = ?', wider.id)).toBe(keys);
    expect((await as.post(`${PATH}/${narrower.id}/keys`, { json: {} })).status).toBe(201);
    expect((await company.as.post(`${PATH}/${wider.id}/keys`, { json: {} })).status).toBe(201);
  });

  it('applies to an idempotent replay: the key is shown again only if a new one were allowed', async () => {
    const { as } = await aUser(company, { can: ['api_keys:create'] });
    const robot = await aServiceAccount(company);
    const sending = { json: {}, headers: { 'idempotency-key': 'a-key-of-the-console' } };
    const first = await as.post(`${PATH}/${robot.id}/keys`, sending);
    const again = await as.post(`${PATH}/${robot.id}/keys`, sending);
    expect([first.status, again.status, again.headers.get('idempotency-replayed')]).toEqual([201, 201, 'true']);
    expect(again.body).toEqual(first.body);

    const groupId = await aGroup(company, await aPolicy(company, [allow('*')]));
    const json = { principal_type: 'service_account', principal_id: robot.id, account_id: company.accountId };
    await must(admin.post(`/groups/${groupId}/bindings`, { json }));
    const refused = await as.post(`${PATH}/${robot.id}/keys`, sending);
    expect([refused.status, refused.body.secret_key]).toEqual([403, undefined]);
  });
});
