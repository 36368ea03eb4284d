import { describe, expect, it } from 'vitest';
import type { createCaller } from '../support/api.ts';
import { createAllowedUser, createOwnedCompany, PASSWORD } from '../support/companies.ts';
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
import { countRows, selectRow, sendDuringRace, sendTwice } from '../support/race.ts';
import { enrolAuthenticator } from '../support/second-factor.ts';
import { expectSuccess } from '../support/signed.ts';

const INVALID_PASSKEY_ERROR = [400, 'INVALID_PASSKEY'];
const PASSKEYS_PATH = '/v1/auth/passkeys';

const company = await createOwnedCompany();

async function createPasskeyUser() {
  const user = await createAllowedUser(company);
  const authenticator = await createAuthenticator();
  const passkey = await expectSuccess(addPasskey(user.as, authenticator));
  return { ...user, authenticator, passkey };
}
const readSessionEpoch = async (id: string) =>
  (await selectRow<{ session_epoch: number }>('select session_epoch from users where id = ?', id))?.session_epoch;
const countSessions = (id: string) => countRows('sessions where user_id = ? and ended_at is null', id);
const changePassword = (user: Awaited<ReturnType<typeof createAllowedUser>>) =>
  expectSuccess(
    user.as.post('/v1/auth/password', { json: { current_password: PASSWORD, new_password: 'a-brand-new-passphrase' } }),
  );

describe('a sign-in with a passkey', () => {
  const CHALLENGE_INSERT_PATTERN = /^insert into "spent_passkey_challenges"/;

  it('is refused when the challenge is used meanwhile', async () => {
    const { id, authenticator } = await createPasskeyUser();
    const options = await requestSignInOptions(company.slug);
    const [first, second] = [await authenticator.get(options), await authenticator.get(options)];
    const sessionCountBefore = await countSessions(id);
    const signInConcurrently = () => expectSuccess(verifyPasskey(company.slug, first));
    const answer = await sendDuringRace(CHALLENGE_INSERT_PATTERN, signInConcurrently, (env) =>
      verifyPasskey(company.slug, second, env),
    );
    expect(readStatusAndCode(answer)).toEqual(INVALID_PASSKEY_ERROR);
    expect(await countSessions(id)).toBe(sessionCountBefore + 1);
  });

  it('is refused when a copy of the authenticator reaches the same counter meanwhile', async () => {
    const { id, authenticator } = await createPasskeyUser();
    const sessionCountBefore = await countSessions(id);
    const signInWithCopy = () => expectSuccess(signInWithPasskey(company.slug, authenticator, { counter: 9 }));
    const answer = await sendDuringRace(CHALLENGE_INSERT_PATTERN, signInWithCopy, (env) =>
      signInWithPasskey(company.slug, authenticator, { counter: 9 }, env),
    );
    expect(readStatusAndCode(answer)).toEqual(INVALID_PASSKEY_ERROR);
    expect(await selectRow('select counter from passkeys where user_id = ?', id)).toEqual({ counter: 9 });
    expect(await countSessions(id)).toBe(sessionCountBefore + 1);
  });

  it('is refused without a counter when the authenticator begins to count meanwhile', async () => {
    const { id, authenticator } = await createPasskeyUser();
    const signInWithCounter = () => expectSuccess(signInWithPasskey(company.slug, authenticator, { counter: 1 }));
    const answer = await sendDuringRace(CHALLENGE_INSERT_PATTERN, signInWithCounter, (env) =>
      signInWithPasskey(company.slug, authenticator, { counter: 0 }, env),
    );
    expect(readStatusAndCode(answer)).toEqual(INVALID_PASSKEY_ERROR);
    expect(await selectRow('select counter from passkeys where user_id = ?', id)).toEqual({ counter: 1 });
  });

  it('is refused when the passkey is deleted or the user deactivated meanwhile', async () => {
    for (const [leave, expected] of [
      [
        (path: string, as: ReturnType<typeof createCaller>) => as.delete(path, { json: { password: PASSWORD } }),
        INVALID_PASSKEY_ERROR,
      ],
      [(_: string, __: unknown, id: string) => company.as.post(`/v1/users/${id}/deactivate`), [401, 'UNAUTHORIZED']],
    ] as const) {
      const { id, as, authenticator, passkey } = await createPasskeyUser();
      const removePasskeyOrUser = () => expectSuccess(leave(`${PASSKEYS_PATH}/${passkey._id}`, as, id));
      const answer = await sendDuringRace(CHALLENGE_INSERT_PATTERN, removePasskeyOrUser, (env) =>
        signInWithPasskey(company.slug, authenticator, {}, env),
      );
      expect(readStatusAndCode(answer)).toEqual(expected);
    }
  });

  it('that is in progress when a passkey is added, renamed or deleted begins no session', async () => {
    const { as, authenticator, passkey } = await createPasskeyUser();
    const path = `${PASSKEYS_PATH}/${passkey._id}`;
    const otherPasskey = await expectSuccess(addPasskey(as, await createAuthenticator()));
    for (const change of [
      async () => expectSuccess(addPasskey(as, await createAuthenticator())),
      () => expectSuccess(as.patch(path, { json: { name: 'Renamed' } })),
      () => expectSuccess(as.delete(`${PASSKEYS_PATH}/${otherPasskey._id}`, { json: { password: PASSWORD } })),
    ]) {
      const answer = await sendDuringRace(CHALLENGE_INSERT_PATTERN, change, (env) =>
        signInWithPasskey(company.slug, authenticator, {}, env),
      );
      expect(readStatusAndCode(answer)).toEqual([401, 'UNAUTHORIZED']);
    }
  });
});

