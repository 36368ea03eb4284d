import { describe, expect, it } from 'vitest';
import type { ApiResponse } from '../support/api.ts';
import { createOwnedCompany } from '../support/companies.ts';
import { countRows, selectRow, sendDuringRace, sendTwice } from '../support/race.ts';
import {
  bindUser,
  createGrouplessUser,
  createKeyedAccount,
  createPolicyGroup,
  createSignedCaller,
  expectSuccess,
} from '../support/signed.ts';

const company = await createOwnedCompany();
const admin = createSignedCaller(company.apiKey);

let nameCount = 0;
const makeAccountName = (): string => `Raced account ${++nameCount}`;
const createAccount = (): Promise<{ id: string; name: string }> =>
  expectSuccess(admin.post('/accounts', { json: { name: makeAccountName() } }));
const changeAccount = (id: string, json: Record<string, unknown>, env?: Record<string, string>) =>
  admin.patch(`/accounts/${id}`, { json, env });
const deleteAccount = (id: string, env?: Record<string, string>) => admin.delete(`/accounts/${id}`, { env });
const ACCOUNT_UPDATE_PATTERN = /^update "accounts"/;
const listDefaultIds = async (): Promise<string[]> =>
  (await expectSuccess(admin.get('/accounts?quantity=100'))).results
    .filter((account: { is_default: boolean }) => account.is_default)
    .map(({ id }: { id: string }) => id);

type Request = (id: string, env?: Record<string, string>) => Promise<ApiResponse>;
const makeDefault: Request = (id, env) => changeAccount(id, { is_default: true }, env);
const deactivate: Request = (id, env) => changeAccount(id, { is_active: false }, env);
const changeDuringRace = (id: string, change: Request, changeConcurrently: () => Promise<unknown>) =>
  sendDuringRace(ACCOUNT_UPDATE_PATTERN, changeConcurrently, (env) => change(id, env));

describe('the default account', () => {
  it.each([
    ['deleted', deleteAccount, 404],
    ['deactivated', deactivate, 409],
  ] as const)(
    'stays the default when the account that is to replace it is %s meanwhile',
    async (_what, end, status) => {
      const [before, { id }] = [await listDefaultIds(), await createAccount()];
      const answer = await changeDuringRace(id, makeDefault, () => expectSuccess(end(id)));
      expect(answer.status).toBe(status);
      expect(await listDefaultIds()).toEqual(before);
    },
  );

  it('is a single account when another account becomes the default at the same time', async () => {
    const [{ id }, rival] = [await createAccount(), await createAccount()];
    const answer = await changeDuringRace(id, makeDefault, () => expectSuccess(makeDefault(rival.id)));
    expect([answer.status, await listDefaultIds()]).toEqual([200, [id]]);
  });

  it('is kept single by a unique index, whatever statement writes it', async () => {
    const { id } = await createAccount();
    await expect(selectRow('update accounts set is_default = 1 where id = ? returning id', id)).rejects.toThrow(
      /UNIQUE/,
    );
  });

  it('is not deactivated when it becomes the default meanwhile', async () => {
    const { id } = await createAccount();
    const answer = await changeDuringRace(id, deactivate, () => expectSuccess(makeDefault(id)));
    expect(answer.status).toBe(409);
    expect(await selectRow('select is_active from accounts where id = ?', id)).toEqual({ is_active: 1 });
  });

  it('is not deleted when it becomes the default meanwhile', async () => {
    const { id } = await createAccount();
    const answer = await changeDuringRace(id, deleteAccount, () => expectSuccess(makeDefault(id)));
    expect([answer.status, answer.body.details.reason]).toEqual([409, 'is_default']);
  });
});

describe('an account', () => {
  it('is not changed once it is deleted', async () => {
    const { id, name } = await createAccount();
    const rename: Request = (_, env) => changeAccount(id, { name: 'Too late' }, env);
    const answer = await changeDuringRace(id, rename, () => expectSuccess(deleteAccount(id)));
    expect(answer.status).toBe(404);
    expect(await selectRow('select name from accounts where id = ?', id)).toEqual({ name });
  });

  it('is deleted once by two requests at the same time', async () => {
    const { id } = await createAccount();
    const answer = await changeDuringRace(id, deleteAccount, () => expectSuccess(deleteAccount(id)));
    expect([answer.status, answer.body.error]).toEqual([400, 'AlreadyDeleted']);
  });

  it.each<[string, (id: string) => Promise<unknown>]>([
    [
      'somebody is put into it',
      async (id) => bindUser(company, await createPolicyGroup(company), (await createGrouplessUser(company)).id, id),
    ],
    ['it gets a service account', (id) => createKeyedAccount(company, [], id)],
  ])('is not deleted when %s meanwhile', async (_what, use) => {
    const { id } = await createAccount();
    const answer = await changeDuringRace(id, deleteAccount, () => use(id));
    expect([answer.status, answer.body.details.reason]).toEqual([409, 'in_use']);
  });

  it('is restored once by two requests at the same time', async () => {
    const { id } = await createAccount();
    await expectSuccess(deleteAccount(id));
    const restoreAccount = (env?: Record<string, string>) => admin.post(`/admin/restore/account/${id}`, { env });
    const answer = await sendTwice(ACCOUNT_UPDATE_PATTERN, restoreAccount);
    expect(answer.status).toBe(409);
  });

  it('is refused a name that another account takes meanwhile', async () => {
    const json = { name: makeAccountName() };
    const createAgain = (env?: Record<string, string>) => admin.post('/accounts', { json, env });
    const answer = await sendTwice(/^insert into "accounts"/, createAgain);
    expect(answer.status).toBe(409);
    expect(await countRows('accounts where name = ?', json.name)).toBe(1);
  });
});
