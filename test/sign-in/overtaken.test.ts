import { env } from 'cloudflare:test';
import { beforeEach, describe, expect, it } from 'vitest';
import { completeSignIn } from '../../src/modules/sign-in/service.ts';
import { selectUser, type User, upgradePasswordHash } from '../../src/modules/users/service.ts';
import { COST, hashing } from '../../src/platform/passwords.ts';
import { call } from '../support/api.ts';
import { inContext } from '../support/context.ts';
import { readLink, readNewestMail } from '../support/mail.ts';
import { aCompany, aUser, type Company, logIn } from '../support/worlds.ts';

const NEW_PASSWORD = 'a-brand-new-passphrase';
/** The password of the test's people, hashed with less memory and fewer passes than today. */
const OLD_HASH = '$argon2id$v=19$m=64,t=1,p=1$YW4gb2xkIHNhbHQgb2YgdA$Hx+3gKqKz/mNwMDyYn1cr3BXmKtBLtd6jAw2fXN4wJw';

describe('a sign-in that has read its user', () => {
  let company: Company;
  let user: User;
  beforeEach(async () => {
    company = await aCompany();
    const { id } = await aUser(company);
    const [found] = await inContext({ kind: 'anonymous' }, (ctx) => selectUser(ctx.db, company.id, id));
    user = found as User;
  });

  const complete = () => inContext({ kind: 'anonymous' }, (ctx) => completeSignIn(ctx, user));
  const resetPassword = async () => {
    await call('POST', '/v1/users/reset-password/request', { json: { email: user.email } });
    const token = readLink(readNewestMail(user.email)).searchParams.get('token');
    const json = { token, password: NEW_PASSWORD };
    expect((await call('POST', '/v1/users/reset-password/confirm', { json })).status).toBe(200);
  };

  it('begins a session if the user has not changed since', async () => {
    expect(await complete()).toHaveProperty('token');
  });

  it('begins no session after the password was reset', async () => {
    await resetPassword();
    await expect(complete()).rejects.toMatchObject({ reason: 'sign_in.sessions_ended' });
  });

  it.each(['is_active = 0', 'deleted_at = 1'])('begins no session after the user was changed: %s', async (set) => {
    await env.CONTROL_DB.prepare(`UPDATE users SET ${set} WHERE id = ?`).bind(user.id).run();
    await expect(complete()).rejects.toMatchObject({ reason: 'sign_in.sessions_ended' });
  });

  it('does not restore the old password by upgrading its hash', async () => {
    await resetPassword();
    const before = user.passwordHash as string;
    await inContext({ kind: 'anonymous' }, (ctx) => upgradePasswordHash(ctx.db, user, before));
    expect((await logIn(company.slug, user.email, NEW_PASSWORD)).status).toBe(200);
  });

  it('is refused when the user was not active', async () => {
    user = { ...user, isActive: false };
    await expect(complete()).rejects.toMatchObject({ reason: 'sign_in.user_not_active' });
  });
});

describe('a password hash with an old cost', () => {
  it('is upgraded by a sign-in, and the password still works', async () => {
    hashing.cost = COST;
    const company = await aCompany();
    const { id, email } = await aUser(company);
    const hashOf = async () =>
      (
        await env.CONTROL_DB.prepare('SELECT password_hash AS hash FROM users WHERE id = ?')
          .bind(id)
          .first<{ hash: string }>()
      )?.hash;
    await env.CONTROL_DB.prepare('UPDATE users SET password_hash = ? WHERE id = ?').bind(OLD_HASH, id).run();
    expect((await logIn(company.slug, email, company.owner.password)).status).toBe(200);
    expect(await hashOf()).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    expect((await logIn(company.slug, email, company.owner.password)).status).toBe(200);
  });
});
