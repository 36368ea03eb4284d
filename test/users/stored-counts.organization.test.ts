import { env } from 'cloudflare:test';
import { expect, it } from 'vitest';
import { aGroup, aServiceAccount, aUser, must, signed } from '../support/signed.ts';
import { aCompany, logIn } from '../support/worlds.ts';

const rows = async (statement: string) => (await env.CONTROL_DB.prepare(statement).all()).results;

/** What triggers keep beside users and bindings is what one would find by looking at these. */
async function expectTrue(): Promise<void> {
  expect(await rows('select company_id, living, total from user_counts order by 1')).toEqual(
    await rows(
      'select company_id, sum(deleted_at is null) as living, count(*) as total from users group by 1 order by 1',
    ),
  );
  expect(await rows('select * from account_users order by account_id, user_id')).toEqual(
    await rows(
      `select b.company_id, b.account_id, u.id as user_id, count(*) as bindings, u.email, u.created_at, u.updated_at, u.last_login_at
       from group_bindings b join users u on u.id = b.principal_id where b.principal_type = 'user'
       group by b.account_id, u.id order by b.account_id, u.id`,
    ),
  );
  expect(await rows('select account_id, users from account_user_counts where users > 0 order by 1')).toEqual(
    await rows(
      `select account_id, count(distinct principal_id) as users from group_bindings where principal_type = 'user'
       group by 1 order by 1`,
    ),
  );
}

it('the stored counts of members and attachments stay right through everything that changes them', async () => {
  const company = await aCompany();
  const admin = signed(company.apiKey);
  await expectTrue();

  const { id: second } = await must(admin.post('/accounts', { json: { name: 'Second' } }));
  const groups = await Promise.all([aGroup(company), aGroup(company), aGroup(company)]);
  const users = await Promise.all(Array.from({ length: 8 }, () => aUser(company)));
  await aServiceAccount(company, groups);
  const bindings = await Promise.all(
    users.flatMap(({ id }, n) =>
      groups.map((groupId) =>
        must(
          admin.post(`/groups/${groupId}/bindings`, {
            json: { principal_type: 'user', principal_id: id, account_id: n % 2 ? second : company.accountId },
          }),
        ),
      ),
    ),
  );
  await expectTrue();

  for (const { id } of users.slice(0, 3)) await must(admin.delete(`/users/${id}`));
  for (const { email, password } of users.slice(3, 6)) await must(logIn(company.slug, email, password));
  for (const { id } of users.slice(5, 8)) {
    await must(admin.patch(`/users/${id}`, { json: { metadata: { changed: true } } }));
  }
  for (const one of bindings.slice(9, 14)) await must(admin.delete(`/groups/${one.group_id}/bindings/${one.id}`));
  await must(admin.delete(`/groups/${groups[2]}`));
  await aUser(company);
  await expectTrue();
  expect((await must(admin.get(`/users?account_id=${second}`))).total).toBeLessThan(4);
});
