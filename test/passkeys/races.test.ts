import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { createCaller } from '../support/api.ts';
import { resetClock } from '../support/clock.ts';
import { readStatusAndCode } from '../support/console.ts';
import { listMailsTo } from '../support/mail.ts';
import {
  addPasskey,
  createAuthenticator,
  requestRegistrationOptions,
  requestSignInOptions,
  signInWithPasskey,
  verifyPasskey,
} from '../support/passkeys.ts';
import { countRows, selectRow, sendOvertaken } from '../support/rival.ts';
import { enrolAuthenticator } from '../support/second-factor.ts';
import { must } from '../support/signed.ts';
import { aCompany, aUser, type Company, PASSWORD } from '../support/worlds.ts';

const INVALID = [400, 'INVALID_PASSKEY'];
const PATH = '/v1/auth/passkeys';

let company: Company;
beforeAll(async () => {
  company = await aCompany();
});
afterEach(resetClock);

async function aKeyHolder() {
  const user = await aUser(company);
  const authenticator = await createAuthenticator();
  const passkey = await must(addPasskey(user.as, authenticator));
  return { ...user, authenticator, passkey };
}
const epochOf = async (id: string) =>
  (await selectRow<{ session_epoch: number }>('select session_epoch from users where id = ?', id))?.session_epoch;
const sessionsOf = (id: string) => countRows('sessions where user_id = ? and ended_at is null', id);
const changePassword = (user: Awaited<ReturnType<typeof aUser>>) =>
  must(
    user.as.post('/v1/auth/password', { json: { current_password: PASSWORD, new_password: 'a-brand-new-passphrase' } }),
  );

describe('a sign-in with a passkey', () => {
  const BEFORE_SESSION = /^insert into "spent_passkey_challenges"/;

  it('is refused when the challenge is used meanwhile', async () => {
    const { id, authenticator } = await aKeyHolder();
    const options = await requestSignInOptions(company.slug);
    const [first, second] = [await authenticator.get(options), await authenticator.get(options)];
    const before = await sessionsOf(id);
    const rival = () => must(verifyPasskey(company.slug, first));
    const answer = await sendOvertaken(BEFORE_SESSION, rival, (env) => verifyPasskey(company.slug, second, env));
    expect(readStatusAndCode(answer)).toEqual(INVALID);
    expect(await sessionsOf(id)).toBe(before + 1);
  });

  it('is refused when a copy of the authenticator reaches the same counter meanwhile', async () => {
    const { id, authenticator } = await aKeyHolder();
    const before = await sessionsOf(id);
    const rival = () => must(signInWithPasskey(company.slug, authenticator, { counter: 9 }));
    const answer = await sendOvertaken(BEFORE_SESSION, rival, (env) =>
      signInWithPasskey(company.slug, authenticator, { counter: 9 }, env),
    );
    expect(readStatusAndCode(answer)).toEqual(INVALID);
    expect(await selectRow('select counter from passkeys where user_id = ?', id)).toEqual({ counter: 9 });
    expect(await sessionsOf(id)).toBe(before + 1);
  });

  it('is refused without a counter when the authenticator begins to count meanwhile', async () => {
    const { id, authenticator } = await aKeyHolder();
    const rival = () => must(signInWithPasskey(company.slug, authenticator, { counter: 1 }));
    const answer = await sendOvertaken(BEFORE_SESSION, rival, (env) =>
      signInWithPasskey(company.slug, authenticator, { counter: 0 }, env),
    );
    expect(readStatusAndCode(answer)).toEqual(INVALID);
    expect(await selectRow('select counter from passkeys where user_id = ?', id)).toEqual({ counter: 1 });
  });

  it('is refused when the passkey is deleted or the person deactivated meanwhile', async () => {
    for (const [leave, expected] of [
      [
        (path: string, as: ReturnType<typeof createCaller>) => as.delete(path, { json: { password: PASSWORD } }),
        INVALID,
      ],
      [(_: string, __: unknown, id: string) => company.as.post(`/v1/users/${id}/deactivate`), [401, 'UNAUTHORIZED']],
    ] as const) {
      const { id, as, authenticator, passkey } = await aKeyHolder();
      const rival = () => must(leave(`${PATH}/${passkey._id}`, as, id));
      const answer = await sendOvertaken(BEFORE_SESSION, rival, (env) =>
        signInWithPasskey(company.slug, authenticator, {}, env),
      );
      expect(readStatusAndCode(answer)).toEqual(expected);
    }
  });

  it('that is under way when a passkey is added, renamed or deleted begins no session', async () => {
    const { as, authenticator, passkey } = await aKeyHolder();
    const path = `${PATH}/${passkey._id}`;
    const other = await must(addPasskey(as, await createAuthenticator()));
    for (const change of [
      async () => must(addPasskey(as, await createAuthenticator())),
      () => must(as.patch(path, { json: { name: 'Renamed' } })),
      () => must(as.delete(`${PATH}/${other._id}`, { json: { password: PASSWORD } })),
    ]) {
      const answer = await sendOvertaken(BEFORE_SESSION, change, (env) =>
        signInWithPasskey(company.slug, authenticator, {}, env),
      );
      expect(readStatusAndCode(answer)).toEqual([401, 'UNAUTHORIZED']);
    }
  });
});

