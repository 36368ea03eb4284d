import { beforeEach, describe, expect, it } from 'vitest';
import { completeSignIn } from '../../src/modules/sign-in/service.ts';
import { selectUser, type User, upgradePasswordHash } from '../../src/modules/users/service.ts';
import { DEFAULT_COST, hashSettings } from '../../src/platform/passwords.ts';
import { callApi } from '../support/api.ts';
import { type Company, createAllowedUser, createOwnedCompany, logIn } from '../support/companies.ts';
import { runInContext } from '../support/context.ts';
import { readLink, readNewestMail } from '../support/mail.ts';
import { runSql, selectRow } from '../support/race.ts';

const NEW_PASSWORD = 'a-brand-new-passphrase';
/** A hash of the test users' password, with less memory and fewer passes than today's cost. */
const OLD_HASH = '$argon2id$v=19$m=64,t=1,p=1$YW4gb2xkIHNhbHQgb2YgdA$Hx+3gKqKz/mNwMDyYn1cr3BXmKtBLtd6jAw2fXN4wJw';

describe('a sign-in that has read its user', () => {
  let company: Company;
  let user: User;
  beforeEach(async () => {
    company = await createOwnedCompany();
    const { id } = await createAllowedUser(company);
    const [found] = await runInContext({ kind: 'anonymous' }, (ctx) => selectUser(ctx.db, company.id, id));
    user = found as User;
  });

  const completeStoredSignIn = () => runInContext({ kind: 'anonymous' }, (ctx) => completeSignIn(ctx, user));
  const resetPassword = async () => {
    await callApi('POST', '/v1/users/reset-password/request', { json: { email: user.email } });
    const token = readLink(readNewestMail(user.email)).searchParams.get('token');
    const json = { token, password: NEW_PASSWORD };
    expect((await callApi('POST', '/v1/users/reset-password/confirm', { json })).status).toBe(200);
  };

  it('begins a session if the user has not changed meanwhile', async () => {
    expect(await completeStoredSignIn()).toHaveProperty('token');
  });

  it('begins no session after the password was reset', async () => {
    await resetPassword();
    await expect(completeStoredSignIn()).rejects.toMatchObject({ reason: 'sign_in.sessions_ended' });
  });

  it.each(['is_active = 0', 'deleted_at = 1'])(
    'begins no session after the user was changed: %s',
    async (assignment) => {
      await runSql(`UPDATE users SET ${assignment} WHERE id = ?`, user.id);
      await expect(completeStoredSignIn()).rejects.toMatchObject({ reason: 'sign_in.sessions_ended' });
    },
  );

  it('does not restore the old password by upgrading its hash', async () => {
    await resetPassword();
    const hashBefore = user.passwordHash as string;
    await runInContext({ kind: 'anonymous' }, (ctx) => upgradePasswordHash(ctx.db, user, hashBefore));
    expect((await logIn(company.slug, user.email, NEW_PASSWORD)).status).toBe(200);
  });

  it('is refused when the user was already inactive', async () => {
    user = { ...user, isActive: false };
    await expect(completeStoredSignIn()).rejects.toMatchObject({ reason: 'sign_in.user_not_active' });
  });
});

it('a password hash with an old cost is upgraded by a sign-in, and the password still works', async () => {
  hashSettings.cost = DEFAULT_COST;
  const company = await createOwnedCompany();
  const { id, email } = await createAllowedUser(company);
  const readHash = async () =>
    (await selectRow<{ hash: string }>('SELECT password_hash AS hash FROM users WHERE id = ?', id))?.hash;
  await runSql('UPDATE users SET password_hash = ? WHERE id = ?', OLD_HASH, id);
  expect((await logIn(company.slug, email, company.owner.password)).status).toBe(200);
  expect(await readHash()).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
  expect((await logIn(company.slug, email, company.owner.password)).status).toBe(200);
});
