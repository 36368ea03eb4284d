import { expect, it } from 'vitest';
import { createOwnedCompany, logIn } from '../support/companies.ts';
import { selectRows } from '../support/race.ts';
import {
  createGrouplessUser,
  createKeyedAccount,
  createPolicyGroup,
  createSignedCaller,
  expectSuccess,
} from '../support/signed.ts';

const readRows = async (statement: string) => await selectRows(statement);

/** Expects that the counts stored by triggers are equal to the counts of the actual users and bindings. */
async function expectCorrectCounts(): Promise<void> {
  expect(await readRows('select company_id, living, total from user_counts order by 1')).toEqual(
    await readRows(
      'select company_id, sum(deleted_at is null) as living, count(*) as total from users group by 1 order by 1',
    ),
  );
  expect(await readRows('select * from account_users order by account_id, user_id')).toEqual(
    await readRows(
      `select b.company_id, b.account_id, u.id as user_id, count(*) as bindings, u.email, u.created_at, u.updated_at, u.last_login_at
       from group_bindings b join users u on u.id = b.principal_id where b.principal_type = 'user'
       group by b.account_id, u.id order by b.account_id, u.id`,
    ),
  );
  expect(await readRows('select account_id, users from account_user_counts where users > 0 order by 1')).toEqual(
    await readRows(
      `select account_id, count(distinct principal_id) as users from group_bindings where principal_type = 'user'
       group by 1 order by 1`,
    ),
  );
}

it('the stored counts of members and attachments stay correct through every change of members and attachments', async () => {
  const company = await createOwnedCompany();
  const admin = createSignedCaller(company.apiKey);
  await expectCorrectCounts();

  const { id: secondAccountId } = await expectSuccess(admin.post('/accounts', { json: { name: 'Second' } }));
  const groups = await Promise.all([
    createPolicyGroup(company),
    createPolicyGroup(company),
    createPolicyGroup(company),
  ]);
  const users = await Promise.all(Array.from({ length: 8 }, () => createGrouplessUser(company)));
  await createKeyedAccount(company, groups);
  const bindings = await Promise.all(
    users.flatMap(({ id }, n) =>
      groups.map((groupId) =>
        expectSuccess(
          admin.post(`/groups/${groupId}/bindings`, {
            json: { principal_type: 'user', principal_id: id, account_id: n % 2 ? secondAccountId : company.accountId },
          }),
        ),
      ),
    ),
  );
  await expectCorrectCounts();

  for (const { id } of users.slice(0, 3)) await expectSuccess(admin.delete(`/users/${id}`));
  for (const { email, password } of users.slice(3, 6)) await expectSuccess(logIn(company.slug, email, password));
  for (const { id } of users.slice(5, 8)) {
    await expectSuccess(admin.patch(`/users/${id}`, { json: { metadata: { changed: true } } }));
  }
  for (const deletedBinding of bindings.slice(9, 14))
    await expectSuccess(admin.delete(`/groups/${deletedBinding.group_id}/bindings/${deletedBinding.id}`));
  await expectSuccess(admin.delete(`/groups/${groups[2]}`));
  await createGrouplessUser(company);
  await expectCorrectCounts();
  expect((await expectSuccess(admin.get(`/users?account_id=${secondAccountId}`))).total).toBeLessThan(4);
});
