import { describe, expect, it } from 'vitest';
import type { Caller } from '../support/api.ts';
import { createAllowedUser, createOwnedCompany, PASSWORD } from '../support/companies.ts';
import { readStatusAndCode } from '../support/console.ts';
import { listMailsTo } from '../support/mail.ts';
import { countRows, selectRow, sendDuringRace } from '../support/race.ts';
import { computeCode, enrolAuthenticator, goToNextStep, makeWrongCode } from '../support/second-factor.ts';
import { createSignedCaller, expectSuccess } from '../support/signed.ts';
import { createEnrolledUser, finishSignIn, postFactor, readPendingToken } from './support.ts';

const NEXT_PASSWORD = 'a-brand-new-passphrase';
const WRONG_CODE_ERROR = [400, 'INVALID_2FA_CODE'];
const WRONG_PASSWORD_ERROR = [400, 'INVALID_CREDENTIALS'];
const ENDED_SESSION_ERROR = [401, 'UNAUTHORIZED'];
const ALREADY_ENABLED_ERROR = [409, '2FA_ALREADY_ENABLED'];
const REAUTHENTICATION_ERROR = [403, 'REAUTHENTICATION_REQUIRED'];

const company = await createOwnedCompany();

const readState = async (userId: string) => ({
  ...(await selectRow<{ mfa_enabled: number; session_epoch: number }>(
    'select mfa_enabled, session_epoch from users where id = ?',
    userId,
  )),
  factors: await countRows('second_factors where user_id = ?', userId),
  codes: await countRows('backup_codes where factor_id in (select id from second_factors where user_id = ?)', userId),
});
const removePassword = (id: string) => selectRow('update users set password_hash = null where id = ?', id);
const changePassword = (as: Caller) =>
  expectSuccess(as.post('/v1/auth/password', { json: { current_password: PASSWORD, new_password: NEXT_PASSWORD } }));

describe('a sign-in that waits for the second factor', () => {
  it('begins one session, and uses up one code, when a second valid code comes meanwhile', async () => {
    const { email, makeCode, backupCodes } = await createEnrolledUser(company);
    const [first, second] = [await readPendingToken(company, email), await readPendingToken(company, email)];
    const [one, other] = backupCodes;
    for (const [pending, late] of [
      [first, { totp_token: makeCode() }],
      [second, { backup_code: other }],
    ] as const) {
      const finishConcurrently = () =>
        expectSuccess(finishSignIn(pending, { backup_code: pending === first ? one : backupCodes[2] }));
      const answer = await sendDuringRace(/^update "pending_second_factors"/, finishConcurrently, (env) =>
        finishSignIn(pending, late, env),
      );
      expect(readStatusAndCode(answer)).toEqual(ENDED_SESSION_ERROR);
      expect((await finishSignIn(await readPendingToken(company, email), late)).status).toBe(200);
    }
  });

  it('accepts a code once, and continues after a wrong code', async () => {
    const { email, makeCode, secret } = await createEnrolledUser(company);
    const pendingToken = await readPendingToken(company, email);
    expect(readStatusAndCode(await finishSignIn(pendingToken, { totp_token: makeWrongCode(secret) }))).toEqual(
      WRONG_CODE_ERROR,
    );
    expect((await finishSignIn(pendingToken, { totp_token: makeCode() })).status).toBe(200);
    expect(
      readStatusAndCode(await finishSignIn(await readPendingToken(company, email), { totp_token: makeCode() })),
    ).toEqual(WRONG_CODE_ERROR);
    goToNextStep();
    expect(readStatusAndCode(await finishSignIn(pendingToken, { totp_token: makeCode() }))).toEqual(
      ENDED_SESSION_ERROR,
    );
  });

  it('ends after five wrong codes or five minutes', async () => {
    const { email, makeCode, secret } = await createEnrolledUser(company);
    const pendingToken = await readPendingToken(company, email);
    for (let attempt = 0; attempt < 5; attempt += 1) {
      expect(readStatusAndCode(await finishSignIn(pendingToken, { totp_token: makeWrongCode(secret) }))).toEqual(
        WRONG_CODE_ERROR,
      );
    }
    expect(readStatusAndCode(await finishSignIn(pendingToken, { totp_token: makeCode() }))).toEqual(
      ENDED_SESSION_ERROR,
    );
    const nextToken = await readPendingToken(company, email);
    for (let step = 0; step < 11; step += 1) goToNextStep();
    expect(readStatusAndCode(await finishSignIn(nextToken, { totp_token: makeCode() }))).toEqual(ENDED_SESSION_ERROR);
  });
});

