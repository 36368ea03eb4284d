import { beforeAll, describe, expect, it } from 'vitest';
import type { Caller } from '../support/api.ts';
import { must, signed } from '../support/signed.ts';
import { aCompany } from '../support/worlds.ts';

let admin: Caller;

beforeAll(async () => {
  admin = signed((await aCompany()).apiKey);
});

let names = 0;
const aName = () => `Account ${names++}`;
const anAccount = async (json: Record<string, unknown> = {}) =>
  must(admin.post('/accounts', { json: { name: aName(), ...json } }));
const defaults = async (caller = admin) =>
  (await must(caller.get('/accounts?quantity=100'))).results.filter((one: { is_default: boolean }) => one.is_default);

describe('the default account', () => {
  it('moves to a new account', async () => {
    const { id } = await anAccount({ is_default: true });
    expect((await defaults()).map((one: { id: string }) => one.id)).toEqual([id]);
  });

  it('moves by a change of another account, and cannot be unset by a change of its own', async () => {
    const { id } = await anAccount();
    expect((await must(admin.patch(`/accounts/${id}`, { json: { is_default: true } }))).is_default).toBe(true);
    expect((await defaults()).map((one: { id: string }) => one.id)).toEqual([id]);
    const taken = await admin.patch(`/accounts/${id}`, { json: { is_default: false } });
    expect([taken.status, taken.body.details[0].field]).toEqual([422, 'is_default']);
  });

  it('stays where it is when the account that is to become it has a taken name', async () => {
    const { name } = await anAccount();
    const before = await defaults();
    expect((await admin.post('/accounts', { json: { name, is_default: true } })).status).toBe(409);
    expect(await defaults()).toEqual(before);
  });

  it('cannot be made inactive, nor can an inactive account become it', async () => {
    const [{ id }] = await defaults();
    const inactive = await anAccount();
    await must(admin.patch(`/accounts/${inactive.id}`, { json: { is_active: false } }));
    for (const [account, json] of [
      [id, { is_active: false }],
      [inactive.id, { is_default: true }],
      [inactive.id, { is_default: true, is_active: false }],
    ] as const) {
      const { status, body } = await admin.patch(`/accounts/${account}`, { json });
      expect([status, body.error]).toEqual([409, 'AlreadyExists']);
    }
    expect((await defaults()).map((one: { id: string }) => one.id)).toEqual([id]);
    expect(
      await must(admin.patch(`/accounts/${inactive.id}`, { json: { is_default: true, is_active: true } })),
    ).toMatchObject({
      is_default: true,
      is_active: true,
    });
  });

  it('cannot be deleted', async () => {
    const [{ id }] = await defaults();
    const { status, body } = await admin.delete(`/accounts/${id}`);
    expect([status, body.error, body.details.reason]).toEqual([409, 'AlreadyExists', 'is_default']);
  });
});
