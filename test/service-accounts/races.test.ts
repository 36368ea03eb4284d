import { beforeAll, describe, expect, it } from 'vitest';
import type { Caller } from '../support/api.ts';
import { countRows, selectRow, sendOvertaken } from '../support/rival.ts';
import { aGroup, aServiceAccount, must, signed } from '../support/signed.ts';
import { aCompany, type Company } from '../support/worlds.ts';

let company: Company;
let admin: Caller;
beforeAll(async () => {
  company = await aCompany();
  admin = signed(company.apiKey);
});

const path = (id: string): string => `/service-accounts/${id}`;
const remove = (id: string) => must(admin.delete(path(id)));

describe('a service account', () => {
  it('is not made in an account that is deleted meanwhile', async () => {
    const { id: account_id } = await must(admin.post('/accounts', { json: { name: 'Deleted meanwhile' } }));
    const answer = await sendOvertaken(
      /^insert into "service_accounts"/,
      () => must(admin.delete(`/accounts/${account_id}`)),
      (env) => admin.post('/service-accounts', { json: { name: 'Homeless', account_id }, env }),
    );
    expect([answer.status, answer.body.details.field]).toEqual([404, 'account_id']);
    expect(await countRows('service_accounts where account_id = ?', account_id)).toBe(0);
  });

  it('is not changed once it is deleted', async () => {
    const { id } = await aServiceAccount(company);
    const answer = await sendOvertaken(
      /^update "service_accounts" set "name"/,
      () => remove(id),
      (env) => admin.patch(path(id), { json: { name: 'Too late' }, env }),
    );
    expect(answer.status).toBe(404);
    expect(await selectRow('select name from service_accounts where id = ?', id)).toEqual({ name: 'Robot' });
  });

  it('is deleted once by two requests at the same time', async () => {
    const { id } = await aServiceAccount(company);
    const deleting = /^update "service_accounts" set "updated_at"/;
    const rival = () => remove(id);
    const answer = await sendOvertaken(deleting, rival, (env) => admin.delete(path(id), { env }));
    expect([answer.status, answer.body.error]).toEqual([400, 'AlreadyDeleted']);
  });

  it('loses its keys and memberships when it is deleted, and no other loses theirs', async () => {
    const groupId = await aGroup(company);
    const [gone, stays] = [await aServiceAccount(company, [groupId]), await aServiceAccount(company, [groupId])];
    await remove(gone.id);
    expect((await gone.as.get('/accounts')).status).toBe(401);
    expect(await selectRow('select is_active from api_keys where id = ?', stays.keyId)).toEqual({ is_active: 1 });
    expect(await countRows('group_bindings where group_id = ?', groupId)).toBe(1);
  });
});

describe('an API key', () => {
  it('is not issued for a service account that is deleted meanwhile', async () => {
    const { id } = await aServiceAccount(company);
    const keys = await countRows('api_keys where service_account_id = ?', id);
    const answer = await sendOvertaken(
      /^insert into "api_keys"/,
      () => remove(id),
      (env) => admin.post(`${path(id)}/keys`, { json: {}, env }),
    );
    expect(answer.status).toBe(404);
    expect(await countRows('api_keys where service_account_id = ?', id)).toBe(keys);
  });

  it('is revoked once by two requests at the same time', async () => {
    const { id, keyId } = await aServiceAccount(company);
    const revoke = (env?: Record<string, string>) => admin.delete(`${path(id)}/keys/${keyId}`, env ? { env } : {});
    const answer = await sendOvertaken(/^update "api_keys" set "is_active"/, () => must(revoke()), revoke);
    expect([answer.status, answer.body.details.reason]).toEqual([400, 'already_deleted']);
  });
});
