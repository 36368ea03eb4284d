import { describe, expect, it } from 'vitest';
import { createOwnedCompany } from '../support/companies.ts';
import { countRows, selectRow, sendDuringRace, sendTwice } from '../support/race.ts';
import { createKeyedAccount, createPolicyGroup, createSignedCaller, expectSuccess } from '../support/signed.ts';

const company = await createOwnedCompany();
const admin = createSignedCaller(company.apiKey);

const makePath = (id: string): string => `/service-accounts/${id}`;
const deleteServiceAccount = (id: string) => expectSuccess(admin.delete(makePath(id)));

describe('a service account', () => {
  it('is not created in an account that is deleted meanwhile', async () => {
    const { id: account_id } = await expectSuccess(admin.post('/accounts', { json: { name: 'Deleted meanwhile' } }));
    const answer = await sendDuringRace(
      /^insert into "service_accounts"/,
      () => expectSuccess(admin.delete(`/accounts/${account_id}`)),
      (env) => admin.post('/service-accounts', { json: { name: 'Homeless', account_id }, env }),
    );
    expect([answer.status, answer.body.details.field]).toEqual([404, 'account_id']);
    expect(await countRows('service_accounts where account_id = ?', account_id)).toBe(0);
  });

  it('is not changed once it is deleted', async () => {
    const { id } = await createKeyedAccount(company);
    const answer = await sendDuringRace(
      /^update "service_accounts" set "name"/,
      () => deleteServiceAccount(id),
      (env) => admin.patch(makePath(id), { json: { name: 'Too late' }, env }),
    );
    expect(answer.status).toBe(404);
    expect(await selectRow('select name from service_accounts where id = ?', id)).toEqual({ name: 'Robot' });
  });

  it('is deleted once by two requests at the same time', async () => {
    const { id } = await createKeyedAccount(company);
    const deletionStatementPattern = /^update "service_accounts" set "updated_at"/;
    const deleteConcurrently = () => deleteServiceAccount(id);
    const answer = await sendDuringRace(deletionStatementPattern, deleteConcurrently, (env) =>
      admin.delete(makePath(id), { env }),
    );
    expect([answer.status, answer.body.error]).toEqual([400, 'AlreadyDeleted']);
  });

  it('loses its keys and memberships when it is deleted, and no other service account loses any', async () => {
    const groupId = await createPolicyGroup(company);
    const [gone, stays] = [await createKeyedAccount(company, [groupId]), await createKeyedAccount(company, [groupId])];
    await deleteServiceAccount(gone.id);
    expect((await gone.as.get('/accounts')).status).toBe(401);
    expect(await selectRow('select is_active from api_keys where id = ?', stays.keyId)).toEqual({ is_active: 1 });
    expect(await countRows('group_bindings where group_id = ?', groupId)).toBe(1);
  });
});

describe('an API key', () => {
  it('is not issued for a service account that is deleted meanwhile', async () => {
    const { id } = await createKeyedAccount(company);
    const keys = await countRows('api_keys where service_account_id = ?', id);
    const answer = await sendDuringRace(
      /^insert into "api_keys"/,
      () => deleteServiceAccount(id),
      (env) => admin.post(`${makePath(id)}/keys`, { json: {}, env }),
    );
    expect(answer.status).toBe(404);
    expect(await countRows('api_keys where service_account_id = ?', id)).toBe(keys);
  });

  it('is revoked once by two requests at the same time', async () => {
    const { id, keyId } = await createKeyedAccount(company);
    const revokeKey = (env?: Record<string, string>) => admin.delete(`${makePath(id)}/keys/${keyId}`, { env });
    const answer = await sendTwice(/^update "api_keys" set "is_active"/, revokeKey);
    expect([answer.status, answer.body.details.reason]).toEqual([400, 'already_deleted']);
  });
});
