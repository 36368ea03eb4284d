import { describe, expect, it } from 'vitest';
import { clock } from '../../src/kernel/clock.ts';
import { callApi, createCaller } from '../support/api.ts';
import { runScheduled, stopClockAt } from '../support/clock.ts';
import { createOwnedCompany, logIn } from '../support/companies.ts';
import { readStatusAndCode } from '../support/console.ts';
import { readCode, readNewestMail } from '../support/mail.ts';
import { runSql, selectRows, sendDuringRace } from '../support/race.ts';
import { goToNextStep, makeWrongCode } from '../support/second-factor.ts';
import { expectSuccess } from '../support/signed.ts';
import { makePastedCodes } from '../support/typed-codes.ts';
import { createEnrolledUser, finishSignIn, postFactor, readPendingToken } from './support.ts';

const company = await createOwnedCompany();

type FactorCode = { totp_token?: string; backup_code?: string };
/** Finishes a sign-in with a code; `concurrentChange` runs just before the code is checked. */
const finishSignInDuringRace = (concurrentChange: () => Promise<unknown>, pendingToken: string, code: FactorCode) =>
  sendDuringRace(/^update "pending_second_factors"/, concurrentChange, (env) => finishSignIn(pendingToken, code, env));
const logInByPassword = (email: string) => logIn(company.slug, email, company.owner.password);
const WRONG_CODE_ERROR = [400, 'INVALID_2FA_CODE'];

describe('a sign-in with a second factor', () => {
  it('asks for a code after the password, and then begins a session', async () => {
    const { id, email, makeCode } = await createEnrolledUser(company);
    const first = await logInByPassword(email);
    expect([first.status, first.body]).toEqual([
      200,
      { requires_2fa: true, pending_2fa_token: expect.any(String), expires_in: 300, methods: ['totp', 'backup_code'] },
    ]);
    const { status, body } = await finishSignIn(first.body.pending_2fa_token, { totp_token: makeCode() });
    expect(status).toBe(200);
    expect(body).toMatchObject({ expires_in: 600, refresh_expires_in: 604_800, user: { _id: id, email } });
    expect((await createCaller(body.token).get('/v1/auth/me')).status).toBe(200);
  });

  it('asks for a code of the second factor after a mailed code', async () => {
    const { email, makeCode } = await createEnrolledUser(company);
    await callApi('POST', '/v1/auth/passwordless/request', { json: { company_slug: company.slug, email } });
    const json = { company_slug: company.slug, email, code: readCode(readNewestMail(email)) };
    const { body } = await callApi('POST', '/v1/auth/passwordless/verify', { json });
    expect(body).toMatchObject({ requires_2fa: true });
    expect((await finishSignIn(body.pending_2fa_token, { totp_token: makeCode() })).status).toBe(200);
  });

  it('accepts the codes of one time step before and after only', async () => {
    const { email, makeCode } = await createEnrolledUser(company);
    goToNextStep();
    expect(
      readStatusAndCode(await finishSignIn(await readPendingToken(company, email), { totp_token: makeCode(-2) })),
    ).toEqual(WRONG_CODE_ERROR);
    expect(
      readStatusAndCode(await finishSignIn(await readPendingToken(company, email), { totp_token: makeCode(2) })),
    ).toEqual(WRONG_CODE_ERROR);
    expect((await finishSignIn(await readPendingToken(company, email), { totp_token: makeCode(1) })).status).toBe(200);
    expect((await finishSignIn(await readPendingToken(company, email), { totp_token: makeCode(-1) })).status).toBe(200);
  });

  it('accepts a code once, even when it is used with another pending token meanwhile', async () => {
    const { email, makeCode } = await createEnrolledUser(company);
    const [first, second] = [await readPendingToken(company, email), await readPendingToken(company, email)];
    const usedCode = { totp_token: makeCode() };
    expect(
      readStatusAndCode(
        await finishSignInDuringRace(() => expectSuccess(finishSignIn(first, usedCode)), second, usedCode),
      ),
    ).toEqual(WRONG_CODE_ERROR);
    expect(readStatusAndCode(await finishSignIn(await readPendingToken(company, email), usedCode))).toEqual(
      WRONG_CODE_ERROR,
    );
    goToNextStep();
    expect((await finishSignIn(await readPendingToken(company, email), { totp_token: makeCode() })).status).toBe(200);
  });

  it('refuses the code that enabled the factor', async () => {
    const { email, makeCode } = await createEnrolledUser(company);
    expect(
      readStatusAndCode(await finishSignIn(await readPendingToken(company, email), { totp_token: makeCode(-1) })),
    ).toEqual(WRONG_CODE_ERROR);
  });

  it('accepts each backup code once, also in upper case and with spaces', async () => {
    const { email, backupCodes } = await createEnrolledUser(company);
    const [firstCode, secondCode] = backupCodes as [string, string];
    const [first, second] = [await readPendingToken(company, email), await readPendingToken(company, email)];
    const usedCode = { backup_code: firstCode };
    expect(
      readStatusAndCode(
        await finishSignInDuringRace(() => expectSuccess(finishSignIn(first, usedCode)), second, usedCode),
      ),
    ).toEqual(WRONG_CODE_ERROR);
    const typedCode = ` ${secondCode.replace('-', ' ').toUpperCase()} `;
    expect((await finishSignIn(await readPendingToken(company, email), { backup_code: typedCode })).status).toBe(200);
    expect(
      readStatusAndCode(await finishSignIn(await readPendingToken(company, email), { backup_code: secondCode })),
    ).toEqual(WRONG_CODE_ERROR);
  });

  it('refuses the code of another user', async () => {
    const [one, other] = [await createEnrolledUser(company), await createEnrolledUser(company)];
    const pendingToken = await readPendingToken(company, one.email);
    expect(readStatusAndCode(await finishSignIn(pendingToken, { totp_token: other.makeCode() }))).toEqual(
      WRONG_CODE_ERROR,
    );
    for (const code of [other.backupCodes[0], 'x'.repeat(2000)]) {
      expect(readStatusAndCode(await finishSignIn(pendingToken, { backup_code: code }))).toEqual(WRONG_CODE_ERROR);
    }
  });

  it('accepts codes with spaces, hyphens and line ends around and within', async () => {
    const { email, as, makeCode, backupCodes } = await createEnrolledUser(company);
    for (const [index] of makePastedCodes('123456').entries()) {
      const totp_token = makePastedCodes(makeCode())[index] as string;
      const { status } = await finishSignIn(await readPendingToken(company, email), { totp_token });
      expect([totp_token, status]).toEqual([totp_token, 200]);
      goToNextStep();
    }
    for (const [index, backup] of backupCodes.entries()) {
      const backup_code = makePastedCodes(backup)[index % makePastedCodes('').length]?.toUpperCase() as string;
      const { status } = await finishSignIn(await readPendingToken(company, email), { backup_code });
      expect([backup_code, status]).toEqual([backup_code, 200]);
    }
    const { status } = await postFactor(as, 'backup-codes', {
      totp_token: ` ${makeCode().slice(0, 3)} ${makeCode().slice(3)}`,
    });
    expect(status).toBe(200);
  });

  it.each([
    [{}],
    [{ totp_token: '123456', backup_code: 'abcde-fghjk' }],
    [{ totp_token: '12345' }],
    [{ backup_code: '' }],
  ])('refuses %j', async (code) => {
    expect(readStatusAndCode(await finishSignIn('token', code))).toEqual([422, 'VALIDATION_ERROR']);
  });
});

