import { env as bindings } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { isSessionLive } from '../sign-in/support.ts';
import { callApi } from '../support/api.ts';
import { createAllowedUser as aColleague, createOwnedCompany, PASSWORD } from '../support/companies.ts';
import { inviteUser } from '../support/invite.ts';
import { countRows, selectRow, sendDuringRace, sendTwice } from '../support/race.ts';
import {
  bindUser,
  createGrouplessUser,
  createPolicyGroup,
  createSignedCaller,
  expectSuccess,
} from '../support/signed.ts';

const company = await createOwnedCompany();
const admin = createSignedCaller(company.apiKey);

const userUpdatePattern = /^update "users"/;
const makePath = (id: string): string => `/users/${id}`;
const deleteUser = (id: string) => expectSuccess(admin.delete(makePath(id)));

describe('a user', () => {
  it('is not changed after it is deleted', async () => {
    const { id } = await createGrouplessUser(company);
    const answer = await sendDuringRace(
      userUpdatePattern,
      () => deleteUser(id),
      (env) => admin.patch(makePath(id), { json: { metadata: { too: 'late' } }, env }),
    );
    expect(answer.status).toBe(404);
    expect(await selectRow('select metadata from users where id = ?', id)).toEqual({ metadata: '{}' });
  });

  it('is deleted once by two requests at the same time', async () => {
    const { id } = await createGrouplessUser(company);
    const deleteConcurrently = () => deleteUser(id);
    const answer = await sendDuringRace(userUpdatePattern, deleteConcurrently, (env) =>
      admin.delete(makePath(id), { env }),
    );
    expect([answer.status, answer.body.error]).toEqual([400, 'AlreadyDeleted']);
  });

  it('keeps the sessions when only the metadata changes', async () => {
    const { id, as } = await aColleague(company);
    await expectSuccess(admin.patch(makePath(id), { json: { metadata: { seen: true } } }));
    expect(await isSessionLive(as)).toBe(true);
  });

  it('is refused an e-mail address that another user gets meanwhile', async () => {
    const json = { email: `taken@${company.slug}.test`, password: 'quiet-harbour-lantern' };
    const createUser = (env?: Record<string, string>) => admin.post('/users', { json, env });
    const answer = await sendTwice(/^insert into "users"/, createUser);
    expect(answer.status).toBe(409);
    expect(await countRows('users where email = ?', json.email)).toBe(1);
  });
});

describe('a user who is only invited', () => {
  it('is not activated by an administrator', async () => {
    const { user } = await inviteUser(company, `invited@${company.slug}.test`);
    expect((await company.as.post(`/v1/users/${user.id}/activate`)).status).toBe(409);
    expect(await selectRow('select is_active from users where id = ?', user.id)).toEqual({ is_active: 0 });
  });
});

it('a company is refused a slug that another company takes meanwhile', async () => {
  const slug = 'founded-twice';
  const companyInput = {
    headers: { authorization: `Bearer ${bindings.PLATFORM_ADMIN_TOKEN}` },
    json: { name: 'Twice', slug, owner: { email: 'owner@twice.test', name: 'Olga', password: PASSWORD } },
  };
  const createCompany = (env?: Record<string, string>) =>
    callApi('POST', '/admin/organizations', { ...companyInput, env });
  expect((await sendTwice(/^insert into "companies"/, createCompany)).status).toBe(409);
  expect(await countRows('companies where slug = ?', slug)).toBe(1);
});

it('the owner of a company is neither deactivated nor deleted, and stays in their groups', async () => {
  const { id } = company.owner;
  const groupId = await createPolicyGroup(company);
  await bindUser(company, groupId, id);
  expect((await admin.patch(makePath(id), { json: { is_active: false } })).status).toBe(409);
  expect((await admin.delete(makePath(id))).status).toBe(409);
  expect(await countRows('group_bindings where group_id = ?', groupId)).toBe(1);
  expect(await isSessionLive(company.as)).toBe(true);
});
