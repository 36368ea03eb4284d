import { describe, expect, it } from 'vitest';
import { createOwnedCompany } from '../support/companies.ts';
import { countRows, selectRow, sendDuringRace } from '../support/race.ts';
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
  admin.patch(`/accounts/${id}`, { json, ...(env && { env }) });
const deleteAccount = (id: string, env?: Record<string, string>) => admin.delete(`/accounts/${id}`, env ? { env } : {});
const ACCOUNT_UPDATE_PATTERN = /^update "accounts"/;
const listDefaultIds = async (): Promise<string[]> =>
  (await expectSuccess(admin.get('/accounts?quantity=100'))).results
    .filter((account: { is_default: boolean }) => account.is_default)
    .map(({ id }: { id: string }) => id);

describe('the default account', () => {
  it('stays the default when the account that is to replace it is deleted meanwhile', async () => {
    const [before, { id }] = [await listDefaultIds(), await createAccount()];
    const deleteConcurrently = () => expectSuccess(deleteAccount(id));
    const answer = await sendDuringRace(ACCOUNT_UPDATE_PATTERN, deleteConcurrently, (env) =>
      changeAccount(id, { is_default: true }, env),
    );
    expect(answer.status).toBe(404);
    expect(await listDefaultIds()).toEqual(before);
  });

  it('stays the default when the account that is to replace it is deactivated meanwhile', async () => {
    const [before, { id }] = [await listDefaultIds(), await createAccount()];
    const answer = await sendDuringRace(
      ACCOUNT_UPDATE_PATTERN,
      () => expectSuccess(changeAccount(id, { is_active: false })),
      (env) => changeAccount(id, { is_default: true }, env),
    );
    expect(answer.status).toBe(409);
    expect(await listDefaultIds()).toEqual(before);
  });

  it('is a single account when another account becomes the default at the same time', async () => {
    const [{ id }, rival] = [await createAccount(), await createAccount()];
    const answer = await sendDuringRace(
      ACCOUNT_UPDATE_PATTERN,
      () => expectSuccess(changeAccount(rival.id, { is_default: true })),
      (env) => changeAccount(id, { is_default: true }, env),
    );
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
    const makeDefaultConcurrently = () => expectSuccess(changeAccount(id, { is_default: true }));
    const answer = await sendDuringRace(ACCOUNT_UPDATE_PATTERN, makeDefaultConcurrently, (env) =>
      changeAccount(id, { is_active: false }, env),
    );
    expect(answer.status).toBe(409);
    expect(await selectRow('select is_active from accounts where id = ?', id)).toEqual({ is_active: 1 });
  });

  it('is not deleted when it becomes the default meanwhile', async () => {
    const { id } = await createAccount();
    const answer = await sendDuringRace(
      ACCOUNT_UPDATE_PATTERN,
      () => expectSuccess(changeAccount(id, { is_default: true })),
      (env) => deleteAccount(id, env),
    );
    expect([answer.status, answer.body.details.reason]).toEqual([409, 'is_default']);
  });
});

describe('an account', () => {
  it('is not changed once it is deleted', async () => {
    const { id, name } = await createAccount();
    const deleteConcurrently = () => expectSuccess(deleteAccount(id));
    const answer = await sendDuringRace(ACCOUNT_UPDATE_PATTERN, deleteConcurrently, (env) =>
      changeAccount(id, { name: 'Too late' }, env),
    );
    expect(answer.status).toBe(404);
    expect(await selectRow('select name from accounts where id = ?', id)).toEqual({ name });
  });

  it('is deleted once by two requests at the same time', async () => {
    const { id } = await createAccount();
    const answer = await sendDuringRace(
      ACCOUNT_UPDATE_PATTERN,
      () => expectSuccess(deleteAccount(id)),
      (env) => deleteAccount(id, env),
    );
    expect([answer.status, answer.body.error]).toEqual([400, 'AlreadyDeleted']);
  });

  it('is not deleted when somebody is put into it meanwhile', async () => {
    const [{ id }, groupId, user] = [
      await createAccount(),
      await createPolicyGroup(company),
      await createGrouplessUser(company),
    ];
    const bindConcurrently = () => bindUser(company, groupId, user.id, id);
    const answer = await sendDuringRace(ACCOUNT_UPDATE_PATTERN, bindConcurrently, (env) => deleteAccount(id, env));
    expect([answer.status, answer.body.details.reason]).toEqual([409, 'in_use']);
  });

  it('is not deleted when it gets a service account meanwhile', async () => {
    const { id } = await createAccount();
    const answer = await sendDuringRace(
      ACCOUNT_UPDATE_PATTERN,
      () => createKeyedAccount(company, [], id),
      (env) => deleteAccount(id, env),
    );
    expect([answer.status, answer.body.details.reason]).toEqual([409, 'in_use']);
  });

  it('is restored once by two requests at the same time', async () => {
    const { id } = await createAccount();
    await expectSuccess(deleteAccount(id));
    const restoreAccount = (env?: Record<string, string>) =>
      admin.post(`/admin/restore/account/${id}`, env ? { env } : {});
    const answer = await sendDuringRace(ACCOUNT_UPDATE_PATTERN, () => expectSuccess(restoreAccount()), restoreAccount);
    expect(answer.status).toBe(409);
  });

  it('is refused a name that another account takes meanwhile', async () => {
    const json = { name: makeAccountName() };
    const createAgain = (env?: Record<string, string>) => admin.post('/accounts', { json, ...(env && { env }) });
    const answer = await sendDuringRace(/^insert into "accounts"/, () => expectSuccess(createAgain()), createAgain);
    expect(answer.status).toBe(409);
    expect(await countRows('accounts where name = ?', json.name)).toBe(1);
  });
});