describe('the pending token of a sign-in with a second factor', () => {
  const UNAUTHORIZED_ERROR = [401, 'UNAUTHORIZED'];

  it('is refused as a session token', async () => {
    const { email } = await createEnrolledUser(company);
    const pendingToken = await readPendingToken(company, email);
    expect((await createCaller(pendingToken).get('/v1/auth/me')).status).toBe(401);
    expect((await callApi('POST', '/v1/auth/refresh', { json: { refresh_token: pendingToken } })).status).toBe(401);
  });

  it.each(['', 'a', 'x'.repeat(43)])('is refused when it was never issued: %j', async (token) => {
    const { status } = await finishSignIn(token, { totp_token: '123456' });
    expect(status).toBe(token === '' ? 422 : 401);
  });

  it('stops working after five wrong codes, also for a concurrent request with the right code', async () => {
    const { email, secret, makeCode } = await createEnrolledUser(company);
    const pendingToken = await readPendingToken(company, email);
    const guessCodes = async () => {
      for (let attempt = 0; attempt < 5; attempt += 1) {
        expect(readStatusAndCode(await finishSignIn(pendingToken, { totp_token: makeWrongCode(secret) }))).toEqual(
          WRONG_CODE_ERROR,
        );
      }
    };
    expect(
      readStatusAndCode(await finishSignInDuringRace(guessCodes, pendingToken, { totp_token: makeCode() })),
    ).toEqual(UNAUTHORIZED_ERROR);
    expect((await finishSignIn(await readPendingToken(company, email), { totp_token: makeCode() })).status).toBe(200);
  });

  it('stops working when the user is deactivated', async () => {
    const { id, email, makeCode } = await createEnrolledUser(company);
    const pendingToken = await readPendingToken(company, email);
    await runSql('UPDATE users SET is_active = 0 WHERE id = ?', id);
    expect(readStatusAndCode(await finishSignIn(pendingToken, { totp_token: makeCode() }))).toEqual(UNAUTHORIZED_ERROR);
  });

  it('is stored only as a digest, and deleted when it has expired', async () => {
    const { email } = await createEnrolledUser(company);
    const pendingToken = await readPendingToken(company, email);
    const readPendingRows = () => selectRows<{ digest: string }>('SELECT * FROM pending_second_factors');
    expect((await readPendingRows()).length).toBeGreaterThan(0);
    expect(JSON.stringify(await readPendingRows())).not.toContain(pendingToken);
    stopClockAt(clock.now() + 600_000);
    await runScheduled();
    expect(await readPendingRows()).toEqual([]);
  });
});

it('the eleventh wrong code of a user is refused with any pending token, and so is the right code from then on', async () => {
  const { email, secret, makeCode } = await createEnrolledUser(company);
  const pendingTokens = await Promise.all(Array.from({ length: 3 }, () => readPendingToken(company, email)));
  const guesses = await Promise.all(
    pendingTokens.flatMap((token) =>
      Array.from({ length: 4 }, () => finishSignIn(token, { totp_token: makeWrongCode(secret) })),
    ),
  );
  expect(guesses.map(({ status }) => status).sort()).toEqual([...Array(10).fill(400), 429, 429]);
  const refusedSignIn = await finishSignIn(await readPendingToken(company, email), { totp_token: makeCode() });
  expect(readStatusAndCode(refusedSignIn)).toEqual([429, 'RateLimitExceeded']);
  expect(Number(refusedSignIn.headers.get('retry-after'))).toBeGreaterThan(800);
});
