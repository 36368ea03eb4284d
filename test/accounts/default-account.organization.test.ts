import { describe, expect, it } from 'vitest';
import { createOwnedCompany } from '../support/companies.ts';
import { createSignedCaller, expectSuccess } from '../support/signed.ts';

const admin = createSignedCaller((await createOwnedCompany()).apiKey);

let nameCount = 0;
const makeAccountName = () => `Account ${nameCount++}`;
const createAccount = async (json: Record<string, unknown> = {}) =>
  expectSuccess(admin.post('/accounts', { json: { name: makeAccountName(), ...json } }));
const listDefaultAccounts = async (caller = admin) =>
  (await expectSuccess(caller.get('/accounts?quantity=100'))).results.filter(
    (eachAccount: { is_default: boolean }) => eachAccount.is_default,
  );

describe('the default account', () => {
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
