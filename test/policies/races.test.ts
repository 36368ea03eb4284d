import { beforeAll, describe, expect, it } from 'vitest';
import { createPermission, makePolicyInput, readStatusAndCode } from '../support/console.ts';
import { countRows, selectRow, sendOvertaken } from '../support/rival.ts';
import { aGroup, allow, aPolicy, must } from '../support/signed.ts';
import { aCompany, aUser, type Company } from '../support/worlds.ts';

let company: Company;
let asOwner: Company['as'];
beforeAll(async () => {
  company = await aCompany();
  asOwner = company.as;
});

describe('a policy', () => {
  it('does not regain an action that was removed meanwhile, by an editor who may not grant it', async () => {
    const id = await aPolicy(company, [allow('users:*')]);
    const { as: editor } = await aUser(company, { can: ['policies:update'] });
    const { document } = makePolicyInput([allow('users:list')]);
    const answer = await sendOvertaken(
      /^update "policies"/,
      () =>
        must(
          asOwner.put(`/v1/policies/${id}`, {
            json: { document: makePolicyInput([allow('policies:update')]).document },
          }),
        ),
      (env) => editor.put(`/v1/policies/${id}`, { json: { document }, env }),
    );
    expect(readStatusAndCode(answer)).toEqual([403, 'FORBIDDEN']);
    expect(await selectRow('select document from policies where id = ?', id)).not.toEqual({
      document: JSON.stringify(document),
    });
  });

  it('is not deleted when it is attached meanwhile', async () => {
    const [groupId, id] = [await aGroup(company), await aPolicy(company, [allow('users:list')])];
    const answer = await sendOvertaken(
      /^delete from "policies"/,
      () => must(asOwner.post(`/v1/groups/${groupId}/policies/${id}`)),
      (env) => asOwner.delete(`/v1/policies/${id}`, { env }),
    );
    expect(answer.status).toBe(409);
    expect(await countRows('policies where id = ?', id)).toBe(1);
  });

  it('is refused a name that another policy takes meanwhile', async () => {
    const json = makePolicyInput([allow('users:list')]);
    const make = (env?: Record<string, string>) => asOwner.post('/v1/policies', { json, ...(env && { env }) });
    const answer = await sendOvertaken(/^insert into "policies"/, () => must(make()), make);
    expect(answer.status).toBe(409);
    expect(await countRows('policies where name = ?', json.name)).toBe(1);
  });
});

describe('a legacy permission', () => {
  const reading = { actions: ['read'] };
  it.each([
    ['actions', { actions: ['read', 'delete'] }, { actions: ['read'] }],
    ['target', { target: 'users' }, { target: 'groups' }],
  ])('does not regain what was removed from its %s meanwhile', async (_what, before, after) => {
    const inputOf = ({ actions, target }: { actions?: string[]; target?: string }) => ({
      ...(actions && { actions }),
      ...(target && { target: { company_id: company.id, service_name: target } }),
    });
    const id = await createPermission(company, { ...reading, ...inputOf(before) });
    const { as: editor } = await aUser(company, { can: ['permissions:update', 'permissions:get'] });
    const answer = await sendOvertaken(
      /^update "permissions"/,
      () => must(asOwner.put(`/v1/permissions/${id}`, { json: inputOf(after) })),
      (env) => editor.put(`/v1/permissions/${id}`, { json: inputOf(before), env }),
    );
    expect(readStatusAndCode(answer)).toEqual([403, 'FORBIDDEN']);
  });
});
