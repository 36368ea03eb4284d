import { beforeAll, describe, expect, it } from 'vitest';
import type { Caller } from '../support/api.ts';
import { countRows, selectRow, sendOvertaken } from '../support/rival.ts';
import { aGroup, aServiceAccount, aUser, bind, must, signed } from '../support/signed.ts';
import { aCompany, type Company } from '../support/worlds.ts';

let company: Company;
let admin: Caller;
beforeAll(async () => {
  company = await aCompany();
  admin = signed(company.apiKey);
});

let names = 0;
const aName = (): string => `Raced account ${++names}`;
const anAccount = (): Promise<{ id: string; name: string }> =>
  must(admin.post('/accounts', { json: { name: aName() } }));
const change = (id: string, json: Record<string, unknown>, env?: Record<string, string>) =>
  admin.patch(`/accounts/${id}`, { json, ...(env && { env }) });
const remove = (id: string, env?: Record<string, string>) => admin.delete(`/accounts/${id}`, env ? { env } : {});
const updating = /^update "accounts"/;
const defaults = async (): Promise<string[]> =>
  (await must(admin.get('/accounts?quantity=100'))).results
    .filter((account: { is_default: boolean }) => account.is_default)
    .map(({ id }: { id: string }) => id);

describe('the default account', () => {
  it('stays the default when the account that is to replace it is deleted meanwhile', async () => {
    const [before, { id }] = [await defaults(), await anAccount()];
    const rival = () => must(remove(id));
    const answer = await sendOvertaken(updating, rival, (env) => change(id, { is_default: true }, env));
    expect(answer.status).toBe(404);
    expect(await defaults()).toEqual(before);
  });

  it('stays the default when the account that is to replace it is deactivated meanwhile', async () => {
    const [before, { id }] = [await defaults(), await anAccount()];
    const answer = await sendOvertaken(
      updating,
      () => must(change(id, { is_active: false })),
      (env) => change(id, { is_default: true }, env),
    );
    expect(answer.status).toBe(409);
    expect(await defaults()).toEqual(before);
  });

  it('is a single one when another account becomes it meanwhile', async () => {
    const [{ id }, rival] = [await anAccount(), await anAccount()];
    const answer = await sendOvertaken(
      updating,
      () => must(change(rival.id, { is_default: true })),
      (env) => change(id, { is_default: true }, env),
    );
    expect([answer.status, await defaults()]).toEqual([200, [id]]);
  });

  it('is a single one by a unique index, whatever statement writes it', async () => {
    const { id } = await anAccount();
    await expect(selectRow('update accounts set is_default = 1 where id = ? returning id', id)).rejects.toThrow(
      /UNIQUE/,
    );
  });

  it('is not deactivated when it becomes the default meanwhile', async () => {
    const { id } = await anAccount();
    const rival = () => must(change(id, { is_default: true }));
    const answer = await sendOvertaken(updating, rival, (env) => change(id, { is_active: false }, env));
    expect(answer.status).toBe(409);
    expect(await selectRow('select is_active from accounts where id = ?', id)).toEqual({ is_active: 1 });
  });

  it('is not deleted when it becomes the default meanwhile', async () => {
    const { id } = await anAccount();
    const answer = await sendOvertaken(
      updating,
      () => must(change(id, { is_default: true })),
      (env) => remove(id, env),
    );
    expect([answer.status, answer.body.details.reason]).toEqual([409, 'is_default']);
  });
});

describe('an account', () => {
  it('is not changed once it is deleted', async () => {
    const { id, name } = await anAccount();
    const rival = () => must(remove(id));
    const answer = await sendOvertaken(updating, rival, (env) => change(id, { name: 'Too late' }, env));
    expect(answer.status).toBe(404);
    expect(await selectRow('select name from accounts where id = ?', id)).toEqual({ name });
  });

  it('is deleted once by two requests at the same time', async () => {
    const { id } = await anAccount();
    const answer = await sendOvertaken(
      updating,
      () => must(remove(id)),
      (env) => remove(id, env),
    );
    expect([answer.status, answer.body.error]).toEqual([400, 'AlreadyDeleted']);
  });

  it('is not deleted when somebody is put into it meanwhile', async () => {
    const [{ id }, groupId, user] = [await anAccount(), await aGroup(company), await aUser(company)];
    const rival = () => bind(company, groupId, user.id, id);
    const answer = await sendOvertaken(updating, rival, (env) => remove(id, env));
    expect([answer.status, answer.body.details.reason]).toEqual([409, 'in_use']);
  });

  it('is not deleted when it gets a service account meanwhile', async () => {
    const { id } = await anAccount();
    const answer = await sendOvertaken(
      updating,
      () => aServiceAccount(company, [], id),
      (env) => remove(id, env),
    );
    expect([answer.status, answer.body.details.reason]).toEqual([409, 'in_use']);
  });

  it('is restored once by two requests at the same time', async () => {
    const { id } = await anAccount();
    await must(remove(id));
    const restore = (env?: Record<string, string>) => admin.post(`/admin/restore/account/${id}`, env ? { env } : {});
    const answer = await sendOvertaken(updating, () => must(restore()), restore);
    expect(answer.status).toBe(409);
  });

  it('is refused a name that another account takes meanwhile', async () => {
    const json = { name: aName() };
    const make = (env?: Record<string, string>) => admin.post('/accounts', { json, ...(env && { env }) });
    const answer = await sendOvertaken(/^insert into "accounts"/, () => must(make()), make);
    expect(answer.status).toBe(409);
    expect(await countRows('accounts where name = ?', json.name)).toBe(1);
  });
});