describe('the setup of a second factor', () => {
  const setUpFactorDuringRace = (
    as: Caller,
    concurrentChange: () => Promise<unknown>,
    json: object = { password: PASSWORD },
  ) => sendDuringRace(/^update "users"/, concurrentChange, (env) => postFactor(as, 'setup', json, env));

  it('is refused, and stores nothing, when the password is changed meanwhile', async () => {
    const { id, as } = await createAllowedUser(company);
    expect(readStatusAndCode(await setUpFactorDuringRace(as, () => changePassword(as)))).toEqual(WRONG_PASSWORD_ERROR);
    expect((await readState(id)).factors).toBe(0);
  });

  it('is refused for a user who is deleted meanwhile', async () => {
    for (const json of [{ password: PASSWORD }, {}]) {
      const { id, as } = await createAllowedUser(company);
      if (!('password' in json)) await removePassword(id);
      const answer = await setUpFactorDuringRace(
        as,
        () => expectSuccess(createSignedCaller(company.apiKey).delete(`/users/${id}`)),
        json,
      );
      expect([answer.status, (await readState(id)).factors]).toEqual(['password' in json ? 400 : 403, 0]);
    }
  });

  it('does not change the second factor that is enabled meanwhile', async () => {
    const { id, as } = await createAllowedUser(company);
    let secret: unknown;
    const enableConcurrently = async () => {
      await enrolAuthenticator(as);
      secret = await selectRow('select secret from second_factors where user_id = ?', id);
    };
    expect(readStatusAndCode(await setUpFactorDuringRace(as, enableConcurrently))).toEqual(ALREADY_ENABLED_ERROR);
    expect(await selectRow('select secret from second_factors where user_id = ?', id)).toEqual(secret);
  });

  it('requires a session begun in the last ten minutes when the user has no password', async () => {
    const { id, as } = await createAllowedUser(company);
    await removePassword(id);
    await selectRow('update sessions set created_at = created_at - 660000 where user_id = ?', id);
    expect(readStatusAndCode(await postFactor(as, 'setup', {}))).toEqual(REAUTHENTICATION_ERROR);
  });

  it('is refused when a password is set or a second factor enabled meanwhile', async () => {
    for (const columnChange of ["password_hash = 'set'", 'mfa_enabled = 1']) {
      const { id, as } = await createAllowedUser(company);
      await removePassword(id);
      const answer = await setUpFactorDuringRace(
        as,
        () => selectRow(`update users set ${columnChange} where id = ?`, id),
        {},
      );
      expect(readStatusAndCode(answer)).toEqual(REAUTHENTICATION_ERROR);
    }
  });
});

describe('the enabling of a second factor', () => {
  const setUpSecret = async (as: Caller): Promise<string> =>
    (await expectSuccess(postFactor(as, 'setup', { password: PASSWORD }))).secret;
  const makeEnableInput = (secret: string, steps = 0) => ({
    totp_token: computeCode(secret, steps),
    password: PASSWORD,
  });

  it('changes nothing with a wrong code', async () => {
    const { id, email, as } = await createAllowedUser(company);
    const secret = await setUpSecret(as);
    const stateBefore = await readState(id);
    const answer = await postFactor(as, 'enable', { totp_token: makeWrongCode(secret), password: PASSWORD });
    expect(readStatusAndCode(answer)).toEqual(WRONG_CODE_ERROR);
    expect([await readState(id), listMailsTo(email)]).toEqual([stateBefore, []]);
    expect(stateBefore).toMatchObject({ mfa_enabled: 0, codes: 0 });
    expect(await selectRow('select confirmed_at from second_factors where user_id = ?', id)).toEqual({
      confirmed_at: null,
    });
  });

  it('returns one set of backup codes when the factor is enabled meanwhile', async () => {
    const { id, as } = await createAllowedUser(company);
    const secret = await setUpSecret(as);
    const answer = await sendDuringRace(
      /^update "second_factors"/,
      () => expectSuccess(postFactor(as, 'enable', makeEnableInput(secret, -1))),
      (env) => postFactor(as, 'enable', makeEnableInput(secret), env),
    );
    expect(readStatusAndCode(answer)).toEqual(WRONG_CODE_ERROR);
    expect(await readState(id)).toMatchObject({ mfa_enabled: 1, codes: 10 });
  });
});