describe('a new passkey', () => {
  const BEFORE_STORED = /^update "users" set "updated_at"/;
  const adding = async (user: Awaited<ReturnType<typeof aUser>>, rival: () => Promise<unknown>) => {
    const response = await (await createAuthenticator()).create(await must(requestRegistrationOptions(user.as)));
    return sendOvertaken(BEFORE_STORED, rival, (env) =>
      user.as.post(PATH, { json: { name: 'Laptop', response, password: PASSWORD }, env }),
    );
  };
  const kept = (id: string) => countRows('passkeys where user_id = ?', id);

  it('is not stored when the password is changed meanwhile', async () => {
    const user = await aUser(company);
    expect(readStatusAndCode(await adding(user, () => changePassword(user)))).toEqual([400, 'INVALID_CREDENTIALS']);
    // The change of the password ended what was under way, and nothing else did.
    expect([await kept(user.id), listMailsTo(user.email).length, await epochOf(user.id)]).toEqual([0, 1, 1]);
  });

  it('is not stored when the twentieth is added meanwhile', async () => {
    const user = await aUser(company);
    await selectRow(
      `insert into passkeys select printf('%012x', value) || substr(?, 13), ?, ?, 'x', ? || value, 'k', 0, '[]', 0, 0, null, 0
       from (with recursive n(value) as (select 1 union all select value + 1 from n where value < 19) select value from n)`,
      user.id,
      company.id,
      user.id,
      user.id,
    );
    const rival = async () => must(addPasskey(user.as, await createAuthenticator()));
    expect(readStatusAndCode(await adding(user, rival))).toEqual([409, 'PASSKEY_LIMIT']);
    expect([await kept(user.id), listMailsTo(user.email).length]).toEqual([20, 1]);
  });

  it('is stored once per challenge', async () => {
    const user = await aUser(company);
    const options = await must(requestRegistrationOptions(user.as));
    const [first, second] = await Promise.all(
      [await createAuthenticator(), await createAuthenticator()].map((each) => each.create(options)),
    );
    const add = (response: unknown, env?: Record<string, string>) =>
      user.as.post(PATH, { json: { name: 'Laptop', response, password: PASSWORD }, ...(env && { env }) });
    const answer = await sendOvertaken(
      BEFORE_STORED,
      () => must(add(first)),
      (env) => add(second, env),
    );
    expect(readStatusAndCode(answer)).toEqual(INVALID);
    expect(await kept(user.id)).toBe(1);
  });
});

describe('a passkey', () => {
  it('stays when the password is changed during its deletion, and is deleted once', async () => {
    const user = await aKeyHolder();
    const path = `${PATH}/${user.passkey._id}`;
    const gone = () => countRows('passkeys where user_id = ?', user.id);
    const remove = (env: Record<string, string>) => user.as.delete(path, { json: { password: PASSWORD }, env });
    const BEFORE = /^update "users" set "updated_at"/;
    const twice = await aKeyHolder();
    const other = `${PATH}/${twice.passkey._id}`;
    const deleteOther = (env?: Record<string, string>) =>
      twice.as.delete(other, { json: { password: PASSWORD }, ...(env && { env }) });
    expect((await sendOvertaken(BEFORE, () => must(deleteOther()), deleteOther)).status).toBe(404);
    expect(listMailsTo(twice.email)).toHaveLength(2);
    expect(readStatusAndCode(await sendOvertaken(BEFORE, () => changePassword(user), remove))).toEqual([
      400,
      'INVALID_CREDENTIALS',
    ]);
    expect([await gone(), await epochOf(user.id)]).toEqual([1, 2]);
  });
});

it('a reset by an administrator also removes a second factor that is enrolled meanwhile', async () => {
  const user = await aKeyHolder();
  const answer = await sendOvertaken(
    /^update "users" set "mfa_enabled"/,
    () => enrolAuthenticator(user.as),
    (env) => company.as.delete(`/v1/users/${user.id}/2fa`, { env }),
  );
  expect(answer.status).toBe(204);
  expect(await countRows('second_factors where user_id = ?', user.id)).toBe(0);
  expect(await countRows('passkeys where user_id = ?', user.id)).toBe(0);
  expect(await countRows('backup_codes where factor_id not in (select id from second_factors)')).toBe(0);
});
