import { describe, expect, it } from 'vitest';
import type { Caller } from '../support/api.ts';
import { createOwnedCompany } from '../support/companies.ts';
import { selectRow, sendDuringRace } from '../support/race.ts';
import {
  createAllowedAccount,
  createKeyedAccount,
  createSignedCaller,
  expectSuccess,
  makeAllow,
  makeDeny,
} from '../support/signed.ts';

const [company, other] = await Promise.all([createOwnedCompany(), createOwnedCompany()]);
const admin = createSignedCaller(company.apiKey);

const createServiceAccount = (json: Record<string, unknown> = {}) =>
  expectSuccess(admin.post('/service-accounts', { json: { name: 'Robot', account_id: company.accountId, ...json } }));

describe('a service account', () => {
  it('is created in an account, active and never used', async () => {
    const json = { name: 'Nightly load', description: 'Loads', account_id: company.accountId, metadata: { a: [1] } };
    const { status, body } = await admin.post('/service-accounts', { json });
    expect(status).toBe(201);
    expect(body).toEqual({
      ...json,
      id: expect.stringMatching(/^[a-f0-9]{24}$/),
      organization_id: company.id,
      is_active: true,
      created_at: expect.stringMatching(/Z$/),
      updated_at: body.created_at,
      last_used_at: null,
      deleted_at: null,
    });
    expect((await admin.get(`/service-accounts/${body.id}`)).body).toEqual(body);
  });

  it.each([
    ['that is another organization’s', () => other.accountId],
    ['that does not exist', () => '0'.repeat(24)],
    ['with a malformed id', () => 'nowhere'],
  ])('is not created in an account %s', async (_what, accountId) => {
    const { status, body } = await admin.post('/service-accounts', { json: { name: 'R', account_id: accountId() } });
    expect([status, body.error, body.details]).toEqual([404, 'NotFound', { field: 'account_id', reason: 'not_found' }]);
  });

  it('is not created in an account that the caller is denied, and is not listed by it', async () => {
    const { id: account_id } = await expectSuccess(admin.post('/accounts', { json: { name: 'Denied to some' } }));
    await createServiceAccount({ account_id });
    const limitedAccount = await createAllowedAccount(company, makeAllow('*'), {
      ...makeDeny('accounts:GetAccount'),
      resources: [`arn:svc:accounts::${company.id}:account/${account_id}`],
    });
    const { status, body } = await limitedAccount.as.post('/service-accounts', { json: { name: 'R', account_id } });
    expect([status, body.details]).toEqual([404, { field: 'account_id', reason: 'not_found' }]);
    const count = async (as: Caller) =>
      (await expectSuccess(as.get(`/service-accounts?account_id=${account_id}`))).total;
    expect([await count(limitedAccount.as), await count(admin)]).toEqual([0, 1]);
  });

  it('is refused with a description of more than 2,000 characters', async () => {
    const json = { name: 'R', account_id: company.accountId, description: 'd'.repeat(2001) };
    const { status, body } = await admin.post('/service-accounts', { json });
    expect([status, body.error, body.details[0].field]).toEqual([422, 'ValidationError', 'description']);
  });

  it('keeps the fields that a change does not send', async () => {
    const accountBefore = await createServiceAccount();
    const accountAfter = await expectSuccess(
      admin.patch(`/service-accounts/${accountBefore.id}`, { json: { description: 'New' } }),
    );
    expect(accountAfter).toEqual({ ...accountBefore, description: 'New', updated_at: expect.any(String) });
    expect(
      (await expectSuccess(admin.patch(`/service-accounts/${accountBefore.id}`, { json: { is_active: false } })))
        .is_active,
    ).toBe(false);
  });

  it('leaves no working key behind when a key is issued during its deletion', async () => {
    const { id } = await createServiceAccount();
    const issueKey = () => expectSuccess(admin.post(`/service-accounts/${id}/keys`, { json: {} }));
    let key: Awaited<ReturnType<typeof issueKey>>;
    const answer = await sendDuringRace(
      /^update "service_accounts"/,
      async () => {
        key = await issueKey();
      },
      (env) => admin.delete(`/service-accounts/${id}`, { env }),
    );
    expect([answer.status, (await createSignedCaller(key).get('/accounts')).status]).toEqual([204, 401]);
    expect(await selectRow('select is_active from api_keys where access_key = ?', key.access_key)).toEqual({
      is_active: 0,
    });
  });
});

describe('the list of service accounts', () => {
  it('omits inactive and deleted service accounts unless they are requested', async () => {
    const { id: account_id } = await expectSuccess(admin.post('/accounts', { json: { name: 'Listed' } }));
    const [active, inactive, deleted] = await Promise.all([1, 2, 3].map(() => createServiceAccount({ account_id })));
    await expectSuccess(admin.patch(`/service-accounts/${inactive.id}`, { json: { is_active: false } }));
    await expectSuccess(admin.delete(`/service-accounts/${deleted.id}`));
    const listIds = async (query: string) => {
      const { total, results } = await expectSuccess(admin.get(`/service-accounts?account_id=${account_id}${query}`));
      expect(total).toBe(results.length);
      return results.map(({ id }: { id: string }) => id).sort();
    };
    expect(await listIds('')).toEqual([active.id]);
    expect(await listIds('&include_inactive=true')).toEqual([active.id, inactive.id].sort());
    expect(await listIds('&include_inactive=true&include_deleted=true')).toEqual(
      [active.id, inactive.id, deleted.id].sort(),
    );
    expect((await expectSuccess(admin.get(`/service-accounts?account_id=${other.accountId}`))).total).toBe(0);
  });
});