describe('the disabling of a second factor', () => {
  it('changes nothing with a wrong code', async () => {
    const { id, email, as, secret, makeCode, backupCodes } = await createEnrolledUser(company);
    await expectSuccess(finishSignIn(await readPendingToken(company, email), { totp_token: makeCode() }));
    const stateBefore = await readState(id);
    const answer = await postFactor(as, 'disable', { totp_token: makeWrongCode(secret) });
    expect(readStatusAndCode(answer)).toEqual(WRONG_CODE_ERROR);
    expect([await readState(id), listMailsTo(email).length]).toEqual([stateBefore, 1]);
    // A used code stays used, and an unused one can be used.
    expect(
      readStatusAndCode(await finishSignIn(await readPendingToken(company, email), { totp_token: makeCode() })),
    ).toEqual(WRONG_CODE_ERROR);
    expect((await finishSignIn(await readPendingToken(company, email), { backup_code: backupCodes[0] })).status).toBe(
      200,
    );
  });

  it('deletes its secret and all codes', async () => {
    const { id, as, makeCode } = await createEnrolledUser(company);
    const factor = await selectRow<{ id: string }>('select id from second_factors where user_id = ?', id);
    await expectSuccess(postFactor(as, 'disable', { totp_token: makeCode() }));
    expect(await readState(id)).toMatchObject({ mfa_enabled: 0, factors: 0 });
    expect(await countRows('backup_codes where factor_id = ?', factor?.id)).toBe(0);
    expect(await countRows('used_totp_steps where factor_id = ?', factor?.id)).toBe(0);
  });

  it.each(['disable', 'backup-codes'])('does not touch a factor that is enrolled meanwhile (%s)', async (action) => {
    const { id, as } = await createEnrolledUser(company);
    let stateAfter: unknown;
    const answer = await sendDuringRace(
      /^update "users" set "password_hash"/,
      async () => {
        await expectSuccess(postFactor(as, 'disable', { password: PASSWORD }));
        await enrolAuthenticator(as);
        stateAfter = await readState(id);
      },
      (env) => postFactor(as, action, { password: PASSWORD }, env),
    );
    expect(readStatusAndCode(answer)).toEqual(WRONG_PASSWORD_ERROR);
    expect(await readState(id)).toEqual(stateAfter);
    expect(stateAfter).toMatchObject({ mfa_enabled: 1, codes: 10 });
  });

  it('does not remove a factor of another user that is only set up', async () => {
    const { id, as } = await createAllowedUser(company);
    await expectSuccess(postFactor(as, 'setup', { password: PASSWORD }));
    expect((await company.as.delete(`/v1/users/${id}/2fa`)).status).toBe(404);
    expect((await readState(id)).factors).toBe(1);
  });
});

describe('new backup codes', () => {
  it('replace the old ones', async () => {
    const { email, as, makeCode, backupCodes } = await createEnrolledUser(company);
    const { backup_codes } = await expectSuccess(postFactor(as, 'backup-codes', { totp_token: makeCode() }));
    expect((await finishSignIn(await readPendingToken(company, email), { backup_code: backup_codes[0] })).status).toBe(
      200,
    );
    expect(
      readStatusAndCode(await finishSignIn(await readPendingToken(company, email), { backup_code: backupCodes[0] })),
    ).toEqual(WRONG_CODE_ERROR);
  });

  it('are not created with a wrong code, after which the old codes still work', async () => {
    const { id, email, as, secret, backupCodes } = await createEnrolledUser(company);
    const stateBefore = await readState(id);
    const answer = await postFactor(as, 'backup-codes', { totp_token: makeWrongCode(secret) });
    expect(readStatusAndCode(answer)).toEqual(WRONG_CODE_ERROR);
    expect([await readState(id), listMailsTo(email).length]).toEqual([stateBefore, 1]);
    expect((await finishSignIn(await readPendingToken(company, email), { backup_code: backupCodes[0] })).status).toBe(
      200,
    );
  });
});
