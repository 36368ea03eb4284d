import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Caller } from '../support/api.ts';
import { resetClock } from '../support/clock.ts';
import { readStatusAndCode } from '../support/console.ts';
import { listMailsTo } from '../support/mail.ts';
import { countRows, selectRow, sendOvertaken } from '../support/rival.ts';
import { computeCode, enrolAuthenticator, goToNextStep, wrongCode } from '../support/second-factor.ts';
import { must, signed } from '../support/signed.ts';
import { aCompany, aUser, type Company, PASSWORD } from '../support/worlds.ts';
import { createEnrolledUser, finishSignIn, postFactor, readPendingToken } from './support.ts';

const NEXT = 'a-brand-new-passphrase';
const WRONG_CODE = [400, 'INVALID_2FA_CODE'];
const WRONG_PASSWORD = [400, 'INVALID_CREDENTIALS'];
const ENDED = [401, 'UNAUTHORIZED'];
const ENABLED = [409, '2FA_ALREADY_ENABLED'];
const AGAIN = [403, 'REAUTHENTICATION_REQUIRED'];

let company: Company;
beforeAll(async () => {
  company = await aCompany();
});
afterEach(resetClock);

const readState = async (userId: string) => ({
  ...(await selectRow<{ mfa_enabled: number; session_epoch: number }>(
    'select mfa_enabled, session_epoch from users where id = ?',
    userId,
  )),
  factors: await countRows('second_factors where user_id = ?', userId),
  codes: await countRows('backup_codes where factor_id in (select id from second_factors where user_id = ?)', userId),
});
const withoutPassword = (id: string) => selectRow('update users set password_hash = null where id = ?', id);
const changePassword = (as: Caller) =>
  must(as.post('/v1/auth/password', { json: { current_password: PASSWORD, new_password: NEXT } }));

describe('a sign-in that waits for the second factor', () => {
  it('begins one session, and uses up one code, when a second valid code comes meanwhile', async () => {
    const { email, code, backupCodes } = await createEnrolledUser(company);
    const [first, second] = [await readPendingToken(company, email), await readPendingToken(company, email)];
    const [one, other] = backupCodes;
    for (const [pending, late] of [
      [first, { totp_token: code() }],
      [second, { backup_code: other }],
    ] as const) {
      const rival = () => must(finishSignIn(pending, { backup_code: pending === first ? one : backupCodes[2] }));
      const answer = await sendOvertaken(/^update "pending_second_factors"/, rival, (env) =>
        finishSignIn(pending, late, env),
      );
      expect(readStatusAndCode(answer)).toEqual(ENDED);
      expect((await finishSignIn(await readPendingToken(company, email), late)).status).toBe(200);
    }
  });

  it('accepts a code once, and goes on after a wrong one', async () => {
    const { email, code, secret } = await createEnrolledUser(company);
    const pending = await readPendingToken(company, email);
    expect(readStatusAndCode(await finishSignIn(pending, { totp_token: wrongCode(secret) }))).toEqual(WRONG_CODE);
    expect((await finishSignIn(pending, { totp_token: code() })).status).toBe(200);
    expect(
      readStatusAndCode(await finishSignIn(await readPendingToken(company, email), { totp_token: code() })),
    ).toEqual(WRONG_CODE);
    goToNextStep();
    expect(readStatusAndCode(await finishSignIn(pending, { totp_token: code() }))).toEqual(ENDED);
  });

  it('ends after five wrong codes or five minutes', async () => {
    const { email, code, secret } = await createEnrolledUser(company);
    const pending = await readPendingToken(company, email);
    for (let tries = 0; tries < 5; tries += 1) {
      expect(readStatusAndCode(await finishSignIn(pending, { totp_token: wrongCode(secret) }))).toEqual(WRONG_CODE);
    }
    expect(readStatusAndCode(await finishSignIn(pending, { totp_token: code() }))).toEqual(ENDED);
    const next = await readPendingToken(company, email);
    for (let steps = 0; steps < 11; steps += 1) goToNextStep();
    expect(readStatusAndCode(await finishSignIn(next, { totp_token: code() }))).toEqual(ENDED);
  });
});

describe('the setup of a second factor', () => {
  const setUp = (as: Caller, rival: () => Promise<unknown>, json: object = { password: PASSWORD }) =>
    sendOvertaken(/^update "users"/, rival, (env) => postFactor(as, 'setup', json, env));

  it('is refused, and stores nothing, when the password is changed meanwhile', async () => {
    const { id, as } = await aUser(company);
    expect(readStatusAndCode(await setUp(as, () => changePassword(as)))).toEqual(WRONG_PASSWORD);
    expect((await readState(id)).factors).toBe(0);
  });

  it('is refused to a user who is deleted meanwhile', async () => {
    for (const json of [{ password: PASSWORD }, {}]) {
      const { id, as } = await aUser(company);
      if (!('password' in json)) await withoutPassword(id);
      const answer = await setUp(as, () => must(signed(company.apiKey).delete(`/users/${id}`)), json);
      expect([answer.status, (await readState(id)).factors]).toEqual(['password' in json ? 400 : 403, 0]);
    }
  });

  it('does not change the second factor that is enabled meanwhile', async () => {
    const { id, as } = await aUser(company);
    let secret: unknown;
    const rival = async () => {
      await enrolAuthenticator(as);
      secret = await selectRow('select secret from second_factors where user_id = ?', id);
    };
    expect(readStatusAndCode(await setUp(as, rival))).toEqual(ENABLED);
    expect(await selectRow('select secret from second_factors where user_id = ?', id)).toEqual(secret);
  });

  it('needs a session of the last ten minutes when there is no password', async () => {
    const { id, as } = await aUser(company);
    await withoutPassword(id);
    await selectRow('update sessions set created_at = created_at - 660000 where user_id = ?', id);
    expect(readStatusAndCode(await postFactor(as, 'setup', {}))).toEqual(AGAIN);
  });

  it('is refused when a password is set or a second factor enabled meanwhile', async () => {
    for (const gain of ["password_hash = 'set'", 'mfa_enabled = 1']) {
      const { id, as } = await aUser(company);
      await withoutPassword(id);
      const answer = await setUp(as, () => selectRow(`update users set ${gain} where id = ?`, id), {});
      expect(readStatusAndCode(answer)).toEqual(AGAIN);
    }
  });
});