describe('an API key', () => {
  it('shows its secret once when it is issued, and expires after a year', async () => {
    const { id } = await createServiceAccount();
    const { status, body } = await admin.post(`/service-accounts/${id}/keys`, { json: { description: 'CI' } });
    expect(status).toBe(201);
    expect(body).toEqual({
      id: expect.any(String),
      access_key: expect.stringMatching(new RegExp(`^sa_${company.slug}_${company.accountId}_[a-z2-7]{20}$`)),
      secret_key: expect.stringMatching(/^[\w-]{43}$/),
      description: 'CI',
      service_account_id: id,
      expires_at: expect.any(String),
      is_active: true,
      created_at: expect.any(String),
      last_used_at: null,
    });
    expect(Date.parse(body.expires_at) - Date.parse(body.created_at)).toBe(365 * 24 * 3600 * 1000);
    const { secret_key, ...shown } = body;
    const { total, page, results } = await expectSuccess(admin.get(`/service-accounts/${id}/keys`));
    expect([total, page, results]).toEqual([1, 1, [shown]]);
    expect(JSON.stringify(results)).not.toContain(secret_key);
  });

  it('is as if absent for a caller who is denied its service account', async () => {
    const { id, keyId } = await createKeyedAccount(company);
    const limitedAccount = await createAllowedAccount(company, makeAllow('*'), {
      ...makeDeny('service-accounts:GetServiceAccount'),
      resources: [`arn:svc:service-accounts::${company.id}:service-account/${id}`],
    });
    const path = `/service-accounts/${id}/keys`;
    for (const { status, body } of [
      await limitedAccount.as.get(path),
      await limitedAccount.as.post(path, { json: {} }),
      await limitedAccount.as.delete(`${path}/${keyId}`),
    ]) {
      expect([status, body.error]).toEqual([404, 'NotFound']);
    }
    expect((await expectSuccess(admin.get(path))).results).toMatchObject([{ id: keyId, is_active: true }]);
  });

  it('expires at the moment that was sent, in any UTC offset', async () => {
    const { id } = await createServiceAccount();
    const json = { expires_at: '2100-01-01T02:00:00+02:00' };
    expect((await expectSuccess(admin.post(`/service-accounts/${id}/keys`, { json }))).expires_at).toBe(
      '2100-01-01T00:00:00.000Z',
    );
  });

  it.each(['2001-01-01T00:00:00Z', '9999-12-31T23:59:59-12:00', 'tomorrow', '2100-01-01', 4102444800, null])(
    'is refused an expiry of %j',
    async (expires_at) => {
      const { id } = await createServiceAccount();
      const { status, body } = await admin.post(`/service-accounts/${id}/keys`, { json: { expires_at } });
      expect([status, body.details[0].field]).toEqual([422, 'expires_at']);
    },
  );

  it('stops working at once when it is revoked, stays listed, and is revoked once', async () => {
    const serviceAccount = await createKeyedAccount(company);
    const path = `/service-accounts/${serviceAccount.id}/keys/${serviceAccount.keyId}`;
    expect((await admin.delete(path)).status).toBe(204);
    expect((await serviceAccount.as.get('/accounts')).body.details.reason).toBe('unknown_key');
    expect((await expectSuccess(admin.get(`/service-accounts/${serviceAccount.id}/keys`))).results).toMatchObject([
      { is_active: false },
    ]);
    const repeatedRevocation = await admin.delete(path);
    expect([repeatedRevocation.status, repeatedRevocation.body.error]).toEqual([400, 'AlreadyDeleted']);
  });

  it('is not found under another service account, nor under a service account of another organization', async () => {
    const [one, two] = await Promise.all([createKeyedAccount(company), createKeyedAccount(company)]);
    expect((await admin.delete(`/service-accounts/${one.id}/keys/${two.keyId}`)).status).toBe(404);
    expect(
      (await createSignedCaller(other.apiKey).delete(`/service-accounts/${one.id}/keys/${one.keyId}`)).status,
    ).toBe(404);
    expect((await one.as.get('/accounts')).status).toBe(403);
  });

  it('shows when it and its service account were last used', async () => {
    const serviceAccount = await createKeyedAccount(company);
    await serviceAccount.as.get('/accounts');
    const [used] = (await expectSuccess(admin.get(`/service-accounts/${serviceAccount.id}/keys`))).results;
    expect(used.last_used_at).toMatch(/Z$/);
    expect((await expectSuccess(admin.get(`/service-accounts/${serviceAccount.id}`))).last_used_at).toBe(
      used.last_used_at,
    );
  });
});