describe('a new passkey', () => {
  const USER_UPDATE_PATTERN = /^update "users" set "password_hash"/;
  const addPasskeyDuringRace = async (
    user: Awaited<ReturnType<typeof createAllowedUser>>,
    concurrentChange: () => Promise<unknown>,
  ) => {
    const response = await (await createAuthenticator()).create(
      await expectSuccess(requestRegistrationOptions(user.as)),
    );
    return sendDuringRace(USER_UPDATE_PATTERN, concurrentChange, (env) =>
      user.as.post(PASSKEYS_PATH, { json: { name: 'Laptop', response, password: PASSWORD }, env }),
    );
  };
  const countPasskeys = (id: string) => countRows('passkeys where user_id = ?', id);

  it('is not stored when the password is changed meanwhile', async () => {
    const user = await createAllowedUser(company);
    expect(readStatusAndCode(await addPasskeyDuringRace(user, () => changePassword(user)))).toEqual([
      400,
      'INVALID_CREDENTIALS',
    ]);
    // The change of the password ended what was under way, and nothing else did.
    expect([await countPasskeys(user.id), listMailsTo(user.email).length, await readSessionEpoch(user.id)]).toEqual([
      0, 1, 1,
    ]);
  });

  it('is not stored when the twentieth is added meanwhile', async () => {
    const user = await createAllowedUser(company);
    await selectRow(
      `insert into passkeys select printf('%012x', value) || substr(?, 13), ?, ?, 'x', ? || value, 'k', 0, '[]', 0, 0, null, 0
       from (with recursive n(value) as (select 1 union all select value + 1 from n where value < 19) select value from n)`,
      user.id,
      company.id,
      user.id,
      user.id,
    );
    const addConcurrently = async () => expectSuccess(addPasskey(user.as, await createAuthenticator()));
    expect(readStatusAndCode(await addPasskeyDuringRace(user, addConcurrently))).toEqual([409, 'PASSKEY_LIMIT']);
    expect([await countPasskeys(user.id), listMailsTo(user.email).length]).toEqual([20, 1]);
  });

  it('is stored once per challenge', async () => {
    const user = await createAllowedUser(company);
    const options = await expectSuccess(requestRegistrationOptions(user.as));
    const [first, second] = await Promise.all(
      [await createAuthenticator(), await createAuthenticator()].map((authenticator) => authenticator.create(options)),
    );
    const addResponse = (response: unknown, env?: Record<string, string>) =>
      user.as.post(PASSKEYS_PATH, { json: { name: 'Laptop', response, password: PASSWORD }, env });
    const answer = await sendDuringRace(
      USER_UPDATE_PATTERN,
      () => expectSuccess(addResponse(first)),
      (env) => addResponse(second, env),
    );
    expect(readStatusAndCode(answer)).toEqual(INVALID_PASSKEY_ERROR);
    expect(await countPasskeys(user.id)).toBe(1);
  });
});

describe('a passkey', () => {
  it('stays when the password is changed during its deletion, and is deleted once', async () => {
    const user = await createPasskeyUser();
    const path = `${PASSKEYS_PATH}/${user.passkey._id}`;
    const countPasskeys = () => countRows('passkeys where user_id = ?', user.id);
    const deletePasskey = (env: Record<string, string>) => user.as.delete(path, { json: { password: PASSWORD }, env });
    const USER_UPDATE_PATTERN = /^update "users" set "password_hash"/;
    const secondUser = await createPasskeyUser();
    const otherPath = `${PASSKEYS_PATH}/${secondUser.passkey._id}`;
    const deleteOtherPasskey = (env?: Record<string, string>) =>
      secondUser.as.delete(otherPath, { json: { password: PASSWORD }, env });
    expect((await sendTwice(USER_UPDATE_PATTERN, deleteOtherPasskey)).status).toBe(404);
    expect(listMailsTo(secondUser.email)).toHaveLength(2);
    expect(
      readStatusAndCode(await sendDuringRace(USER_UPDATE_PATTERN, () => changePassword(user), deletePasskey)),
    ).toEqual([400, 'INVALID_CREDENTIALS']);
    expect([await countPasskeys(), await readSessionEpoch(user.id)]).toEqual([1, 2]);
  });
});

it('a reset by an administrator also removes a second factor that is enrolled meanwhile', async () => {
  const user = await createPasskeyUser();
  const answer = await sendDuringRace(
    /^update "users" set "mfa_enabled"/,
    () => enrolAuthenticator(user.as),
    (env) => company.as.delete(`/v1/users/${user.id}/2fa`, { env }),
  );
  expect(answer.status).toBe(204);
  expect(await countRows('second_factors where user_id = ?', user.id)).toBe(0);
  expect(await countRows('passkeys where user_id = ?', user.id)).toBe(0);
  expect(await countRows('backup_codes where factor_id not in (select id from second_factors)')).toBe(0);
});