describe('the enabling of a second factor', () => {
  const secretOf = async (as: Caller): Promise<string> =>
    (await must(postFactor(as, 'setup', { password: PASSWORD }))).secret;
  const enabling = (secret: string, steps = 0) => ({ totp_token: computeCode(secret, steps), password: PASSWORD });

  it('changes nothing with a wrong code', async () => {
    const { id, email, as } = await aUser(company);
    const secret = await secretOf(as);
    const before = await readState(id);
    const answer = await postFactor(as, 'enable', { totp_token: wrongCode(secret), password: PASSWORD });
    expect(readStatusAndCode(answer)).toEqual(WRONG_CODE);
    expect([await readState(id), listMailsTo(email)]).toEqual([before, []]);
    expect(before).toMatchObject({ mfa_enabled: 0, codes: 0 });
    expect(await selectRow('select confirmed_at from second_factors where user_id = ?', id)).toEqual({
      confirmed_at: null,
    });
  });

  it('answers one set of backup codes when the factor is enabled meanwhile', async () => {
    const { id, as } = await aUser(company);
    const secret = await secretOf(as);
    const answer = await sendOvertaken(
      /^update "second_factors"/,
      () => must(postFactor(as, 'enable', enabling(secret, -1))),
      (env) => postFactor(as, 'enable', enabling(secret), env),
    );
    expect(readStatusAndCode(answer)).toEqual(WRONG_CODE);
    expect(await readState(id)).toMatchObject({ mfa_enabled: 1, codes: 10 });
  });
});

describe('the disabling of a second factor', () => {
  it('changes nothing with a wrong code', async () => {
    const { id, email, as, secret, code, backupCodes } = await createEnrolledUser(company);
    await must(finishSignIn(await readPendingToken(company, email), { totp_token: code() }));
    const before = await readState(id);
    const answer = await postFactor(as, 'disable', { totp_token: wrongCode(secret) });
    expect(readStatusAndCode(answer)).toEqual(WRONG_CODE);
    expect([await readState(id), listMailsTo(email).length]).toEqual([before, 1]);
    // A used code stays used, and an unused one can be used.
    expect(
      readStatusAndCode(await finishSignIn(await readPendingToken(company, email), { totp_token: code() })),
    ).toEqual(WRONG_CODE);
    expect((await finishSignIn(await readPendingToken(company, email), { backup_code: backupCodes[0] })).status).toBe(
      200,
    );
  });

  it('deletes its secret and all codes', async () => {
    const { id, as, code } = await createEnrolledUser(company);
    const factor = await selectRow<{ id: string }>('select id from second_factors where user_id = ?', id);
    await must(postFactor(as, 'disable', { totp_token: code() }));
    expect(await readState(id)).toMatchObject({ mfa_enabled: 0, factors: 0 });
    expect(await countRows('backup_codes where factor_id = ?', factor?.id)).toBe(0);
    expect(await countRows('used_totp_steps where factor_id = ?', factor?.id)).toBe(0);
  });

  it.each(['disable', 'backup-codes'])('does not touch a factor that is enrolled meanwhile (%s)', async (what) => {
    const { id, as } = await createEnrolledUser(company);
    let after: unknown;
    const answer = await sendOvertaken(
      /^update "users" set "updated_at"/,
      async () => {
        await must(postFactor(as, 'disable', { password: PASSWORD }));
        await enrolAuthenticator(as);
        after = await readState(id);
      },
      (env) => postFactor(as, what, { password: PASSWORD }, env),
    );
    expect(readStatusAndCode(answer)).toEqual(WRONG_PASSWORD);
    expect(await readState(id)).toEqual(after);
    expect(after).toMatchObject({ mfa_enabled: 1, codes: 10 });
  });

  it('does not remove a factor of another user that is only set up', async () => {
    const { id, as } = await aUser(company);
    await must(postFactor(as, 'setup', { password: PASSWORD }));
    expect((await company.as.delete(`/v1/users/${id}/2fa`)).status).toBe(404);
    expect((await readState(id)).factors).toBe(1);
  });
});

describe('new backup codes', () => {
  it('replace the old ones', async () => {
    const { email, as, code, backupCodes } = await createEnrolledUser(company);
    const { backup_codes } = await must(postFactor(as, 'backup-codes', { totp_token: code() }));
    expect((await finishSignIn(await readPendingToken(company, email), { backup_code: backup_codes[0] })).status).toBe(
      200,
    );
    expect(
      readStatusAndCode(await finishSignIn(await readPendingToken(company, email), { backup_code: backupCodes[0] })),
    ).toEqual(WRONG_CODE);
  });

  it('are not made with a wrong code, after which the old ones still work', async () => {
    const { id, email, as, secret, backupCodes } = await createEnrolledUser(company);
    const before = await readState(id);
    const answer = await postFactor(as, 'backup-codes', { totp_token: wrongCode(secret) });
    expect(readStatusAndCode(answer)).toEqual(WRONG_CODE);
    expect([await readState(id), listMailsTo(email).length]).toEqual([before, 1]);
    expect((await finishSignIn(await readPendingToken(company, email), { backup_code: backupCodes[0] })).status).toBe(
      200,
    );
  });
});
