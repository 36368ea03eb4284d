import { describe, expect, it } from 'vitest';
import { createAllowedUser, createOwnedCompany } from '../support/companies.ts';
import { createPermission, makePolicyInput, readStatusAndCode } from '../support/console.ts';
import { countRows, selectRow, sendDuringRace, sendTwice } from '../support/race.ts';
import { createPolicyGroup, expectSuccess, makeAllow, storePolicy } from '../support/signed.ts';

const company = await createOwnedCompany();
const ownerCaller = company.as;

describe('a policy', () => {
  it('does not regain an action that was removed meanwhile, by an editor who may not grant it', async () => {
    const id = await storePolicy(company, [makeAllow('users:*')]);
    const { as: editor } = await createAllowedUser(company, { can: ['policies:update'] });
    const { document } = makePolicyInput([makeAllow('users:list')]);
    const answer = await sendDuringRace(
      /^update "policies"/,
      () =>
        expectSuccess(
          ownerCaller.put(`/v1/policies/${id}`, {
            json: { document: makePolicyInput([makeAllow('policies:update')]).document },
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
    const [groupId, id] = [await createPolicyGroup(company), await storePolicy(company, [makeAllow('users:list')])];
    const answer = await sendDuringRace(
      /^delete from "policies"/,
      () => expectSuccess(ownerCaller.post(`/v1/groups/${groupId}/policies/${id}`)),
      (env) => ownerCaller.delete(`/v1/policies/${id}`, { env }),
    );
    expect(answer.status).toBe(409);
    expect(await countRows('policies where id = ?', id)).toBe(1);
  });

  it('is refused a name that another policy takes meanwhile', async () => {
    const json = makePolicyInput([makeAllow('users:list')]);
    const createPolicy = (env?: Record<string, string>) => ownerCaller.post('/v1/policies', { json, env });
    const answer = await sendTwice(/^insert into "policies"/, createPolicy);
    expect(answer.status).toBe(409);
    expect(await countRows('policies where name = ?', json.name)).toBe(1);
  });
});

describe('a legacy permission', () => {
  const readingPermission = { actions: ['read'] };
  it.each([
    ['actions', { actions: ['read', 'delete'] }, { actions: ['read'] }],
    ['target', { target: 'users' }, { target: 'groups' }],
  ])('does not regain what was removed from its %s meanwhile', async (_what, permissionBefore, permissionAfter) => {
    const makeInput = ({ actions, target }: { actions?: string[]; target?: string }) => ({
      ...(actions && { actions }),
      ...(target && { target: { company_id: company.id, service_name: target } }),
    });
    const id = await createPermission(company, { ...readingPermission, ...makeInput(permissionBefore) });
    const { as: editor } = await createAllowedUser(company, { can: ['permissions:update', 'permissions:get'] });
    const answer = await sendDuringRace(
      /^update "permissions"/,
      () => expectSuccess(ownerCaller.put(`/v1/permissions/${id}`, { json: makeInput(permissionAfter) })),
      (env) => editor.put(`/v1/permissions/${id}`, { json: makeInput(permissionBefore), env }),
    );
    expect(readStatusAndCode(answer)).toEqual([403, 'FORBIDDEN']);
  });
});
